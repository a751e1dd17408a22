"""Python's rows as Arrow's columns, in declared types; what does not fit is named."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_SHOWN = 60


class WrittenFloat(float):
    """A number with a fraction as JSON has it, which remembers how it is written: a decimal that
    has been a float is another one.
    """

    __slots__ = ("written",)
    written: str

    def __new__(cls, written: str) -> Self:
        """Read it."""
        made = super().__new__(cls, written)
        made.written = written
        return made

    def __str__(self) -> str:
        """Return it as it is written."""
        return self.written


class NotOfType(Exception):
    """A column holds a value that its declared type does not take."""


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return Spark's columns as Arrow's; moments are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def shaped(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return rows, whose values stand in the schema's order, as a batch.

    Raises:
        NotOfType: a value does not fit.
    """
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [_column(list(column), field) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        changed = [_bridged(value, field.type) for value in values]
    try:
        return pa.array(changed, type=field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        bad = next((value for value in changed if not _fits(value, field.type)), None)
        raise NotOfType(
            f"the column {field.name} holds {str(bad)[:_SHOWN]!r}, which is no {field.type}"
        ) from error


def _bridged(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - values of any type
    try:
        return _adapted(value, type)
    except (ValueError, ArithmeticError):
        return value


def _adapted(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - values of any type
    """Bridge what databases and Arrow write differently."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_string(type):
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if pa.types.is_boolean(type):
        return value if isinstance(value, bool) else bool(int(value))
    if pa.types.is_decimal(type) and isinstance(value, int | float | str):
        return Decimal(str(value))
    if pa.types.is_floating(type) and isinstance(value, Decimal | int):
        return float(value)
    if pa.types.is_integer(type) and isinstance(value, Decimal) and value == int(value):
        return int(value)
    if isinstance(value, str) and (pa.types.is_timestamp(type) or pa.types.is_date(type)):
        return _moment(value, type)
    return value


def _moment(text: str, type: pa.DataType) -> Any:  # noqa: ANN401 - a date or a moment
    from datetime import UTC, date, datetime

    import pyarrow as pa

    if pa.types.is_date(type):
        return date.fromisoformat(text)
    moment = datetime.fromisoformat(text)
    if type.tz is None:
        return moment.replace(tzinfo=None)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _fits(value: Any, type: pa.DataType) -> bool:  # noqa: ANN401 - values of any type
    import pyarrow as pa

    try:
        pa.array([value], type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True

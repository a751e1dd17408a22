"""Python's rows as Arrow's columns, in declared types; what does not fit is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from conductor_py.records import dataclass

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


class Instant(int):
    """A moment in microseconds since 1970: of another number nobody says that it is one."""

    __slots__ = ()


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
    cut = not set(map(type, values)).isdisjoint(_cut_short(field.type))
    made = None if cut else _array(values, field.type)
    if made is not None:
        return made
    changed = [_bridged(value, field.type) for value in values]
    made = _array(changed, field.type)
    if made is None:
        bad = next((each for each in changed if _array([each], field.type) is None), None)
        raise NotOfType(
            f"the column {field.name} holds {str(bad)[:_SHOWN]!r}, which is no {field.type}"
        )
    return made


def _array(values: list[Any], type: pa.DataType) -> pa.Array | None:
    """Return values that Arrow takes for this type; None where it does not."""
    import pyarrow as pa

    try:
        return pa.array(values, type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _cut_short(type: pa.DataType) -> tuple[Any, ...]:
    """Return the kinds of values that Arrow makes others of in silence for this type."""
    from pyarrow import types

    if types.is_nested(type):
        return (list, tuple, dict)
    fractions = (float, WrittenFloat, Decimal)
    if types.is_timestamp(type):
        return (*fractions, int)
    if types.is_date(type):
        return (*fractions, int, datetime)
    return fractions if types.is_integer(type) else ()


@dataclass(frozen=True, slots=True)
class _Unfit:
    """A value that is none of its column's type; Arrow takes it for nothing."""

    value: Any

    def __str__(self) -> str:
        """Show the value."""
        return str(self.value)

    def __repr__(self) -> str:
        """Show the value, where it is part of another."""
        return repr(self.value)


def _bridged(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - values of any type
    try:
        return None if value is None else _adapted(value, type)
    except (TypeError, ValueError, ArithmeticError):
        return _Unfit(value)


def _adapted(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - values of any type
    """Bridge what databases and Arrow write differently. Raises ``ValueError`` and the like for
    what Arrow would cut short.
    """
    from pyarrow import types

    if types.is_nested(type):
        return _nested(value, type)
    if types.is_string(type):
        return _text(value)
    if types.is_boolean(type):
        return value if isinstance(value, bool) else bool(_whole(value))
    if types.is_decimal(type) and isinstance(value, int | float | str):
        return Decimal(str(value))
    if types.is_floating(type) and isinstance(value, Decimal | int):
        return float(value)
    if types.is_integer(type) and isinstance(value, Decimal | float):
        return _whole(value)
    if types.is_timestamp(type) or types.is_date(type):
        return _moment(value, type)
    return value


def _text(value: Any) -> str:  # noqa: ANN401 - values of any type
    """Return a value as text: what JSON has a form for in that, as Spark writes it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool | dict | list):
        return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _whole(value: Any) -> int:  # noqa: ANN401 - values of any type
    number = int(value)
    if isinstance(value, float | Decimal) and value != number:
        raise ValueError
    return number


def _nested(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - values of any type
    from pyarrow import types

    if types.is_struct(type) and isinstance(value, dict):
        return {each.name: _bridged(value.get(each.name), each.type) for each in type}
    if types.is_map(type) and isinstance(value, dict):
        pairs = value.items()
        return [
            (_bridged(key, type.key_type), _bridged(each, type.item_type)) for key, each in pairs
        ]
    if types.is_list(type) and isinstance(value, list | tuple):
        return [_bridged(each, type.value_type) for each in value]
    raise ValueError


def _moment(value: Any, type: pa.DataType) -> Any:  # noqa: ANN401 - a date or a moment
    from pyarrow import types

    if not isinstance(value, str):
        part = types.is_date(type) and isinstance(value, datetime) and value.time() != time.min
        if part or not isinstance(value, date | Instant):
            raise ValueError
        return value
    if types.is_date(type):
        return date.fromisoformat(value)
    moment = datetime.fromisoformat(value)
    if type.tz is None:
        return moment.replace(tzinfo=None)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""Schema drift: what a source does about a file whose columns are not those of its schema."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import SourceProblem

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns of a file that the schema does not name, as JSON, when they are to be captured.
EXTRA: Final = "_extra"
#: The decimal that Spark reads numbers of 64 bits without a sign as.
_UNSIGNED: Final = (20, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRule:
    """What is done about columns that the schema does not name (``ignore``, ``fail``, ``capture``),
    and about those that a file has not (``null``, ``fail``).
    """

    extra: str = "ignore"
    missing: str = "null"

    @classmethod
    def of(cls, declared: spec.Schema | None) -> DriftRule:
        """Take the rule of a declared schema; one that was inferred is what all files must have."""
        if declared is None:
            return cls(missing="fail")
        return cls(extra=declared.extra_columns, missing=declared.missing_columns)

    @property
    def captures(self) -> bool:
        """Whether columns that the schema does not name become one more, ``_extra``."""
        return self.extra == "capture"

    def check(self, found: Iterable[str], wanted: Sequence[str], place: str) -> None:
        """Compare the columns of a file with those wanted. Raises ``SCHEMA_CHANGED``."""
        there = tuple(found)
        if self.missing == "fail" and (gone := [name for name in wanted if name not in there]):
            raise _changed(f"{place} has no column {', '.join(gone)}.")
        if self.extra == "fail" and (more := [name for name in there if name not in wanted]):
            raise _changed(f"{place} has a column more: {', '.join(more)}.")

    def check_types(self, there: pa.Schema, wanted: pa.Schema, place: str) -> None:
        """Compare the columns of a typed file with those wanted, their types too.

        Raises ``SCHEMA_CHANGED``.
        """
        names = [name for name in wanted.names if name != EXTRA]
        types = dict(zip(spelt(there.names, names, place), there.types, strict=True))
        self.check(types, names, place)
        for name in names:
            if name not in types:
                continue
            found, meant = types[name], wanted.field(name).type
            if not _readable(found, meant):
                raise _changed(f"{place} has {name} as {found}, not as {meant}.")


LENIENT: Final = DriftRule()
"""What is not there is NULL, and what is not asked for is not looked at."""


def spelt(found: Iterable[str], wanted: Iterable[str], place: str) -> tuple[str, ...]:
    """Return the names of columns with those wanted spelt as they are there: capitals do not tell
    columns apart. Raises ``SCHEMA_CHANGED`` for one that is found twice.
    """
    there = tuple(found)
    known = {name.lower(): name for name in wanted}
    names = tuple(known.get(name.lower(), name) for name in there)
    times = Counter(name for name in names if name in known.values())
    for name in (name for name, count in times.items() if count > 1):
        twice = ", ".join(each for each in there if each.lower() == name.lower())
        raise _changed(f"{place} has the column {name} more than once: {twice}.")
    return names


def spelt_within(there: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return a type with the fields inside it spelt as those wanted are."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_struct(there) and types.is_struct(wanted):
        known = {each.name.lower(): each for each in wanted}
        pairs = [(each, known.get(each.name.lower(), each)) for each in there]
        return pa.struct(
            [
                each.with_name(meant.name).with_type(spelt_within(each.type, meant.type))
                for each, meant in pairs
            ]
        )
    if types.is_map(there) and types.is_map(wanted):
        return pa.map_(
            there.key_field.with_type(spelt_within(there.key_type, wanted.key_type)),
            there.item_field.with_type(spelt_within(there.item_type, wanted.item_type)),
        )
    kinds = ((types.is_list, pa.list_), (types.is_large_list, pa.large_list))
    for same, made in kinds if types.is_list(wanted) else ():
        if same(there):
            field = there.value_field
            return made(field.with_type(spelt_within(field.type, wanted.value_type)))
    if types.is_fixed_size_list(there) and types.is_list(wanted):
        inner = there.value_field.with_type(spelt_within(there.value_type, wanted.value_type))
        return pa.list_(inner, there.list_size)
    return there


def captured(columns: Mapping[str, Sequence[Any]], count: int) -> Iterator[str | None]:
    """Return columns as JSON, row by row, without NULLs; None for all ``count`` rows if there are
    no columns.
    """
    if not columns:
        yield from (None for _ in range(count))
        return
    for row in zip(*columns.values(), strict=True):
        yield in_json(dict(zip(columns, row, strict=True)))


def in_json(values: Mapping[str, Any]) -> str:
    """Return what a row has beside its schema as ``_extra`` holds it."""
    kept = {name: value for name, value in values.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _readable(there: Any, wanted: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    """Say whether the one can be read as the other without loss."""
    from pyarrow import types

    if types.is_dictionary(there):
        there = there.value_type
    if types.is_nested(there) or types.is_nested(wanted):
        return _readable_within(there, wanted)
    if there.equals(wanted):
        return True
    if types.is_decimal(there) and types.is_decimal(wanted):
        more = wanted.scale - there.scale
        return bool(0 <= more <= wanted.precision - there.precision)
    if types.is_integer(there) and types.is_integer(wanted):
        # Spark has no numbers without a sign: it takes the next larger one.
        least = there.bit_width + types.is_unsigned_integer(there)
        return bool(least <= wanted.bit_width)
    if types.is_uint64(there) and types.is_decimal(wanted):
        return bool((wanted.precision, wanted.scale) == _UNSIGNED)
    if types.is_floating(there) and types.is_floating(wanted):
        return bool(there.bit_width <= wanted.bit_width)
    kinds = (types.is_timestamp, types.is_date32, _is_text, _is_bytes)
    return any(bool(same(there) and same(wanted)) for same in kinds)


def _readable_within(there: Any, wanted: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    """Say it of lists, maps and structs; a field that is not there is NULL."""
    from pyarrow import types

    if types.is_struct(there) and types.is_struct(wanted):
        found: dict[str, list[Any]] = {}
        for each in there:
            found.setdefault(each.name.lower(), []).append(each.type)
        pairs = ((found.get(each.name.lower(), [each.type]), each.type) for each in wanted)
        return all(len(kinds) == 1 and _readable(kinds[0], kind) for kinds, kind in pairs)
    if types.is_map(there) and types.is_map(wanted):
        parts = ((there.key_type, wanted.key_type), (there.item_type, wanted.item_type))
        return all(_readable(one, other) for one, other in parts)
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if types.is_list(wanted) and any(same(there) for same in lists):
        return _readable(there.value_type, wanted.value_type)
    return False


def _is_bytes(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    from pyarrow import types

    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )


def _is_text(kind: Any) -> bool:  # noqa: ANN401 - pyarrow has no types
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _changed(sentence: str) -> SourceProblem:
    return SourceProblem("SCHEMA_CHANGED", f"The file {sentence}")

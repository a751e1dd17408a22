"""Gives rows their declared types, and says of each row that does not fit why it is bad.

Text is cast with ``try_cast``, so one bad value costs its row and not the job: the reason is kept
in the column ``_bad`` and the row as it came in ``_raw``; a frame with ``_at`` gets ``_code`` too.
With ``cast_errors: null`` such a value is NULL and the row good; with ``fail`` the job fails in
Spark's words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines import spec
from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import AT, BAD, CODE, RAW
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField, StructType

_UNREADABLE: Final = "UNREADABLE_ROW"
_WRONG_TYPE: Final = "WRONG_TYPE"
_MISSING: Final = "MISSING_VALUE"
#: What the name of a column begins with while it holds what was read; no column is named so.
_AS_READ: Final = "\0"


def enforced(
    frame: DataFrame,
    schema: StructType,
    rule: spec.Schema,
    *,
    formats: Mapping[str, str] | None = None,
    folders: Collection[str] = (),
    called: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the columns of ``schema`` from a frame of text columns (and ``_raw``, set where a row
    could not be taken apart at all), with ``_bad`` and ``_raw``.

    ``formats`` are Spark's patterns for ``date`` and ``timestamp`` columns, but for those of
    ``folders``; ``called`` says what the source calls columns that have another name here.
    """
    from pyspark.sql import functions as f

    values: list[Column] = []
    reasons = [_Reason(_UNREADABLE, f.col(RAW).isNotNull(), f.lit("the row cannot be taken apart"))]
    for field in schema:
        if field.name not in frame.columns:
            values.append(f.lit(None).cast(field.dataType).alias(field.name))
            continue
        given = f.col(quoted(field.name))
        patterns = {} if field.name in folders else formats or {}
        made = _value(given, field, strict=rule.cast_errors == "fail", formats=patterns)
        values.append(made.alias(field.name))
        reasons += _reasons(field, rule)
    beside = [name for name in (RAW, AT) if name in frame.columns]
    texts = [name for name in frame.columns if name not in beside]
    names = called or {}
    as_read = {name: _as_read(name).alias(names.get(name, name)) for name in texts}
    kept = [f.col(quoted(name)).alias(_AS_READ + name) for name in texts]
    whole = f.coalesce(f.col(RAW), f.to_json(f.struct(*as_read.values())))
    return _judged(frame.select(*values, *kept, *beside), schema.names, reasons, whole)


def completed(
    frame: DataFrame, schema: StructType, rule: spec.Schema, texts: Collection[str]
) -> DataFrame:
    """Return the columns of ``schema`` of a typed frame with some, ``texts``, that are still text.

    Rows are marked as by ``enforced``.
    """
    from pyspark.sql import functions as f

    if not texts:
        return demanded(frame, rule)
    fields = [field for field in schema if field.name in texts]
    reasons = [reason for field in fields for reason in _reasons(field, rule)]
    reasons += [
        _missing(field.name)
        for field in schema
        if field.name not in texts and not _nullable(rule, field.name)
    ]
    strict = rule.cast_errors == "fail"
    values = {
        field.name: _value(_as_read(field.name), field, strict=strict, formats={})
        for field in fields
    }
    read = frame.withColumnsRenamed({name: _AS_READ + name for name in texts}).withColumns(values)
    if not reasons:
        return read.select(*map(quoted, schema.names), *([AT] if AT in read.columns else []))
    whole = [
        _as_read(name).alias(name) if name in texts else f.col(quoted(name))
        for name in schema.names
    ]
    return _judged(read, schema.names, reasons, f.to_json(f.struct(*whole)))


def demanded(frame: DataFrame, rule: spec.Schema) -> DataFrame:
    """Mark rows of a typed frame that lack a value they must have."""
    from pyspark.sql import functions as f

    reasons = [
        _missing(column.name)
        for column in rule.columns
        if not column.nullable and column.name in frame.columns
    ]
    if not reasons:
        return frame
    kept = [name for name in frame.columns if name != AT]
    return _judged(frame, kept, reasons, f.to_json(f.struct(*map(quoted, kept))))


def declared(rule: spec.Schema) -> str:
    """Return a declared schema as Spark writes one."""
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in rule.columns)


@dataclass(frozen=True, slots=True)
class _Reason:
    """Why a row may be bad: one word, when it is so, and a sentence."""

    code: str
    holds: Column
    sentence: Column


def _as_read(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col(quoted(_AS_READ + name))


def _reasons(field: StructField, rule: spec.Schema) -> list[_Reason]:
    """Return why a row may be bad whose value of a column came as text."""
    from pyspark.sql import functions as f

    found: list[_Reason] = []
    if rule.cast_errors == "bad_row" and field.dataType.typeName() != "string":
        text = _as_read(field.name)
        sentence = f.concat(
            f.lit(f"{field.name}: "),
            f.left(text, f.lit(60)),
            f.lit(f" is no {field.dataType.simpleString()}"),
        )
        value = f.col(quoted(field.name))
        found.append(_Reason(_WRONG_TYPE, text.isNotNull() & value.isNull(), sentence))
    if not _nullable(rule, field.name):
        found.append(_missing(field.name))
    return found


def _missing(name: str) -> _Reason:
    from pyspark.sql import functions as f

    value = f.col(quoted(name))
    return _Reason(_MISSING, value.isNull(), f.lit(f"{name}: is missing"))


def _judged(
    rows: DataFrame, kept: Sequence[str], reasons: Sequence[_Reason], whole: Column
) -> DataFrame:
    """Return these columns and what is said of each row: the first reason, and the whole row where
    there is one.

    Every step is a frame of its own, so that Spark computes a value once and not wherever it is
    asked for: it finds no common parts in conditions.
    """
    from pyspark.sql import functions as f

    said = {BAD: f.coalesce(*(f.when(each.holds, each.sentence) for each in reasons))}
    beside = [f.col(BAD), f.when(f.col(BAD).isNotNull(), whole).alias(RAW)]
    if AT in rows.columns:
        said[CODE] = f.coalesce(*(f.when(each.holds, f.lit(each.code)) for each in reasons))
        beside += [f.col(CODE), f.col(AT)]
    return rows.withColumns(said).select(*map(quoted, kept), *beside)


def _value(text: Column, field: StructField, *, strict: bool, formats: Mapping[str, str]) -> Column:
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType

    kind = field.dataType.typeName()
    if kind == "string":
        return text
    if isinstance(field.dataType, ArrayType | MapType | StructType):
        return f.from_json(text, field.dataType)
    pattern = formats.get(kind)
    if pattern and kind in ("timestamp", "date"):
        return f.try_to_timestamp(text, f.lit(pattern)).cast(field.dataType)
    return text.cast(field.dataType) if strict else text.try_cast(field.dataType)


def _nullable(rule: spec.Schema, name: str) -> bool:
    return all(column.nullable for column in rule.columns if column.name == name)

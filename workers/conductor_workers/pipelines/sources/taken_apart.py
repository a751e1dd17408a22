"""Text taken apart by Spark, each value as text: files of CSV and JSON, and lines of CSV that were
read in tasks, by the same rules. Spark's function for a line of JSON makes other numbers of some.

A value of CSV is NULL where nothing stands, or what ``nullValue`` says. A quoted one that is empty
is an empty text, as RFC 4180 has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import AT, RAW
from conductor_workers.pipelines.sources.pieces import LINE
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

#: What Spark is told to make of ``""``, so that it is not taken for NULL.
_EMPTY: Final = "\0empty\0"
_ROW: Final = "_row"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """How lines of a format are taken apart."""

    format: str
    given: Mapping[str, str]

    @property
    def options(self) -> dict[str, str]:
        """What Spark is told, for a reader of files as for the functions that read a line."""
        ours = {"emptyValue": _EMPTY} if self.format == "csv" else {"allowSingleQuotes": "false"}
        return {
            **ours,
            **self.given,
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": RAW,
            "columnPruning": "false",
            "enforceSchema": "true",
        }

    def rows(self, lines: DataFrame, names: Sequence[str], schema: StructType) -> DataFrame:
        """Return the rows of ``PlainRows``: these columns and ``_raw``, as text."""
        from pyspark.sql import functions as f

        kept = [AT] if AT in lines.columns else []
        options = {**self.options, "header": "false"}
        row = f.from_csv(f.col(LINE), all_text((*names, RAW)), options)
        others = _others(schema)
        given = [f.col(quoted(str(at))) for at in range(len(names))]
        values = [
            f.coalesce(
                f.nullif(plain, f.lit("")) if name in others else plain, f.col(_ROW)[name]
            ).alias(name)
            for name, plain in zip(names, given, strict=True)
        ]
        flat = lines.withColumn(_ROW, row).select(*values, f.col(_ROW)[RAW].alias(RAW), *kept)
        return self.cleared(flat, names, schema)

    def cleared(self, rows: DataFrame, names: Sequence[str], schema: StructType) -> DataFrame:
        """Say of what is empty and quoted what it is: a text, and of another type NULL."""
        from pyspark.sql import functions as f

        if self.options.get("emptyValue") != _EMPTY:
            return rows
        others = _others(schema)
        texts = {name: f.col(quoted(name)) for name in names}
        return rows.withColumns(
            {
                name: f.nullif(text, f.lit(_EMPTY))
                if name in others
                else f.when(text == _EMPTY, "").otherwise(text)
                for name, text in texts.items()
            }
        )


def beside_raw(rows: DataFrame, name: str) -> DataFrame:
    """Have Spark read a column whenever it reads ``_raw``, which it refuses to read alone."""
    from pyspark.sql import functions as f

    # Always so, and nothing that Spark would leave out.
    text = f.col(quoted(name))
    always = text.isNull() | (f.octet_length(text) >= 0)
    return rows.withColumn(RAW, f.when(always, f.col(RAW)))


def _others(schema: StructType) -> frozenset[str]:
    """Return the columns that are no text, where what is empty is NULL."""
    return frozenset(each.name for each in schema if each.dataType.typeName() != "string")


def all_text(names: Sequence[str]) -> str:
    """Return columns of these names, all text, as Spark writes a schema."""
    return ", ".join(f"{quoted(name)} string" for name in names)

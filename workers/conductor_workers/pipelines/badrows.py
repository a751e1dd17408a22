"""Rows that do not fit: counted, judged before anything is decided, and kept with their reason."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.bad_rows import exceeded
from conductor_py.pipelines.record import Record, SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import AT, BAD, CODE, RAW
from conductor_workers.pipelines.places import PLACE, keys_of, place_key

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_BAD_ROW: Final = "BAD_ROW"


class BadRowsRefused(Exception):
    """A round has more bad rows than the job allows; nothing of it becomes visible."""

    code = "BAD_ROWS"


@dataclass(slots=True)
class BadRows:
    """How many rows of a round are bad, by source, and one reason."""

    by_source: dict[str, int] = field(default_factory=dict)
    why: str = ""

    @property
    def count(self) -> int:
        """All of them."""
        return sum(self.by_source.values())

    def add(self, source: str, count: int, why: str) -> None:
        """Count a source's."""
        self.by_source[source] = count
        self.why = self.why or f"{source}: {why}"


def judged(bad: BadRows, rule: spec.ErrorRule, record: Record, rows_read: int) -> None:
    """Compare this round's bad rows, and all until now, with the limits.

    Raises:
        BadRowsRefused: they are exceeded.
    """
    total = bad.count + int(record.counters.get("bad_rows", 0))
    rows = rows_read + sum(record.counters.get("rows_read", {}).values())
    for count, seen in ((bad.count, rows_read), (total, rows)):
        too_many = exceeded(rule, bad=count, rows=seen)
        if too_many:
            raise BadRowsRefused(f"{too_many}; {bad.why}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """The rows that one source gave a round, good and bad, and the splits they come from."""

    source: str
    rows: DataFrame
    splits: Sequence[SplitDescriptor]


def dead_letters(suspects: Sequence[Suspects], about: Mapping[str, Column]) -> DataFrame:
    """Return one row for each bad row: where it comes from, how it came, and why it is bad.

    ``about`` are columns that all have. What a source does not tell is NULL.
    """
    letters = [_letters(each, about) for each in suspects]
    return functools.reduce(lambda left, right: left.unionByName(right), letters)


def _letters(of: Suspects, about: Mapping[str, Column]) -> DataFrame:
    from pyspark.sql import functions as f

    rows, splits = _placed(of.rows), _named(of.rows.sparkSession, of.splits)
    if any(len(keys_of(split)) > 1 for split in of.splits):
        rows = _counted(rows)
    bad = rows.where(f"`{BAD}` IS NOT NULL")
    return bad.join(f.broadcast(splits), "key", "left").select(
        *(column.alias(name) for name, column in about.items()),
        f.lit(of.source).alias("source"),
        splits["split"],
        splits["ord"],
        bad["offset"],
        bad["row"],
        bad[CODE].alias("error_code"),
        bad[BAD].alias("message"),
        bad[RAW].alias("raw"),
    )


def _placed(rows: DataFrame) -> DataFrame:
    """Return what is said of each row, and its place, with the key of its split."""
    from pyspark.sql import functions as f

    at = f.col(AT) if AT in rows.columns else f.lit(None).cast(PLACE)
    code = f.col(CODE) if CODE in rows.columns else f.lit(None)
    flat = rows.select(BAD, RAW, code.alias(CODE), at.alias(AT)).select(BAD, RAW, CODE, f"{AT}.*")
    return flat.withColumns(
        {
            CODE: f.coalesce(f.col(CODE), f.lit(_BAD_ROW)),
            "key": place_key(f.col("ord"), f.col("file")),
        }
    )


def _counted(rows: DataFrame) -> DataFrame:
    """Count the rows of files that Spark read from the first of the same piece; it numbers them
    from anywhere on.
    """
    from pyspark.sql import functions as f

    first = rows.where("file IS NOT NULL").groupBy("file", "offset").agg(f.min("row").alias("_row"))
    begins = f.broadcast(first.withColumnsRenamed({"file": "_file", "offset": "_offset"}))
    same = (f.col("file") == f.col("_file")) & (f.col("offset") == f.col("_offset"))
    of_piece = f.col("row") - f.coalesce(f.col("_row"), f.lit(0))
    return rows.join(begins, same, "left").withColumn("row", of_piece)


def _named(spark: SparkSession, splits: Sequence[SplitDescriptor]) -> DataFrame:
    """Return the splits by all their keys."""
    rows = {
        key: (key, split.ord, json.dumps(dict(split.descriptor), default=str))
        for split in splits
        for key in keys_of(split)
    }
    return spark.createDataFrame(list(rows.values()), "key string, ord bigint, split string")

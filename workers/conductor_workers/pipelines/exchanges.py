"""What a stage leaves for the next one: rows by hash bucket, in files that only the record names.

The buckets are the next stage's splits. A round's files lie in ``<name>/_bucket=<n>/``; a bucket is
what lies there under all the rounds' names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SourceState, SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.kept_rows import read_values, write_rows
from conductor_workers.pipelines.keyed import BUCKET
from conductor_workers.pipelines.workplace import Workplace
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

Exchange = Mapping[str, Any]
"""What a record keeps of one exchange: ``rounds`` (names), ``schema``, ``buckets``, whether its
rows are ``keyed``, which decides whether the job's number of buckets is that number, and the types
that the keys of a join are ``hashed`` in; absent: those of ``schema``.
"""

_ONE: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Where a round's rows of an exchange go; without ``keys`` all go into one bucket. ``types``
    are what keys are hashed in; empty: their own.
    """

    workplace: Workplace
    epoch: int
    keys: tuple[str, ...]
    types: tuple[DataType, ...] = ()
    buckets: int
    parallelism: int


def exchange_keys(node: spec.Transform, input_name: str) -> tuple[str, ...]:
    """Return the columns of that input that rows are brought together by."""
    if node.kind == "join":
        side = ("left", "right").index(input_name)
        return tuple(pair[side] for pair in node.settings["on"])
    return tuple(node.settings.get("group_by" if node.kind == "aggregate" else "keys", ()))


def write_exchange(frame: DataFrame, known: Exchange | None, writing: Writing) -> Exchange:
    """Write a round's rows and return the exchange after it."""
    from pyspark.sql import functions as f

    buckets = writing.buckets if writing.keys else _ONE
    columns = [f.col(quoted(name)) for name in writing.keys]
    if writing.types:
        columns = [each.cast(type_) for each, type_ in zip(columns, writing.types, strict=True)]
    bucket = f.pmod(f.hash(*columns), f.lit(buckets)) if columns else f.lit(0)
    tasks = min(writing.parallelism, buckets)
    placed = frame.withColumn(BUCKET, bucket.cast("int"))
    written = placed.repartitionById(tasks, f.pmod(f.col(BUCKET), f.lit(tasks)).cast("int"))
    name = writing.workplace.frame(f"exchange-{writing.epoch}", writing.epoch)
    write_rows(writing.workplace, name, written, by=BUCKET)
    rounds = [*(known or {}).get("rounds", ()), name]
    hashed = {"hashed": [each.jsonValue() for each in writing.types]} if writing.types else {}
    return {
        "rounds": rounds,
        "schema": frame.schema.jsonValue(),
        "buckets": buckets,
        "keyed": bool(writing.keys),
        **hashed,
    }


def exchange_splits(exchange: Exchange | None) -> SourceState:
    """Return the account that a later stage begins with: one split each bucket; none when the
    stage before had nothing to do.
    """
    buckets = 0 if exchange is None else int(exchange["buckets"])
    pages = tuple(SplitDescriptor(ord=n, descriptor={"bucket": n}) for n in range(buckets))
    return SourceState(discovered=buckets, complete=True, pages=pages)


def read_exchange(
    spark: SparkSession,
    workplace: Workplace,
    exchange: Exchange,
    splits: Sequence[SplitDescriptor],
) -> DataFrame:
    """Return the rows of these buckets."""
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(cast("dict[str, Any]", exchange["schema"]))
    buckets = [int(split.descriptor["bucket"]) for split in splits]
    rounds = cast("Sequence[str]", exchange["rounds"])
    return read_values(spark, workplace, rounds, schema, by=BUCKET, values=buckets)

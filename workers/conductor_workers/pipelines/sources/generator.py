"""``generator``: rows made from their number alone, for trials and tests.

Settings: ``rows`` (how many), ``seed`` (0), ``in_python`` (false: Spark makes them itself). The
split rule ``{"by": "range", "rows": n}`` cuts them. Columns: ``id``, ``number`` (below 2^31, from
id and seed), ``text`` (``row-<id>``) and ``at`` (a second a row, from 2020-01-01).
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.connectors import Discovery

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from conductor_workers.pipelines.registry import Place

_DDL: Final = "id bigint, number bigint, text string, at timestamp"
_MODULUS: Final = 1 << 31
_MULTIPLIER: Final = 1_103_515_245
_FROM_S: Final = 1_577_836_800
_ROW_BYTES: Final = 40
_BATCH_ROWS: Final = 10_000
_DEFAULT_ROWS: Final = 100_000


def open_source(node: spec.Source, place: Place) -> GeneratorSource:
    """Make the source of a node."""
    del place
    rule = node.split
    return GeneratorSource(
        rows=int(node.settings.get("rows", 0)),
        seed=int(node.settings.get("seed", 0)),
        split_rows=rule.rows if rule else _DEFAULT_ROWS,
        in_python=bool(node.settings.get("in_python", False)),
    )


class GeneratorSource:
    """See the module."""

    def __init__(self, *, rows: int, seed: int, split_rows: int, in_python: bool) -> None:
        """Make that many rows, in splits of so many."""
        self._rows = rows
        self._seed = seed % _MODULUS
        self._split_rows = split_rows
        self._in_python = in_python

    def schema(self, spark: SparkSession) -> StructType:
        """See ``Source``."""
        return spark.createDataFrame([], _DDL).schema

    def enumerator(self, restored: Mapping[str, Any]) -> GeneratorEnumerator:
        """See ``Source``."""
        return GeneratorEnumerator(self._rows, self._split_rows, int(restored.get("next", 0)))

    def reader(self, schema: StructType) -> GeneratorReader:
        """See ``Source``."""
        del schema
        return GeneratorReader(self._seed)

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``."""
        del schema
        if self._in_python or not splits:
            return None
        ranges = [
            spark.range(int(each.descriptor["low"]), int(each.descriptor["high"]), 1, 1)
            for each in splits
        ]
        rows = functools.reduce(lambda left, right: left.union(right), ranges)
        return rows.selectExpr(
            "id",
            f"((id % {_MODULUS}L) * {_MULTIPLIER}L + {self._seed}L) % {_MODULUS}L AS number",
            "concat('row-', id) AS text",
            f"timestamp_seconds({_FROM_S}L + id) AS at",
        )


class GeneratorEnumerator:
    """Counts."""

    def __init__(self, rows: int, split_rows: int, start: int) -> None:
        """Go on at that row."""
        self._rows, self._split_rows, self._next = rows, split_rows, start

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """See ``SplitEnumerator``."""
        found: list[SplitDescriptor] = []
        while self._next < self._rows and len(found) < limit:
            high = min(self._next + self._split_rows, self._rows)
            found.append(
                SplitDescriptor(
                    ord=first_ord + len(found),
                    descriptor={"low": self._next, "high": high},
                    bytes=(high - self._next) * _ROW_BYTES,
                    rows=high - self._next,
                )
            )
            self._next = high
        return Discovery(found=tuple(found), complete=self._next >= self._rows)

    def snapshot(self) -> Mapping[str, Any]:
        """See ``SplitEnumerator``."""
        return {"next": self._next}

    def close(self) -> None:
        """Nothing is open."""


class GeneratorReader:
    """Makes the rows of a split in Python."""

    def __init__(self, seed: int) -> None:
        """Make them from that seed."""
        self._seed = seed

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        import pyarrow as pa

        high = int(split.descriptor["high"])
        for low in range(int(split.descriptor["low"]), high, _BATCH_ROWS):
            ids = range(low, min(low + _BATCH_ROWS, high))
            numbers = [((i % _MODULUS) * _MULTIPLIER + self._seed) % _MODULUS for i in ids]
            moments = [dt.datetime.fromtimestamp(_FROM_S + i, dt.UTC) for i in ids]
            yield pa.record_batch(
                {
                    "id": pa.array(list(ids), pa.int64()),
                    "number": pa.array(numbers, pa.int64()),
                    "text": pa.array([f"row-{i}" for i in ids], pa.string()),
                    "at": pa.array(moments, pa.timestamp("us", tz="UTC")),
                }
            )

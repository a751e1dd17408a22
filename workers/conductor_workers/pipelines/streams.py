"""The streaming queries of a pipeline: one for each transform that remembers by event time.

A round feeds a query its rows and waits until the query has committed them to its checkpoint; when
that moved the watermark it feeds an empty portion too, so that what is over is sent in the same
epoch. What the query sent meanwhile is the transform's output of the round, and goes through the
commit of the round like any other rows. The epoch's record names the checkpoint and the batch.

Spark does not fence two drivers from one checkpoint. So each query has a directory of its own, and
begins with a copy of what the record names, as of its batch and nothing later: what an undecided
epoch left in the old directory is not looked at, and whoever still writes there harms nobody.

    <frame>/checkpoint/   Spark's
    <frame>/portions/     what was fed (see ``feed``)
    <frame>/rows/<n>/     the rows of a portion, by input
    <frame>/sent/<batch>/ what the query sent
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError

from conductor_py.pipelines import spec
from conductor_py.records import dataclass
from conductor_workers.datafiles import address
from conductor_workers.pipelines import faults
from conductor_workers.pipelines.batches import committed, copy_as_of
from conductor_workers.pipelines.control import Control
from conductor_workers.pipelines.event_time import (
    holds_back,
    is_late,
    last_row,
    streamed,
    timed,
)
from conductor_workers.pipelines.feed import OFFSET, FeedSource, Portions
from conductor_workers.pipelines.observing import NotObserved, observed
from conductor_workers.pipelines.storage import ObjectLost
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.pipelines.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType

State = Mapping[str, Any]
"""What a record keeps of a query: ``directory``, ``batch``, ``portion``, ``watermark_ms``, and
``ended`` once there were no more rows.
"""

_SESSION: Final = {
    # Empty portions take their place: then every batch belongs to a portion, and to its epoch.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "50ms",
}
_LOOK_EVERY_S: Final = 0.02

#: After so many a query begins again in another directory. Spark deletes what is older than a
#: hundred; so whatever is in a directory that some record or savepoint names can be gone back to.
BATCHES_EACH = 40


class QueryEnded(Exception):
    """A query has ended before it had done what it was fed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What a round's rows made a query send, its state after it, and how many came too late."""

    rows: DataFrame
    state: State
    late: int


class Streams:
    """The queries of one attempt at a pipeline; lives in its coordinator's thread."""

    def __init__(self, spark: SparkSession, workplace: Workplace, control: Control) -> None:
        """Begin with none."""
        self._spark = spark
        self._workplace = workplace
        self._control = control
        self._queries: dict[str, _Query] = {}

    def passed(
        self,
        node: spec.Transform,
        inputs: Mapping[str, DataFrame],
        kept: State | None,
        epoch: int,
        *,
        last: bool = False,
    ) -> Passed:
        """Pass a round's rows through a transform; ``last``: there will be no more.

        A query that is not where the record has it (its round was not decided) begins again, and
        so does one that has had ``BATCHES_EACH``.
        Raises ``ObjectLost``, ``TransformRefused``, ``QueryEnded`` and what Spark raises.
        """
        try:
            return self._passed(node, inputs, kept, epoch, last=last)
        except BaseException:
            if (query := self._queries.pop(node.id, None)) is not None:
                query.end()
            raise

    def _passed(
        self,
        node: spec.Transform,
        inputs: Mapping[str, DataFrame],
        kept: State | None,
        epoch: int,
        *,
        last: bool,
    ) -> Passed:
        query = self._queries.get(node.id)
        rows = {name: timed(node, name, each) for name, each in inputs.items()}
        if query is None or query.state != kept or query.batches >= BATCHES_EACH:
            if query is not None:
                query.end()
            query = _Query(node, self._spark, self._directory(node, kept, epoch))
            self._queries[node.id] = query
            query.begin({name: _fed(each) for name, each in rows.items()})
        late = query.feed(rows)
        self._await(query)
        if last and holds_back(node):
            query.feed_end()
            self._await(query)
        if query.behind:
            query.feed({})
            self._await(query)
        query.state = {**(query.state or {}), **({"ended": True} if last else {})}
        query.settle()
        return Passed(rows=query.sent(), state=query.state, late=late)

    def told(self) -> dict[str, dict[str, Any]]:
        """Return how far the queries are, by transform, as JSON."""
        return {name: query.told() for name, query in self._queries.items()}

    def end(self) -> None:
        """End all queries; what they hold is in their checkpoints."""
        for query in self._queries.values():
            query.end()
        self._queries.clear()

    def _await(self, query: _Query) -> None:
        while not query.done():
            if self._control.interrupts:
                raise QueryEnded("The round was given up.")
            time.sleep(_LOOK_EVERY_S)

    def _directory(self, node: spec.Transform, kept: State | None, epoch: int) -> _Directory:
        workplace = self._workplace
        if not isinstance(workplace.storage, LocalStorage):
            raise TransformRefused(
                f"{node.id}: Spark itself keeps the state of event time, and it cannot write to "
                f"{workplace.address}; set env.work_dir to a directory that all workers have."
            )
        root = workplace.storage.root
        made = _Directory(root=root, name=workplace.frame(f"stream-{node.id}", epoch))
        if kept is not None:
            before = _Directory(root=root, name=str(kept["directory"]))
            try:
                copy_as_of(before.checkpoint, made.checkpoint, int(kept["batch"]))
            except FileNotFoundError as error:
                raise ObjectLost(f"The event-time state of {node.id} is gone: {error}") from error
            made.kept = {**kept, "directory": made.name}
        return made


@dataclass(slots=True, kw_only=True)
class _Directory:
    """A query's; ``kept`` is the state that it was begun with."""

    root: Path
    name: str
    kept: State | None = None

    @property
    def place(self) -> Path:
        return self.root / self.name

    @property
    def checkpoint(self) -> Path:
        return self.place / "checkpoint"


class _Query:
    """One streaming query, and what it was fed."""

    def __init__(self, node: spec.Transform, spark: SparkSession, directory: _Directory) -> None:
        self._node = node
        self._spark = spark
        self._directory = directory
        self._portions = Portions(place=directory.place / "portions")
        self._query: StreamingQuery | None = None
        self._inputs: Mapping[str, StructType] = {}
        self._out: StructType | None = None
        self.state = directory.kept
        self.behind = False
        """Whether the watermark has moved and no batch has worked with it yet."""
        kept = directory.kept or {}
        self._portion = int(kept.get("portion", 0))
        self._batch = int(kept.get("batch", -1))
        self._watermark_ms = int(kept.get("watermark_ms", 0))
        self._before = self._batch
        self._sent_from = self._batch + 1

    @property
    def batches(self) -> int:
        """How many batches it has had in this directory."""
        return self._batch - self._before

    def begin(self, inputs: Mapping[str, StructType]) -> None:
        """Start it over inputs of these columns."""
        self._inputs = inputs
        for key, value in _SESSION.items():
            self._spark.conf.set(key, value)
        self._spark.dataSource.register(FeedSource)
        streams = {
            name: self._spark.readStream.format(FeedSource.name())
            .schema(schema)
            .options(place=str(self._portions.place), input=name)
            .load()
            for name, schema in inputs.items()
        }
        made = streamed(self._node, streams)
        self._out = made.schema
        place = self._directory.place

        def send(rows: DataFrame, batch: int) -> None:
            faults.reach("F14")
            rows.write.mode("overwrite").parquet(address(place / "sent" / str(batch)))

        writer = made.writeStream.foreachBatch(send).outputMode("append")
        checkpoint = address(self._directory.checkpoint)
        self._query = writer.option("checkpointLocation", checkpoint).start()

    def feed(self, rows: Mapping[str, DataFrame]) -> int:
        """Feed a portion; returns how many rows were left out because they came too late."""
        if rows:
            self._forget()
            self._sent_from = self._batch + 1
        portion, late = self._portion + 1, 0
        for name, each in rows.items():
            late += self._write(portion, name, each)
        self._put(portion)
        return late

    def feed_end(self) -> None:
        """Feed a row of a time behind all others: whatever waits is over."""
        portion = self._portion + 1
        for name, schema in self._inputs.items():
            end = self._spark.range(1).select(*last_row(self._node, name, schema))
            end.write.parquet(address(self._rows(portion, name)))
        self._put(portion)

    def done(self) -> bool:
        """Say whether all that was fed is committed. Raises what made the query fail."""
        assert self._query is not None
        batch = committed(self._directory.checkpoint)
        fed = len(self._inputs)
        if batch is None or [each[OFFSET] for each in batch.offsets] != [self._portion] * fed:
            error = self._query.exception()
            if error is not None:
                raise error
            if not self._query.isActive:
                raise QueryEnded(f"The streaming query of {self._node.id} has ended.")
            return False
        self._batch, self._watermark_ms = batch.number, batch.next_watermark_ms
        self.behind = batch.next_watermark_ms > batch.watermark_ms
        self.state = {
            "directory": self._directory.name,
            "batch": self._batch,
            "portion": self._portion,
            "watermark_ms": self._watermark_ms,
        }
        return True

    def settle(self) -> None:
        """Make its checkpoint survive a crash of the machine: a record may name it next."""
        LocalStorage(self._directory.root).settle(f"{self._directory.name}/checkpoint")

    def sent(self) -> DataFrame:
        """Return what it has sent since rows were fed."""
        assert self._out is not None
        home = self._directory.place / "sent"
        places = [home / str(number) for number in range(self._sent_from, self._batch + 1)]
        paths = [address(place) for place in places if place.exists()]
        return self._spark.read.schema(self._out).parquet(*paths)

    def told(self) -> dict[str, Any]:
        """See ``Streams.told``."""
        progress = self._query.lastProgress if self._query is not None else None
        operators = progress["stateOperators"] if progress else []
        watermark = self._watermark_ms / 1000
        known = self._watermark_ms > 0 and not (self.state or {}).get("ended")
        return {
            "watermark": datetime.fromtimestamp(watermark, UTC).isoformat() if known else None,
            "lagSeconds": max(0, round(time.time() - watermark)) if known else None,
            "stateRows": sum(int(each["numRowsTotal"]) for each in operators),
            "stateBytes": sum(int(each["memoryUsedBytes"]) for each in operators),
        }

    def end(self) -> None:
        """Stop it; what it holds is in its checkpoint."""
        if self._query is not None:
            with suppress(Py4JError, OSError):
                self._query.stop()
        self._forget()

    def _write(self, portion: int, name: str, rows: DataFrame) -> int:
        from pyspark.sql import functions as f

        late = is_late(self._node, self._watermark_ms or None)
        watched, figures = observed(rows, late=f.count_if(late))
        kept = watched.where(~late)
        kept.write.parquet(address(self._rows(portion, name)))
        if "CollectMetrics" not in kept._jdf.queryExecution().optimizedPlan().toString():  # noqa: SLF001
            return 0  # the optimizer saw that there is no row
        with suppress(NotObserved):
            return int(figures.read()["late"])
        return 0

    def _put(self, portion: int) -> None:
        files = {name: list(_files(self._rows(portion, name))) for name in self._inputs}
        self._portions.put(portion, files)
        self._portion = portion

    def _forget(self) -> None:
        """Delete what is in the state, and what the epoch before has taken."""
        place = self._directory.place
        for old in (place / "rows", place / "sent", self._portions.place):
            shutil.rmtree(old, ignore_errors=True)

    def _rows(self, portion: int, name: str) -> Path:
        return self._directory.place / "rows" / str(portion) / name


def _files(place: Path) -> Iterator[str]:
    yield from (str(file) for file in sorted(place.glob("*.parquet")))


def _fed(rows: DataFrame) -> StructType:
    """Return the columns that a query is fed; the row that ends it has none of them."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(each.name, each.dataType, True) for each in rows.schema])

"""Where the Spark benchmarks run: one warm session, plain jobs in it and pipelines in it, and what
each of them costs in seconds and in CPU seconds of this process, the JVM and Spark's Python.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.machine import cost_of
from conductor_py.pipelines.cutting import cut
from conductor_py.wire.pipelines import read_job
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.job import Bench, JobResult, JobRun
from conductor_workers.session import WorkerSession, default_settings
from tests.workers.pipelines.stores import Keeper, MemoryJobStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What something took."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The same work done in several ways, in turn, several times."""

    ways: Mapping[str, Sequence[Spent]]

    def wall_s(self, way: str) -> float:
        """Return the median of its seconds."""
        return statistics.median(each.wall_s for each in self.ways[way])

    def ratio(self, way: str, to: str, *, cpu: bool = False) -> float:
        """Return the median over the rounds of what one way took, over what the other took."""
        both = zip(self.ways[way], self.ways[to], strict=True)
        if cpu:
            return statistics.median(one.cpu_s / other.cpu_s for one, other in both)
        return statistics.median(one.wall_s / other.wall_s for one, other in both)

    def told(self) -> str:
        """Say what was measured."""
        return "; ".join(
            f"{way}: {', '.join(f'{each.wall_s:.1f}' for each in spent)} s, "
            f"CPU {', '.join(f'{each.cpu_s:.1f}' for each in spent)} s"
            for way, spent in self.ways.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A warm session, a scratch folder, and the folder where data is kept."""

    spark: SparkSession
    scratch: Path
    data: Path
    pairs: int

    def spent(self, work: Callable[[], object]) -> Spent:
        """Do it and say what it took; what it wrote below ``out`` is deleted."""
        before, began = cost_of(os.getpid()), time.perf_counter()
        work()
        wall = time.perf_counter() - began
        cpu = (cost_of(os.getpid()).cpu_ms - before.cpu_ms) / 1000
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        return Spent(wall_s=wall, cpu_s=cpu)

    def in_turn(self, **ways: Callable[[], object]) -> Pairs:
        """Do all of them ``pairs`` times, in turn; every other time in the other order."""
        spent: dict[str, list[Spent]] = {way: [] for way in ways}
        for number in range(self.pairs):
            order = list(ways.items())
            for way, work in order if number % 2 == 0 else reversed(order):
                spent[way].append(self.spent(work))
        return Pairs(ways=spent)

    def run(self, job: Job, store: MemoryJobStore | None = None) -> JobResult:
        """Run a job of pipelines to its end."""
        result = self.prepared(job, store).run()
        if not result.finished:
            raise RuntimeError(f"the job is not finished: {list(result.failures)}")
        return result

    def prepared(self, job: Job, store: MemoryJobStore | None = None) -> JobRun:
        """Make a run of a job."""
        read = read_job(job)
        bench = Bench(paths=ANYWHERE, spark=self.spark, work_dir=str(self.scratch / "work"))
        return JobRun(read, cut(read), store or TimedStore(), bench)


class TimedStore(MemoryJobStore):
    """Keeps records in memory, and when each was put."""

    def __init__(self) -> None:
        """Hold a task of its own."""
        super().__init__(Keeper(), token=1)
        self.put_at: list[float] = []

    def put(
        self,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        """See ``JobStore``."""
        super().put(pipeline, record, expected=expected, epoch=epoch, retain=retain)
        self.put_at.append(time.perf_counter())


@contextmanager
def ground(
    scratch: Path, data: Path, *, pairs: int, archive: Path | None = None
) -> Iterator[Ground]:
    """Start a session for measurements, as a worker starts it."""
    settings = default_settings(master=f"local[{os.cpu_count() or 1}]", concurrency=2)
    settings["spark.driver.memory"] = "3g"
    # Both sides cut large files alike.
    settings["spark.sql.files.maxPartitionBytes"] = str(64 << 20)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    session = WorkerSession(work_dir=scratch / "session", settings=settings, archive_dir=archive)
    session.start()
    try:
        yield Ground(spark=session.spark, scratch=scratch / "now", data=data, pairs=pairs)
    finally:
        session.stop()
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure of a target; it should be at most what is ``wanted``."""

    target: str
    title: str
    value: float
    unit: str
    wanted: float | None = None
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is at most what is wanted."""
        return self.wanted is None or self.value <= self.wanted

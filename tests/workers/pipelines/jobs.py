"""Jobs of the tests: read from JSON as an author writes them, run in the test's session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.record import PipelineState
from conductor_py.wire.pipelines import read_job
from conductor_workers.paths import ANYWHERE, AllowedPaths
from conductor_workers.pipelines.control import Wish
from conductor_workers.pipelines.job import Bench, JobResult, JobRun
from tests.workers.pipelines.stores import Keeper, MemoryJobStore

Job = dict[str, Any]


def generated(name: str, rows: int, *, split: int = 1000, **more: Any) -> Job:
    """A source of so many rows."""
    return {
        "id": name,
        "kind": "generator",
        "output": f"{name}_rows",
        "rows": rows,
        "split": {"by": "range", "rows": split},
        **more,
    }


def files(name: str, given: str, path: Path, data_format: str = "parquet", **more: Any) -> Job:
    """A sink of files."""
    return {
        "id": name,
        "kind": "file",
        "input": given,
        "path": str(path),
        "format": data_format,
        **more,
    }


def job_of(
    sources: list[Job],
    sinks: list[Job],
    transforms: list[Job] | None = None,
    env: Mapping[str, Any] | None = None,
    **more: Any,
) -> Job:
    """A job with small rounds."""
    rounds = {"min_bytes": 1 << 20, "max_splits": 4}
    return {
        "version": 1,
        "name": "trial",
        "sources": sources,
        "transforms": transforms or [],
        "sinks": sinks,
        "env": {"round": rounds, "restart": {"delay_s": 0.01}, **(env or {})},
        **more,
    }


class _TellsOfEpoch(MemoryJobStore):
    """Tells when an epoch is decided, before the next can be."""

    epoch = 0
    tell: Callable[[], object]

    def put(
        self, pipeline: str, record: Mapping[str, Any], *, expected: int, epoch: int, retain: int
    ) -> None:
        super().put(pipeline, record, expected=expected, epoch=epoch, retain=retain)
        if epoch >= self.epoch:
            self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A place to run jobs in."""

    spark: SparkSession
    place: Path
    keeper: Keeper = field(default_factory=Keeper)
    any_sql: bool = False
    paths: AllowedPaths = ANYWHERE

    def run(self, job: Job, *, token: int = 1, **more: Any) -> JobResult:
        """Run that job as the attempt with that token."""
        return self.prepared(job, token=token, **more).run()

    def prepared(
        self, job: Job, *, token: int = 1, store: MemoryJobStore | None = None, **more: Any
    ) -> JobRun:
        """Make a run of that job, as the attempt with that token."""
        read = read_job(job)
        modules = ("tests.workers.modules", "tests.workers.pipelines")
        bench = Bench(
            paths=self.paths,
            spark=self.spark,
            work_dir=str(self.place / "work"),
            modules=modules,
            any_sql=self.any_sql,
        )
        return JobRun(read, cut(read), store or self.store(token), bench, **more)

    def stopped_after(self, job: Job, epochs: int, *, token: int = 1) -> None:
        """Run a job, and stop it as soon as it has so many epochs."""
        store = _TellsOfEpoch(self.keeper, token=token)
        run = self.prepared(job, token=token, store=store)
        store.epoch, store.tell = epochs, lambda: run.want(Wish.STOP)
        assert set(run.run().states.values()) == {PipelineState.STOPPED}

    def store(self, token: int) -> MemoryJobStore:
        """What is kept, for that token."""
        return MemoryJobStore(self.keeper, token=token)

    def rows(self, path: Path, data_format: str = "parquet", **options: str) -> DataFrame:
        """What a reader of files sees."""
        return self.spark.read.options(**options).format(data_format).load(str(path))


def figures(frame: DataFrame) -> tuple[int, int, int]:
    """Rows, sum of hashes over all columns, and distinct rows: equal for equal contents."""
    hashed = frame.select(f.xxhash64(*sorted(frame.columns)).cast("decimal(38,0)").alias("h"))
    row = hashed.agg(f.count("h"), f.sum("h"), f.countDistinct("h")).first()
    assert row is not None
    return int(row[0]), int(row[1] or 0), int(row[2])

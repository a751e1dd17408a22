"""T5 and T10: how soon a worker is ready, how soon a task on it works, and what it holds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from py4j.java_gateway import JavaObject

from benchmarks.spark_place import Ground, Job, Result
from conductor_py.model.json import JsonObject
from conductor_workers.attempt import Claim
from conductor_workers.paths import ANYWHERE
from conductor_workers.progress import monitored
from conductor_workers.tasks.sql import run_sql

_ROOT = Path(__file__).resolve().parents[1]
_TASKS = 9
_SQL = "SELECT id % 7 AS k, count(*) AS n FROM range({}) GROUP BY 1"


class Child:
    """A worker's process; iterate for what it says."""

    def __init__(self, **asked: object) -> None:
        """Start it."""
        environment = os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'workers'}"}
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.spark_child", json.dumps(asked)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def says(self) -> dict[str, Any]:
        """Return what it says next."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise RuntimeError(f"the worker ended with {self.process.wait()}")

    def ready_s(self) -> float:
        """Wait until its session can run SQL; return the seconds since it was started."""
        self.says()
        return time.perf_counter() - self.began

    def end(self) -> None:
        """Wait for its end."""
        assert self.process.stdout is not None
        self.process.stdout.read()
        if self.process.wait():
            raise RuntimeError("the worker failed")


class _Attempt:
    """An attempt that nobody disturbs."""

    def __init__(self, given: JsonObject, number: int) -> None:
        """Run for that input."""
        self.claim = Claim(task_id=f"bench-{number}", token=1, owner="bench/task")
        self.input = given
        self.cancelled = Event()

    def report_progress(self, progress: JsonObject) -> None:
        """Nobody wants to know."""

    def confirm(self) -> bool:
        """It is ours."""
        return True

    def log(self, sentence: str) -> None:
        """Nobody reads it."""


def t5(at: Ground) -> Iterator[Result]:
    """A worker's cold start with and without an archive of classes, and a task on a warm one."""
    archive = at.data / "classes"
    place = at.scratch.with_name("child")
    ways: dict[str, list[float]] = {"default": [], "archive": []}
    _started(place, archive)
    for _ in range(at.pairs):
        ways["default"].append(_started(place, None))
        ways["archive"].append(_started(place, archive))
    medians = {way: statistics.median(each) for way, each in ways.items()}
    yield Result(
        target="T5",
        title="cold start with an archive of classes, over one without",
        value=medians["archive"] / medians["default"],
        unit="x",
        wanted=0.6,
        note="; ".join(
            f"{way}: {', '.join(f'{s:.1f}' for s in each)} s" for way, each in ways.items()
        ),
    )
    for title, waits in (("SQL task", _sql_waits(at)), ("pipeline", _pipeline_waits(at))):
        yield Result(
            target="T5",
            title=f"from the claim of a {title} to its first Spark job, the session is warm, p50",
            value=statistics.median(waits[1:]),
            unit="s",
            wanted=0.5,
            note=", ".join(f"{each:.2f}" for each in waits),
        )


def t10(at: Ground) -> Iterator[Result]:
    """The memory of an idle worker, and of a pipeline more."""
    place = at.scratch.with_name("child")
    jobs = [_generated(place, count) for count in (1, 4)]
    child = Child(place=str(place), jobs=jobs)
    idle, one, four = (child.says()["resident_mb"] for _ in range(3))
    child.end()
    yield Result(
        target="T10", title="memory of a warm idle worker", value=idle, unit="MB", wanted=1000
    )
    yield Result(
        target="T10",
        title="memory of a pipeline more (4 at once, over 1)",
        value=(four - one) / 3,
        unit="MB",
        wanted=150,
        note=f"{one:.0f} MB after one, {four:.0f} MB after four",
    )


def _started(place: Path, archive: Path | None) -> float:
    child = Child(place=str(place), archive=None if archive is None else str(archive))
    seconds = child.ready_s()
    child.end()
    return seconds


def _sql_waits(at: Ground) -> list[float]:
    waits = []
    for number in range(_TASKS):
        given: JsonObject = {
            "sql": _SQL.format(1000 + number),
            "collect": 3,
        }
        attempt = _Attempt(given, number)
        with _until_first_job(at, waits), monitored(at.spark.sparkContext, attempt):
            run_sql(at.spark, attempt, paths=ANYWHERE)
    return waits


def _pipeline_waits(at: Ground) -> list[float]:
    waits: list[float] = []
    for number in range(_TASKS):
        given = _generated(at.scratch / str(number), 1)
        with _until_first_job(at, waits):
            at.run(given)
    return waits


@contextmanager
def _until_first_job(at: Ground, waits: list[float]) -> Iterator[None]:
    """Add the seconds from the block's begin to the submission of its first job."""
    store = at.spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001 - what it knows of jobs
    known = _newest(store)
    began = time.time()
    yield
    jobs = store.jobsList(None)
    mine = [jobs.apply(at) for at in range(jobs.size()) if jobs.apply(at).jobId() > known]
    first = min(job.submissionTime().get().getTime() for job in mine)
    waits.append(first / 1000 - began)


def _newest(store: JavaObject) -> int:
    jobs = store.jobsList(None)
    return max((jobs.apply(at).jobId() for at in range(jobs.size())), default=-1)


def _generated(place: Path, pipelines: int) -> Job:
    sources, sinks = [], []
    for number in range(pipelines):
        rows = f"rows_{number}"
        split = {"by": "range", "rows": 50_000}
        sources.append(
            {"id": f"s{number}", "kind": "generator", "rows": 200_000, "output": rows}
            | {"split": split}
        )
        sinks.append(
            {"id": f"o{number}", "kind": "file", "format": "parquet", "input": rows}
            | {"path": str(place / f"out-{pipelines}-{number}")}
        )
    return {"version": 1, "name": "bench", "sources": sources, "sinks": sinks}

"""T8, T9 and T11: what Python reads and writes, several pipelines at once, and how soon new data
is seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import quantile
from benchmarks.spark_data import COLUMNS, made
from benchmarks.spark_place import Ground, Job, Result
from benchmarks.spark_rounds import MIDDLE_MB, job, sink, source
from conductor_workers.datafiles import FileForm, data_files, sync_files
from conductor_workers.pipelines.control import Wish
from conductor_workers.pipelines.sinks.object_writer import ObjectWriter, prepared
from conductor_workers.pipelines.sinks.sizes import TARGET_BYTES
from conductor_workers.pipelines.storage.local import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEW_FILES = 12
_MIN_S = 1.0
_POLL_S = 0.5
_FIXED_S = 0.4
_JOB_S = 0.3
_WITHIN_S = 60


def t8(at: Ground, megabytes: int = MIDDLE_MB) -> Iterator[Result]:
    """What Python does in tasks against what Spark does itself; the rest is equal."""
    data = made(at.spark, at.data, megabytes)
    for name, kind, folder, by, wanted in (
        ("byte ranges of CSV", "csv", data.csv, "bytes", 0.9),
        ("row groups of Parquet", "parquet", data.parquet, "row_groups", 1.6),
    ):
        yield from _over(
            at,
            f"{name}, over whole files",
            native=partial(_copied, at, kind, folder, {"by": "file"}),
            python=partial(_copied, at, kind, folder, {"by": by, "size": "16MB"}),
            wanted=wanted,
        )
    rows = at.spark.read.schema(COLUMNS).parquet(str(data.parquet))
    yield from _over(
        at,
        "Parquet written by Python as into a bucket, over Spark's writer",
        native=lambda: _written_by_spark(rows, at.scratch / "native"),
        python=lambda: _written_by_python(rows, at.scratch / "python"),
        wanted=1.7,
    )


def _over(
    at: Ground,
    title: str,
    *,
    native: Callable[[], object],
    python: Callable[[], object],
    wanted: float,
) -> Iterator[Result]:
    """Compare two ways after each has warmed up."""
    for work in (native, python):
        at.spent(work)
    pairs = at.in_turn(native=native, python=python)
    for cpu in (False, True):
        yield Result(
            target="T8",
            title=f"{title}: {'CPU' if cpu else 'wall'}",
            value=pairs.ratio("python", "native", cpu=cpu),
            unit="x",
            wanted=wanted,
            note="" if cpu else pairs.told(),
        )


def _copied(at: Ground, kind: str, folder: Path, split: Job) -> None:
    given = [source("rows", folder, kind, split)]
    at.run(job(given, [sink("out", at.scratch)], {"round": {"min_bytes": "512MB"}}))


def _written_by_spark(rows: DataFrame, place: Path) -> None:
    """Write as a sink of files does, durably."""
    FileForm(format="parquet", options={}).write(rows, place)
    sync_files(place, (file.path for file in data_files(place)))


def _written_by_python(rows: DataFrame, place: Path) -> None:
    """Write as a sink of a bucket does, to the same disk: no store's answers are measured."""
    disk: Any = LocalStorage(place)  # objects that are seen at once need no more of a store
    writer = ObjectWriter(
        storage=disk,
        format="parquet",
        header="",
        hidden=False,
        folder="",
        stem="part",
        once="0",
        target_bytes=TARGET_BYTES,
    )
    reported = prepared(rows, "parquet", {}, ()).mapInArrow(writer, ObjectWriter.REPORT).collect()
    if not reported:
        raise RuntimeError("nothing was written")


def t9(at: Ground) -> Iterator[Result]:
    """Four pipelines at once against one after the other, and a small one beside a large one."""
    data = made(at.spark, at.data, 24)
    singles = [_copy(at, data.parquet, number) for number in range(4)]
    together = {
        key: [node for each in singles for node in each[key]] for key in ("sources", "sinks")
    }
    four: Job = {"version": 1, "name": "four", **together}

    def one_by_one() -> None:
        for each in singles:
            at.run(each)

    at.spent(one_by_one)
    pairs = at.in_turn(sequential=one_by_one, concurrent=lambda: at.run(four))
    yield Result(
        target="T9",
        title="four pipelines at once, over one after the other",
        value=pairs.ratio("concurrent", "sequential"),
        unit="x",
        wanted=0.95,
        note=pairs.told(),
    )
    yield Result(
        target="T9",
        title="a small pipeline beside a large one",
        value=_beside(at),
        unit="s",
        wanted=5,
    )


def t11(at: Ground) -> Iterator[Result]:
    """From the arrival of a file in a watched folder to the visibility of its rows."""
    data = made(at.spark, at.data, 24)
    rows = at.spark.read.parquet(str(data.parquet)).limit(_NEW_FILES * 100)
    ready, watched = at.scratch / "ready", at.scratch / "watched"
    rows.repartition(_NEW_FILES).write.parquet(str(ready))
    watched.mkdir()
    files = sorted(ready.glob("part-*"))
    given = source("new", watched, "parquet")
    given |= {"watch": True, "poll_s": _POLL_S, "paths": [str(watched)]}
    unbounded = job([given], [sink("out", at.scratch)], {"round": {"min_s": _MIN_S}})
    run = at.prepared(unbounded | {"mode": "unbounded"})
    thread = threading.Thread(target=run.run, daemon=True)
    thread.start()
    out = at.scratch / "out"
    waits = []
    try:
        for number, file in enumerate(files):
            file.rename(watched / f"part-{number}.parquet")
            waits.append(_seen(out, number + 1))
    finally:
        run.want(Wish.STOP)
        thread.join()
    yield Result(
        target="T11",
        title=f"from a new file to its rows (rounds {_MIN_S:g} s, looks {_POLL_S:g} s), p95",
        value=quantile(waits[1:], 0.95),
        unit="s",
        wanted=_MIN_S + _POLL_S + 2 * _FIXED_S + _JOB_S,
        note=", ".join(f"{each:.2f}" for each in waits),
    )


def _seen(out: Path, count: int) -> float:
    began = time.perf_counter()
    while len(list(out.glob("part-*"))) < count:
        time.sleep(0.01)
        if time.perf_counter() - began > _WITHIN_S:
            raise RuntimeError("a new file is not seen")
    return time.perf_counter() - began


def _beside(at: Ground) -> float:
    """Run a small pipeline in the middle of a large one; return its seconds."""
    data = made(at.spark, at.data, MIDDLE_MB)
    large = at.prepared(job([source("lines", data.csv, "csv")], [sink("large", at.scratch)], {}))
    thread = threading.Thread(target=large.run, daemon=True)
    thread.start()
    while not list((at.scratch / "large").rglob("part-*")) and thread.is_alive():
        time.sleep(0.05)
    began = time.perf_counter()
    small = source("few", made(at.spark, at.data, 1).parquet, "parquet")
    at.run(job([small], [sink("small", at.scratch)], {}))
    took = time.perf_counter() - began
    thread.join()
    return took


def _copy(at: Ground, folder: Path, number: int) -> Job:
    rows = source(f"in{number}", folder, "parquet")
    out = sink(f"out{number}", at.scratch) | {"input": rows["output"]}
    return {"version": 1, "name": "one", "sources": [rows], "sinks": [out]}

"""T1 to T4: rounds against one plain job, what a round costs by itself, and two sinks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from benchmarks.figures import quantile
from benchmarks.spark_data import COLUMNS, Data, made, size_of
from benchmarks.spark_place import Ground, Job, Pairs, Result, TimedStore
from conductor_py.pipelines.record import Record
from conductor_workers.demo.data import export_tables
from conductor_workers.pipelines import coordinator
from conductor_workers.pipelines.commit import Ledger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LARGE_MB = 1150
MIDDLE_MB = 290
_SMALL_FILES = 320
_SMALL_ROWS = 2000
_FILES_A_ROUND = 32
_TARGET_FILE_BYTES = 65_536
_WHERE = "amount > 5"
_SELECT = {
    "id": "id",
    "who": "who",
    "amount": "amount",
    "day": "at div 86400",
    "fee": "amount * 0.015",
    "mark": "xxhash64(id, who, words)",
}


def source(name: str, folder: Path, data_format: str, split: Job | None = None) -> Job:
    """Return a source of the benchmark's files."""
    columns = [
        dict(zip(("name", "type"), each.split(), strict=True)) for each in COLUMNS.split(", ")
    ]
    found: Job = {
        "id": name,
        "kind": "file",
        "output": f"{name}_rows",
        "format": data_format,
        "paths": [f"{folder}/part-*"],
        "schema": {"columns": columns},
    }
    if data_format == "csv":
        found["options"] = {"header": True}
    return found | ({"split": split} if split else {})


def transforms(*sources: Job) -> list[Job]:
    """Return what the benchmark does with its rows; plain jobs do the same (``computed``)."""
    first = sources[0]["output"]
    nodes: list[Job] = []
    if len(sources) > 1:
        inputs = {each["id"]: each["output"] for each in sources}
        nodes.append({"id": "all", "kind": "union", "output": "all_rows", "inputs": inputs})
        first = "all_rows"
    where: Job = {"id": "some", "kind": "filter", "output": "some_rows", "where": _WHERE}
    made: Job = {"id": "made", "kind": "map", "output": "made_rows", "select": _SELECT}
    where["inputs"], made["inputs"] = {"input": first}, {"input": "some_rows"}
    return [*nodes, where, made]


def sink(name: str, folder: Path) -> Job:
    """Return a sink of Parquet files."""
    settings = {"path": str(folder / name), "format": "parquet"}
    return {"id": name, "kind": "file", "input": "made_rows", **settings}


def job(sources: list[Job], sinks: list[Job], env: Job) -> Job:
    """Return a job over these."""
    nodes = {"sources": sources, "transforms": transforms(*sources), "sinks": sinks}
    return {"version": 1, "name": "bench", "env": env, **nodes}


def plain(at: Ground, *given: tuple[str, Path], out: str = "plain") -> None:
    """Do the same in one job of Spark, as a program of Spark would."""
    computed(at, *given).write.parquet(str(at.scratch / out))


def computed(at: Ground, *given: tuple[str, Path]) -> DataFrame:
    """Return the rows that ``transforms`` makes."""
    frames = [
        at.spark.read.schema(COLUMNS).options(header="true").format(kind).load(str(folder))
        for kind, folder in given
    ]
    rows = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    chosen = [f"{expression} AS {name}" for name, expression in _SELECT.items()]
    return rows.where(_WHERE).selectExpr(*chosen)


def both(data: Data) -> list[Job]:
    """Return the sources of a run over everything."""
    return [source("lines", data.csv, "csv"), source("columns", data.parquet, "parquet")]


def rounds_of(at: Ground, data: Data, rounds: Job) -> Callable[[], object]:
    """Return a run of the pipeline over everything, with that rule for its rounds."""
    return lambda: at.run(job(both(data), [sink("out", at.scratch)], {"round": rounds}))


def t1(at: Ground) -> Iterator[Result]:
    """At least two gigabytes in rounds of 20 s, against one plain job."""
    data = made(at.spark, at.data, LARGE_MB)
    _warmed(at)
    pairs = at.in_turn(
        plain=lambda: plain(at, ("csv", data.csv), ("parquet", data.parquet)),
        rounds=rounds_of(at, data, {"target_s": 20}),
    )
    size = (size_of(data.csv) + size_of(data.parquet)) / 1e9
    yield from _ratios("T1", f"{size:.2f} GB, rounds of 20 s, over one plain job", pairs, 1.05)


def t2(at: Ground) -> Iterator[Result]:
    """Shorter rounds, against one plain job."""
    data = made(at.spark, at.data, MIDDLE_MB)
    _warmed(at)
    pairs = at.in_turn(
        plain=lambda: plain(at, ("csv", data.csv), ("parquet", data.parquet)),
        six=rounds_of(at, data, {"target_s": 6}),
        two=rounds_of(at, data, {"target_s": 2, "min_bytes": "32MB"}),
    )
    yield from _flights(at)
    for way, seconds, wanted in (("six", 6, 1.12), ("two", 2, 1.25)):
        title = f"0.58 GB, rounds of {seconds} s, over one plain job"
        yield from _ratios("T2", title, pairs, wanted, way=way)


def t3(at: Ground) -> Iterator[Result]:
    """What a round costs whatever it reads, and the part of it that decides and publishes."""
    place = at.data / f"small-{_SMALL_FILES}"
    if not place.exists():
        rows = made(at.spark, at.data, MIDDLE_MB).parquet
        frame = at.spark.read.parquet(str(rows)).limit(_SMALL_FILES * _SMALL_ROWS)
        frame.repartition(_SMALL_FILES).write.parquet(str(place))
    sources = [source("columns", place, "parquet")]
    rounds = {"max_splits": _FILES_A_ROUND}
    store = TimedStore()
    many = job(sources, [sink("many", at.scratch)], {"round": rounds})
    many["sinks"][0]["target_file_size"] = _TARGET_FILE_BYTES
    at.run(job(sources, [sink("first", at.scratch)], {"round": rounds}))
    at.run(job(sources, [sink("out", at.scratch)], {"round": rounds}), store)
    with _timed_ledger() as commits:
        at.run(many)
    took = [after - before for before, after in zip(store.put_at, store.put_at[1:], strict=False)]
    yield Result(
        target="T3",
        title=f"a round of {_FILES_A_ROUND} files of {_SMALL_ROWS:,} rows, p50",
        value=statistics.median(took[:-1]),
        unit="s",
        wanted=0.4,
        note=f"{', '.join(f'{each:.2f}' for each in took[:-1])} s; the same in one plain job: "
        f"{', '.join(f'{each:.2f}' for each in _in_plain_jobs(at, place))} s",
    )
    yield Result(
        target="T3",
        title=f"decision and publication of {_files(at)} files a round, p95",
        value=quantile(commits, 0.95) * 1000,
        unit="ms",
        wanted=20,
    )


def t4(at: Ground) -> Iterator[Result]:
    """Two sinks from one read, against two plain jobs."""
    data = made(at.spark, at.data, MIDDLE_MB)
    _warmed(at)

    def two_plain() -> None:
        plain(at, ("csv", data.csv), out="one")
        plain(at, ("csv", data.csv), out="other")

    def two_sinks() -> None:
        sinks = [sink("one", at.scratch), sink("other", at.scratch)]
        at.run(job([source("lines", data.csv, "csv")], sinks, {}))

    pairs = at.in_turn(plain=two_plain, rounds=two_sinks)
    yield from _ratios("T4", "two sinks from one read of 0.29 GB, over two plain jobs", pairs, 0.8)


def _flights(at: Ground) -> Iterator[Result]:
    """The flights of the tutorial: little data, so what is fixed counts."""
    folder = at.data / "flights"
    if not folder.exists():
        export_tables(folder)
    flights = folder / "flights.csv"
    columns = {"carrier": "carrier", "late": "try_cast(arr_delay AS int)", "origin": "origin"}
    rows: Job = {"id": "flights", "kind": "file", "output": "rows", "format": "csv"}
    rows |= {"paths": [str(flights)], "options": {"header": True}}
    chosen: Job = {"id": "chosen", "kind": "map", "output": "made_rows", "select": columns}

    def in_one_job() -> None:
        read = at.spark.read.option("header", "true").csv(str(flights))
        made = [f"{expression} AS {name}" for name, expression in columns.items()]
        read.selectExpr(*made).write.parquet(str(at.scratch / "plain"))

    nodes = {"sources": [rows], "transforms": [chosen], "sinks": [sink("out", at.scratch)]}
    given: Job = {"version": 1, "name": "flights", **nodes}
    at.spent(in_one_job)
    at.spent(lambda: at.run(given))
    pairs = at.in_turn(plain=in_one_job, rounds=lambda: at.run(given))
    yield Result(
        target="T2",
        title="336,776 flights (30 MB), over one plain job: wall",
        value=pairs.ratio("rounds", "plain"),
        unit="x",
        note=pairs.told(),
    )


def _ratios(
    target: str, title: str, pairs: Pairs, wanted: float, *, way: str = "rounds"
) -> Iterator[Result]:
    for cpu in (False, True):
        yield Result(
            target=target,
            title=f"{title}: {'CPU' if cpu else 'wall'}",
            value=pairs.ratio(way, "plain", cpu=cpu),
            unit="x",
            wanted=wanted,
            note="" if cpu else pairs.told(),
        )


def _warmed(at: Ground) -> None:
    """Let the JVM compile both ways before one is measured."""
    data = made(at.spark, at.data, 24)
    for work in (
        lambda: plain(at, ("csv", data.csv), ("parquet", data.parquet)),
        rounds_of(at, data, {}),
    ):
        at.spent(work)


def _in_plain_jobs(at: Ground, place: Path) -> list[float]:
    """Read and write as many files as a round does, without a pipeline; return the seconds."""
    files = [str(file) for file in sorted(place.glob("part-*"))]
    took = []
    for first in range(0, len(files), _FILES_A_ROUND):
        began = time.perf_counter()
        rows = at.spark.read.schema(COLUMNS).parquet(*files[first : first + _FILES_A_ROUND])
        rows.where(_WHERE).write.parquet(str(at.scratch / f"plain-{first}"))
        took.append(time.perf_counter() - began)
    return took


def _files(at: Ground) -> int:
    files = [path.name for path in (at.scratch / "many").rglob("part-*")]
    return round(len(files) / len({name.split("-")[-2] for name in files}))


@contextmanager
def _timed_ledger() -> Iterator[list[float]]:
    """Have every decision timed, with its publication."""
    took: list[float] = []

    class Timed(Ledger):
        def decide(self, record: Record) -> Record:
            self._began = time.perf_counter()
            return super().decide(record)

        def publish(self, record: Record) -> None:
            super().publish(record)
            began = getattr(self, "_began", None)
            if began is not None:
                took.append(time.perf_counter() - began)

    with patch.object(coordinator, "Ledger", Timed):
        yield took

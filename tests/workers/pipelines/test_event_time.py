"""Windows, dedup and joins by event time over sources that never end, with Spark's streaming."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import PipelineState
from conductor_workers.pipelines import streams
from conductor_workers.pipelines.control import Wish
from conductor_workers.pipelines.event_time import is_late, joined, timed
from conductor_workers.pipelines.job import JobRun
from tests.waiting import until
from tests.workers.pipelines.jobs import Job, Trial, figures, files, generated, job_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_COLUMNS = [{"name": "k", "type": "string"}, {"name": "at", "type": "timestamp"}]
_QUICK = {"round": {"min_s": 0.01, "min_bytes": 1 << 20, "max_splits": 4}}


def _node(kind: str, name: str, given: dict[str, str] | str, **more: Any) -> Job:
    inputs = {"i": given} if isinstance(given, str) else given
    return {"id": name, "kind": kind, "inputs": inputs, "output": f"{name}_out", **more}


def _watched(data: Path, out: Path, **env: Any) -> Job:
    """Rows by key and minute of the files of a directory."""
    source = {
        "id": "in",
        "kind": "file",
        "output": "rows",
        "paths": [str(data)],
        "format": "json",
        "watch": True,
        "poll_s": 0.1,
        "schema": {"columns": _COLUMNS},
    }
    minutes = _node(
        "aggregate",
        "minutes",
        "rows",
        group_by=["k"],
        measures={"n": "count(*)"},
        time="at",
        window_s=60,
        lateness_s=30,
    )
    job = job_of([source], [files("out", "minutes_out", out)], [minutes], mode="unbounded")
    job["env"] |= {**_QUICK, **env}
    return job


def _appear(data: Path, name: str, *rows: tuple[str, str]) -> None:
    lines = [json.dumps({"k": key, "at": f"2024-05-01T10:{at}Z"}) for key, at in rows]
    aside = data / f".{name}"
    aside.write_text("\n".join(lines) + "\n")
    aside.rename(data / f"{name}.json")


@contextmanager
def _running(run: JobRun, wish: Wish) -> Iterator[JobRun]:
    """Have it run meanwhile, and end it as wished."""
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run.run()))
    thread.start()
    try:
        yield run
    finally:
        run.want(wish)
        thread.join()
    assert set(ended[0].states.values()) == {
        PipelineState.STOPPED if wish is Wish.STOP else PipelineState.CANCELLED
    }


def _published(run: JobRun, epoch: int) -> dict[str, Any]:
    def told() -> dict[str, Any]:
        (pipeline,) = run.progress()["pipelines"]
        assert pipeline["state"] not in {"FAILED", "BACKOFF"}, pipeline
        return pipeline

    until(lambda: told()["published"] >= epoch, 90)
    return told()


def _windows(trial: Trial, out: Path) -> list[tuple[str, str, int]]:
    return sorted(
        (row["k"], f"{row['window_start']:%M}", row["n"]) for row in trial.rows(out).collect()
    )


def test_windows_over_watched_files_are_sent_once_and_go_on_after_a_stop(trial: Trial) -> None:
    data, out = trial.place / "in", trial.place / "out"
    data.mkdir()
    with _running(trial.prepared(_watched(data, out)), Wish.STOP) as run:
        _appear(data, "1", ("a", "00:05"), ("a", "00:50"), ("b", "00:30"))
        _published(run, 1)
        _appear(data, "2", ("a", "01:40"))
        _published(run, 2)
        first = [("a", "00", 2), ("b", "00", 1)]
        assert _windows(trial, out) == first  # with the epoch whose rows ended the window
        _appear(data, "3", ("a", "00:10"), ("b", "01:05"))
        pipeline = _published(run, 3)
        assert pipeline["rows"]["read"] == 6
        told = pipeline["eventTime"]["minutes"]
        assert told["lateRows"] == 1
        assert told["watermark"] == "2024-05-01T10:01:10+00:00"
        assert told["stateRows"] == 2
    changed = _watched(data, out, parallelism=1)
    with _running(trial.prepared(changed, token=2), Wish.STOP) as run:
        _appear(data, "4", ("a", "02:40"))
        told = _published(run, 4)["eventTime"]["minutes"]
        assert _windows(trial, out) == [*first[:1], ("a", "01", 1), *first[1:], ("b", "01", 1)]
        assert told["lateRows"] == 1
    (record,) = [part["record"] for part in trial.keeper.parts.values()]
    state = record["keyed_state"]["minutes"]
    kept = {path.parent for path in (trial.place / "work").rglob("checkpoint") if path.is_dir()}
    assert any(str(path).endswith(state["directory"]) for path in kept)


def _everything(place: Path, mode: str) -> Job:
    """Three pipelines of sources that end, in either mode."""
    seconds = {"id": "id", "at": "at", "k": "id div 2", "g": "id % 3"}
    shifted = {"id": "id", "later": "timestampadd(SECOND, 3, at)", "n": "number"}
    job = job_of(
        [
            generated("a", 600, split=100),
            generated("b", 600, split=100),
            generated("c", 600, split=200),
            generated("d", 360, split=120),
        ],
        [
            files("out_sums", "sums_out", place / "sums"),
            files("out_once", "keys_out", place / "once"),
            files("out_pairs", "pairs_out", place / "pairs"),
        ],
        [
            _node("map", "am", "a_rows", select=seconds),
            _node(
                "aggregate",
                "slid",
                "am_out",
                group_by=["g"],
                measures={"n": "count(*)", "x": "sum(id)"},
                time="at",
                window_s=40,
                slide_s=20,
            ),
            # A window of windows: the end of the one is the time of the other.
            _node(
                "aggregate",
                "sums",
                "slid_out",
                group_by=["g"],
                measures={"n": "sum(n)", "x": "sum(x)"},
                time="window_start",
                window_s=120,
                lateness_s=60,
            ),
            _node("map", "bm", "b_rows", select=seconds),
            _node("dedup", "keyed", "bm_out", keys=["k"], time="at", within_s=10),
            _node("map", "keys", "keyed_out", select={"k": "k"}),
            _node("map", "left", "c_rows", select=seconds),
            _node("map", "right", "d_rows", select=shifted),
            _node(
                "join",
                "pairs",
                {"left": "left_out", "right": "right_out"},
                on=[["id", "id"]],
                how="left",
                left_time="at",
                right_time="later",
                within_s=5,
                lateness_s=30,
            ),
        ],
        env={"buckets": 2},
        mode=mode,
    )
    job["env"] |= {"round": {**_QUICK["round"], "max_splits": 2}}
    return job


def test_streams_that_end_give_what_the_whole_inputs_give(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCHES_EACH", 4)  # queries begin again on the way
    outputs = {}
    for mode in ("unbounded", "bounded"):
        here = replace(trial, place=trial.place / mode)
        result = replace(here, keeper=type(here.keeper)()).run(_everything(here.place, mode))
        assert result.finished, result.document
        outputs[mode] = {
            name: figures(trial.rows(here.place / name)) for name in ("sums", "once", "pairs")
        }
        if mode == "unbounded":
            told = {
                name: each["lateRows"]
                for pipeline in result.document["pipelines"]
                for name, each in pipeline["eventTime"].items()
            }
            assert told == {"slid": 0, "sums": 0, "keyed": 0, "pairs": 0}
            assert min(each["epoch"] for each in result.document["pipelines"]) > 3
    assert outputs["unbounded"] == outputs["bounded"]
    assert outputs["bounded"]["pairs"][0] == 600


def test_a_cancelled_job_leaves_no_query(trial: Trial) -> None:
    data = trial.place / "in"
    data.mkdir()
    _appear(data, "1", ("a", "00:05"))
    with _running(trial.prepared(_watched(data, trial.place / "out")), Wish.CANCEL) as run:
        _published(run, 1)
    assert not trial.spark.streams.active


def _at(second: int) -> str:
    return f"2024-05-01 10:{second // 60:02}:{second % 60:02}"


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("inner", [(1, 10, 12)]),
        ("left", [(1, 10, 12), (2, 20, None), (3, 30, None)]),
        ("right", [(1, 10, 12), (3, None, 90), (4, None, 40)]),
        ("full", [(1, 10, 12), (2, 20, None), (3, 30, None), (3, None, 90), (4, None, 40)]),
        ("semi", [(1, 10)]),
        ("anti", [(2, 20), (3, 30)]),
    ],
)
def test_partners_are_near_in_time_and_share_a_column_of_one_name(
    spark: SparkSession, how: str, wanted: list[tuple[int | None, ...]]
) -> None:
    near = {"on": [("id", "id")], "how": how, "left_time": "x", "right_time": "y", "within_s": 5}
    node = spec.Transform(id="t", kind="join", inputs={}, output="o", settings=near)
    left = spark.createDataFrame([(n, _at(10 * n)) for n in (1, 2, 3)], "id int, x string")
    right = spark.createDataFrame(
        [(n, _at(s)) for n, s in ((1, 12), (3, 90), (4, 40))], "id int, y string"
    )
    made = joined(node, left, right)
    assert made.columns == (["id", "x"] if how in {"semi", "anti"} else ["id", "x", "y"])
    seconds = f"{{0}} - unix_timestamp(timestamp'{_at(0)}')"
    columns = [
        f"CAST({seconds.format(f'unix_timestamp(CAST({name} AS timestamp))')} AS int)"
        for name in made.columns[1:]
    ]
    rows = [tuple(row) for row in made.selectExpr("id", *columns).collect()]
    assert sorted(rows, key=str) == sorted(wanted, key=str)


def test_a_row_is_late_when_the_last_of_its_windows_is_over(spark: SparkSession) -> None:
    windows = {"measures": {"n": "count(*)"}, "time": "at", "window_s": 60, "slide_s": 20}
    node = spec.Transform(id="t", kind="aggregate", inputs={}, output="o", settings=windows)
    rows = spark.createDataFrame([(_at(19),), (_at(20),), (None,), ("no time",)], "at string")
    watermark = spark.sql(f"SELECT unix_millis(timestamp'{_at(60)}') AS ms").first()
    assert watermark is not None
    seen = timed(node, "i", rows).select("at", is_late(node, watermark["ms"])).collect()
    assert [tuple(row) for row in seen] == [
        (_at(19), True),
        (_at(20), False),
        (None, True),
        ("no time", True),
    ]

"""Jobs from end to end in one local session."""

from __future__ import annotations

import gzip
import json
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor_py.pipelines.record import PipelineState
from conductor_workers.manifest import visible_files
from conductor_workers.pipelines.control import Wish
from conductor_workers.pipelines.storage.local import LocalStorage
from tests.waiting import PATIENCE_S, until
from tests.workers.pipelines.jobs import Job, Trial, figures, files, generated, job_of

pytestmark = pytest.mark.spark

_AT_LENGTH = pytest.mark.thorough(target="pipelines")
_COLUMNS = [
    {"name": "id", "type": "bigint", "nullable": False},
    {"name": "amount", "type": "decimal(8,2)"},
    {"name": "day", "type": "date"},
]


def _node(kind: str, name: str, given: dict[str, str] | str, **more: Any) -> Job:
    inputs = {"i": given} if isinstance(given, str) else given
    return {"id": name, "kind": kind, "inputs": inputs, "output": f"{name}_out", **more}


def _read(name: str, *paths: Path, data_format: str = "csv", **more: Any) -> Job:
    options = {"header": True} if data_format == "csv" else {}
    return {
        "id": name,
        "kind": "file",
        "output": f"{name}_rows",
        "paths": [str(path) for path in paths],
        "format": data_format,
        "options": {**options, **more.pop("options", {})},
        **more,
    }


@pytest.mark.parametrize("visibility", ["publish", "manifest"])
def test_every_row_of_a_source_arrives_once(trial: Trial, visibility: str) -> None:
    out = trial.place / "out"
    sink = files("out", "numbers_rows", out, visibility=visibility)
    result = trial.run(job_of([generated("numbers", 10_000)], [sink]))
    assert result.finished, result.document
    seen = trial.spark.read.parquet(
        *(
            [str(out / name) for name in visible_files(LocalStorage(out))]
            if visibility == "manifest"
            else [str(out)]
        )
    )
    assert (seen.count(), seen.select("id").distinct().count()) == (10_000, 10_000)
    (pipeline,) = result.document["pipelines"]
    assert pipeline["splits"]["done"] == 10
    assert pipeline["epoch"] == pipeline["published"] > 2
    assert not (out / "_staging").exists()


def test_a_finished_job_reads_nothing_again(trial: Trial) -> None:
    out = trial.place / "out"
    job = job_of([generated("numbers", 3000)], [files("out", "numbers_rows", out)])
    trial.run(job)
    names = sorted(out.glob("*.parquet"))
    result = trial.run(job, token=2)
    assert result.finished
    assert result.document["pipelines"][0]["rows"]["read"] == 3000
    assert sorted(out.glob("*.parquet")) == names


@pytest.mark.parametrize(
    "data_format",
    [
        "csv",
        "parquet",
        *(pytest.param(each, marks=_AT_LENGTH) for each in ("json", "orc")),
    ],
)
@pytest.mark.parametrize("cut", [pytest.param(None, marks=_AT_LENGTH), 5000])
def test_files_of_each_format_are_read_whole_and_in_pieces(
    trial: Trial, data_format: str, cut: int | None
) -> None:
    rows = trial.spark.range(3000).selectExpr(
        "id",
        "cast(id / 7 AS decimal(8,2)) AS amount",
        "date_add(DATE'2020-01-01', cast(id % 9 AS int)) AS day",
    )
    data = trial.place / "in"
    rows.repartition(2).write.option("header", True).option("parquet.block.size", 4096).format(
        data_format
    ).save(str(data))
    by = {"csv": "bytes", "json": "bytes", "parquet": "row_groups", "orc": "stripes"}[data_format]
    more: Job = {} if cut is None else {"split": {"by": by, "size": cut}}
    source = _read("in", data, data_format=data_format, schema={"columns": _COLUMNS}, **more)
    job = job_of([source], [files("out", "in_rows", trial.place / "out")])
    job["env"]["round"]["max_splits"] = 100
    result = trial.run(job)
    assert result.finished, result.document
    assert figures(trial.rows(trial.place / "out")) == figures(rows)
    if cut and data_format in ("csv", "json"):
        assert result.document["pipelines"][0]["splits"]["done"] > 10


def test_rows_pass_through_sql_map_filter_union_and_python(trial: Trial) -> None:
    out = trial.place / "out"
    job = job_of(
        [generated("a", 1000), generated("b", 1000, seed=5)],
        [files("out", "union_out", out, "json")],
        [
            _node(
                "sql", "even", {"t": "a_rows"}, query="SELECT id, number FROM t WHERE id % 2 = 0"
            ),
            _node("filter", "few", "b_rows", where="id < 100"),
            _node("map", "plain", "few_out", select={"id": "id", "number": "id * 10"}),
            _node(
                "python",
                "double",
                "plain_out",
                function="tests.workers.modules.pipeline_functions:doubled",
                arguments={"by": 2},
            ),
            _node("union", "union", {"x": "even_out", "y": "double_out"}, parallelism=2),
        ],
    )
    result = trial.run(job)
    assert result.finished, result.document
    rows = trial.rows(out, "json")
    assert rows.count() == 600
    assert rows.where("number = id * 20").count() >= 100


@pytest.mark.parametrize(
    ("kind", "more", "told"),
    [
        ("sql", {"query": "SELECT count(*) AS n FROM i"}, "Aggregate"),
        ("map", {"select": {"n": "count(*)"}}, "Aggregate"),
        ("map", {"select": {"n": "row_number() OVER (ORDER BY id)"}}, "Window"),
        ("filter", {"where": "id IN (SELECT max(id) FROM i)"}, "Aggregate"),
        ("python", {"function": "tests.workers.modules.pipeline_functions:counted"}, "Aggregate"),
    ],
)
def test_what_must_see_everything_is_refused_before_it_is_wrong_whatever_sql_is_allowed(
    trial: Trial, kind: str, more: dict[str, Any], told: str
) -> None:
    out = trial.place / "out"
    job = job_of(
        [generated("a", 1000)], [files("out", "t_out", out)], [_node(kind, "t", "a_rows", **more)]
    )
    result = replace(trial, any_sql=True).run(job)
    assert not result.finished
    ((_, reason),) = result.failures
    assert told in reason
    assert "blocking" in reason


def test_rows_without_a_column_are_refused(trial: Trial) -> None:
    node = _node("sql", "t", "a_rows", query="SELECT * EXCEPT (id) FROM (SELECT id FROM i)")
    job = job_of([generated("a", 10)], [files("out", "t_out", trial.place / "out")], [node])
    ((_, reason),) = trial.run(job).failures
    assert reason == "t: its rows have no column."


def test_a_lookup_sees_its_side_whole_and_as_it_was(trial: Trial) -> None:
    side = trial.place / "side.csv"
    side.write_text("key,name\n" + "".join(f"{n},name-{n}\n" for n in range(10)))
    out = trial.place / "out"
    job = job_of(
        [generated("a", 5000), _read("side", side, read_as="lookup")],
        [files("out", "named_out", out)],
        [
            _node("map", "keyed", "a_rows", select={"id": "id", "k": "id % 20"}),
            _node("lookup", "named", {"main": "keyed_out", "side": "side_rows"}, on=[["k", "key"]]),
        ],
    )
    result = trial.run(job)
    assert result.finished, result.document
    rows = trial.rows(out)
    assert rows.count() == 5000
    assert rows.where("name = concat('name-', k)").count() == 2500
    assert rows.where("name IS NULL").count() == 2500


@_AT_LENGTH
def test_duplicates_are_dropped_across_rounds(trial: Trial) -> None:
    out = trial.place / "out"
    job = job_of(
        [generated("a", 12_000, split=500)],
        [files("out", "once_out", out)],
        [
            _node("map", "keyed", "a_rows", select={"k": "id % 900", "id": "id"}),
            _node("dedup", "once", "keyed_out", keys=["k"]),
        ],
    )
    job["env"]["round"]["max_splits"] = 2
    result = trial.run(job)
    assert result.finished, result.document
    assert result.document["pipelines"][0]["epoch"] > 10  # state was compacted on the way
    rows = trial.rows(out)
    assert (rows.count(), rows.select("k").distinct().count()) == (900, 900)


@_AT_LENGTH
def test_a_join_and_a_sum_see_everything_through_exchanges(trial: Trial) -> None:
    out = trial.place / "out"
    job = job_of(
        [generated("a", 3000), generated("b", 2000)],
        [files("out", "sums_out", out)],
        [
            _node("map", "left", "a_rows", select={"id": "id", "x": "id * 2"}),
            _node("map", "right", "b_rows", select={"id": "id", "y": "id % 5"}),
            _node("join", "both", {"left": "left_out", "right": "right_out"}, on=[["id", "id"]]),
            _node(
                "aggregate",
                "sums",
                "both_out",
                group_by=["y"],
                measures={"n": "count(*)", "x": "sum(x)"},
            ),
        ],
        env={"buckets": 4},
    )
    result = trial.run(job)
    assert result.finished, result.document
    found = {row["y"]: (row["n"], row["x"]) for row in trial.rows(out).collect()}
    wanted = {y: (400, sum(2 * n for n in range(2000) if n % 5 == y)) for y in range(5)}
    assert found == wanted


@_AT_LENGTH
def test_running_sums_of_all_rounds_replace_those_before(trial: Trial) -> None:
    database = trial.place / "sums.db"
    job = job_of(
        [generated("a", 4000)],
        [
            {
                "id": "out",
                "kind": "jdbc",
                "input": "sums_out",
                "url": f"sqlite:///{database}",
                "table": "sums",
                "write": "upsert",
                "key": ["k"],
                "create": True,
            }
        ],
        [
            _node("map", "keyed", "a_rows", select={"k": "id % 2", "id": "id"}),
            _node(
                "aggregate",
                "sums",
                "keyed_out",
                group_by=["k"],
                emit="running",
                measures={"n": "count(*)", "mean": "avg(id)", "most": "max(id)"},
            ),
        ],
    )
    job["env"]["round"]["max_splits"] = 1
    result = trial.run(job)
    assert result.finished, result.document
    assert result.document["pipelines"][0]["epoch"] == 4
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT k, n, mean, most FROM sums ORDER BY k").fetchall()
    assert rows == [(0, 2000, 1999.0, 3998), (1, 2000, 2000.0, 3999)]


def test_bad_rows_are_kept_with_their_reason_in_the_same_epoch(trial: Trial) -> None:
    data = trial.place / "in.csv"
    data.write_text("id,amount,day\n1,2.50,2020-01-01\n2,many,2020-01-02\n,1,2020-01-03\n4,4,\n")
    letters = files("dead", "", trial.place / "dead", "json")
    job = job_of(
        [_read("in", data, schema={"columns": _COLUMNS})],
        [files("out", "in_rows", trial.place / "out")],
        env={"errors": {"bad_rows": "dead_letter", "max_rows": 2}},
        dead_letter={key: letters[key] for key in ("kind", "path", "format")},
    )
    result = trial.run(job)
    assert result.finished, result.document
    assert {row["id"] for row in trial.rows(trial.place / "out").collect()} == {1, 4}
    reasons = {row["message"] for row in trial.rows(trial.place / "dead", "json").collect()}
    assert reasons == {"amount: many is no decimal(8,2)", "id: is missing"}
    assert result.document["pipelines"][0]["rows"] == {"read": 4, "bad": 2}


def test_more_bad_rows_than_allowed_leave_nothing_visible(trial: Trial) -> None:
    data = trial.place / "in.csv"
    data.write_text("id,amount,day\n1,2.50,2020-01-01\n2,many,2020-01-02\n")
    job = job_of(
        [_read("in", data, schema={"columns": _COLUMNS})],
        [files("out", "in_rows", trial.place / "out")],
    )
    result = trial.run(job)
    ((_, reason),) = result.failures
    assert "amount: many is no decimal(8,2)" in reason
    assert [file for file in (trial.place / "out").rglob("*") if file.is_file()] == []


def test_a_column_that_vanished_is_said_in_one_sentence(trial: Trial) -> None:
    (trial.place / "a.csv").write_text("id,amount,day\n1,2.50,2020-01-01\n")
    (trial.place / "b.csv").write_text("day,id\n2020-01-01,2\n")
    source = _read(
        "in",
        trial.place / "*.csv",
        schema={"columns": _COLUMNS, "missing_columns": "fail"},
    )
    result = trial.run(job_of([source], [files("out", "in_rows", trial.place / "out")]))
    ((_, reason),) = result.failures
    assert reason == f"The file {trial.place / 'b.csv'} has no column amount."
    assert [file for file in (trial.place / "out").rglob("*") if file.is_file()] == []


def test_columns_are_taken_by_name_and_odd_files_are_no_trouble(trial: Trial) -> None:
    (trial.place / "a.csv").write_text("id,amount,day\r\n1,2.50,2020-01-01\r\n")
    (trial.place / "b.csv").write_text('day,extra,id\n2020-01-01,"x,y",2\n')
    (trial.place / "c.csv").write_text("id,amount,day\n")
    (trial.place / "d.csv").write_text("")
    with gzip.open(trial.place / "e.csv.gz", "wt") as file:
        file.write("id,amount,day\n3,,\n")
    source = _read("in", trial.place / "*.csv*", schema={"columns": _COLUMNS})
    result = trial.run(job_of([source], [files("out", "in_rows", trial.place / "out")]))
    assert result.finished, result.document
    rows = {row["id"]: str(row["day"]) for row in trial.rows(trial.place / "out").collect()}
    assert rows == {1: "2020-01-01", 2: "2020-01-01", 3: "None"}


def test_the_failure_of_one_pipeline_is_not_the_others(trial: Trial) -> None:
    bad = trial.place / "bad.csv"
    bad.write_text("id,amount,day\nx,1,2020-01-01\n")
    job = job_of(
        [
            generated("a", 4000),
            generated("b", 2000),
            _read("c", bad, schema={"columns": _COLUMNS}),
        ],
        [files(f"out_{name}", f"{name}_rows", trial.place / name) for name in "abc"],
    )
    first = trial.run(job)
    assert sorted(first.states.values()) == ["FAILED", "FINISHED", "FINISHED"]
    before = {path for name in "ab" for path in (trial.place / name).glob("*.parquet")}
    bad.write_text("id,amount,day\n7,1,2020-01-01\n")
    second = trial.run(job, token=2)
    assert second.finished, second.document
    assert {path for name in "ab" for path in (trial.place / name).glob("*.parquet")} == before
    assert trial.rows(trial.place / "c").count() == 1
    for one, other in zip(first.document["pipelines"], second.document["pipelines"], strict=True):
        if first.states[one["id"]] is PipelineState.FINISHED:
            assert (one["epoch"], other["restarts"]) == (other["epoch"], 0)


def test_a_stopped_job_goes_on_where_it_was_with_other_parallelism(trial: Trial) -> None:
    out = trial.place / "out"
    job = job_of([generated("a", 20_000, split=500)], [files("out", "a_rows", out)])
    trial.stopped_after(job, 2)
    job["env"]["parallelism"] = 3
    result = trial.run(job, token=2)
    assert result.finished, result.document
    assert trial.rows(out).count() == trial.rows(out).select("id").distinct().count() == 20_000


def _has_rows(out: Path) -> bool:
    """Whether a file of rows is there. Rounds remove directories while one looks."""
    with suppress(FileNotFoundError):
        return any(out.rglob("*.parquet"))
    return False


@_AT_LENGTH
@pytest.mark.parametrize(
    ("wish", "left"),
    [(Wish.CANCEL, PipelineState.CANCELLED), (Wish.ABANDON, PipelineState.RUNNING)],
)
def test_a_job_that_is_given_up_ends_after_its_last_task(
    trial: Trial, wish: Wish, left: PipelineState
) -> None:
    job = job_of(
        # Tasks of some seconds: Spark cannot interrupt such a loop, so it runs to its end.
        [generated("a", 120_000, split=30_000)],
        [files("out", "hashed_out", trial.place / "out")],
        [_node("map", "hashed", "a_rows", select={"h": "sha2(repeat(text, 5000), 512)"})],
    )
    run = trial.prepared(job)
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run.run()))
    thread.start()
    until(lambda: _has_rows(trial.place / "out"), what="a task is writing")
    tracker = trial.spark.sparkContext.statusTracker()
    stages = tracker.getActiveStageIds()
    run.want(wish)
    thread.join(PATIENCE_S)
    assert set(ended[0].states.values()) == {left}
    assert list(tracker.getActiveJobsIds()) == []
    found = [tracker.getStageInfo(number) for number in stages]
    assert {stage.numActiveTasks for stage in found if stage is not None} == {0}
    assert [file for file in (trial.place / "out").rglob("*") if file.is_file()] == []


def test_new_files_of_a_watched_directory_are_read_once(trial: Trial) -> None:
    data = trial.place / "in"
    data.mkdir()
    (data / "1.json").write_text(json.dumps({"id": 1, "amount": 1, "day": "2020-01-01"}) + "\n")
    source = _read(
        "in", data, data_format="json", schema={"columns": _COLUMNS}, watch=True, poll_s=0.1
    )
    out = trial.place / "out"
    job = job_of([source], [files("out", "in_rows", out)], mode="unbounded")
    run = trial.prepared(job)
    thread = threading.Thread(target=run.run)
    thread.start()
    try:
        until(lambda: run.progress()["pipelines"][0]["published"] == 1)
        aside = data / ".2.json"
        aside.write_text(json.dumps({"id": 2, "amount": 1, "day": None}) + "\n")
        aside.rename(data / "2.json")
        until(lambda: run.progress()["pipelines"][0]["published"] == 2)
    finally:
        run.want(Wish.STOP)
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert sorted(row["id"] for row in trial.rows(out).collect()) == [1, 2]

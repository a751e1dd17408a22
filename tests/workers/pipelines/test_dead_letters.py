"""Bad rows beside the job: where each of them stands, and how many are too many."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conductor_py.pipelines.record import PipelineState
from conductor_workers.pipelines import faults
from tests.workers.pipelines.jobs import Job, Trial, files, job_of

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="pipelines")]

_SCHEMA = {
    "columns": [
        {"name": "id", "type": "bigint", "nullable": False},
        {"name": "amount", "type": "int"},
    ]
}


def _source(name: str, path: Path, data_format: str, **more: Any) -> Job:
    return {
        "id": name,
        "kind": "file",
        "output": f"{name}_rows",
        "paths": [str(path)],
        "format": data_format,
        "options": {"header": True} if data_format == "csv" else {},
        "schema": _SCHEMA,
        **more,
    }


def _with_letters(trial: Trial, sources: list[Job], **errors: Any) -> Job:
    return job_of(
        sources,
        [
            files(f"to_{each['id']}", each["output"], trial.place / f"out_{each['id']}")
            for each in sources
        ],
        env={"errors": {"bad_rows": "dead_letter", **errors}},
        dead_letter={"kind": "file", "format": "json", "path": str(trial.place / "dead")},
    )


def _lines(*numbers: int) -> str:
    """Rows of which those with a negative number have no amount that is a number."""
    return "".join(
        json.dumps({"id": abs(n), "amount": "many" if n < 0 else n}) + "\n" for n in numbers
    )


def test_a_dead_letter_says_where_its_row_stands(trial: Trial) -> None:
    whole = trial.place / "a b+c%" / "whole"
    whole.mkdir(parents=True)
    (whole / "1.csv").write_text("id,amount\n1,1\n\n2,two\n3,3\n4\n")
    (whole / "2.csv").write_text("id,amount\nx,1\n")
    (trial.place / "cut.csv").write_text("id,amount\n10,1\n11,1\n12,1,1,1\n13,x\n14,1\n15,y\n")
    (trial.place / "cut.jsonl").write_text(_lines(20, -21, 22) + "no row\n" + _lines(-23))
    with closing(sqlite3.connect(trial.place / "data.db")) as database, database:
        database.execute("CREATE TABLE t (id BIGINT, amount INT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(30, 1), (None, 31), (32, 1)])
    table = {
        "id": "table",
        "kind": "jdbc",
        "output": "table_rows",
        "url": f"sqlite:///{trial.place / 'data.db'}",
        "table": "t",
        "schema": _SCHEMA,
    }
    result = trial.run(
        _with_letters(
            trial,
            [
                _source("whole", whole / "*.csv", "csv"),
                _source(
                    "ranges", trial.place / "cut.csv", "csv", split={"by": "bytes", "size": 16}
                ),
                _source(
                    "lines", trial.place / "cut.jsonl", "json", split={"by": "bytes", "size": 26}
                ),
                table,
            ],
        )
    )
    assert result.finished, result.document
    letters = [row.asDict() for row in trial.rows(trial.place / "dead", "json").collect()]
    found = {
        (each["source"], each["ord"], each["row"], each["error_code"], each["message"])
        for each in letters
    }
    assert found == {
        ("whole", 0, 1, "WRONG_TYPE", "amount: two is no int"),
        ("whole", 0, 3, "UNREADABLE_ROW", "the row cannot be taken apart"),
        ("whole", 1, 0, "WRONG_TYPE", "id: x is no bigint"),
        ("ranges", 1, 0, "UNREADABLE_ROW", "the row cannot be taken apart"),
        ("ranges", 1, 1, "WRONG_TYPE", "amount: x is no int"),
        ("ranges", 2, 1, "WRONG_TYPE", "amount: y is no int"),
        ("lines", 0, 1, "WRONG_TYPE", "amount: many is no int"),
        ("lines", 3, 0, "UNREADABLE_ROW", "the row cannot be taken apart"),
        ("lines", 3, 1, "WRONG_TYPE", "amount: many is no int"),
        ("table", 0, 1, "MISSING_VALUE", "id: is missing"),
    }
    of_whole = [each for each in letters if each["source"] == "whole"]
    assert {json.loads(each["split"])["path"] for each in of_whole} == {
        str(whole / "1.csv"),
        str(whole / "2.csv"),
    }
    (one,) = (each for each in letters if each["source"] == "table")
    assert json.loads(one["raw"]) == {"amount": 31}
    assert (one["epoch"], one["time"][-1]) == (1, "Z")


@pytest.mark.parametrize(("allowed", "epochs"), [(2, 2), (3, 3), (4, 3)])
def test_limits_count_over_epochs_and_what_goes_beyond_is_not_seen(
    trial: Trial, allowed: int, epochs: int
) -> None:
    for part in range(3):
        (trial.place / f"{part}.jsonl").write_text(_lines(part * 10 + 1, -(part * 10 + 2)))
    job = _with_letters(trial, [_source("in", trial.place / "*.jsonl", "json")], max_rows=allowed)
    job["env"]["round"]["max_splits"] = 1
    result = trial.run(job)
    (state,) = result.states.values()
    assert state is (PipelineState.FINISHED if allowed >= 3 else PipelineState.FAILED)
    (pipeline,) = result.document["pipelines"]
    assert pipeline["epoch"] == epochs
    assert sorted(row["id"] for row in trial.rows(trial.place / "out_in").collect()) == [
        part * 10 + 1 for part in range(epochs)
    ]
    letters = trial.rows(trial.place / "dead", "json").collect()
    assert sorted(int(json.loads(row["raw"])["id"]) for row in letters) == [
        part * 10 + 2 for part in range(epochs)
    ]


@pytest.mark.parametrize(("share", "finished"), [(0.24, False), (0.25, True)])
def test_a_share_of_bad_rows_is_allowed_up_to_the_limit(
    trial: Trial, share: float, *, finished: bool
) -> None:
    (trial.place / "in.jsonl").write_text(_lines(1, -2, 3, 4))
    result = trial.run(
        _with_letters(trial, [_source("in", trial.place / "in.jsonl", "json")], max_ratio=share)
    )
    assert result.finished is finished, result.document
    assert bool(list((trial.place / "dead").glob("*.json"))) is finished


def test_a_bad_row_that_is_mended_while_it_is_looked_at_is_neither_lost_nor_a_letter(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = trial.place / "data.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE t (id BIGINT, amount INT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(30, 1), (None, 31), (32, 1)])
    table = {
        "id": "table",
        "kind": "jdbc",
        "output": "table_rows",
        "url": f"sqlite:///{database}",
        "table": "t",
        "schema": _SCHEMA,
    }

    def mend(point: str) -> None:
        if point == "F5":  # the rows are staged, and the bad ones not yet
            with closing(sqlite3.connect(database)) as connection, connection:
                connection.execute("UPDATE t SET id = 31 WHERE id IS NULL")

    monkeypatch.setattr(faults, "reach", mend)
    result = trial.run(_with_letters(trial, [table]))

    assert result.finished, list(result.failures)
    rows = trial.rows(trial.place / "out_table").orderBy("id").collect()
    assert [row["id"] for row in rows] == [30, 31, 32]
    assert not list((trial.place / "dead").glob("*.json"))

"""What a pipeline writes into a table is there to the last digit."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.workers.pipelines.jobs import Trial, files, generated, job_of

pytestmark = pytest.mark.spark

_LONG = "12345678901234567890123456789.01"


def test_decimals_of_many_digits_come_back_from_sqlite_as_they_were(trial: Trial) -> None:
    url = f"sqlite:///{trial.place / 'kept.db'}"
    table = {"id": "kept", "kind": "jdbc", "url": url, "table": "kept"}
    select = {"long": f"cast('{_LONG}' AS decimal(31,2))", "short": "cast(1.50 AS decimal(15,2))"}
    made = {"id": "made", "kind": "map", "output": "made_out", "select": select}
    sink = {**table, "input": "made_out", "create": True, "write": "upsert", "key": ["long"]}
    assert trial.run(job_of([generated("a", 1)], [sink], [made])).finished
    with closing(sqlite3.connect(trial.place / "kept.db")) as connection:
        assert connection.execute("SELECT long, short FROM kept").fetchall() == [(_LONG, 1.5)]
    read = job_of([{**table, "output": "rows"}], [files("out", "rows", trial.place / "out")])
    assert Trial(spark=trial.spark, place=trial.place / "again").run(read).finished
    rows = trial.rows(trial.place / "out")
    assert [str(row["long"]) for row in rows.collect()] == [_LONG]
    assert rows.schema["long"].dataType.simpleString() == "decimal(31,2)"

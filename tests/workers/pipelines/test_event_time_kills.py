"""Windows by event time whose workers die: inside a batch, and between decision and publication."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.workers.pipelines.chaos.oracle import disorder, mismatches
from tests.workers.pipelines.crews import Crew
from tests.workers.pipelines.jobs import Job, Trial, figures, files, generated, job_of

_ROWS = 720


def _job(place: Path) -> Job:
    minutes = {
        "id": "minutes",
        "kind": "aggregate",
        "inputs": {"i": "made_rows"},
        "output": "sums",
        "measures": {"n": "count(*)", "x": "sum(id)"},
        "time": "at",
        "window_s": 60,
    }
    table = {
        "id": "table",
        "kind": "jdbc",
        "input": "sums",
        "url": f"sqlite:///{place / 'table.db'}",
        "table": "sums",
        "create": True,
    }
    job = job_of(
        [generated("made", _ROWS, split=60)],
        [files("files", "sums", place / "files"), table],
        [minutes],
        mode="unbounded",
    )
    job["env"]["round"] = {"min_s": 0.01, "min_bytes": 1 << 20, "max_splits": 3}
    return job


@pytest.mark.spark
@pytest.mark.acceptance
@pytest.mark.thorough(target="pipelines")
@pytest.mark.timeout(800)
def test_no_window_is_lost_or_doubled_whatever_happens_to_the_worker(
    spark: SparkSession, tmp_path: Path
) -> None:
    truth = spark.range(_ROWS // 60).selectExpr(
        "timestamp_seconds(1577836800 + id * 60) AS window_start",
        "timestamp_seconds(1577836860 + id * 60) AS window_end",
        "60L AS n",
        "60 * 60 * id + 1770 AS x",
    )
    with Crew(tmp_path, _job(tmp_path)) as crew:
        for token, cores, fault in ((1, 3, "F14#4:kill"), (2, 1, "F8#2:kill")):
            first = crew.start(token, cores=cores, fault=fault)
            assert first.ended() < 0, first.said()
            assert crew.fault_happened(token), first.said()
        trial = Trial(spark=spark, place=tmp_path, keeper=crew.server.keeper)
        result = trial.run(crew.job, token=3)
        assert result.finished, result.document
        wrong = mismatches(
            spark,
            wanted={"files": figures(truth)},
            outputs={"files": (tmp_path / "files", "parquet")},
            place=tmp_path,
        )
        assert wrong + disorder(crew.server.keeper) == []
        with closing(sqlite3.connect(tmp_path / "table.db")) as connection:
            found = connection.execute("SELECT count(*), sum(n), sum(x) FROM sums").fetchall()
        assert found == [(_ROWS // 60, _ROWS, sum(range(_ROWS)))]
        tokens = {token for _, _, token, _ in crew.server.keeper.history}
        assert tokens == {1, 2, 3}

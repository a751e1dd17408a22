"""The Spark task types in one real local session."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.model.json import JsonObject
from conductor_workers.manifest import read_manifest
from conductor_workers.paths import ANYWHERE
from conductor_workers.pipelines.connectors import Epoch, Owner, SinkProblem
from conductor_workers.pipelines.sinks.file import FileSink
from conductor_workers.progress import monitored
from conductor_workers.tasks.outcome import Outcome, Status, settle
from conductor_workers.tasks.python import run_python
from conductor_workers.tasks.sql import run_sql
from tests.waiting import PATIENCE_S, until
from tests.workers.attempts import FakeAttempt, claim

pytestmark = [
    pytest.mark.spark,
    pytest.mark.thorough(target="stories"),
]

_SLOW = "SELECT max(hash(id)) FROM range(0, 9000000000000, 1, 4)"


@pytest.fixture
def people(tmp_path: Path) -> JsonObject:
    file = tmp_path / "people.csv"
    file.write_text('name,age\nAda,36\nGrace,85\n"Mary\nLee",NA\n')
    return {
        "format": "csv",
        "path": str(file),
        "options": {"header": True, "nullValue": "NA", "multiLine": True},
        "schema": "name string, age int",
    }


def _run(spark: SparkSession, attempt: FakeAttempt, *, any_sql: bool = False) -> Outcome | None:
    with monitored(spark.sparkContext, attempt):
        return settle(attempt, lambda: run_sql(spark, attempt, paths=ANYWHERE, any_sql=any_sql))


def _sql(spark: SparkSession, given: JsonObject, *, any_sql: bool = False) -> Outcome:
    outcome = _run(spark, FakeAttempt(given), any_sql=any_sql)
    assert outcome is not None
    return outcome


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_a_result_is_written_counted_and_measured(
    spark: SparkSession, people: JsonObject, tmp_path: Path, format: str
) -> None:
    target = tmp_path / "out" / format
    outcome = _sql(
        spark,
        {
            "inputs": {"people": people},
            "statements": [
                "CREATE TEMP VIEW adults AS SELECT name, age FROM people",
                "SELECT * FROM adults ORDER BY name",
            ],
            "output": {"path": str(target), "format": format, "coalesce": 1},
            "metrics": {
                "unknown_ages": "SELECT count_if(age IS NULL) FROM result",
                "mean": "SELECT avg(age) FROM people",
                "nothing": "SELECT age FROM people WHERE false",
            },
        },
    )
    assert outcome.status is Status.COMPLETED, outcome.reason
    output = outcome.output
    assert (output["rowCount"], output["files"], output["format"]) == (3, 1, format)
    assert output["metrics"] == {"unknown_ages": 1, "mean": 60.5, "nothing": None}
    assert "rows" not in output
    manifest = read_manifest(target)
    assert manifest is not None
    assert manifest.total_bytes == output["bytes"]
    assert manifest.claim == claim(1)
    assert spark.read.format(format).load(str(target)).count() >= 3


def test_rows_that_csv_cannot_hold_are_counted_all_the_same(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcome = _sql(
        spark,
        {
            "sql": "SELECT * FROM VALUES ('a'), (NULL), ('b') AS t(x)",
            "output": {"path": str(tmp_path / "out"), "format": "csv"},
        },
    )
    assert outcome.output["rowCount"] == 3


def test_collected_rows_keep_their_order_and_are_bounded(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcome = _sql(
        spark,
        {
            "sql": "SELECT id, DATE'2013-01-01' AS day, CAST(NULL AS int) AS none "
            "FROM range(0, 5000, 1, 4) ORDER BY id DESC",
            "collect": 2,
        },
    )
    assert outcome.output["rows"] == [
        {"id": 4999, "day": "2013-01-01", "none": None},
        {"id": 4998, "day": "2013-01-01", "none": None},
    ]
    assert outcome.output["rowCount"] == 5000
    wide = _sql(spark, {"sql": "SELECT repeat('x', 100000) AS x FROM range(10)", "collect": 10})
    assert len(wide.output["rows"]) == 2  # type: ignore[arg-type]
    assert wide.output["rowsTruncated"] is True


def test_an_empty_result_is_published_with_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    outcome = _sql(
        spark,
        {
            "sql": "SELECT id, 'x' AS x FROM range(10) WHERE id > 20",
            "output": {"path": str(tmp_path / "out"), "format": "parquet"},
        },
    )
    assert outcome.output["rowCount"] == 0
    assert spark.read.parquet(str(tmp_path / "out")).columns == ["id", "x"]


def test_partitioned_output_lists_its_files(spark: SparkSession, tmp_path: Path) -> None:
    outcome = _sql(
        spark,
        {
            "sql": "SELECT id, id % 3 AS rest FROM range(0, 9, 1, 1)",
            "output": {"path": str(tmp_path / "out"), "partitionBy": ["rest"]},
        },
    )
    assert (outcome.output["rowCount"], outcome.output["files"]) == (9, 3)
    manifest = read_manifest(tmp_path / "out")
    assert manifest is not None
    assert {file.path.split("/")[0] for file in manifest.files} == {"rest=0", "rest=1", "rest=2"}


def test_views_of_one_task_are_not_seen_by_the_next(
    spark: SparkSession, people: JsonObject
) -> None:
    _sql(spark, {"inputs": {"people": people}, "sql": "SELECT 1"})
    outcome = _sql(spark, {"sql": "SELECT * FROM people"}, any_sql=True)
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert "TABLE_OR_VIEW_NOT_FOUND" in outcome.reason
    assert "\n" not in outcome.reason


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sql": "SELEC 1"}, "PARSE_SYNTAX_ERROR"),
        ({"sql": "SELECT nope(1)"}, "$.sql: it calls nope, which is no function of Spark's"),
        ({"sql": "SELECT 1", "metrics": {"m": "SELECT x"}}, "$.metrics.m"),
        ({"sql": "SELECT 1", "metrics": {"m": "SELECT 1, 2"}}, "2 columns"),
        ({"sql": "SELECT 1", "unknown": 1}, "$.unknown"),
    ],
)
def test_what_can_never_work_fails_for_good(
    spark: SparkSession, given: JsonObject, told: str
) -> None:
    outcome = _sql(spark, given)
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert told in outcome.reason


def test_what_fails_in_an_executor_may_be_tried_again_and_publishes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    outcome = _sql(
        spark,
        {
            "sql": "SELECT assert_true(id < 5, 'disk on fire') FROM range(0, 10, 1, 1)",
            "output": {"path": str(tmp_path / "out")},
        },
    )
    assert outcome.status is Status.FAILED
    assert "disk on fire" in outcome.reason
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / ".out.conductor" / "staging").iterdir()) == []


def test_a_claim_that_moved_before_publishing_publishes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    attempt = FakeAttempt({"sql": "SELECT 1 AS a", "output": {"path": str(tmp_path / "out")}})
    attempt.supersede()
    outcome = _run(spark, attempt)
    assert attempt.confirmations == 1
    assert outcome is not None
    assert outcome.status is Status.FAILED
    assert not (tmp_path / "out").exists()


def test_a_repeat_of_the_same_claim_answers_what_was_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    given: JsonObject = {
        "sql": "SELECT uuid() AS u",
        "metrics": {"n": "SELECT count(*) FROM result"},
        "output": {"path": str(tmp_path / "out"), "format": "json", "mode": "overwrite"},
    }
    first = _sql(spark, given)
    content = sorted((tmp_path / "out").iterdir())
    again = _sql(spark, given)
    assert sorted((tmp_path / "out").iterdir()) == content
    assert again.output["repeated"] is True
    assert again.output["metrics"] == first.output["metrics"] == {"n": 1}


def test_who_takes_a_task_whose_worker_was_killed_after_publishing_reports_what_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    given: JsonObject = {
        "sql": "SELECT uuid() AS a",
        "output": {"path": str(tmp_path / "out"), "format": "json", "mode": "overwrite"},
    }
    first = _run(spark, FakeAttempt(given, claim(1)))
    [file] = (tmp_path / "out").glob("part-*")
    before = file.read_text()
    taken_over = _run(spark, FakeAttempt(given, claim(2)))
    assert first is not None
    assert taken_over is not None
    assert taken_over.output["repeated"] is True
    assert taken_over.output["rowCount"] == first.output["rowCount"] == 1
    assert file.read_text() == before
    retried = _run(spark, FakeAttempt(given, claim(3, task="task-2")))
    assert retried is not None
    assert "repeated" not in retried.output


def test_output_of_a_pipeline_is_read_by_its_manifests(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "a place"  # with a space
    sink = FileSink(name="out", root=root, options={}, visibility="manifest")
    epochs = [
        Epoch(owner=Owner(task="e/load"), pipeline="p", sink="out", number=number, token=5)
        for number in (1, 2)
    ]
    staged = [sink.stage(spark.range(5), epoch) for epoch in epochs]
    sink.publish(staged[0], epochs[0], "hash")
    given: JsonObject = {
        "inputs": {"numbers": {"format": "parquet", "path": str(root)}},
        "sql": "SELECT id FROM numbers",
        "output": {"path": str(tmp_path / "an output")},
    }
    assert _sql(spark, given).output["rowCount"] == 5
    outcome = _sql(spark, {**given, "output": {"path": str(root), "mode": "overwrite"}})
    assert "belongs to data pipelines" in outcome.reason
    replaced = FileSink(name="out", root=tmp_path / "an output", options={})
    with pytest.raises(SinkProblem, match="SPARK_SQL"):
        replaced.stage(spark.range(5), epochs[0])


def test_a_cancelled_attempt_stops_its_jobs_and_reports_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    attempt = FakeAttempt({"sql": _SLOW, "output": {"path": str(tmp_path / "out")}})
    outcomes: list[Outcome | None] = []
    runner = threading.Thread(target=lambda: outcomes.append(_run(spark, attempt)))
    runner.start()
    tracker = spark.sparkContext.statusTracker()
    group = attempt.claim.name
    until(lambda: tracker.getActiveJobsIds() and tracker.getJobIdsForGroup(group))
    until(lambda: any(p["tasks"]["active"] for p in attempt.progress))  # type: ignore[index,call-overload]
    attempt.cancelled.set()
    runner.join(PATIENCE_S)
    assert outcomes == [None]
    until(lambda: not tracker.getActiveJobsIds())
    assert not (tmp_path / "out").exists()


def test_cancelling_one_attempt_leaves_another_alone(spark: SparkSession) -> None:
    slow = FakeAttempt({"sql": _SLOW, "collect": 1}, claim(1, task="slow"))
    runner = threading.Thread(target=_run, args=(spark, slow))
    runner.start()
    tracker = spark.sparkContext.statusTracker()
    until(lambda: tracker.getJobIdsForGroup("slow-1"))
    other = FakeAttempt({"sql": _SLOW, "collect": 1}, claim(1, task="other"))
    other.cancelled.set()
    until(lambda: any(p["tasks"]["active"] for p in slow.progress))  # type: ignore[index,call-overload]
    assert _run(spark, other) is None
    assert runner.is_alive()
    assert tracker.getActiveJobsIds()
    slow.cancelled.set()
    runner.join(PATIENCE_S)
    assert not runner.is_alive()


def test_progress_counts_stages_and_tasks_of_the_group_only(spark: SparkSession) -> None:
    from conductor_workers.progress import group_progress

    context = spark.sparkContext
    spark.range(0, 100, 1, 3).repartition(2).count()
    with monitored(context, FakeAttempt({}, claim(9, task="counted"))) as group:
        spark.range(0, 100, 1, 3).count()

    def progress_of() -> Any:
        return json.loads(json.dumps(group_progress(context, group, elapsed_ms=1)))

    def is_told() -> bool:
        """Spark tells its trackers of what has ended after the caller."""
        progress = progress_of()
        return progress["tasks"]["done"] == 4 and not progress["jobs"]["active"]

    until(is_told, what="both jobs have ended")
    progress = progress_of()
    assert progress["jobGroup"] == "counted-9"
    assert progress["jobs"] == {"total": 2, "active": 0}
    assert progress["tasks"] == {"total": 4, "done": 4, "active": 0, "failed": 0}
    assert progress["stages"] == {"total": 2, "completed": 2, "active": 0}


@pytest.fixture
def call(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[JsonObject], Outcome]:
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("modules")))

    def run(given: JsonObject) -> Outcome:
        attempt = FakeAttempt(given)
        outcome = settle(
            attempt, lambda: run_python(spark, attempt, ("spark_samples",), paths=ANYWHERE)
        )
        assert outcome is not None
        return outcome

    return run


def test_a_module_that_is_allowed_may_run_any_sql(
    call: Callable[[JsonObject], Outcome], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    path = str(tmp_path / "a.txt")
    outcome = call({"function": "spark_samples:lines", "arguments": {"path": path}})
    assert outcome.output["lines"] == ["one", "two"], outcome.reason


def test_values_that_csv_must_quote_come_back_as_they_were(
    spark: SparkSession, tmp_path: Path
) -> None:
    odd = ['say "x"', "a,b", "back\\slash", '"', " wide ", 'end\\"']
    listed = ", ".join(f"r'{text}'" for text in odd)
    place: JsonObject = {"path": str(tmp_path / "out"), "format": "csv"}
    place = {**place, "options": {"header": True}}
    query = f"SELECT posexplode(array({listed})) AS (n, text)"
    written = _sql(spark, {"sql": query, "output": place})
    assert written.status is Status.COMPLETED, written.reason
    source: JsonObject = {**place, "schema": "n int, text string"}
    read = _sql(spark, {"inputs": {"i": source}, "sql": "SELECT * FROM i ORDER BY n", "collect": 9})
    rows: Any = read.output["rows"]
    assert [row["text"] for row in rows] == odd


def test_a_function_that_returns_a_frame_has_it_written(
    call: Callable[[JsonObject], Outcome], tmp_path: Path
) -> None:
    outcome = call(
        {
            "function": "spark_samples:numbers",
            "arguments": {"count": 7},
            "output": {"path": str(tmp_path / "out"), "format": "csv"},
        }
    )
    assert (outcome.status, outcome.output["rowCount"]) == (Status.COMPLETED, 7)


def test_a_mapping_becomes_the_output_and_none_an_empty_one(
    call: Callable[[JsonObject], Outcome],
) -> None:
    total = call({"function": "spark_samples:total", "arguments": {"count": 5}})
    assert total.output["total"] == 10
    assert set(call({"function": "spark_samples:nothing"}).output) == {"durationMs"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"function": "spark_samples:missing"}, "no function missing"),
        ({"function": "spark_samples.absent:f"}, "cannot be imported"),
        ({"function": "spark_samples:numbers", "arguments": {"count": 1}}, "no 'output'"),
        ({"function": "spark_samples:unspeakable"}, "not JSON"),
        (
            {"function": "spark_samples:nothing", "output": {"path": "/nonexistent/x"}},
            "",
        ),
    ],
)
def test_a_function_that_can_never_work_fails_for_good(
    call: Callable[[JsonObject], Outcome], given: JsonObject, told: str, tmp_path: Path
) -> None:
    if "output" in given:
        given = {**given, "output": {"path": str(tmp_path / "out")}}
        told = "no frame"
    outcome = call(given)
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert told in outcome.reason

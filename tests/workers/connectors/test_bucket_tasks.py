"""SPARK_SQL and SPARK_PYTHON whose inputs and outputs lie in a bucket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.model.json import JsonObject
from conductor_workers.manifest import visible_files
from conductor_workers.paths import ANYWHERE
from conductor_workers.tasks.outcome import Outcome, Status, settle
from conductor_workers.tasks.python import run_python
from conductor_workers.tasks.sql import run_sql
from tests.services.buckets import S3Bucket
from tests.workers.attempts import FakeAttempt, claim
from tests.workers.connectors.test_bucket import storage_of
from tests.workers.pipelines.jobs import Trial, files, job_of

pytestmark = pytest.mark.spark

#: What a worker's environment says, and that of its tasks.
_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_NUMBERS = "SELECT id, concat('row \"', id, '\"') AS text FROM range(100)"


@pytest.fixture
def known_bucket(
    known_bucket: S3Bucket, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> S3Bucket:
    """The session of the tests is older than the bucket: its tasks are told."""
    for name in _ENVIRONMENT:
        monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    return known_bucket


def _settled(spark: SparkSession, attempt: FakeAttempt) -> Outcome:
    outcome = settle(attempt, lambda: run_sql(spark, attempt, paths=ANYWHERE))
    assert outcome is not None
    return outcome


def _done(
    spark: SparkSession, given: JsonObject, token: int = 1, task: str = "task-1"
) -> JsonObject:
    outcome = _settled(spark, FakeAttempt(given, claim(token, task=task)))
    assert outcome.status is Status.COMPLETED, outcome.reason
    return outcome.output


def _rows(spark: SparkSession, given: JsonObject) -> list[Any]:
    rows: Any = _done(spark, {**given, "collect": 100})["rows"]
    return list(rows)


def _made(
    spark: SparkSession, bucket: S3Bucket, form: str = "parquet", **more: object
) -> JsonObject:
    output = {"path": f"s3://{bucket.name}/lake/numbers", "format": form, **more}
    return _done(spark, {"sql": _NUMBERS, "output": output})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "form",
    [
        "parquet",
        *(
            pytest.param(each, marks=pytest.mark.thorough(target="pipelines"))
            for each in ("csv", "json", "orc")
        ),
    ],
)
def test_what_one_task_wrote_another_reads(
    spark: SparkSession, known_bucket: S3Bucket, form: str
) -> None:
    options = {"header": True} if form == "csv" else {}
    output = _made(spark, known_bucket, form, options=options)
    assert (output["rowCount"], output["path"]) == (100, f"s3://{known_bucket.name}/lake/numbers")
    assert output["files"] == len(visible_files(storage_of(known_bucket, "lake/numbers")))
    numbers: JsonObject = {
        "format": form,
        "path": str(output["path"]),
        "options": options,
        "schema": "id bigint, text string",
    }
    found = _done(
        spark,
        {
            "inputs": {"numbers": numbers},
            "sql": "SELECT * FROM numbers ORDER BY id",
            "collect": 100,
            "metrics": {"sum": "SELECT sum(id) FROM numbers"},
        },
    )
    assert found["rows"] == [{"id": n, "text": f'row "{n}"'} for n in range(100)]
    assert found["metrics"] == {"sum": 4950}


@pytest.mark.thorough(target="pipelines")
def test_columns_are_those_of_the_objects_when_none_are_named(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    path = str(_made(spark, known_bucket, "csv", options={"header": True})["path"])
    numbers: JsonObject = {"format": "csv", "path": path, "options": {"header": True}}
    found = _done(spark, {"inputs": {"i": numbers}, "sql": "SELECT * FROM i", "collect": 1})
    assert found["schema"] == "id string, text string"


@pytest.mark.thorough(target="pipelines")
def test_a_result_without_rows_has_its_columns(spark: SparkSession, known_bucket: S3Bucket) -> None:
    path = f"s3://{known_bucket.name}/lake/nothing"
    none = "SELECT id, 'a' AS text FROM range(4) WHERE id > 9"
    assert _done(spark, {"sql": none, "output": {"path": path}})["files"] == 0
    empty: JsonObject = {
        "inputs": {"i": {"format": "parquet", "path": path}},
        "sql": "SELECT * FROM i",
    }
    found = _done(spark, empty)
    assert (found["rowCount"], found["schema"]) == (0, "id bigint, text string")


def test_a_result_replaces_the_one_before_and_a_repeat_does_nothing(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    output = {"path": f"s3://{known_bucket.name}/lake/few", "mode": "overwrite"}
    storage = storage_of(known_bucket, "lake/few")
    _done(spark, {"sql": "SELECT 1 AS a", "output": output})
    before = visible_files(storage)
    assert _done(spark, {"sql": "SELECT 2 AS a", "output": output}, 2)["repeated"] is True
    assert visible_files(storage) == before
    _done(spark, {"sql": "SELECT 3 AS a", "output": output}, 3, "task-2")
    assert storage.names("data") == visible_files(storage) != before


@pytest.mark.thorough(target="pipelines")
def test_a_pipeline_reads_what_counts_of_a_tasks_output(
    spark: SparkSession, known_bucket: S3Bucket, trial: Trial
) -> None:
    path = str(_made(spark, known_bucket)["path"])
    storage_of(known_bucket, "lake/numbers").create("data/part-left.parquet", b"of a dead attempt")
    source = {
        "id": "in",
        "kind": "file",
        "output": "rows",
        "format": "parquet",
        "paths": [f"{path}/"],
    }
    result = trial.run(job_of([source], [files("out", "rows", trial.place / "out")]))
    assert result.finished, list(result.failures)
    assert trial.rows(trial.place / "out").count() == 100


@pytest.mark.thorough(target="pipelines")
def test_a_frame_of_a_function_goes_into_folders_by_its_values(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    attempt = FakeAttempt(
        {
            "function": "tests.workers.modules.spark_samples:parities",
            "output": {
                "path": f"s3://{known_bucket.name}/lake/parts",
                "partitionBy": ["parity"],
                "coalesce": 1,
            },
        }
    )
    outcome = settle(
        attempt, lambda: run_python(spark, attempt, ("tests.workers.modules",), paths=ANYWHERE)
    )
    assert outcome is not None
    assert outcome.status is Status.COMPLETED, outcome.reason
    folders = {name.split("/")[1] for name in visible_files(storage_of(known_bucket, "lake/parts"))}
    assert folders == {"parity=even", "parity=odd"}


def test_what_is_lost_on_the_way_leaves_nothing_behind(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    output = {"path": f"s3://{known_bucket.name}/lake/none"}
    attempt = FakeAttempt({"sql": _NUMBERS, "output": output})
    attempt.supersede()
    assert _settled(spark, attempt).status is Status.FAILED
    storage = storage_of(known_bucket, "lake/none")
    assert storage.names("data") == ()
    assert storage.begun("") == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"output": {"path": "s3://lake"}}, "$.output.path: s3://lake must name a bucket and"),
        ({"output": {"path": "s3://lake/out-*"}}, "$.output.path: s3://lake/out-* must name"),
        ({"output": {"path": "s3://me:secret@lake/out"}}, "$.output.path: An address of a bucket"),
        (
            {"output": {"path": "s3://lake/out", "options": {"compression": "gzip"}}},
            "$.output.options.compression: is heeded on disks only",
        ),
        (
            {"inputs": {"i": {"format": "csv", "path": "s3://me:secret@lake/in"}}},
            "$.inputs.i.path: An address of a bucket",
        ),
        ({"output": {"path": "gs://lake/out"}}, "$.output.path: gs://lake/out is not a local path"),
        (
            {
                "inputs": {
                    "i": {"format": "csv", "path": "s3://lake/in", "options": {"multiLine": True}}
                }
            },
            "$.inputs.i.options.multiLine",
        ),
    ],
)
def test_addresses_and_options_that_cannot_be_are_refused(
    spark: SparkSession, given: JsonObject, reason: str
) -> None:
    outcome = _settled(spark, FakeAttempt({"sql": "SELECT 1 AS a", **given}))
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert reason in outcome.reason
    assert "secret" not in outcome.reason


@pytest.mark.thorough(target="pipelines")
def test_values_are_read_as_spark_reads_them_from_a_disk(
    spark: SparkSession, known_bucket: S3Bucket, tmp_path: Path
) -> None:
    csv = "at,day,n,yes\n2024-01-01 10:00:00,2024-01-02,1,true\n,,x,\n"
    made = '{"who": {"name": "Ada"}, "tags": ["a", "b"], "n": 1}\n{"who": null, "n": "x"}\n'
    schemas = {
        "csv": "at timestamp, day date, n int, yes boolean",
        "json": "who struct<name: string>, tags array<string>, n int",
    }
    for form, text in (("csv", csv), ("json", made)):
        storage_of(known_bucket, "in").create(f"a.{form}", text.encode())
        (tmp_path / f"a.{form}").write_text(text)
        found = [
            _done(
                spark,
                {
                    "inputs": {
                        "i": {
                            "format": form,
                            "path": f"{place}/a.{form}",
                            "schema": schemas[form],
                            "options": {"header": True} if form == "csv" else {},
                        }
                    },
                    "sql": "SELECT * FROM i",
                    "collect": 10,
                },
            )["rows"]
            for place in (f"s3://{known_bucket.name}/in", str(tmp_path))
        ]
        assert found[0] == found[1]


@pytest.mark.thorough(target="pipelines")
def test_a_row_that_cannot_be_taken_apart_fails_the_task_with_the_row(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    storage_of(known_bucket, "in").create("a.csv", b"a,b\n1,2\n3\n")
    path = f"s3://{known_bucket.name}/in/a.csv"
    given: JsonObject = {"format": "csv", "path": path, "options": {"header": True}}
    outcome = _settled(
        spark, FakeAttempt({"inputs": {"i": given}, "sql": "SELECT count(*) AS n FROM i"})
    )
    assert outcome.status is Status.FAILED
    assert "the row cannot be taken apart" in outcome.reason


@pytest.mark.thorough(target="pipelines")
def test_keys_may_have_any_character_and_steps_above_an_input_mean_nothing(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    def read(key: str) -> object:
        path = f"s3://{known_bucket.name}/{key}"
        given: JsonObject = {"format": "csv", "path": path, "options": {"header": True}}
        sql = "SELECT n FROM i ORDER BY n"
        return [row["n"] for row in _rows(spark, {"inputs": {"i": given}, "sql": sql})]

    storage = storage_of(known_bucket)
    for key, number in (
        ("env=prod/year1.csv", 1),
        ("env=prod/year2.csv", 2),
        ("env=prod/year/3.csv", 3),
        ("env=prod/year#4.csv", 4),
    ):
        storage.create(key, f"n\n{number}\n".encode())
    assert read("env=prod/year?.csv") == ["1", "2"]
    assert read("env=prod/year#4.csv") == ["4"]
    assert read("env=prod/year") == ["3"]
    assert read("env=prod/") == ["1", "2", "3", "4"]


@pytest.mark.thorough(target="pipelines")
def test_folders_of_partitions_are_written_by_any_case_and_read_by_pipelines_only(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    path = f"s3://{known_bucket.name}/lake/days"
    output: JsonObject = {"path": path, "partitionBy": ["DAY"]}
    _done(spark, {"sql": "SELECT 1 AS n, 'Mo' AS day", "output": output})
    assert "day=Mo" in visible_files(storage_of(known_bucket, "lake/days"))[0]
    missing: JsonObject = {"path": f"{path}-2", "partitionBy": ["month"]}
    refused = _settled(spark, FakeAttempt({"sql": "SELECT 1 AS n", "output": missing}))
    assert refused.status is Status.FAILED_WITH_TERMINAL_ERROR
    given: JsonObject = {"inputs": {"i": {"format": "parquet", "path": path}}, "sql": "SELECT 1"}
    refused = _settled(spark, FakeAttempt(given))
    assert refused.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert "has folders of partitions" in refused.reason


def test_a_bucket_that_is_not_there_is_worth_another_try(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    for given in (
        {"inputs": {"i": {"format": "csv", "path": "s3://no-such-bucket/in"}}},
        {"output": {"path": "s3://no-such-bucket/out"}},
    ):
        outcome = _settled(spark, FakeAttempt({"sql": "SELECT 1 AS a", **given}))
        assert outcome.status is Status.FAILED
        assert "no-such-bucket" in outcome.reason


@pytest.mark.thorough(target="pipelines")
@pytest.mark.parametrize(
    ("sql", "folders", "why"),
    [
        ("SELECT 1 AS a UNION ALL SELECT 2", ["a"], "all columns become folders"),
        ("SELECT 1 AS n, 'Mo' AS day", ["day", "DAY"], "named twice"),
        ("SELECT 1 AS n, array(1) AS day", ["day"], "cannot become folders: it is array<int>"),
        ("SELECT NULL AS x", [], "x holds void"),
        ("SELECT 1 AS `a``b`", [], "has a backtick"),
        ("SELECT array(INTERVAL '1' DAY) AS x", [], "x holds interval day"),
        ("SELECT named_struct('v', parse_json('{}')) AS x", [], "x holds variant"),
    ],
)
def test_rows_that_objects_cannot_hold_are_refused_and_replace_nothing(
    spark: SparkSession, known_bucket: S3Bucket, sql: str, folders: list[str], why: str
) -> None:
    before = _made(spark, known_bucket)
    output = {"path": str(before["path"]), "partitionBy": folders, "mode": "overwrite"}
    outcome = _settled(spark, FakeAttempt({"sql": sql, "output": output}, claim(2, task="task-2")))
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert why in outcome.reason
    storage = storage_of(known_bucket, "lake/numbers")
    assert len(visible_files(storage)) == before["files"]
    assert storage.begun("") == ()


@pytest.mark.thorough(target="pipelines")
@pytest.mark.parametrize("name", ["aé", "a b", "_folder", "select"])
@pytest.mark.parametrize("rows", [0, 1])
def test_columns_may_have_any_name(
    spark: SparkSession, known_bucket: S3Bucket, name: str, rows: int
) -> None:
    path = f"s3://{known_bucket.name}/lake/out"
    made = f"SELECT 1 AS `{name}`, named_struct('{name}', 2) AS s FROM range({rows})"
    _done(spark, {"sql": made, "output": {"path": path}})
    source: JsonObject = {"i": {"format": "parquet", "path": path}}
    found = _done(spark, {"inputs": source, "sql": "SELECT * FROM i", "collect": 2})
    assert found["rows"] == [{name: 1, "s": {name: 2}}] * rows


@pytest.mark.thorough(target="pipelines")
def test_values_of_folders_are_written_as_on_disks(
    spark: SparkSession, known_bucket: S3Bucket, tmp_path: Path
) -> None:
    values = "VALUES (1, ''), (2, NULL), (3, 'a b/c=%') AS t(n, day)"
    for path in (str(tmp_path / "out"), f"s3://{known_bucket.name}/lake/out"):
        given = {"path": path, "partitionBy": ["day"]}
        _done(spark, {"sql": f"SELECT * FROM {values}", "output": given})
    on_disk = {each.parent.name for each in (tmp_path / "out").rglob("part-*")}
    in_bucket = visible_files(storage_of(known_bucket, "lake/out"))
    assert {name.split("/")[-2] for name in in_bucket} == on_disk


@pytest.mark.thorough(target="pipelines")
def test_what_tasks_have_uploaded_goes_when_one_of_them_fails(
    spark: SparkSession, known_bucket: S3Bucket
) -> None:
    odd = "IF(id = 39, CAST(raise_error('no') AS bigint), id)"
    sql = f"SELECT id, {odd} AS odd FROM range(0, 40, 1, 4)"
    output = {"path": f"s3://{known_bucket.name}/lake/out"}
    outcome = _settled(spark, FakeAttempt({"sql": sql, "output": output}))
    assert outcome.status is Status.FAILED
    assert storage_of(known_bucket, "lake/out").begun("") == ()


@pytest.mark.thorough(target="pipelines")
def test_marks_of_folders_are_no_data(spark: SparkSession, known_bucket: S3Bucket) -> None:
    storage = storage_of(known_bucket, "")
    storage._client.put_object(Bucket=known_bucket.name, Key="in/", Body=b"")
    storage.create("in/a.csv", b"n\n1\n")
    source = {
        "format": "csv",
        "path": f"s3://{known_bucket.name}/in",
        "options": {"header": "TRUE"},
    }
    assert _rows(spark, {"inputs": {"i": source}, "sql": "SELECT * FROM i"}) == [{"n": "1"}]  # type: ignore[dict-item]

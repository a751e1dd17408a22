"""What a Spark task's input may say, and how a mistake in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conductor_py.errors import InvalidInput
from conductor_py.model.json import JsonValue
from conductor_workers.attempt import claim_of
from conductor_workers.launcher import main
from conductor_workers.tasks.outcome import shortened
from conductor_workers.tasks.python import read_python_spec
from conductor_workers.tasks.sql import read_sql_spec

_SOURCE: dict[str, JsonValue] = {
    "format": "csv",
    "path": "/data/a.csv",
    "options": {"header": True},
}


def _violation(caught: pytest.ExceptionInfo[InvalidInput]) -> str:
    [violation] = caught.value.violations
    return violation.path


def test_a_whole_sql_input_is_read() -> None:
    spec = read_sql_spec(
        {
            "inputs": {"a": {**_SOURCE, "schema": "x int"}},
            "statements": ["CREATE TEMP VIEW b AS SELECT * FROM a", "SELECT * FROM b"],
            "output": {
                "path": "file:///data/out",
                "format": "csv",
                "mode": "overwrite",
                "partitionBy": ["day"],
                "coalesce": 1,
                "options": {"header": True},
            },
            "collect": 10,
            "metrics": {"n": "SELECT count(*) FROM result"},
        }
    )
    blanks = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
    assert spec.inputs[0].options == {"header": "true", "escape": '"', **blanks}
    assert spec.output is not None
    assert spec.output.place == Path("/data/out")
    assert (spec.output.overwrite, spec.output.coalesce, spec.collect) == (True, 1, 10)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "$.sql"),
        ({"sql": "SELECT 1", "statements": ["SELECT 1"]}, "$.sql"),
        ({"sql": ""}, "$.sql"),
        ({"sql": 1}, "$.sql"),
        ({"sql": "SELECT 1", "limit": 3}, "$.limit"),
        ({"statements": ["SELECT 1", 2]}, "$.statements[1]"),
        ({"sql": "SELECT 1", "inputs": []}, "$.inputs"),
        ({"sql": "SELECT 1", "inputs": {"a": {"format": "csv"}}}, "$.inputs.a.path"),
        ({"sql": "SELECT 1", "inputs": {"a": {**_SOURCE, "format": "xls"}}}, "$.inputs.a.format"),
        ({"sql": "SELECT 1", "inputs": {"a": {**_SOURCE, "paht": "/x"}}}, "$.inputs.a.paht"),
        (
            {"sql": "SELECT 1", "inputs": {"a": {**_SOURCE, "options": {"sep": []}}}},
            "$.inputs.a.options.sep",
        ),
        ({"sql": "SELECT 1", "inputs": {"result": _SOURCE}}, "$.inputs.result"),
        ({"sql": "SELECT 1", "inputs": {"a-b": _SOURCE}}, "$.inputs.a-b"),
        ({"sql": "SELECT 1", "collect": 1001}, "$.collect"),
        ({"sql": "SELECT 1", "collect": True}, "$.collect"),
        ({"sql": "SELECT 1", "output": {"format": "csv"}}, "$.output.path"),
        ({"sql": "SELECT 1", "output": {"path": "s3a://b/"}}, "$.output.path"),
        ({"sql": "SELECT 1", "output": {"path": "/a/b", "mode": "append"}}, "$.output.mode"),
        ({"sql": "SELECT 1", "output": {"path": "/a/b", "coalesce": 0}}, "$.output.coalesce"),
        (
            {"sql": "SELECT 1", "output": {"path": "/a/b", "partitionBy": "x"}},
            "$.output.partitionBy",
        ),
    ],
)
def test_a_malformed_sql_input_is_told_by_its_path(given: dict[str, object], path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_sql_spec(given)  # type: ignore[arg-type]  # malformed on purpose
    assert _violation(caught) == path


def test_a_python_function_is_called_only_below_an_allowed_prefix() -> None:
    spec = read_python_spec({"function": "jobs.sales:by_region"}, ("jobs",))
    assert (spec.module, spec.name, spec.arguments) == ("jobs.sales", "by_region", {})
    with pytest.raises(InvalidInput, match="not allowed"):
        read_python_spec({"function": "jobsabotage.x:f"}, ("jobs",))
    with pytest.raises(InvalidInput, match="not allowed"):
        read_python_spec({"function": "os:getcwd"}, ())


@pytest.mark.parametrize(
    "function", ["jobs.sales", "jobs.sales:", "jobs:a.b", "jobs:_private", "jobs;x:f", "jobs:f()"]
)
def test_what_is_no_function_name_is_refused(function: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_python_spec({"function": function}, ("jobs",))
    assert _violation(caught) == "$.function"


def test_the_claim_is_read_from_the_polled_task() -> None:
    held = claim_of(
        {
            "taskId": "e1-7",
            "claimToken": 1700000000123,
            "workflowInstanceId": "e1",
            "referenceTaskName": "load__2",
        }
    )
    assert (held.token, held.owner, held.name) == (
        1700000000123,
        "e1/load__2",
        "e1-7-1700000000123",
    )


def test_a_task_id_that_is_no_file_name_is_replaced_by_its_digest() -> None:
    held = claim_of({"taskId": "../../etc", "claimToken": 3})
    assert "/" not in held.name
    assert held.name.endswith("-3")


def test_sparks_sentence_is_kept_and_its_plan_is_not() -> None:
    told = (
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found. SQLSTATE: 42P01; "
        "line 1 pos 14;\n'Project [*]\n+- 'UnresolvedRelation [x]"
    )
    assert shortened(told) == "[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found."
    assert len(shortened("x" * 5000)) == 500


def test_unknown_task_types_end_the_worker_with_a_sentence_and_exit_code_2() -> None:
    ended = CliRunner().invoke(main, ["--server", "http://x/api", "--task-types", "SPARK_X"])
    assert ended.exit_code == 2
    assert "SPARK_SQL" in ended.stderr


def test_no_java_ends_the_worker_with_one_sentence_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_workers.java._packaged_home", lambda: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = CliRunner().invoke(main, ["--server", "http://x/api", "--work-dir", str(tmp_path)])
    assert ended.exit_code == 2
    assert ended.stderr.count("\n") == 1
    assert "Java 17" in ended.stderr

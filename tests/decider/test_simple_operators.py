"""NOOP, HUMAN, LAMBDA and JSON_JQ_TRANSFORM: tasks without a place for other tasks."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import pass_time, report, simple, status_of, task_of, times, typed, workflow

Json = dict[str, Any]


def jq(ref: str, program: Any, **inputs: Any) -> Json:
    parameters = {"queryExpression": program, **inputs}
    return typed("JSON_JQ_TRANSFORM", ref, inputParameters=parameters)


def function(ref: str, body: Any, **inputs: Any) -> Json:
    return typed("LAMBDA", ref, inputParameters={"scriptExpression": body, **inputs})


# -- NOOP ------------------------------------------------------------------------------------------


def test_noop_is_done_at_once_without_input_or_output(engine: MemoryEngine) -> None:
    noop = typed("NOOP", "n", inputParameters={"a": "${workflow.input.x}"})
    started = engine.start(workflow("w", noop, simple("z")))
    task = task_of(engine, started, "n")
    assert (task["status"], task["inputData"], task["outputData"]) == ("COMPLETED", {}, {})
    assert engine.statuses(started)["z"] == "SCHEDULED"


# -- HUMAN -----------------------------------------------------------------------------------------


def test_human_waits_until_somebody_reports_on_it(engine: MemoryEngine) -> None:
    form = {"assignmentCompletionStrategy": "LEAVE_OPEN", "displayName": "${workflow.input.title}"}
    human = typed("HUMAN", "h", inputParameters={"__humanTaskDefinition": form, "n": 1})
    started = engine.start(workflow("w", human, simple("z")), input={"title": "Approve"})
    pass_time(engine, seconds=1_000_000)
    task = task_of(engine, started, "h")
    assert task["status"] == "IN_PROGRESS"
    assert task["inputData"] == {
        "__humanTaskDefinition": {**form, "displayName": "Approve"},
        "n": 1,
    }
    report(engine, task, output={"approved": True})
    assert engine.statuses(started) == {"h": "COMPLETED", "z": "SCHEDULED"}
    assert task_of(engine, started, "h")["outputData"] == {"approved": True}


@pytest.mark.anomaly("A-55")
def test_human_that_is_reported_in_progress_stays_open(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    report(engine, task_of(engine, started, "h"), status="IN_PROGRESS", output={"seen": 1})
    pass_time(engine, seconds=100)
    task = task_of(engine, started, "h")
    assert (task["status"], task["outputData"]) == ("IN_PROGRESS", {"seen": 1})
    report(engine, task)
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-30")
def test_human_times_out_by_its_task_definition(engine: MemoryEngine) -> None:
    definition = {"name": "h", "timeoutSeconds": 60, "timeoutPolicy": "RETRY", "retryCount": 1}
    definition |= {"retryDelaySeconds": 5}
    started = engine.start(workflow("w", typed("HUMAN", "h", taskDefinition=definition)))
    pass_time(engine, seconds=60)
    pass_time(engine, seconds=5)
    assert [t["status"] for t in engine.workflow(started)["tasks"]] == ["TIMED_OUT", "IN_PROGRESS"]
    report(engine, task_of(engine, started, "h"))
    assert status_of(engine, started) == "COMPLETED"


def test_human_in_a_loop_is_asked_in_each_iteration(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, typed("HUMAN", "h"))))
    report(engine, task_of(engine, started, "h__1"))
    report(engine, task_of(engine, started, "h__2"))
    assert status_of(engine, started) == "COMPLETED"


# -- LAMBDA ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("return $.n + 1;", 2),
        ("if ($.n == 1) { return {a: true} } else { return {a: false} }", {"a": True}),
        ("return [1, null] // done", [1, None]),
        ("var x = $.n;", None),
    ],
)
def test_lambda_is_the_body_of_a_function(engine: MemoryEngine, body: str, result: Any) -> None:
    started = engine.start(workflow("w", function("f", body, n=1)))
    assert task_of(engine, started, "f")["outputData"] == {"result": result}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("body", ["return $.a.b.c;", "return }", "", None, 7])
def test_lambda_that_cannot_run_fails(engine: MemoryEngine, body: Any) -> None:
    started = engine.start(workflow("w", function("f", body)))
    task = task_of(engine, started, "f")
    assert task["status"] == "FAILED"
    assert task["outputData"]["error"] == task["reasonForIncompletion"]
    assert status_of(engine, started) == "FAILED"


def test_lambda_is_tried_again_as_its_definition_says(engine: MemoryEngine) -> None:
    definition = {"name": "f", "retryCount": 1, "retryDelaySeconds": 3}
    script = {**function("f", "return $.v.x;"), "taskDefinition": definition}
    started = engine.start(workflow("w", script))
    pass_time(engine, seconds=3)
    assert [t["status"] for t in engine.workflow(started)["tasks"]] == ["FAILED", "FAILED"]


# -- JSON_JQ_TRANSFORM -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "results"),
    [
        (".n + 1", [2]),
        (".list[]", ["a", "b"]),
        ("empty", []),
        ("{all: (.list | length), program: (.queryExpression | length > 0)}", None),
        (".missing", [None]),
        ("1.5, 10000000000", [1.5, 10000000000]),
    ],
)
def test_jq_gives_its_first_result_and_all_of_them(
    engine: MemoryEngine, program: str, results: list[Any] | None
) -> None:
    started = engine.start(workflow("w", jq("t", program, n=1, list=["a", "b"])))
    expected = [{"all": 2, "program": True}] if results is None else results
    assert task_of(engine, started, "t")["outputData"] == {
        "result": expected[0] if expected else None,
        "resultList": expected,
    }


@pytest.mark.parametrize("program", ['error("no")', ".a.b", "][", "", None, 7, {"a": 1}])
def test_jq_that_cannot_run_fails(engine: MemoryEngine, program: Any) -> None:
    started = engine.start(workflow("w", jq("t", program, a="text")))
    task = task_of(engine, started, "t")
    assert task["status"] == "FAILED"
    assert task["outputData"]["error"] == task["reasonForIncompletion"]
    assert status_of(engine, started) == "FAILED"


def test_jq_program_may_hold_expressions(engine: MemoryEngine) -> None:
    transform = jq("t", ".rows | map(.${workflow.input.member})", rows=[{"a": 1}, {"a": 2}])
    started = engine.start(workflow("w", transform), input={"member": "a"})
    assert task_of(engine, started, "t")["outputData"]["result"] == [1, 2]

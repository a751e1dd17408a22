"""TERMINATE: the task that ends the workflow."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    terminate,
    times,
    workflow,
)


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "TERMINATED"])
def test_workflow_ends_with_the_status_of_the_task(engine: MemoryEngine, status: str) -> None:
    task = terminate("t", status, terminationReason="because", workflowOutput={"v": 1})
    started = engine.start(workflow("w", task, simple("z")))
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == (status, {"v": 1})
    assert engine.statuses(started) == {"t": "COMPLETED"}
    assert found["reasonForIncompletion"] == "TERMINATE task t: because"
    ended_by = None if status == "COMPLETED" else found["tasks"][0]["taskId"]
    assert found.get("failedTaskId") == ended_by


def test_a_reason_that_is_an_object_reads_as_in_a_text(engine: MemoryEngine) -> None:
    task = terminate("t", "FAILED", terminationReason={"code": 5, "ok": True})
    started = engine.start(workflow("w", task))
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert reason == "TERMINATE task t: {code=5, ok=true}"


def test_failure_without_a_reason_gets_one(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", terminate("t", "FAILED")))
    assert engine.workflow(started)["reasonForIncompletion"] == "TERMINATE task t: FAILED"


@pytest.mark.parametrize(
    ("output", "expected"), [(None, {}), (5, {"output": 5}), ([1], {"output": [1]})]
)
def test_output_that_is_no_object(engine: MemoryEngine, output: Any, expected: Any) -> None:
    started = engine.start(workflow("w", terminate("t", workflowOutput=output)))
    assert engine.workflow(started)["output"] == expected


def test_output_parameters_do_not_replace_the_tasks_output(engine: MemoryEngine) -> None:
    definition = workflow("w", terminate("t", workflowOutput={"v": 1}), outputParameters={"p": 1})
    assert engine.workflow(engine.start(definition))["output"] == {"v": 1}


@pytest.mark.parametrize("status", ["completed", "RUNNING", None, 3])
def test_unknown_status_fails_the_task(engine: MemoryEngine, status: Any) -> None:
    started = engine.start(workflow("w", terminate("t", status)))
    assert engine.statuses(started) == {"t": "FAILED"}
    assert status_of(engine, started) == "FAILED"


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "TERMINATED"])
def test_a_permissive_failure_before_makes_it_failed(engine: MemoryEngine, status: str) -> None:
    """As a Java server does; what a TERMINATE says of a failure of its own stands."""
    ending = terminate("t", status, workflowOutput={"v": 1})
    started = engine.start(workflow("w", simple("a", permissive=True), ending, simple("z")))
    run_failing(engine, "a", "told so")
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("FAILED", {"v": 1})
    assert engine.statuses(started) == {"a": "FAILED", "t": "COMPLETED"}
    assert found["failedReferenceTaskNames"] == ["a"]
    own = "TERMINATE task t: FAILED" if status == "FAILED" else "Task a (a) failed: told so"
    assert found["reasonForIncompletion"] == own


def test_a_permissive_failure_in_a_child_that_ends_itself_fails_the_parent(
    engine: MemoryEngine,
) -> None:
    child = workflow("child", simple("a", permissive=True), terminate("t"))
    started = engine.start(workflow("w", sub_workflow("u", child), simple("z")))
    run_failing(engine, "a")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started) == {"u": "FAILED"}


def test_what_was_passed_over_before_does_not_make_it_failed(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", optional=True), terminate("t")))
    run_failing(engine, "a")
    assert status_of(engine, started) == "COMPLETED"


def test_a_permissive_failure_that_a_retry_has_mended_does_not_count(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", permissive=True), simple("b"), terminate("t")))
    run_failing(engine, "a")
    run_failing(engine, "b")
    assert status_of(engine, started) == "FAILED"
    engine.engine.recovery.retry(started)
    engine.run("a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_terminate_in_a_branch_cancels_its_siblings(engine: MemoryEngine) -> None:
    """Oracle row 27."""
    ending = [simple("a"), terminate("t", workflowOutput={"v": 1})]
    definition = workflow("w", fork("f", ending, [simple("b")]), join("j", "t", "b"))
    started = engine.start(definition)
    (held,) = engine.poll("b")
    engine.run("a")
    engine.settle()
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("COMPLETED", {"v": 1})
    assert engine.statuses(started)["b"] == "CANCELED"
    engine.complete(held)
    assert engine.statuses(started)["b"] == "CANCELED"


def test_terminate_ends_children_of_its_siblings(engine: MemoryEngine) -> None:
    ending = [simple("a"), terminate("t")]
    branches = ending, [sub_workflow("s", workflow("c", simple("x")))]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "t", "s")))
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.run("a")
    engine.clock.advance(seconds=1)
    engine.settle()
    assert status_of(engine, child) == "TERMINATED"
    assert not engine.poll("x")


def test_terminate_ends_a_loop(engine: MemoryEngine) -> None:
    stop = switch("q", "${x.output.stop}", {"true": [terminate("t")]})
    started = engine.start(workflow("w", times("l", 9, simple("x"), stop)))
    engine.run("x")
    engine.run("x", {"stop": True})
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert engine.statuses(started)["l"] == "CANCELED"


def test_an_end_in_the_middle_of_a_retry_leaves_nothing_to_be_done_anew(
    engine: MemoryEngine,
) -> None:
    """What the retry had not come to is as the end before has left it."""
    ends = [simple("b"), terminate("t")]
    started = engine.start(workflow("w", fork("f", ends, [simple("a")]), join("j", "t", "a")))
    (task,) = engine.poll("b")
    engine.engine.steering.pause(started)
    engine.complete(task)
    engine.engine.executions.terminate(started, reason="")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    found = task_of(engine, started, "a")
    assert (found["status"], found["retried"]) == ("CANCELED", False)
    assert engine.engine.auditor.execution(started) == ()

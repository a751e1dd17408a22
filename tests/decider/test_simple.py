"""SIMPLE: worker tasks, their input, their results."""

from typing import Any

import pytest

from conductor_py.model.definitions import CONTROL_TYPES
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork_inputs,
    join,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    task_of,
    typed,
    workflow,
)


def test_tasks_run_one_after_the_other(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    engine.run("a")
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_definition_without_tasks_is_completed_at_once(engine: MemoryEngine) -> None:
    """Oracle row 3."""
    started = engine.start(workflow("w"))
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("name", sorted(CONTROL_TYPES))
def test_task_that_is_called_as_a_type_that_leads_fails_with_the_reason(
    engine: MemoryEngine, name: str
) -> None:
    """Registered before such names were refused: once taken for that type, it led nowhere."""
    started = engine.start(workflow("w", simple(name), simple("z")))
    failed = task_of(engine, started, name)
    assert failed["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert failed["reasonForIncompletion"].startswith(f"No worker's task can be called {name}")
    assert status_of(engine, started) == "FAILED"


def test_branch_that_is_called_as_a_type_that_leads_fails_like_any_branch(
    engine: MemoryEngine,
) -> None:
    spread = fork_inputs("g", [1, 2], forkTaskName="FORK", forkTaskType="SIMPLE")
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    assert engine.statuses(started)["_g_FORK_0"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


def test_dynamic_task_that_is_called_as_a_fork_is_shown_fails_and_may_be_optional(
    engine: MemoryEngine,
) -> None:
    dynamic = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters={"n": "FORK"})
    started = engine.start(workflow("w", {**dynamic, "optional": True}, simple("z")))
    assert engine.statuses(started)["d"] == "COMPLETED_WITH_ERRORS"
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_empty_input_takes_no_input_template(engine: MemoryEngine) -> None:
    """Oracle row 1."""
    started = engine.start(workflow("w", simple("a"), inputTemplate={"a": 1}))
    assert engine.workflow(started)["input"] == {}


def test_null_in_the_input_takes_the_templates_value(engine: MemoryEngine) -> None:
    """Oracle row 2."""
    definition = workflow("w", simple("a"), inputTemplate={"a": 1, "b": 2})
    started = engine.start(definition, input={"a": None, "c": 3})
    assert engine.workflow(started)["input"] == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        pytest.param("${t.output.x}", 5, id="row 4: a number stays a number"),
        pytest.param("v=${t.output.none}", "v=null", id="row 5: a missing value in a text"),
        pytest.param("v=${t.output.m}", "v={k=1}", id="row 6: an object in a text"),
        pytest.param("$${x}", "${x}", id="row 7: escaped"),
        pytest.param("${PATH}", None, id="row 8: no environment"),
        pytest.param("${workflow.input.list[*].id}", [], id="row 9: wildcard over nothing"),
        pytest.param("${t.input.given}", "yes", id="input of another task"),
        pytest.param("${t.status}", "COMPLETED", id="status of another task"),
        pytest.param("${workflow.correlationId}", "c-1", id="correlation id"),
        pytest.param("${workflow.variables.v}", [1], id="variable"),
        pytest.param(["${t.output.x}", {"y": "${t.output.x}"}], [5, {"y": 5}], id="nested"),
    ],
)
def test_expressions_in_a_tasks_input(engine: MemoryEngine, expression: Any, value: Any) -> None:
    first = simple("t", inputParameters={"given": "yes"})
    second = simple("u", inputParameters={"value": expression})
    definition = workflow("w", first, set_variable("s", v=[1]), second)
    engine.start(definition, input={"a": 1}, correlation_id="c-1")
    engine.run("t", {"x": 5, "m": {"k": 1}})
    (task,) = engine.poll("u")
    assert task["inputData"]["value"] == value


def test_a_value_from_a_worker_is_not_an_expression(engine: MemoryEngine) -> None:
    second = simple("b", inputParameters={"value": "${a.output.x}"})
    engine.start(workflow("w", simple("a"), second))
    engine.run("a", {"x": "${workflow.workflowId}"})
    (task,) = engine.poll("b")
    assert task["inputData"] == {"value": "${workflow.workflowId}"}


def test_task_may_name_its_own_id(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("a", inputParameters={"me": "${CPEWF_TASK_ID}"})))
    (task,) = engine.poll("a")
    assert task["inputData"]["me"] == task["taskId"]


def test_task_definitions_template_fills_missing_input(engine: MemoryEngine) -> None:
    task = policy("a", inputTemplate={"x": 1, "y": 2})
    task["inputParameters"] = {"x": 7, "y": None}
    engine.start(workflow("w", task))
    (polled,) = engine.poll("a")
    assert polled["inputData"] == {"x": 7, "y": 2}


def test_output_of_the_last_task_is_the_workflows_output(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a", {"x": 1})
    assert engine.workflow(started)["output"] == {"x": 1}


def test_output_parameters_make_the_workflows_output(engine: MemoryEngine) -> None:
    outputs = {"sum": "${a.output.x}", "none": "${a.output.y}", "fixed": 3}
    started = engine.start(workflow("w", simple("a"), outputParameters=outputs))
    engine.run("a", {"x": 1})
    assert engine.workflow(started)["output"] == {"sum": 1, "none": None, "fixed": 3}


def test_failure_without_retries_fails_the_workflow_with_its_reason(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    failed = run_failing(engine, "a", "no bread")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"] == "Task a (a) failed: no bread"
    assert found["tasks"][0]["reasonForIncompletion"] == "no bread"
    assert found["failedReferenceTaskNames"] == ["a"]
    assert found["tasks"][0]["taskId"] == failed["taskId"]
    assert not engine.poll("b")


def test_failure_without_a_reason_names_the_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    assert engine.workflow(started)["reasonForIncompletion"] == "Task a (a) failed"


@pytest.mark.parametrize(
    ("retries", "said"), [(1, ", 2nd try"), (2, ", 3rd try"), (3, ", 4th try"), (11, ", 12th try")]
)
def test_failure_names_the_task_its_type_and_its_try(
    engine: MemoryEngine, retries: int, said: str
) -> None:
    task = policy("a", retryCount=retries, retryDelaySeconds=0) | {"name": "bake"}
    started = engine.start(workflow("w", task))
    tries = [run_failing(engine, "bake", "no bread") for _ in range(retries + 1)]
    found = engine.workflow(started)
    assert found["reasonForIncompletion"] == f"Task a (bake{said}) failed: no bread"
    assert found["failedTaskId"] == tries[-1]["taskId"]


def test_optional_task_that_fails_lets_the_workflow_go_on(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", optional=True), simple("b")))
    run_failing(engine, "a")
    engine.run("b")
    assert engine.statuses(started) == {"a": "COMPLETED_WITH_ERRORS", "b": "COMPLETED"}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-22")
@pytest.mark.oracle(16)
def test_final_optional_failure_reads_completed_with_errors(engine: MemoryEngine) -> None:
    """Oracle row 16."""
    started = engine.start(workflow("w", simple("a", optional=True)))
    run_failing(engine, "a", "why")
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "a")["status"] == "COMPLETED_WITH_ERRORS"


def test_permissive_failure_fails_the_workflow_at_the_end(engine: MemoryEngine) -> None:
    """Oracle row 17."""
    started = engine.start(workflow("w", simple("a", permissive=True), simple("b")))
    run_failing(engine, "a", "burnt")
    assert engine.statuses(started) == {"a": "FAILED", "b": "SCHEDULED"}
    engine.run("b")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "burnt" in found["reasonForIncompletion"]


def test_optional_wins_over_permissive(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", permissive=True, optional=True), simple("b")))
    run_failing(engine, "a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_completed_with_errors_from_a_worker_counts_as_success(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", status="COMPLETED_WITH_ERRORS")
    assert engine.statuses(started) == {"a": "COMPLETED_WITH_ERRORS", "b": "SCHEDULED"}


def test_canceled_from_a_worker_terminates_the_workflow(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=3)))
    engine.run("a", status="CANCELED")
    assert status_of(engine, started) == "TERMINATED"


def test_start_delay_keeps_a_task_from_workers(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", startDelay=30)))
    (waits,) = engine.workflow(started)["tasks"]
    assert (waits["startDelayInSeconds"], waits["callbackAfterSeconds"]) == (30, 30)
    engine.clock.advance(seconds=29)
    assert not engine.poll("a")
    engine.clock.advance(seconds=1)
    assert len(engine.poll("a")) == 1


def test_type_that_no_operator_claims_is_a_queue_for_workers(engine: MemoryEngine) -> None:
    task = {"name": "x", "taskReferenceName": "x", "type": "MY_TYPE", "retryCount": 0}
    started = engine.start(workflow("w", task))
    engine.run("MY_TYPE")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-57")
def test_larger_priority_is_handed_out_first(engine: MemoryEngine) -> None:
    low = engine.start(workflow("w", simple("a")), priority=1)
    high = engine.start(workflow("w", simple("a")), priority=50)
    polled = engine.poll("a", 2)
    assert [task["workflowInstanceId"] for task in polled] == [high, low]


def test_task_to_domain_sends_a_task_to_its_domain(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("a"), simple("b")), task_to_domain={"a": "mars", "*": "moon"})
    assert not engine.poll("a")
    (task,) = engine.poll("a", domain="mars")
    engine.complete(task)
    assert len(engine.poll("b", domain="moon")) == 1


def test_first_domain_with_an_active_worker_is_taken(engine: MemoryEngine) -> None:
    engine.poll("a", domain="second")
    engine.start(workflow("w", simple("a")), task_to_domain={"a": "first,second,NO_DOMAIN"})
    assert len(engine.poll("a", domain="second")) == 1


def test_no_domain_is_the_last_resort_of_a_list(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("a")), task_to_domain={"a": "first,NO_DOMAIN"})
    assert len(engine.poll("a")) == 1

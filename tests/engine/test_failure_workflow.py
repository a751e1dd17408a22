"""The failure workflow: started with the end of an execution, told everything about it."""

from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.model.ids import derived_execution_id
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    terminate,
    workflow,
)

NOTE = "conductor.failure_workflow"


@pytest.fixture(autouse=True)
def rescue(engine: MemoryEngine) -> None:
    engine.engine.definitions.register(
        workflow_from_json(workflow("rescue", simple("mend"))), overwrite=False
    )


def _definition(*tasks: Any, **more: Any) -> dict[str, Any]:
    return workflow("w", *tasks, failureWorkflow="rescue", **more)


def test_failure_starts_it_with_the_execution_that_failed(engine: MemoryEngine) -> None:
    branches = [simple("a")], [simple("b")]
    definition = _definition(fork("f", *branches), join("j", "a", "b"))
    started = engine.start(definition, input={"x": 1}, correlation_id="c")
    task = run_failing(engine, "a", "why")
    failed = engine.workflow(started)
    found = engine.workflow(failed["output"][NOTE])
    assert (found["workflowName"], found["status"]) == ("rescue", "RUNNING")
    assert found["correlationId"] == "c"
    assert "parentWorkflowId" not in found
    told = dict(found["input"])
    whole = told.pop("failedWorkflow")
    assert told == {
        "x": 1,
        "workflowId": started,
        "reason": "Task a (a) failed: why",
        "failureStatus": "FAILED",
        "failureTaskId": task["taskId"],
    }
    assert (whole["workflowId"], whole["status"]) == (started, "FAILED")
    assert whole["output"] == failed["output"]
    statuses = {one["referenceTaskName"]: one["status"] for one in whole["tasks"]}
    assert statuses == {"f": "COMPLETED", "a": "FAILED", "b": "CANCELED", "j": "CANCELED"}


@pytest.mark.anomaly("A-20")
def test_it_belongs_to_the_generation_that_failed(engine: MemoryEngine) -> None:
    started = engine.start(_definition(simple("a")))
    run_failing(engine, "a")
    child = derived_execution_id(f"failure:{started}:1", 0)
    assert engine.workflow(started)["output"][NOTE] == child


@pytest.mark.oracle(43)
def test_timeout_of_a_task_ends_the_execution_and_starts_it(engine: MemoryEngine) -> None:
    task = policy("a", timeoutSeconds=5, timeoutPolicy="TIME_OUT_WF", retryCount=3)
    started = engine.start(_definition(task))
    engine.poll("a")
    pass_time(engine, seconds=6)
    found = engine.workflow(started)
    assert (found["status"], len(found["tasks"])) == ("TIMED_OUT", 1)
    told = engine.workflow(found["output"][NOTE])["input"]
    assert told["failureStatus"] == "TIMED_OUT"


def test_timeout_of_the_workflow_starts_it(engine: MemoryEngine) -> None:
    more = {"timeoutSeconds": 5, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(_definition(simple("a"), **more))
    pass_time(engine, seconds=6)
    found = engine.workflow(engine.workflow(started)["output"][NOTE])
    assert "failureTaskId" not in found["input"]


@pytest.mark.parametrize(("status", "begun"), [("FAILED", 1), ("TERMINATED", 1), ("COMPLETED", 0)])
def test_terminate_task_starts_it_unless_it_completes(
    engine: MemoryEngine, status: str, begun: int
) -> None:
    started = engine.start(_definition(terminate("t", status, workflowOutput={"v": 1})))
    output = engine.workflow(started)["output"]
    assert output["v"] == 1
    assert (NOTE in output) == bool(begun)
    assert len(engine.engine.executions.running("rescue")) == begun


@pytest.mark.oracle(42)
def test_terminating_from_outside_starts_it_only_when_asked(engine: MemoryEngine) -> None:
    quiet, loud = engine.start(_definition(simple("a"))), engine.start(_definition(simple("a")))
    engine.engine.executions.terminate(quiet, reason="enough")
    assert engine.workflow(quiet)["output"] == {}
    engine.engine.executions.terminate(loud, reason="enough", trigger_failure_workflow=True)
    told = engine.workflow(engine.workflow(loud)["output"][NOTE])["input"]
    assert (told["reason"], told["failureStatus"]) == ("enough", "TERMINATED")


def test_terminating_from_outside_without_a_reason_says_who_did_it(engine: MemoryEngine) -> None:
    inner = workflow("inner", simple("a"))
    started = engine.start(workflow("w", sub_workflow("s", inner)))
    engine.settle()
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.executions.terminate(started, reason=None)
    engine.settle()
    said = "terminated by a request that gave no reason"
    assert engine.workflow(started)["reasonForIncompletion"] == said
    assert engine.workflow(child)["reasonForIncompletion"].endswith(said)


@pytest.mark.parametrize(
    "name", ["$workflow.input.whom", "${workflow.input.whom}", "${workflow.variables.whom}"]
)
def test_its_name_can_come_from_the_execution(engine: MemoryEngine, name: str) -> None:
    definition = workflow(
        "w",
        simple("a"),
        failureWorkflow=name,
        failureWorkflowVersion=1,
        variables={"whom": "rescue"},
    )
    started = engine.start(definition, input={"whom": "rescue"})
    run_failing(engine, "a")
    assert engine.workflow(engine.workflow(started)["output"][NOTE])["workflowName"] == "rescue"


@pytest.mark.parametrize("name", ["nobody", "$workflow.input.none", "${x.y"])
def test_one_that_cannot_be_found_does_not_disturb_the_end(engine: MemoryEngine, name: str) -> None:
    started = engine.start(workflow("w", simple("a"), failureWorkflow=name))
    run_failing(engine, "a", "why")
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("FAILED", "Task a (a) failed: why")
    assert "cannot be started" in found["output"][NOTE]
    engine.settle()
    assert status_of(engine, started) == "FAILED"


def test_execution_that_fails_at_once_starts_it(engine: MemoryEngine) -> None:
    started = engine.start(_definition(terminate("t", "FAILED")))
    told = engine.workflow(engine.workflow(started)["output"][NOTE])["input"]
    assert [task["referenceTaskName"] for task in told["failedWorkflow"]["tasks"]] == ["t"]


def test_parent_is_not_told_of_the_childs_failure_workflow(engine: MemoryEngine) -> None:
    child = {**_definition(simple("x")), "name": "c"}
    started = engine.start(workflow("w", sub_workflow("s", child)))
    run_failing(engine, "x")
    engine.settle()
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED"
    assert NOTE not in task["outputData"]
    assert NOTE in engine.workflow(task["subWorkflowId"])["output"]


def test_child_that_its_parent_ends_starts_none(engine: MemoryEngine) -> None:
    child = {**_definition(simple("x")), "name": "c"}
    started = engine.start(workflow("w", sub_workflow("s", child)))
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert engine.engine.executions.running("rescue") == ()


def test_tasks_are_left_out_of_a_report_that_would_be_too_large(engine: MemoryEngine) -> None:
    size = 6 * 1024 * 1024
    started = engine.start(_definition(simple("a"), simple("b")))
    for name in ("a",):
        engine.run(name, {"v": "x" * (size // 6 * 2)})
    run_failing(engine, "b")
    found = engine.workflow(engine.workflow(started)["output"][NOTE])
    assert found["status"] == "RUNNING"


def test_of_what_is_larger_than_an_input_the_tasks_are_not_read(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"t{number}" for number in range(11)]
    started = engine.start(_definition(*map(simple, names), simple("last")), input={"x": 1})
    for name in names:
        engine.run(name, {"data": "x" * 1_000_000})
    read = engine.ports.reader.snapshot
    wholes = []

    def counted(*given: Any, **named: Any) -> Any:
        found = read(*given, **named)
        wholes.append(found)
        return found

    monkeypatch.setattr(engine.ports.reader, "snapshot", counted)
    run_failing(engine, "last", "why")
    assert wholes == []
    told = engine.workflow(engine.workflow(started)["output"][NOTE])["input"]["failedWorkflow"]
    assert (told["status"], told["input"], told["tasks"]) == ("FAILED", {"x": 1}, [])
    assert told["reasonForIncompletion"] == "Task last (last) failed: why"

"""SUB_WORKFLOW: children, their ends, trees of them."""

from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.codec.event import dump_event
from conductor_py.decider.workspace import Limits
from conductor_py.errors import NotFound
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    fork,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    terminate,
    workflow,
)

_CHILD = workflow("c", simple("x"))


def _register(engine: MemoryEngine, definition: dict[str, Any]) -> None:
    engine.engine.definitions.register(workflow_from_json(definition), overwrite=False)


def _child_of(engine: MemoryEngine, started: str, ref: str = "s") -> str:
    child: str = task_of(engine, started, ref)["subWorkflowId"]
    return child


def test_child_runs_and_its_output_is_the_tasks(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", _CHILD), simple("z")))
    child = _child_of(engine, started)
    assert engine.statuses(started) == {"s": "IN_PROGRESS"}
    engine.run("x", {"v": 1})
    engine.settle()
    assert status_of(engine, child) == "COMPLETED"
    assert task_of(engine, started, "s")["outputData"] == {"subWorkflowId": child, "v": 1}
    assert engine.statuses(started)["z"] == "SCHEDULED"


@pytest.mark.parametrize("fails", [False, True])
def test_task_tells_of_its_own_child_not_of_the_childs(engine: MemoryEngine, fails: bool) -> None:
    inner = sub_workflow("t", workflow("inner", simple("a")))
    started = engine.start(workflow("w", sub_workflow("s", workflow("outer", inner))))
    if fails:
        run_failing(engine, "a")
    else:
        engine.run("a")
    engine.settle()
    assert task_of(engine, started, "s")["outputData"]["subWorkflowId"] == _child_of(
        engine, started
    )


def test_child_knows_its_parent_and_correlation(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", _CHILD)), correlation_id="c-7")
    child = engine.workflow(_child_of(engine, started))
    assert child["parentWorkflowId"] == started
    assert child["parentWorkflowTaskId"] == task_of(engine, started, "s")["taskId"]
    assert child["correlationId"] == "c-7"


def test_childs_input_is_the_tasks_input(engine: MemoryEngine) -> None:
    task = sub_workflow("s", _CHILD, inputParameters={"v": "${workflow.input.n}"})
    started = engine.start(workflow("w", task), input={"n": 3})
    assert engine.workflow(_child_of(engine, started))["input"] == {"v": 3}


def test_empty_input_parameters_give_the_child_an_empty_input(engine: MemoryEngine) -> None:
    """Oracle row 25, fixed: the child does not see the task's own parameters."""
    started = engine.start(workflow("w", sub_workflow("s", _CHILD)))
    assert engine.workflow(_child_of(engine, started))["input"] == {}


def test_registered_child_by_name(engine: MemoryEngine) -> None:
    _register(engine, _CHILD)
    started = engine.start(workflow("w", sub_workflow("s", "c")))
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_latest_version_is_pinned_at_the_start(engine: MemoryEngine) -> None:
    _register(engine, _CHILD)
    started = engine.start(workflow("w", simple("a"), sub_workflow("s", "c")))
    _register(engine, {**workflow("c", simple("other")), "version": 2})
    engine.run("a")
    engine.settle()
    assert engine.workflow(_child_of(engine, started))["workflowVersion"] == 1


def test_unknown_child_refuses_the_start(engine: MemoryEngine) -> None:
    with pytest.raises(NotFound):
        engine.start(workflow("w", sub_workflow("s", "nobody")))


def test_unknown_child_by_expression_fails_the_task(engine: MemoryEngine) -> None:
    task = sub_workflow("s", "${workflow.input.name}")
    started = engine.start(workflow("w", task), input={"name": "nobody"})
    assert engine.statuses(started)["s"] == "FAILED"
    assert status_of(engine, started) == "FAILED"


@pytest.mark.parametrize("name", ["${workflow.input.name}", "c"])
def test_missing_child_is_looked_for_again_as_often_as_the_definition_says(
    engine: MemoryEngine, name: str
) -> None:
    policy = {"name": "s", "retryCount": 1, "retryDelaySeconds": 60}
    task = {**sub_workflow("s", name), "taskDefinition": policy}
    task["subWorkflowParam"]["version"] = 3
    started = engine.start(workflow("w", task), input={"name": "c"})
    failed, waits = tasks_of(engine, started, "s")
    assert (failed["status"], failed["retried"], waits["status"]) == ("FAILED", True, "SCHEDULED")
    assert "c" in failed["reasonForIncompletion"]
    _register(engine, {**_CHILD, "version": 3})
    pass_time(engine, seconds=60)
    assert engine.statuses(started)["s"] == "IN_PROGRESS"
    task["subWorkflowParam"]["version"] = 4
    lost = engine.start(workflow("w", task), input={"name": "c"})
    pass_time(engine, seconds=60)
    assert status_of(engine, lost) == "FAILED"
    assert len(tasks_of(engine, lost, "s")) == 2


def test_input_shows_what_the_child_is_told(engine: MemoryEngine) -> None:
    _register(engine, _CHILD)
    by_name, by_data, by_text = (sub_workflow(ref, "c") for ref in ("n", "d", "t"))
    by_name["subWorkflowParam"] |= {
        "priority": "${workflow.input.p}",
        "idempotencyKey": "k-${workflow.input.p}",
        "idempotencyStrategy": "RETURN_EXISTING",
    }
    by_data["subWorkflowParam"]["workflowDefinition"] = "${workflow.input.definition}"
    by_text["subWorkflowParam"]["workflowDefinition"] = _CHILD
    forked = fork("f", [by_name], [by_data], [by_text])
    started = engine.start(
        workflow("w", forked, join("j", "n", "d", "t")), input={"p": 7, "definition": _CHILD}
    )
    engine.settle()
    shown = [task_of(engine, started, ref)["inputData"] for ref in ("n", "d", "t")]
    assert [given["priority"] for given in shown] == [7, 0, 0]
    keys = [(given.get("idempotencyKey"), given.get("idempotencyStrategy")) for given in shown]
    assert keys == [("k-7", "RETURN_EXISTING"), (None, None), (None, None)]
    definitions = [given.get("subWorkflowDefinition") for given in shown]
    assert definitions[0] is None
    assert definitions[1] == _CHILD
    assert (definitions[2]["name"], len(definitions[2]["tasks"])) == ("c", len(_CHILD["tasks"]))


def test_child_by_expression(engine: MemoryEngine) -> None:
    _register(engine, _CHILD)
    task = sub_workflow("s", "${workflow.input.name}")
    started = engine.start(workflow("w", task), input={"name": "c"})
    assert engine.workflow(_child_of(engine, started))["workflowName"] == "c"


def test_definition_may_come_from_data(engine: MemoryEngine) -> None:
    task = sub_workflow("s", "c")
    task["subWorkflowParam"]["workflowDefinition"] = "${workflow.input.definition}"
    started = engine.start(workflow("w", task), input={"definition": _CHILD})
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("definition", [None, "text", 7, {"tasks": 3}, {"name": "c", "tasks": [1]}])
def test_unusable_definition_from_data_fails_the_task(
    engine: MemoryEngine, definition: Any
) -> None:
    task = sub_workflow("s", "c")
    task["subWorkflowParam"]["workflowDefinition"] = "${workflow.input.definition}"
    started = engine.start(workflow("w", task), input={"definition": definition, "x": 1})
    assert engine.statuses(started)["s"] == "FAILED_WITH_TERMINAL_ERROR"


@pytest.mark.anomaly("A-43")
def test_failing_child_fails_the_parent_with_both_reasons(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", _CHILD)))
    child = _child_of(engine, started)
    run_failing(engine, "x", "flat tyre")
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert child in found["reasonForIncompletion"]
    assert "flat tyre" in found["reasonForIncompletion"]
    assert engine.statuses(started) == {"s": "FAILED"}


def test_child_that_timed_out_times_the_parent_out(engine: MemoryEngine) -> None:
    child = {**_CHILD, "timeoutSeconds": 10, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(workflow("w", sub_workflow("s", child)))
    pass_time(engine, seconds=10)
    assert engine.statuses(started) == {"s": "TIMED_OUT"}
    assert status_of(engine, started) == "TIMED_OUT"


def test_child_that_was_terminated_terminates_the_parent(engine: MemoryEngine) -> None:
    """Oracle row 26."""
    started = engine.start(workflow("w", sub_workflow("s", _CHILD)))
    engine.engine.executions.terminate(_child_of(engine, started), reason="enough")
    engine.settle()
    assert engine.statuses(started) == {"s": "CANCELED"}
    found = engine.workflow(started)
    assert found["status"] == "TERMINATED"
    assert "enough" in found["reasonForIncompletion"]


def test_optional_child_may_fail(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", _CHILD, optional=True), simple("z")))
    run_failing(engine, "x")
    engine.settle()
    assert engine.statuses(started) == {"s": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}


def test_retry_of_the_task_starts_a_new_child(engine: MemoryEngine) -> None:
    task = sub_workflow("s", _CHILD)
    task["taskDefinition"] = {"name": "s", "retryCount": 1, "retryDelaySeconds": 5}
    started = engine.start(workflow("w", task))
    first = _child_of(engine, started)
    run_failing(engine, "x")
    engine.settle()
    assert task_of(engine, started, "s")["status"] == "SCHEDULED"
    assert not engine.poll("x")
    pass_time(engine, seconds=5)
    second = _child_of(engine, started)
    assert second != first
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert [t["retryCount"] for t in tasks_of(engine, started, "s")] == [0, 1]
    assert status_of(engine, first) == "FAILED"


def test_retried_child_gets_the_same_input(engine: MemoryEngine) -> None:
    task = sub_workflow("s", _CHILD, inputParameters={"v": 1})
    task["taskDefinition"] = {"name": "s", "retryCount": 1, "retryDelaySeconds": 0}
    started = engine.start(workflow("w", task))
    run_failing(engine, "x")
    pass_time(engine, seconds=1)
    assert engine.workflow(_child_of(engine, started))["input"] == {"v": 1}


def test_start_delay_holds_the_child_back(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", _CHILD, startDelay=10)))
    pass_time(engine, seconds=9)
    assert not engine.poll("x")
    pass_time(engine, seconds=1)
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_child_inherits_the_task_to_domain_map(engine: MemoryEngine) -> None:
    engine.start(workflow("w", sub_workflow("s", _CHILD)), task_to_domain={"x": "mars"})
    engine.settle()
    assert not engine.poll("x")
    assert len(engine.poll("x", domain="mars")) == 1


def test_terminate_task_in_the_child_ends_only_the_child(engine: MemoryEngine) -> None:
    child = workflow("c", terminate("t", "COMPLETED", workflowOutput={"v": 2}), simple("x"))
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    engine.settle()
    assert task_of(engine, started, "s")["outputData"]["v"] == 2
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_the_output_begins_with_the_child_and_is_of_no_child_of_it(engine: MemoryEngine) -> None:
    """Texts show an output in its order, as a Java server does."""
    child = workflow("c", terminate("t", workflowOutput={"v": 2, "subWorkflowId": "below"}))
    started = engine.start(workflow("w", sub_workflow("s", child)))
    engine.settle()
    task = task_of(engine, started, "s")
    assert list(task["outputData"].items()) == [("subWorkflowId", task["subWorkflowId"]), ("v", 2)]


def test_children_side_by_side(engine: MemoryEngine) -> None:
    branches = [[sub_workflow(f"s{n}", _CHILD)] for n in range(20)]
    refs = [f"s{n}" for n in range(20)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    for _ in range(20):
        engine.run("x")
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"


# -- trees -----------------------------------------------------------------------------------------


def _nested(depth: int) -> dict[str, Any]:
    """A registered workflow that starts itself until its input says stop."""
    deeper = sub_workflow("s", "deep", inputParameters={"n": "${i.output.result}"})
    count = {
        "name": "i",
        "taskReferenceName": "i",
        "type": "INLINE",
        "inputParameters": {"expression": "$.n - 1", "n": "${workflow.input.n}"},
    }
    choice = switch("q", "${i.output.result}", {"0": [simple("bottom")]}, [deeper])
    return workflow("deep", count, choice)


def test_a_hundred_levels_complete_from_the_bottom_up(engine: MemoryEngine) -> None:
    _register(engine, _nested(100))
    started = engine.start("deep", input={"n": 100})
    _let_all_go_on(engine)
    engine.run("bottom", {"v": "found"})
    _let_all_go_on(engine)
    assert status_of(engine, started) == "COMPLETED"


def test_a_hundred_levels_fail_with_the_reason_from_the_bottom(engine: MemoryEngine) -> None:
    _register(engine, _nested(100))
    started = engine.start("deep", input={"n": 100})
    _let_all_go_on(engine)
    run_failing(engine, "bottom", "rock")
    _let_all_go_on(engine)
    assert status_of(engine, started) == "FAILED"


def test_terminating_the_root_terminates_a_hundred_levels(engine: MemoryEngine) -> None:
    _register(engine, _nested(100))
    started = engine.start("deep", input={"n": 100})
    _let_all_go_on(engine)
    engine.engine.executions.terminate(started, reason="stop")
    _let_all_go_on(engine)
    assert engine.engine.executions.running("deep") == ()
    assert not engine.poll("bottom")


def test_nesting_is_bounded() -> None:
    engine = memory_engine(limits=Limits(depth=5))
    _register(engine, _nested(100))
    started = engine.start("deep", input={"n": 100})
    _let_all_go_on(engine)
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "deeper than 5" in found["reasonForIncompletion"]


def _let_all_go_on(engine: MemoryEngine) -> None:
    """What one visit leaves undone is owed to timers; they are due after a second."""
    for _ in range(110):
        pass_time(engine, seconds=1)


# -- timeouts of the task --------------------------------------------------------------------------


def _timed(seconds: int, policy: str, **facts: Any) -> dict[str, Any]:
    task = sub_workflow("s", _CHILD)
    named = {"name": "s", "retryCount": 0, "timeoutSeconds": seconds, "timeoutPolicy": policy}
    return {**task, "taskDefinition": {**named, "responseTimeoutSeconds": 1, **facts}}


@pytest.mark.parametrize("policy", ["RETRY", "TIME_OUT_WF"])
def test_task_timeout_ends_the_task_and_its_child(engine: MemoryEngine, policy: str) -> None:
    started = engine.start(workflow("w", _timed(60, policy)))
    child = _child_of(engine, started)
    pass_time(engine, seconds=59)
    assert engine.statuses(started) == {"s": "IN_PROGRESS"}
    pass_time(engine, seconds=1)
    assert engine.statuses(started) == {"s": "TIMED_OUT"}
    assert status_of(engine, started) == "TIMED_OUT"
    pass_time(engine, seconds=1)
    assert status_of(engine, child) == "TERMINATED"


def test_task_timeout_with_alert_only_lets_the_child_run(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _timed(60, "ALERT_ONLY")))
    pass_time(engine, seconds=60)
    pass_time(engine, seconds=60)
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-12")
def test_late_end_of_the_child_before_does_not_end_the_retry(engine: MemoryEngine) -> None:
    facts = {"retryCount": 1, "retryDelaySeconds": 0}
    started = engine.start(workflow("w", _timed(60, "RETRY", **facts)))
    first = ExecutionId(_child_of(engine, started))
    engine.clock.advance(seconds=59)
    variables = Operation(id="v", name="variables", arguments={"variables": {}})
    engine.ports.store.send(first, "v", dump_event(variables), "frozen", 3_000)
    pass_time(engine, seconds=1)
    pass_time(engine, milliseconds=1)
    assert status_of(engine, first) == "RUNNING"
    assert _child_of(engine, started) != first
    pass_time(engine, seconds=4)
    assert status_of(engine, first) == "TERMINATED"
    assert engine.statuses(started) == {"s": "IN_PROGRESS"}
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_retry_has_the_whole_timeout_again(engine: MemoryEngine) -> None:
    facts = {"retryCount": 1, "retryDelaySeconds": 5}
    started = engine.start(workflow("w", _timed(60, "RETRY", **facts)))
    pass_time(engine, seconds=30)
    run_failing(engine, "x")
    pass_time(engine, seconds=5)
    assert task_of(engine, started, "s")["status"] == "IN_PROGRESS"
    pass_time(engine, seconds=59)
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_timed_out_task_is_retried_with_a_new_child(engine: MemoryEngine) -> None:
    facts = {"retryCount": 1, "retryDelaySeconds": 5}
    started = engine.start(workflow("w", _timed(60, "RETRY", **facts)))
    first = _child_of(engine, started)
    pass_time(engine, seconds=60)
    pass_time(engine, seconds=5)
    assert _child_of(engine, started) != first
    assert status_of(engine, first) == "TERMINATED"
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_start_delay_does_not_count_against_the_timeout(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", {**_timed(60, "TIME_OUT_WF"), "startDelay": 100}))
    pass_time(engine, seconds=100)
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_total_timeout_ends_the_task_and_its_child(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _timed(0, "TIME_OUT_WF", totalTimeoutSeconds=60)))
    child = _child_of(engine, started)
    pass_time(engine, seconds=60)
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "TIMED_OUT"
    assert status_of(engine, child) == "TERMINATED"


def test_task_that_is_completed_from_outside_ends_its_child(engine: MemoryEngine) -> None:
    from conductor_py.model.status import TaskStatus

    started = engine.start(workflow("w", sub_workflow("s", _CHILD)))
    child = _child_of(engine, started)
    engine.engine.tasks.update_by_ref(started, "s", TaskStatus.COMPLETED, {"v": 1}, "me")
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"
    assert status_of(engine, child) == "TERMINATED"


def test_total_timeout_ends_a_task_that_waits_for_its_retry(engine: MemoryEngine) -> None:
    facts = {"retryCount": 3, "retryDelaySeconds": 100, "totalTimeoutSeconds": 60}
    started = engine.start(workflow("w", _timed(0, "RETRY", **facts)))
    run_failing(engine, "x")
    engine.settle()
    pass_time(engine, seconds=59)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "TIMED_OUT"

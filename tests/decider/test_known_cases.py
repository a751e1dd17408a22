"""Edge cases that users of Conductor know, one story each."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import (
    do_while,
    fork,
    fork_inputs,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    terminate,
    times,
    wait,
    workflow,
)


@pytest.mark.oracle(1)
def test_input_template_does_not_apply_to_an_empty_input(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), inputTemplate={"a": 1}), input={})
    assert engine.workflow(started)["input"] == {}


@pytest.mark.oracle(2)
def test_a_null_counts_as_missing_for_the_input_template(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), inputTemplate={"a": 1})
    started = engine.start(definition, input={"a": None})
    assert engine.workflow(started)["input"] == {"a": 1}


@pytest.mark.oracle(3)
def test_a_definition_without_tasks_is_complete_at_once(engine: MemoryEngine) -> None:
    assert status_of(engine, engine.start(workflow("w"))) == "COMPLETED"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("${t.output.x}", 5, marks=pytest.mark.oracle(4)),
        pytest.param("v=${t.output.none}", "v=null", marks=pytest.mark.oracle(5)),
        pytest.param("v=${t.output.m}", "v={k=1}", marks=pytest.mark.oracle(6)),
        pytest.param("$${x}", "${x}", marks=pytest.mark.oracle(7)),
        pytest.param("${workflow.input.list[*].id}", [], marks=pytest.mark.oracle(9)),
    ],
)
def test_expressions_in_an_input(engine: MemoryEngine, text: str, value: Any) -> None:
    after = simple("z", inputParameters={"v": text})
    engine.start(workflow("w", simple("t"), after))
    engine.run("t", {"x": 5, "m": {"k": 1}})
    (task,) = engine.poll("z")
    assert task["inputData"]["v"] == value


@pytest.mark.oracle(10)
def test_switch_on_a_missing_input_takes_the_default(engine: MemoryEngine) -> None:
    choice = switch("s", "${workflow.input.no}", {"a": [simple("a")]}, [simple("d")])
    started = engine.start(workflow("w", choice))
    assert task_of(engine, started, "s")["outputData"]["selectedCase"] == "null"
    assert engine.statuses(started)["d"] == "SCHEDULED"


@pytest.mark.oracle(11)
def test_switch_with_an_empty_case_takes_no_branch(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", switch("s", "a", {"a": []}, [simple("d")]), simple("z")))
    assert engine.statuses(started) == {"s": "COMPLETED", "z": "SCHEDULED"}


@pytest.mark.oracle(13)
def test_switch_whose_script_throws_fails_the_workflow(engine: MemoryEngine) -> None:
    choice = switch("s", 1, {"a": [simple("a")]})
    choice |= {"evaluatorType": "javascript", "expression": "$.no.where"}
    started = engine.start(workflow("w", choice))
    assert (engine.statuses(started)["s"], status_of(engine, started)) == ("FAILED", "FAILED")


@pytest.mark.oracle(14)
def test_the_output_of_a_last_join_is_the_workflows(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork("f", [simple("a")]), join("j", "a")))
    engine.run("a", {"v": 1})
    assert engine.workflow(started)["output"] == {"a": {"v": 1}}


@pytest.mark.oracle(15)
@pytest.mark.oracle(16)
def test_the_output_of_a_failed_workflow_may_name_its_end(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"))
    told = {"how": "${workflow.status}", "why": "${workflow.reasonForIncompletion}"}
    definition["outputParameters"] = told
    started = engine.start(definition)
    run_failing(engine, "a", "sand")
    why = "Task a (a) failed: sand"
    assert engine.workflow(started)["output"] == {"how": "FAILED", "why": why}
    started = engine.start(definition)
    engine.run("a")
    assert engine.workflow(started)["output"] == {"how": "RUNNING", "why": None}


def test_a_workflow_that_a_loop_failed_has_the_output_of_its_newest_task(
    engine: MemoryEngine,
) -> None:
    """One that any other task failed has that task's."""
    started = engine.start(workflow("w", do_while("l", "$.none.deep.x", simple("x"))))
    engine.run("x", {"n": 1})
    assert engine.workflow(started)["output"] == {"n": 1}
    started = engine.start(workflow("w", fork("f", [simple("a")], [simple("b")]), join("j")))
    (task,) = engine.poll("a")
    engine.complete(task, {"n": 2}, status="FAILED")
    assert engine.workflow(started)["output"] == {"n": 2}


def test_an_optional_task_is_retried_then_completed_with_errors(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", {**policy("a", retryCount=3), "optional": True}))
    for _ in range(4):
        run_failing(engine, "a")
        pass_time(engine, seconds=1)
    assert len(tasks_of(engine, started, "a")) == 4
    assert task_of(engine, started, "a")["status"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.oracle(17)
def test_a_permissive_failure_fails_the_workflow_at_its_end(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", permissive=True), simple("z")))
    run_failing(engine, "a", "broken")
    assert status_of(engine, started) == "RUNNING"
    engine.run("z")
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == (
        "FAILED",
        "Task a (a) failed: broken",
    )


def test_the_reasons_of_permissive_failures_are_kept_up_to_a_bound(engine: MemoryEngine) -> None:
    tasks = [simple(f"a{n}", permissive=True) for n in range(30)]
    started = engine.start(workflow("w", *tasks))
    for n in range(30):
        run_failing(engine, f"a{n}", f"reason {n} " + "x" * 400)
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert reason.startswith("Task a0 (a0) failed: reason 0 ")
    assert "reason 19 " in reason
    assert "reason 20 " not in reason


@pytest.mark.oracle(18)
def test_a_failing_branch_fails_the_workflow_and_cancels_the_others(engine: MemoryEngine) -> None:
    branches = fork("f", [simple("a")], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "a", "b")))
    run_failing(engine, "a")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started)["b"] == engine.statuses(started)["j"] == "CANCELED"


@pytest.mark.oracle(19)
def test_an_optional_failed_branch_makes_its_join_complete_with_errors(
    engine: MemoryEngine,
) -> None:
    branches = fork("f", [simple("a", optional=True)], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "a", "b")))
    run_failing(engine, "a")
    engine.run("b")
    assert engine.statuses(started)["j"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.oracle(20)
def test_a_join_does_not_repeat_what_a_join_below_it_told(engine: MemoryEngine) -> None:
    inner = [fork("g", [simple("a", optional=True)]), join("k", "a")]
    started = engine.start(workflow("w", fork("f", inner), join("j", "k")))
    run_failing(engine, "a")
    engine.settle()
    statuses = engine.statuses(started)
    assert (statuses["k"], statuses["j"]) == ("COMPLETED_WITH_ERRORS", "COMPLETED")


def test_a_dynamic_fork_without_tasks_is_complete(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork_inputs("f", []), join("j"), simple("z")))
    assert task_of(engine, started, "j")["outputData"] == {}
    assert engine.statuses(started)["z"] == "SCHEDULED"


@pytest.mark.oracle(21)
def test_a_dynamic_fork_that_takes_a_name_again_fails_the_workflow(engine: MemoryEngine) -> None:
    spread = {
        **fork_inputs("f", []),
        "dynamicForkTasksParam": "t",
        "dynamicForkTasksInputParamName": "i",
        "inputParameters": {"t": [simple("a")], "i": {}},
    }
    started = engine.start(workflow("w", simple("a"), spread, join("j")))
    engine.run("a")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "'a' is used already" in found["reasonForIncompletion"]


@pytest.mark.oracle(22)
def test_a_loop_whose_condition_is_the_text_true_ends(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "'true'", simple("a"))))
    engine.run("a")
    assert task_of(engine, started, "l")["outputData"] == {"iteration": 1, "1": {"a": {}}}


@pytest.mark.oracle(23)
def test_a_loop_whose_condition_throws_fails_for_good(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "$.no.where.at", simple("a"))))
    engine.run("a")
    assert engine.statuses(started)["l"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


@pytest.mark.oracle(24)
def test_a_loop_shows_the_outputs_of_its_iterations(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, simple("x"))))
    for n in (1, 2, 3):
        engine.run("x", {"n": n})
    numbered = {str(n): {"x": {"n": n}} for n in (1, 2, 3)}
    assert task_of(engine, started, "l")["outputData"] == {"iteration": 3, **numbered}
    assert set(engine.statuses(started)) == {"l", "x__1", "x__2", "x__3"}


@pytest.mark.oracle(25)
def test_a_child_without_input_parameters_gets_an_empty_input(engine: MemoryEngine) -> None:
    """Conductor hands it the task's own input, the names of the child among it."""
    child = workflow("c", simple("x"), inputTemplate={"t": 1})
    started = engine.start(workflow("w", sub_workflow("s", child)))
    assert engine.workflow(task_of(engine, started, "s")["subWorkflowId"])["input"] == {}


@pytest.mark.oracle(27)
def test_terminate_inside_a_fork_ends_the_whole_workflow(engine: MemoryEngine) -> None:
    ending = terminate("t", "COMPLETED", workflowOutput={"v": 1})
    branches = fork("f", [simple("a"), ending], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "t", "b")))
    engine.run("a")
    engine.settle()
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("COMPLETED", {"v": 1})
    assert engine.statuses(started)["b"] == "CANCELED"


@pytest.mark.oracle(28)
def test_a_wait_until_the_past_is_over_at_once(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", until="2001-01-01 10:00 UTC")))
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.oracle(29)
@pytest.mark.anomaly("A-36")
def test_a_wait_that_cannot_be_read_fails_its_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="soon")))
    assert engine.statuses(started)["t"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "soon" in engine.workflow(started)["reasonForIncompletion"]


@pytest.mark.oracle(32)
def test_an_inline_script_that_yields_nothing_yields_null(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("i", "undefined")))
    assert task_of(engine, started, "i")["outputData"] == {"result": None}


# -- what an expression may name -------------------------------------------------------------------


def test_every_member_of_the_workflow_and_of_a_task_can_be_read(engine: MemoryEngine) -> None:
    members = ["workflowId", "workflowType", "version", "correlationId", "status", "schemaVersion"]
    members += ["parentWorkflowId", "parentWorkflowTaskId", "reasonForIncompletion", "variables"]
    facts = ["taskType", "status", "referenceTaskName", "retryCount", "taskDefName", "taskId"]
    facts += ["workflowInstanceId", "workerId", "iteration", "pollCount", "callbackAfterSeconds"]
    facts += ["scheduledTime", "startTime", "endTime", "correlationId", "input", "output"]
    inputs = {
        **{f"w.{name}": f"${{workflow.{name}}}" for name in members},
        **{f"t.{name}": f"${{t.{name}}}" for name in facts},
        "secret": "${workflow.secrets.S}",
        "own": "${CPEWF_TASK_ID}",
        "absent": "${never.output.x}",
        "priority": "${workflow.priority}",
        "blank": "a${}b",
    }
    definition = workflow("w", simple("t"), simple("z", inputParameters=inputs), variables={"v": 1})
    started = engine.start(definition, correlation_id="c")
    first = engine.run("t", {"o": 1})
    task = task_of(engine, started, "z")
    found = task["inputData"]
    told = {name.removeprefix("w."): found[name] for name in found if name.startswith("w.")}
    assert told == {
        "workflowId": started,
        "workflowType": "w",
        "version": 1,
        "correlationId": "c",
        "status": "RUNNING",
        "schemaVersion": 2,
        "parentWorkflowId": None,
        "parentWorkflowTaskId": None,
        "reasonForIncompletion": None,
        "variables": {"v": 1},
    }
    now = engine.clock()
    assert {name.removeprefix("t."): found[name] for name in found if name.startswith("t.")} == {
        "taskType": "t",
        "status": "COMPLETED",
        "referenceTaskName": "t",
        "retryCount": 0,
        "taskDefName": "t",
        "taskId": first["taskId"],
        "workflowInstanceId": started,
        "workerId": "worker",
        "iteration": 0,
        "pollCount": 1,
        "callbackAfterSeconds": 0,
        "scheduledTime": now,
        "startTime": now,
        "endTime": now,
        "correlationId": "c",
        "input": {},
        "output": {"o": 1},
    }
    assert found["own"] == task["taskId"]
    assert (found["absent"], found["priority"], found["blank"]) == (None, None, "ab")


def test_a_task_named_workflow_hides_the_workflow(engine: MemoryEngine) -> None:
    named = simple("workflow")
    after = simple("z", inputParameters={"v": "${workflow.output.v}", "i": "${workflow.input.x}"})
    engine.start(workflow("w", named, after), input={"x": 1})
    engine.run("workflow", {"v": 7})
    (task,) = engine.poll("z")
    assert task["inputData"] == {"v": 7, "i": None}


def test_task_definition_templates_fill_what_is_missing_or_null(engine: MemoryEngine) -> None:
    definition = {"name": "a", "inputTemplate": {"x": 1, "y": 2, "z": "${workflow.input.n}"}}
    given = {"x": "${workflow.input.none}", "y": 3}
    engine.start(
        workflow("w", simple("a", taskDefinition=definition, inputParameters=given)),
        input={"n": 9},
    )
    (task,) = engine.poll("a")
    assert task["inputData"] == {"x": 1, "y": 3, "z": 9}

"""Rules of an execution's life that are easily overlooked, in the order in which it meets them."""

from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    fork,
    inline,
    join,
    pass_time,
    policy,
    report,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    typed,
    wait,
    workflow,
)


def _queues(engine: MemoryEngine) -> set[str]:
    return {name for name, size in engine.engine.tasks.queue_sizes(None).items() if size}


# -- domains ---------------------------------------------------------------------------------------


def test_a_star_gives_every_worker_task_its_domain_and_no_system_task(
    engine: MemoryEngine,
) -> None:
    call = typed("HTTP", "h", inputParameters={"uri": "http://x.test", "method": "GET"})
    refs = ("a", "b", "h")
    branches = fork("f", [simple("a")], [simple("b")], [call])
    engine.start(workflow("w", branches, join("j", *refs)), task_to_domain={"*": "eu"})
    assert _queues(engine) == {"eu:a", "eu:b", "HTTP"}


def test_the_domain_of_a_name_goes_before_the_star_even_when_it_is_none(
    engine: MemoryEngine,
) -> None:
    branches = fork("f", [simple("a")], [simple("b")], [simple("c")])
    given = {"*": "eu", "a": "us", "b": "no_domain"}
    engine.start(workflow("w", branches, join("j", "a", "b", "c")), task_to_domain=given)
    assert _queues(engine) == {"us:a", "b", "eu:c"}


def test_a_failure_workflow_and_a_retry_stay_in_the_domains_of_the_start(
    engine: MemoryEngine,
) -> None:
    rescue = workflow_from_json(workflow("rescue", simple("r")))
    engine.engine.definitions.register(rescue, overwrite=True)
    definition = workflow("w", policy("a", retryCount=1), failureWorkflow="rescue")
    engine.start(definition, task_to_domain={"*": "eu"})
    for _ in range(2):
        (task,) = engine.poll("a", domain="eu")
        engine.complete(task, status="FAILED")
        pass_time(engine, seconds=1)
    assert _queues(engine) == {"eu:r"}


# -- what a task is given --------------------------------------------------------------------------

_TEMPLATE = {"name": "t", "inputTemplate": {"extra": 1}}


@pytest.mark.parametrize(
    ("task", "filled"),
    [
        (simple("t"), True),
        (inline("t", "1"), True),
        (typed("JSON_JQ_TRANSFORM", "t", inputParameters={"queryExpression": "."}), True),
        (typed("HTTP", "t", inputParameters={"uri": "http://x.test", "method": "GET"}), True),
        (times("t", 1, simple("body")), True),
        (switch("t", "x", {}), False),
        (set_variable("t", n=1), False),
        (wait("t"), False),
        (typed("HUMAN", "t"), False),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
def test_the_template_of_a_task_definition_fills_the_inputs_of_some_types(
    engine: MemoryEngine, task: Json, filled: bool
) -> None:
    started = engine.start(workflow("w", {**task, "taskDefinition": _TEMPLATE}, simple("z")))
    assert ("extra" in task_of(engine, started, "t")["inputData"]) is filled


def test_a_null_stays_null_for_a_type_that_takes_no_template(engine: MemoryEngine) -> None:
    given = {"extra": "${workflow.input.none}"}
    task = typed("SET_VARIABLE", "t", inputParameters=given, taskDefinition=_TEMPLATE)
    started = engine.start(workflow("w", task, simple("z")))
    assert engine.workflow(started)["variables"] == {"extra": None}


@pytest.mark.parametrize(
    "task",
    [inline("t", "1"), set_variable("t", n=1), switch("t", "x", {}), typed("NOOP", "t")],
    ids=lambda task: task["type"],
)
def test_a_start_delay_holds_up_no_type_that_is_done_at_once(
    engine: MemoryEngine, task: Json
) -> None:
    started = engine.start(workflow("w", {**task, "startDelay": 60}))
    assert status_of(engine, started) == "COMPLETED"


# -- the order of tasks ----------------------------------------------------------------------------


def test_containers_are_numbered_before_what_they_open_and_joins_behind_it(
    engine: MemoryEngine,
) -> None:
    inner = switch("s", "x", {"x": [simple("a"), simple("late")]})
    branches = fork("f", [inner], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "late", "b"), simple("z")))
    engine.run("a")
    tasks = engine.workflow(started)["tasks"]
    assert [task["referenceTaskName"] for task in tasks] == ["f", "s", "a", "b", "j", "late"]
    assert [task["seq"] for task in tasks] == [1, 2, 3, 4, 5, 6]


# -- choices and loops -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "case"),
    [(1, "1"), (1.0, "1.0"), (True, "true"), (None, "null"), ("x", "x"), ([1, "a"], "[1, a]")],
)
def test_a_switch_compares_the_text_of_its_value(
    engine: MemoryEngine, value: Any, case: str
) -> None:
    started = engine.start(workflow("w", switch("s", value, {case: [simple("taken")]})))
    assert task_of(engine, started, "s")["outputData"] == {
        "evaluationResult": [case],
        "selectedCase": case,
    }
    assert "taken" in engine.statuses(started)


def test_a_loop_condition_knows_tasks_before_the_loop_by_its_inputs_only(
    engine: MemoryEngine,
) -> None:
    given = {"inputParameters": {"before": "${a.output.n}"}}
    asks = "typeof $.a === 'undefined' && $.before == 7 && $.l['iteration'] < 2"
    loop = {**times("l", 9, simple("body")), "loopCondition": asks, **given}
    started = engine.start(workflow("w", simple("a"), loop))
    engine.run("a", {"n": 7})
    engine.run("body")
    engine.run("body")
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 2
    assert status_of(engine, started) == "COMPLETED"


def test_a_join_leaves_out_empty_outputs_and_names_branches_by_iteration(
    engine: MemoryEngine,
) -> None:
    body = (fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(workflow("w", times("l", 2, *body)))
    for n in (1, 2):
        engine.run("a", {"n": n})
        engine.run("b")
        assert task_of(engine, started, f"j__{n}")["outputData"] == {f"a__{n}": {"n": n}}


# -- results ---------------------------------------------------------------------------------------


def test_a_reason_is_kept_up_to_500_characters(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a", "x" * 600)
    assert task_of(engine, started, "a")["reasonForIncompletion"] == "x" * 500


def test_progress_replaces_the_output_and_keeps_the_counts(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=2)))
    (task,) = engine.poll("a")
    report(engine, task, status="IN_PROGRESS", output={"first": 1})
    (again,) = engine.poll("a")
    report(engine, again, status="IN_PROGRESS", output={"second": 2})
    found = task_of(engine, started, "a")
    assert (found["outputData"], found["pollCount"], found["retryCount"]) == ({"second": 2}, 2, 0)


# -- ends ------------------------------------------------------------------------------------------


def test_nulls_stay_in_the_output_of_a_workflow(engine: MemoryEngine) -> None:
    given = {"there": "${a.output.v}", "absent": "${a.output.none}"}
    started = engine.start(workflow("w", simple("a"), outputParameters=given))
    engine.run("a", {"v": 1})
    assert engine.workflow(started)["output"] == {"there": 1, "absent": None}


def test_a_workflow_that_fails_ends_with_the_output_of_the_task_that_failed(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", {"v": 1})
    engine.run("b", {"why": 2}, status="FAILED")
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("FAILED", {"why": 2})
    assert found["failedReferenceTaskNames"] == ["b"]


def test_a_branch_that_a_worker_cancels_cancels_its_join_and_terminates_the_workflow(
    engine: MemoryEngine,
) -> None:
    branches = fork("f", [simple("a")], [simple("b")])
    started = engine.start(workflow("w", branches, join("j", "a", "b")))
    (task,) = engine.poll("a")
    engine.complete(task, status="CANCELED")
    engine.settle()
    assert status_of(engine, started) == "TERMINATED"
    assert engine.statuses(started) == {
        "f": "COMPLETED",
        "a": "CANCELED",
        "b": "CANCELED",
        "j": "CANCELED",
    }


@pytest.mark.parametrize(("given", "expected"), [({"priority": 7}, 7), ({}, 0)])
def test_a_childs_priority_is_given_and_not_inherited(
    engine: MemoryEngine, given: Json, expected: int
) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    child["subWorkflowParam"] |= given
    started = engine.start(workflow("w", child), priority=50)
    engine.settle()
    found = engine.workflow(task_of(engine, started, "s")["subWorkflowId"])
    assert found.get("priority", 0) == expected

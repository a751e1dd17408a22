"""Forks and TERMINATE tasks that do not do what they are for: what follows them goes on."""

import pytest

from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    dag,
    dynamic_fork,
    fork,
    join,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    task_of,
    tasks_of,
    terminate,
    typed,
    workflow,
)

_USELESS = ("TERMINATE", "FORK_JOIN", "FORK_JOIN_DYNAMIC")
"""A DYNAMIC that becomes one of these lacks what it would need."""


def _dynamic(name: str, **more: object) -> Json:
    facts: Json = {"dynamicTaskNameParam": "n", "inputParameters": {"n": name}}
    return typed("DYNAMIC", "d", **facts, **more)


def _is_sound(engine: MemoryEngine, started: str) -> bool:
    return engine.engine.auditor.execution(started) == ()


@pytest.mark.parametrize("name", _USELESS)
def test_its_failure_in_a_dag_is_told_and_counted(engine: MemoryEngine, name: str) -> None:
    tasks = [_dynamic(name), simple("a"), simple("z"), simple("x")]
    started = engine.start(dag("w", tasks, "d -always> a", "d > z"))
    assert engine.statuses(started)["a"] == "SCHEDULED"
    assert _is_sound(engine, started)
    engine.run("a")
    engine.run("x")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"].startswith("Task d (")
    assert "z" not in engine.statuses(started)


@pytest.mark.parametrize("name", _USELESS)
def test_it_ends_a_dag_with_nothing_behind_it(engine: MemoryEngine, name: str) -> None:
    """It had ended and was not counted: such a DAG could never complete."""
    tasks = [_dynamic(name, optional=True), simple("x")]
    started = engine.start(dag("w", tasks))
    assert _is_sound(engine, started)
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("name", _USELESS)
def test_an_optional_one_lets_the_workflow_go_on(engine: MemoryEngine, name: str) -> None:
    started = engine.start(workflow("w", _dynamic(name, optional=True), simple("z")))
    assert engine.statuses(started) == {"d": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_an_optional_dynamic_fork_without_branches_goes_on_behind_its_join(
    engine: MemoryEngine,
) -> None:
    broken = typed("FORK_JOIN_DYNAMIC", "f", optional=True)
    started = engine.start(workflow("w", broken, join("j"), simple("z")))
    engine.run("z")
    assert engine.statuses(started)["f"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "COMPLETED"


def test_a_retry_passes_over_what_failed_at_the_end(engine: MemoryEngine) -> None:
    first = policy("a", retryCount=0) | {"permissive": True}
    started = engine.start(workflow("w", first, _dynamic("TERMINATE", optional=True)))
    run_failing(engine, "a")
    assert status_of(engine, started) == "FAILED"
    engine.engine.recovery.retry(started)
    engine.run("a")
    assert engine.statuses(started) == {"a": "COMPLETED", "d": "COMPLETED_WITH_ERRORS"}
    assert status_of(engine, started) == "COMPLETED"


def test_a_retry_opens_no_second_join_for_the_branches_of_a_permissive_fork(
    engine: MemoryEngine,
) -> None:
    given = {"branches": "${workflow.variables.branches}", "inputs": {}}
    late = dynamic_fork("f", permissive=True) | {"inputParameters": given}
    sets = set_variable("v", branches=[simple("b")])
    started = engine.start(workflow("w", late, join("j"), sets))
    assert status_of(engine, started) == "FAILED"
    engine.engine.recovery.retry(started)
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "j")) == 1


def test_a_fork_that_fails_in_a_rerun_has_not_brought_the_branches_of_before(
    engine: MemoryEngine,
) -> None:
    branches = [dynamic_fork("f", optional=True), join("k", "x")]
    started = engine.start(
        workflow("w", fork("g", branches, [simple("x")]), join("j", "k", "x")),
        input={"branches": [simple("b"), simple("c")], "inputs": {}},
    )
    engine.run("b")
    engine.run("c")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"
    first = task_of(engine, started, "g")["taskId"]
    request = RerunRequest(from_task=first, workflow_input={"branches": 5})
    engine.engine.recovery.rerun(started, request)
    assert engine.statuses(started)["f"] == "COMPLETED_WITH_ERRORS"
    assert engine.statuses(started)["k"] == "IN_PROGRESS"
    assert _is_sound(engine, started)
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_a_prohibited_terminate_task_is_passed_through(engine: MemoryEngine) -> None:
    ends = terminate("t", "FAILED") | {"prohibited": True}
    started = engine.start(dag("w", [ends, simple("a")], "t > a"))
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("name", ["JOIN", "EXCLUSIVE_JOIN"])
def test_a_rerun_of_a_dag_counts_a_join_that_a_dynamic_task_became(
    engine: MemoryEngine, name: str
) -> None:
    started = engine.start(dag("w", [_dynamic(name), simple("z")], "d > z"))
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    request = RerunRequest(from_task=task_of(engine, started, "d")["taskId"])
    engine.engine.recovery.rerun(started, request)
    assert _is_sound(engine, started)
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"

"""DYNAMIC: a task whose name comes from its input."""

from typing import Any

import pytest

from conductor_py.codec.definitions import task_def_from_json
from conductor_py.testing import MemoryEngine
from tests.builders import (
    run_failing,
    simple,
    status_of,
    task_of,
    tasks_of,
    times,
    typed,
    workflow,
)


def _dynamic(name: Any, **more: Any) -> dict[str, Any]:
    parameters = {"which": name, **more.pop("inputs", {})}
    return typed("DYNAMIC", "d", dynamicTaskNameParam="which", inputParameters=parameters, **more)


def test_task_of_that_name_is_scheduled(engine: MemoryEngine) -> None:
    definition = workflow("w", _dynamic("${workflow.input.n}", inputs={"x": 1}), simple("z"))
    started = engine.start(definition, input={"n": "paint"})
    task = engine.run("paint", {"done": True})
    assert task["referenceTaskName"] == "d"
    assert task["inputData"] == {"which": "paint", "x": 1}
    assert engine.statuses(started) == {"d": "COMPLETED", "z": "SCHEDULED"}


def test_output_is_read_under_the_reference(engine: MemoryEngine) -> None:
    after = simple("z", inputParameters={"v": "${d.output.v}"})
    engine.start(workflow("w", _dynamic("paint"), after))
    engine.run("paint", {"v": 4})
    (task,) = engine.poll("z")
    assert task["inputData"] == {"v": 4}


def test_name_of_a_system_type_is_that_type(engine: MemoryEngine) -> None:
    task = _dynamic("SET_VARIABLE", inputs={"n": 3})
    started = engine.start(workflow("w", task))
    assert engine.workflow(started)["variables"]["n"] == 3
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-49")
def test_resolved_task_has_its_own_definition(engine: MemoryEngine) -> None:
    definition = task_def_from_json({"name": "paint", "retryCount": 1, "retryDelaySeconds": 0})
    engine.engine.definitions.register_tasks([definition])
    started = engine.start(workflow("w", _dynamic("paint")))
    run_failing(engine, "paint")
    run_failing(engine, "paint")
    assert [t["status"] for t in tasks_of(engine, started, "d")] == ["FAILED", "FAILED"]
    assert status_of(engine, started) == "FAILED"


def test_retry_keeps_the_name_that_was_resolved(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _dynamic("paint", retryCount=1)))
    run_failing(engine, "paint")
    engine.clock.advance(seconds=60)
    engine.run("paint")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("name", [None, "", "${workflow.input.missing}"])
def test_missing_name_fails_the_task(engine: MemoryEngine, name: Any) -> None:
    started = engine.start(workflow("w", _dynamic(name)))
    assert task_of(engine, started, "d")["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


def test_optional_dynamic_task_that_fails_is_passed_by(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", _dynamic("paint", optional=True, retryCount=0), simple("z"))
    )
    run_failing(engine, "paint")
    assert engine.statuses(started) == {"d": "COMPLETED_WITH_ERRORS", "z": "SCHEDULED"}


def test_name_is_resolved_anew_in_each_iteration(engine: MemoryEngine) -> None:
    loop = times("l", 2, _dynamic("step${l.output.iteration}"))
    started = engine.start(workflow("w", loop))
    engine.run("step1")
    engine.run("step2")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    "name",
    [
        "SWITCH",
        "FORK_JOIN",
        "FORK_JOIN_DYNAMIC",
        "JOIN",
        "DO_WHILE",
        "SUB_WORKFLOW",
        "DYNAMIC",
        "INLINE",
        "TERMINATE",
    ],
)
def test_system_type_without_what_it_needs_still_ends(engine: MemoryEngine, name: str) -> None:
    started = engine.start(workflow("w", _dynamic(name), simple("z")))
    for task in engine.poll("z"):
        engine.complete(task)
    assert status_of(engine, started) in {"COMPLETED", "FAILED"}


def test_a_dynamic_sub_workflow_takes_its_child_from_the_input(engine: MemoryEngine) -> None:
    inputs = {
        "n": "SUB_WORKFLOW",
        "subWorkflowName": "c",
        "subWorkflowDefinition": workflow(
            "c", simple("x", inputParameters={"v": "$${workflow.input.a}"})
        ),
        "subWorkflowTaskToDomain": {"x": "d"},
        "workflowInput": "${workflow.input.given}",
    }
    task = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters=inputs)
    started = engine.start(workflow("w", task), input={"given": {"a": "${workflow.output}"}})
    (inner,) = engine.poll("x", domain="d")
    assert inner["inputData"] == {"v": "${workflow.output}"}
    engine.complete(inner, {"r": 1})
    engine.settle()
    assert task_of(engine, started, "d")["outputData"]["r"] == 1
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("name", "more", "output"),
    [
        ("NOOP", {}, {}),
        ("INLINE", {"expression": "$.n.length"}, {"result": 6}),
        ("JSON_JQ_TRANSFORM", {"queryExpression": ".n"}, None),
    ],
)
def test_a_dynamic_system_task_runs_as_its_type(
    engine: MemoryEngine, name: str, more: dict[str, Any], output: Any
) -> None:
    inputs = {"n": name, **more}
    task = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters=inputs)
    started = engine.start(workflow("w", task))
    found = task_of(engine, started, "d")
    assert (found["taskType"], found["status"]) == (name, "COMPLETED")
    assert output is None or found["outputData"] == output


def test_a_join_that_a_dynamic_task_became_waits_for_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _dynamic("EXCLUSIVE_JOIN"), simple("z")))
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"

"""Definitions that come as data: read as leniently, and refused as plainly, as registered ones."""

from typing import Any

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import dynamic_fork, join, simple, status_of, sub_workflow, task_of, workflow

_REFUSED = "Not a valid definition: "


def _forked(engine: MemoryEngine, *tasks: Any) -> str:
    forking = workflow("w", dynamic_fork("f"), join("j"))
    return engine.start(forking, input={"branches": list(tasks), "inputs": {}})


def _reason(engine: MemoryEngine, started: str) -> str:
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    reason: str = found["reasonForIncompletion"]
    return reason.partition(" failed: ")[2]


def _branch(**more: Any) -> dict[str, Any]:
    return {"name": "x", "taskReferenceName": "x", "type": "SIMPLE", **more}


def test_numbers_that_come_as_text_are_numbers(engine: MemoryEngine) -> None:
    policy = {"responseTimeoutSeconds": "60", "retryDelaySeconds": "7", "retryLogic": "FIXED"}
    started = _forked(engine, _branch(startDelay="5", retryCount="1", taskDefinition=policy))
    assert not engine.poll("x")
    engine.clock.advance(seconds=5)
    (task,) = engine.poll("x")
    assert task["responseTimeoutSeconds"] == 60
    engine.complete(task, status="FAILED")
    engine.clock.advance(seconds=6)
    assert not engine.poll("x")
    engine.clock.advance(seconds=1)
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        (_branch(startDelay="soon"), "$[0].startDelay: must be a whole number"),
        (_branch(startDelay=10**17), "$[0].startDelay: must not be more than 315576000"),
        (_branch(retryCount=-1), "$[0].retryCount: must not be less than 0"),
        (
            _branch(taskDefinition={"timeoutSeconds": 10**12}),
            "$[0].taskDefinition.timeoutSeconds: must not be more than 315576000",
        ),
        (
            _branch(type="DYNAMIC", dynamicTaskNameParam={}),
            "$[0].dynamicTaskNameParam: must be a string",
        ),
        (_branch(type="SWITCH", decisionCases=[1]), "$[0].decisionCases: must be an object"),
        (
            _branch(type="DO_WHILE", loopOver=[{"name": "y"}]),
            "$[0].loopOver[0].taskReferenceName: must be given",
        ),
        (_branch(joinOn="x"), "$[0].joinOn: must be a list"),
    ],
)
def test_dynamic_task_that_is_none_fails_its_fork_with_the_place(
    engine: MemoryEngine, task: dict[str, Any], complaint: str
) -> None:
    assert _reason(engine, _forked(engine, task)) == _REFUSED + complaint


@pytest.mark.parametrize("levels", [50, 100])
def test_dynamic_tasks_nested_without_end_are_refused(engine: MemoryEngine, levels: int) -> None:
    task = _branch()
    for level in range(levels):
        task = {
            "name": "l",
            "taskReferenceName": f"l{level}",
            "type": "DO_WHILE",
            "loopCondition": "1 < 0",
            "loopOver": [task],
        }
    assert _reason(engine, _forked(engine, task)).startswith("Not a valid definition")


def _sub(engine: MemoryEngine, definition: Any) -> str:
    started = engine.start(
        workflow(
            "w",
            simple("p"),
            sub_workflow("s", "${p.output.d}")
            | {"subWorkflowParam": {"name": "c", "workflowDefinition": "${p.output.d}"}},
        )
    )
    engine.run("p", {"d": definition})
    return started


def test_inline_sub_workflow_from_data_has_its_numbers_read(engine: MemoryEngine) -> None:
    started = _sub(
        engine,
        {
            "name": "c",
            "timeoutSeconds": "60",
            "timeoutPolicy": "TIME_OUT_WF",
            "tasks": [simple("x")],
        },
    )
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.clock.advance(seconds=60)
    engine.settle()
    assert status_of(engine, child) == "TIMED_OUT"


@pytest.mark.parametrize(
    ("definition", "complaint"),
    [
        (
            {"name": "c", "timeoutSeconds": "x", "tasks": [simple("x")]},
            "$.timeoutSeconds: must be a whole number",
        ),
        (
            {"name": "c", "tasks": [_branch(startDelay=[])]},
            "$.tasks[0].startDelay: must be a whole number",
        ),
        ({"name": "c", "tasks": []}, "$.tasks: must hold at least one task"),
        (
            {"name": "c", "tasks": [simple("x"), simple("x")]},
            "$.tasks[1].taskReferenceName: must be unique in the workflow",
        ),
    ],
)
def test_inline_sub_workflow_that_is_none_fails_its_task_with_the_place(
    engine: MemoryEngine, definition: Any, complaint: str
) -> None:
    assert _REFUSED + complaint in _reason(engine, _sub(engine, definition))

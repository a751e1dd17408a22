"""Skipping tasks that have not been reached."""

from typing import Any

import pytest

from conductor_py.errors import Conflict, InvalidInput, NotFound
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    fork_inputs,
    join,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    terminate,
    times,
    workflow,
)


def _skip(engine: MemoryEngine, started: str, ref: str, **more: Any) -> None:
    given = {"task_input": {}, "task_output": {}, **more}
    engine.engine.steering.skip(started, ref, **given)


def test_skipped_task_has_a_record_at_once_and_is_passed_over(engine: MemoryEngine) -> None:
    last = simple("c", inputParameters={"v": "${b.output.v}"})
    started = engine.start(workflow("w", simple("a"), simple("b"), last))
    _skip(engine, started, "b", task_input={"i": 1}, task_output={"v": 7})
    task = task_of(engine, started, "b")
    assert (task["status"], task["inputData"], task["outputData"]) == (
        "SKIPPED",
        {"i": 1},
        {"v": 7},
    )
    assert task["workflowTask"]["taskReferenceName"] == "b"
    assert (task["seq"], task["endTime"]) == (2, engine.clock.now_ms)
    assert "c" not in engine.statuses(started)
    engine.run("a")
    assert not engine.poll("b")
    assert engine.run("c")["inputData"] == {"v": 7}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-42")
@pytest.mark.parametrize(
    "container",
    [
        fork("f", [simple("x"), simple("y")], [simple("z")]),
        switch("q", "k", {"k": [simple("x"), simple("y")]}),
        times("l", 2, simple("x"), simple("y")),
    ],
    ids=["branch", "case", "loop body"],
)
def test_first_task_of_a_container_can_be_skipped(engine: MemoryEngine, container: Any) -> None:
    after = [join("j", "y", "z")] if container["type"] == "FORK_JOIN" else []
    started = engine.start(workflow("w", simple("a"), container, *after))
    _skip(engine, started, "x")
    engine.run("a")
    engine.settle()
    assert not engine.poll("x")
    for name in ("y", "z", "y"):
        for task in engine.poll(name):
            engine.complete(task)
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert {s for ref, s in engine.statuses(started).items() if ref[0] == "x"} == {"SKIPPED"}


def test_one_iteration_of_a_loops_task_can_be_skipped(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, simple("x"))))
    _skip(engine, started, "x__2")
    engine.run("x")
    engine.run("x")
    found = {ref: status for ref, status in engine.statuses(started).items() if ref != "l"}
    assert found == {"x__1": "COMPLETED", "x__2": "SKIPPED", "x__3": "COMPLETED"}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("ref", ["x", "f", "s", "t", "l"])
def test_tasks_of_every_kind_can_be_skipped(engine: MemoryEngine, ref: str) -> None:
    tasks = {
        "x": [simple("x")],
        "f": [fork("f", [simple("b1")], [simple("b2")]), join("j", "b1", "b2")],
        "s": [sub_workflow("s", workflow("c", simple("y")))],
        "t": [terminate("t", "FAILED")],
        "l": [times("l", 3, simple("y"))],
    }[ref]
    started = engine.start(workflow("w", simple("a"), *tasks, simple("z")))
    _skip(engine, started, ref)
    engine.run("a")
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    assert engine.statuses(started)[ref] == "SKIPPED"


def test_skipped_branch_counts_once_in_its_join(engine: MemoryEngine) -> None:
    definition = workflow(
        "w", simple("a"), fork("f", [simple("x")], [simple("y")]), join("j", "x", "y"), simple("z")
    )
    started = engine.start(definition)
    _skip(engine, started, "x")
    engine.run("a")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("y")
    assert engine.statuses(started)["z"] == "SCHEDULED"


@pytest.mark.parametrize(
    "container",
    [
        fork("f", [simple("x")], [simple("x2", name="x")]),
        fork_inputs("f", [1, 2], forkTaskName="x"),
    ],
    ids=["fork", "dynamic fork"],
)
def test_join_of_a_fork_can_be_skipped(engine: MemoryEngine, container: Any) -> None:
    """What follows it begins with the branches; a dynamic fork opened its join all the same."""
    started = engine.start(workflow("w", simple("a"), container, join("j", "x", "x2"), simple("z")))
    _skip(engine, started, "j")
    engine.run("a")
    assert [each["status"] for each in tasks_of(engine, started, "j")] == ["SKIPPED"]
    engine.run("z")
    for _ in range(2):
        assert status_of(engine, started) == "RUNNING"
        engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_skip_outlives_a_retry_and_not_a_restart(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), times("l", 2, simple("x"))))
    _skip(engine, started, "b")
    _skip(engine, started, "x")
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()
    engine.run("a")
    assert engine.statuses(started)["x__2"] == "SKIPPED"
    assert status_of(engine, started) == "COMPLETED"
    engine.engine.recovery.restart(started)
    engine.settle()
    for name in ("a", "b", "x"):
        engine.run(name)
    assert engine.statuses(started)["x__2"] == "SCHEDULED"


def test_scheduled_task_is_refused(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("x")), simple("b")))
    for ref in ("x", "x__1", "l"):
        with pytest.raises(Conflict, match="scheduled"):
            _skip(engine, started, ref)
    _skip(engine, started, "b")
    with pytest.raises(Conflict):
        _skip(engine, started, "b")


@pytest.mark.parametrize("ref", ["nobody", "b__1", "x__1__1", "x__0", ""])
def test_unknown_reference_is_refused(engine: MemoryEngine, ref: str) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("x")), simple("b")))
    with pytest.raises(InvalidInput, match="reference"):
        _skip(engine, started, ref)


def test_only_a_running_execution_takes_a_skip(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.engine.steering.pause(started)
    with pytest.raises(Conflict, match="PAUSED"):
        _skip(engine, started, "b")
    engine.engine.executions.terminate(started, reason=None)
    with pytest.raises(Conflict):
        _skip(engine, started, "b")
    with pytest.raises(NotFound):
        _skip(engine, "00000000-0000-0000-0000-000000000000", "b")

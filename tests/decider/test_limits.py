"""Bounds of one execution, at the boundary and one beyond: what is refused says which setting."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.codec.event import dump_event
from conductor_py.decider.workspace import Limits
from conductor_py.errors import LimitExceeded
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Outcome
from conductor_py.testing import memory_engine
from tests.builders import (
    Json,
    do_while,
    fork_inputs,
    inline,
    join,
    pass_time,
    simple,
    status_of,
    task_of,
    workflow,
)


def _loop(condition: str, *body: Json, **inputs: Any) -> Json:
    return do_while("l", condition, *body, inputParameters=inputs)


def _until(turns: int) -> str:
    return f"$.l['iteration'] < {turns}"


@pytest.mark.parametrize("pieces", [Limits(tasks=30), Limits(tasks=30, attempts=3)])
def test_endless_loop_fails_its_execution_at_the_number_of_tasks(pieces: Limits) -> None:
    engine = memory_engine(limits=pieces)
    started = engine.start(workflow("w", _loop("true", inline("i", "1"))))
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"] == (
        "More than 30 tasks (conductor.limits.tasksPerExecution)"
    )
    assert len(found["tasks"]) == 31


@pytest.mark.parametrize(("turns", "status"), [(29, "COMPLETED"), (30, "FAILED")])
def test_loop_itself_and_its_turns_are_counted(turns: int, status: str) -> None:
    engine = memory_engine(limits=Limits(tasks=30))
    started = engine.start(workflow("w", _loop(_until(turns), inline("i", "1"))))
    engine.settle()
    assert status_of(engine, started) == status


def test_loop_that_keeps_its_last_turns_only_has_no_more_tasks_than_those() -> None:
    engine = memory_engine(limits=Limits(tasks=30))
    loop = _loop(_until(200), inline("i", "1"), keepLastN=2)
    started = engine.start(workflow("w", loop, simple("a")))
    engine.settle()
    assert len(engine.workflow(started)["tasks"]) <= 5
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_restart_begins_to_count_anew() -> None:
    engine = memory_engine(limits=Limits(tasks=10))
    started = engine.start(workflow("w", _loop(_until(8), inline("i", "1")), simple("a")))
    for _ in range(3):
        engine.settle()
        engine.run("a")
        assert status_of(engine, started) == "COMPLETED"
        engine.engine.recovery.restart(started, use_latest=False)
        engine.settle()


@pytest.mark.parametrize(("turns", "status"), [(5, "COMPLETED"), (6, "FAILED")])
def test_loop_turns_as_often_as_it_may(turns: int, status: str) -> None:
    engine = memory_engine(limits=Limits(iterations=5))
    started = engine.start(workflow("w", _loop(_until(turns), inline("i", "1"))))
    engine.settle()
    assert status_of(engine, started) == status
    if status == "FAILED":
        reason = "More than 5 iterations (conductor.limits.loopIterations)"
        assert task_of(engine, started, "l")["reasonForIncompletion"] == reason


@pytest.mark.parametrize("width", [4, 5])
def test_dynamic_fork_has_as_many_branches_as_it_may(width: int) -> None:
    engine = memory_engine(limits=Limits(branches=4))
    spread = fork_inputs("f", list(range(width)), forkTaskName="x")
    started = engine.start(workflow("w", spread, join("j")))
    engine.settle()
    if width == 4:
        assert len(engine.poll("x", 10)) == 4
        return
    assert status_of(engine, started) == "FAILED"
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert "5 branches are more than the 4" in reason
    assert "conductor.limits.forkBranches" in reason
    assert engine.poll("x", 10) == []


def test_execution_whose_inbox_is_full_takes_no_operations_but_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody decides, so that what is sent waits; a repeat of what was taken is no more of it."""
    engine = memory_engine(most_waiting=3)
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    with monkeypatch.context() as dead:
        dead.setattr(engine.engine.executor, "go_on", lambda *_: None)
        engine.complete(task, status="IN_PROGRESS")
    send, id_ = engine.ports.store.send, ExecutionId(started)

    def operation(name: str) -> bytes:
        return dump_event(Operation(id=name, name=name, arguments={}))

    for name in ("decide", "resume"):
        assert send(id_, name, operation(name), "h", 3_000, 3).outcome is Outcome.OK
    assert send(id_, "decide", operation("decide"), "h", 3_000, 3).outcome is Outcome.OK
    for _ in range(5):
        with pytest.raises(LimitExceeded, match="3 events wait"):
            engine.engine.steering.set_variables(started, {"v": 1})
    ended = send(id_, "terminate", operation("terminate"), "h", 3_000)
    assert ended.outcome is Outcome.OK
    pass_time(engine, seconds=4)
    assert status_of(engine, started) == "TERMINATED"

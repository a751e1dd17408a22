"""Executions that left the store are taken up again: they come back from the archive."""

import logging
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from conductor_py.adapters.memory.reader import MemoryExecutionReader
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec import kept_execution
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import RerunRequest
from conductor_py.ports.restore import Restore
from conductor_py.ports.store import Outcome
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.anomalies.world import World
from tests.builders import (
    fork_inputs,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    typed,
    workflow,
)


def _leave(engine: MemoryEngine, *executions: str) -> None:
    for _ in range(3):
        pass_time(engine, seconds=61)
    for execution in executions:
        assert engine.engine.executions.view(execution) is None


def test_archived_execution_is_retried(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")), input={"n": 1})
    engine.run("a", {"x": 1})
    task = run_failing(engine, "b")
    engine.engine.tasks.log(task["taskId"], "a line")
    pass_time(engine, seconds=1)
    archived = engine.workflow(started)
    _leave(engine, started)
    assert engine.workflow(started) == archived
    engine.engine.recovery.retry(started)
    found = engine.workflow(started)
    assert (found["status"], found["input"]) == ("RUNNING", {"n": 1})
    assert [line["log"] for line in engine.engine.tasks.logs(task["taskId"])] == ["a line"]
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    _leave(engine, started)
    assert status_of(engine, started) == "COMPLETED"


def test_archived_execution_is_restarted_and_rerun(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    _leave(engine, started)
    engine.engine.recovery.restart(started)
    engine.run("a")
    _leave(engine, started)
    task = task_of(engine, started, "a")["taskId"]
    engine.engine.recovery.rerun(started, RerunRequest(from_task=task))
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("through", ["child", "parent"])
@pytest.mark.parametrize("verb", ["rerun", "restart", "retry"])
def test_a_child_that_runs_again_brings_its_archived_parent_back_and_what_follows_runs_again(
    engine: MemoryEngine, verb: str, through: str
) -> None:
    child = workflow("child", simple("a"), outputParameters={"v": "${a.output.v}"})
    behind = simple("z", inputParameters={"v": "${s.output.v}"})
    parent = engine.start(workflow("w", sub_workflow("s", child), behind))
    first = run_failing(engine, "a") if verb == "retry" else engine.run("a", {"v": 1})
    if verb != "retry":
        assert engine.run("z")["inputData"] == {"v": 1}
    started = str(task_of(engine, parent, "s")["subWorkflowId"])
    _leave(engine, parent, started)
    recovery, target = engine.engine.recovery, parent if through == "parent" else started
    if verb == "rerun":
        recovery.rerun(target, RerunRequest(from_task=first["taskId"]))
    elif verb == "retry":
        recovery.retry(target, resume_subworkflows=True)
    elif through == "child":
        recovery.restart(started)
    else:
        recovery.restart(parent)
    assert engine.workflow(parent)["status"] == "RUNNING"
    assert not engine.poll("z"), "it waits for the child"
    engine.run("a", {"v": 2})
    assert engine.run("z")["inputData"] == {"v": 2}
    assert status_of(engine, parent) == "COMPLETED"


def test_it_comes_back_with_the_definitions_that_data_brought() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    named = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters={"n": "work"})
    spread = fork_inputs("g", [1, 2], forkTaskName="many")
    started = engine.start(
        workflow("w", {**named, "retryCount": 0}, spread, join("j"), simple("z"))
    )
    engine.run("work")
    for task in engine.poll("many", 2):
        engine.complete(task)
    run_failing(engine, "z")
    _leave(engine, started)
    space.partition(0).plans.clear()
    space.partition(0).plans_in_order.scores.clear()
    other = engine
    first = task_of(other, started, "_g_many_0")["taskId"]
    other.engine.recovery.rerun(started, RerunRequest(from_task=first))
    (again,) = other.poll("many", 5)
    other.complete(again)
    other.run("z")
    assert status_of(other, started) == "COMPLETED"


def test_it_comes_back_on_a_server_that_never_saw_its_definition() -> None:
    """I9: by then nobody has the snapshot but the archive."""
    world = World(servers=2)
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), simple("b")))
    run_failing(first, "a")
    _leave(first, started)
    assert first.ports.plans.collect_unused(0, 0, 100)[1] == 1
    second.engine.recovery.retry(started)
    second.run("a")
    second.run("b")
    assert status_of(second, started) == "COMPLETED"


@pytest.mark.parametrize("step", ["begin_restore", "restore"])
def test_what_a_server_read_of_the_archive_before_it_slept_does_not_come_back(step: str) -> None:
    """I7: meanwhile the execution was brought back, went on, ended and left."""
    world = World(servers=2)
    first, second = world.servers
    started = first.start(workflow("w", simple("a")))
    run_failing(first, "a")
    _leave(first, started)

    def meanwhile() -> None:
        second.engine.recovery.retry(started)
        second.run("a")
        assert status_of(second, started) == "COMPLETED"
        _leave(second, started)

    world.meanwhile(0, f"reader.{step}", meanwhile)
    with pytest.raises(Conflict):
        first.engine.recovery.retry(started)
    assert status_of(first, started) == "COMPLETED"
    assert second.poll("a") == []


def test_claims_go_on_above_the_archived_ones_though_the_clock_is_behind(
    engine: MemoryEngine,
) -> None:
    """I1."""
    started = engine.start(workflow("w", simple("a")))
    before = run_failing(engine, "a")["claimToken"]
    _leave(engine, started)
    engine.clock.advance(seconds=-3_600)
    engine.engine.recovery.retry(started)
    (task,) = engine.poll("a")
    assert task["claimToken"] > before


def test_parents_come_back_with_their_child(engine: MemoryEngine) -> None:
    child = workflow("c", simple("x"))
    started = engine.start(workflow("w", sub_workflow("s", child)))
    run_failing(engine, "x")
    engine.settle()
    inner = task_of(engine, started, "s")["subWorkflowId"]
    _leave(engine, started, inner)
    engine.engine.recovery.retry(inner)
    engine.settle()
    assert (status_of(engine, started), status_of(engine, inner)) == ("RUNNING", "RUNNING")
    engine.run("x")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_children_come_back_with_their_parent(engine: MemoryEngine) -> None:
    child = workflow("c", simple("x"))
    started = engine.start(workflow("w", sub_workflow("s", child)))
    run_failing(engine, "x")
    engine.settle()
    inner = task_of(engine, started, "s")["subWorkflowId"]
    _leave(engine, started, inner)
    engine.engine.recovery.retry(started, resume_subworkflows=True)
    engine.settle()
    assert task_of(engine, started, "s")["subWorkflowId"] == inner
    engine.run("x")
    engine.settle()
    assert (status_of(engine, started), status_of(engine, inner)) == ("COMPLETED", "COMPLETED")


def test_what_is_refused_leaves_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    _leave(engine, started)
    with pytest.raises(Conflict):
        engine.engine.recovery.retry(started)
    assert engine.engine.executions.view(started) is not None
    pass_time(engine, seconds=601)
    _leave(engine, started)
    assert status_of(engine, started) == "COMPLETED"
    assert engine.ports.outbox.size(0) == 0


def test_execution_too_large_to_be_kept_is_readable_and_not_brought_back(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_execution, "MOST_BYTES", 10)
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    _leave(engine, started)
    with pytest.raises(Conflict, match="too large"):
        engine.engine.recovery.retry(started)
    assert status_of(engine, started) == "FAILED"


def test_unknown_execution_is_not_found(engine: MemoryEngine) -> None:
    for unknown in ("nobody", "00000000-0000-0000-0000-000000000000"):
        for verb in (engine.engine.recovery.retry, engine.engine.recovery.restart):
            with pytest.raises(NotFound):
                verb(unknown)


@pytest.mark.parametrize("latest", [False, True])
@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.NEED_PLAN])
def test_what_does_not_come_back_is_neither_said_to_be_back_nor_to_be_unknown(
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    outcome: Outcome,
    latest: bool,
) -> None:
    engine.register(workflow("w", simple("a")))
    started = engine.start("w")
    run_failing(engine, "a")
    _leave(engine, started)
    caplog.set_level(logging.INFO)
    restart = partial(engine.engine.recovery.restart, started, use_latest=latest)
    with monkeypatch.context() as patch:
        patch.setattr(engine.ports.reader, "restore", lambda _: outcome)
        with pytest.raises(StoreUnavailable, match="could not be brought back"):
            restart()
    assert not _restored(caplog)

    restart()
    assert status_of(engine, started) == "RUNNING"
    assert _restored(caplog) == [started]


def test_one_that_somebody_else_brings_back_just_now_is_gone_on_with(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    _leave(engine, started)
    caplog.set_level(logging.INFO)
    restored_by = engine.ports.reader.restore

    def first_another(restore: Restore) -> Outcome:
        assert restored_by(restore) is Outcome.OK
        return restored_by(restore)

    monkeypatch.setattr(engine.ports.reader, "restore", first_another)
    engine.engine.recovery.retry(started)
    assert status_of(engine, started) == "RUNNING"
    assert not _restored(caplog), "whoever brought it back says so"


def _restored(caplog: pytest.LogCaptureFixture) -> list[object]:
    records = [vars(each) for each in caplog.records]
    return [each["workflow_id"] for each in records if each.get("action") == "restored"]


@pytest.mark.parametrize("step", ["begin_restore", "restore"])
def test_what_is_deleted_while_a_server_brings_it_back_stays_deleted(step: str) -> None:
    world = World(servers=2)
    first, second = world.servers
    started = first.start(workflow("w", simple("a")))
    run_failing(first, "a")
    _leave(first, started)
    world.meanwhile(
        0, f"reader.{step}", lambda: second.engine.steering.remove(started, archive=False)
    )
    with pytest.raises(NotFound):
        first.engine.recovery.retry(started)
    with pytest.raises(NotFound):
        second.workflow(started)
    assert second.poll("a") == []


def test_what_was_brought_back_between_the_two_steps_of_its_deletion_is_deleted(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    _leave(engine, started)
    reader = type(engine.ports.reader)
    cancel, restore = reader.cancel_restore, reader.restore

    def late(self: MemoryExecutionReader, execution: ExecutionId) -> bool:
        monkeypatch.undo()
        assert restore(self, orders[0]) is Outcome.OK
        return cancel(self, execution)

    orders: list[Restore] = []

    def held_up(self: MemoryExecutionReader, order: Restore) -> Outcome:
        orders.append(order)
        monkeypatch.setattr(reader, "cancel_restore", late)
        engine.engine.steering.remove(started, archive=False)
        return restore(self, order)

    monkeypatch.setattr(reader, "restore", held_up)
    with pytest.raises(NotFound):
        engine.engine.recovery.retry(started)
    with pytest.raises(NotFound):
        engine.workflow(started)


@pytest.mark.parametrize("archived", [True, False])
def test_who_starts_under_the_key_of_a_deleted_execution_gets_a_new_one(
    engine: MemoryEngine, *, archived: bool
) -> None:
    more = {"idempotency_key": "k", "idempotency_strategy": "RETURN_EXISTING"}
    started = engine.start(workflow("w", simple("a")), **more)
    engine.run("a")
    if archived:
        _leave(engine, started)
    assert engine.start(workflow("w", simple("a")), **more) == started
    engine.engine.steering.remove(started, archive=False)
    again = engine.start(workflow("w", simple("a")), **more)
    assert again != started
    assert status_of(engine, again) == "RUNNING"


def test_what_is_archived_and_cannot_be_read_can_be_deleted(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a")), idempotency_key="k")
    engine.run("a")
    _leave(engine, started)
    kept = type(engine.ports.search).kept

    def damaged(*given: Any) -> Any:
        found = kept(*given)
        return found and replace(found, document=b"of another format")

    monkeypatch.setattr(type(engine.ports.search), "kept", damaged)
    engine.engine.steering.remove(started, archive=False)
    with pytest.raises(NotFound):
        engine.workflow(started)

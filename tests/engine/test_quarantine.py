"""Quarantine: what cannot be decided is kept and seen, stops nobody else, and is tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider import decide as deciding
from conductor_py.decider import ending
from conductor_py.decider.workspace import Workspace
from conductor_py.engine.decisions import deliberation
from conductor_py.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from conductor_py.model.event import ResultReported
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    dag,
    fork,
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


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def space() -> MemorySpace:
    return MemorySpace(clock=FakeClock())


@pytest.fixture
def engine(space: MemorySpace) -> MemoryEngine:
    clock: Any = space.clock
    return memory_engine(clock=clock, space=space)


def stored(space: MemorySpace, started: str) -> Stored:
    return space.partition(0).executions[started]


def lose_plan(engine: MemoryEngine, space: MemorySpace, started: str) -> Callable[[], None]:
    """Lose the definition of an execution; what is returned brings it back."""
    plan = str(stored(space, started).header()["plan"])
    plans, snapshots = space.partition(0).plans, _snapshots(engine)
    lost = plans.pop(plan)
    snapshots._compiled.clear()

    def back() -> None:
        plans[plan] = lost

    return back


def _snapshots(engine: MemoryEngine) -> Any:
    executor: Any = engine.engine.executor
    return executor._snapshots


def pass_minutes(engine: MemoryEngine, seconds: int) -> None:
    for _ in range(seconds):
        pass_time(engine, seconds=1)


def listed(engine: MemoryEngine) -> list[Any]:
    return list(engine.engine.quarantine.listed(start=0, size=100)[0])


def in_quarantine(engine: MemoryEngine, space: MemorySpace) -> tuple[str, Callable[[], None]]:
    """An execution whose definition is lost and whose task has a result."""
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    back = lose_plan(engine, space, started)
    engine.complete(task)
    pass_minutes(engine, 30)
    assert [one["workflowId"] for one in listed(engine)] == [started]
    return started, back


def test_a_lost_definition_leads_into_quarantine_after_some_tries(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    started, _ = in_quarantine(engine, space)
    (one,) = listed(engine)
    assert (one["tries"], one["reason"]) == (5, "its definition is lost")
    assert engine.engine.quarantine.count() == 1
    assert stored(space, started).inbox, "its result is kept"


def retried(engine: MemoryEngine) -> tuple[int, int]:
    """Try all again, as often as it takes: how many were decided, and how many not."""
    tried = engine.engine.quarantine.retry_all()
    decided, failed = tried.decided, tried.failed
    while tried.cursor:
        tried = engine.engine.quarantine.retry_all(tried.cursor)
        decided, failed = decided + tried.decided, failed + tried.failed
    assert tried.left == 0
    return decided, failed


def test_it_fires_no_more_at_the_usual_pace(engine: MemoryEngine, space: MemorySpace) -> None:
    in_quarantine(engine, space)
    (one,) = listed(engine)
    engine.clock.advance(milliseconds=one["retryAt"] - engine.clock.now_ms - 1)
    assert engine.engine.sweeper.tick() == 0
    engine.clock.advance(milliseconds=1)
    assert engine.engine.sweeper.tick() == 1
    (again,) = listed(engine)
    assert again["tries"] == 6


def test_it_heals_by_itself_when_its_definition_is_back(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    started, back = in_quarantine(engine, space)
    back()
    pass_minutes(engine, 700)
    assert listed(engine) == []
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_an_operator_has_it_tried_again(engine: MemoryEngine, space: MemorySpace) -> None:
    started, back = in_quarantine(engine, space)
    assert engine.engine.quarantine.retry(started) is False
    assert listed(engine)
    back()
    assert engine.engine.quarantine.retry(started) is True
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    assert listed(engine) == []
    for unknown in (started, "x"):
        with pytest.raises(NotFound):
            engine.engine.quarantine.retry(unknown)


def test_all_of_them_are_tried_again(engine: MemoryEngine, space: MemorySpace) -> None:
    first, back = in_quarantine(engine, space)
    back()
    other = engine.start(workflow("other", simple("c"), simple("d")))
    (task,) = engine.poll("c")
    lose_plan(engine, space, other)
    engine.complete(task)
    pass_minutes(engine, 30)
    assert retried(engine) == (1, 1)
    assert [one["workflowId"] for one in listed(engine)] == [other]
    assert engine.statuses(first)["b"] == "SCHEDULED"


@pytest.mark.parametrize("partitions", [1, 3])
def test_many_are_tried_in_several_requests_each_once_though_none_can_be_decided(
    monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    """What was tried in vain stays in front of the others, and must not keep them from it."""
    clock = FakeClock()
    space = MemorySpace(partitions, clock)
    engine = memory_engine(clock=clock, space=space)
    started = [engine.start(workflow("w", typed("HUMAN", "h"))) for _ in range(250)]
    for one in started:
        _poison(engine, one)
    quarantine, tries = engine.engine.quarantine, list[str]()

    def slow(execution: str) -> bool:
        tries.append(execution)
        clock.advance(milliseconds=101)
        return _poison(engine, execution)

    monkeypatch.setattr(quarantine, "retry", slow)
    tried, lefts = quarantine.retry_all(), list[int]()
    while tried.cursor:
        assert (tried.decided, tried.failed) == (0, 50), "five seconds, and the one that ended them"
        lefts.append(tried.left)
        tried = quarantine.retry_all(tried.cursor)
    assert lefts == [200, 150, 100, 50]
    assert (len(tries), set(tries)) == (250, set(started))


def _poison(engine: MemoryEngine, execution: str) -> bool:
    """Set it back into quarantine; it is not decided."""
    store, one = engine.ports.quarantine, ExecutionId(execution)
    store.take(one, "d", 3_000)
    loaded = engine.ports.store.load(one, ["h"])
    assert loaded is not None
    for _ in range(5):
        store.set_back(one, "d", loaded[0], "it is broken")
    return False


def test_what_is_damaged_is_looked_at_in_several_requests_and_each_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox, damage, looks = engine.ports.outbox, engine.ports.damage, list[str]()
    for number in range(8):
        outbox.order(0, [(f"bad{number}", b"{}")])
        outbox.put_aside(0, [(f"bad{number}", engine.clock.now_ms, "it is broken")])
    retry_by = damage.retry

    def slow(entry: str) -> bool:
        looks.append(entry)
        found = retry_by(entry)
        engine.clock.advance(seconds=2)
        (effect,) = outbox.read(0, [entry.rpartition(" ")[2]])
        outbox.put_aside(0, [(effect.id, effect.stamp, "it is still broken")])
        return found

    monkeypatch.setattr(damage, "retry", slow)
    tried = engine.engine.quarantine.retry_all()
    assert (tried.decided, tried.failed, tried.left) == (0, 0, 5)
    while tried.cursor:
        tried = engine.engine.quarantine.retry_all(tried.cursor)
    assert looks == [f"0 outbox bad{number}" for number in range(8)]


@pytest.mark.parametrize(
    "cursor", ["x", "1", "1 x", "damaged", "damaged x", f"-1 {'0' * 36}", "1" * 400, "damaged ²"]
)
def test_a_cursor_that_is_none_is_refused(engine: MemoryEngine, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="must be that of the answer before"):
        engine.engine.quarantine.retry_all(cursor)


@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_try_that_meets_something_away_is_no_decision(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch, all_of_them: bool
) -> None:
    started, back = in_quarantine(engine, space)
    back()

    def away(*_: Any) -> Any:
        raise StoreUnavailable

    quarantine = engine.engine.quarantine
    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", away)
        if all_of_them:
            assert retried(engine) == (0, 1)
        else:
            assert quarantine.retry(started) is False
    assert engine.statuses(started)["a"] == "IN_PROGRESS"
    pass_minutes(engine, 3)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}, "it is tried soon"


def test_one_that_somebody_else_is_trying_is_not_counted_as_decided(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, _ = in_quarantine(engine, space)
    store = engine.ports.quarantine
    walked_by = store.walk

    def walked_then_taken(*asked: Any) -> Any:
        found = walked_by(*asked)
        store.take(ExecutionId(started), "another", 3_000)
        return found

    monkeypatch.setattr(store, "walk", walked_then_taken)
    assert retried(engine) == (0, 1)


def nobody_waits(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def waited(*_: object) -> int:
        raise AssertionError("somebody stands still")

    monkeypatch.setattr(engine.ports.wakeups, "wait", waited)


def test_what_is_sent_to_it_is_kept_and_nobody_waits_for_the_answer(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody_waits(engine, monkeypatch)
    started, back = in_quarantine(engine, space)
    waiting = len(stored(space, started).inbox)
    with pytest.raises(StoreUnavailable, match="quarantine: its definition is lost"):
        engine.engine.steering.pause(started)
    assert len(stored(space, started).inbox) == waiting + 1
    back()
    engine.engine.quarantine.retry(started)
    assert status_of(engine, started) == "PAUSED"


def test_a_parent_in_it_does_not_hold_who_carries_out_its_start(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = sub_workflow("s", workflow("child", simple("c")))
    child["subWorkflowParam"] |= {"idempotencyKey": "k"}
    parent = engine.start(workflow("w", fork("f", [simple("a")], [child]), join("j", "a", "s")))
    start = f"{parent}:start:{_seq_of(engine, parent, 's')}"
    assert start in _due(engine, lease_ms=3_600_000), "nobody else carries it out meanwhile"
    (task,) = engine.poll("a")
    back = lose_plan(engine, space, parent)
    engine.complete(task)
    pass_minutes(engine, 30)
    assert [one["workflowId"] for one in listed(engine)] == [parent]

    nobody_waits(engine, monkeypatch)
    engine.engine.effects.run(0, [start])
    assert start not in _due(engine)
    engine.clock.advance(seconds=10)
    assert start in _due(engine), "it comes again long before its lease would have ended"

    back()
    assert engine.engine.quarantine.retry(parent)
    engine.engine.effects.run(0, [start])
    assert not engine.ports.outbox.read(0, [start])
    assert engine.poll("c"), "the child runs"


def _seq_of(engine: MemoryEngine, execution: str, ref: str) -> int:
    tasks = engine.workflow(execution)["tasks"]
    found = next(task["taskId"] for task in tasks if task["referenceTaskName"] == ref)
    return int(found[37:])


def _due(engine: MemoryEngine, lease_ms: int = 1) -> list[str]:
    return [effect.id for effect in engine.ports.outbox.take(0, 500, lease_ms)]


def test_it_is_shown_without_what_its_definition_would_have_hidden(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    masked = {**workflow("w", simple("a")), "maskedFields": ["secret"]}
    started = engine.start(masked, input={"secret": "s", "v": 1})
    lose_plan(engine, space, started)
    found = engine.workflow(started)
    assert (found["status"], found["input"]) == ("RUNNING", {})
    assert found["workflowDefinition"]["description"] == "The definition of this execution is lost."
    assert [task["inputData"] for task in found["tasks"]] == [{}]


def test_it_is_terminated_with_all_that_hangs_on_it(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    child = workflow("child", typed("HUMAN", "h"))
    tasks = (fork("f", [simple("a")], [sub_workflow("s", child)], [simple("b")]), join("j", "a"))
    parent = engine.start(workflow("parent", sub_workflow("p", workflow("w", *tasks))))
    pass_minutes(engine, 5)
    started = engine.workflow(parent)["tasks"][0]["subWorkflowId"]
    below = next(t for t in engine.workflow(started)["tasks"] if t["referenceTaskName"] == "s")
    (task,) = engine.poll("a")
    lose_plan(engine, space, started)
    engine.complete(task)
    pass_minutes(engine, 30)
    engine.engine.executions.terminate(started, reason="enough")
    pass_minutes(engine, 5)
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("TERMINATED", "enough")
    assert status_of(engine, below["subWorkflowId"]) == "TERMINATED"
    assert status_of(engine, parent) == "TERMINATED"
    assert engine.poll("b") == []
    assert listed(engine) == []
    pass_minutes(engine, 130)
    assert engine.engine.executions.view(started) is None, "it is archived like any other"
    assert status_of(engine, started) == "TERMINATED"
    assert engine.engine.auditor.whole() == ()


def put_into_quarantine(engine: MemoryEngine, execution: str) -> None:
    version = engine.ports.reader.snapshot(ExecutionId(execution))
    assert version is not None
    for _ in range(5):
        engine.ports.quarantine.set_back(ExecutionId(execution), "d", version[0], "it dies of it")
    assert [one["workflowId"] for one in listed(engine)] == [execution]


def test_termination_of_one_that_has_ended_tells_a_parent_whose_retry_goes_with_its_inbox(
    engine: MemoryEngine,
) -> None:
    root = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    engine.settle()
    run_failing(engine, "x")
    engine.settle()
    child = task_of(engine, root, "s")["subWorkflowId"]
    put_into_quarantine(engine, child)
    engine.engine.recovery.retry(root, resume_subworkflows=True)
    engine.settle()
    assert status_of(engine, root) == "RUNNING"
    engine.engine.executions.terminate(child, reason="give up")
    pass_time(engine, seconds=2)
    assert (status_of(engine, root), status_of(engine, child)) == ("FAILED", "TERMINATED")


@pytest.mark.parametrize(
    ("optional", "then"), [(False, "TERMINATED"), (True, "RUNNING")], ids=["awaited", "optional"]
)
def test_its_termination_ends_a_child_that_has_begun_anew_if_that_was_awaited(
    engine: MemoryEngine, optional: bool, then: str
) -> None:
    below = sub_workflow("s", workflow("c", simple("x")))
    root = engine.start(workflow("w", {**below, "optional": optional}, simple("z")))
    engine.settle()
    run_failing(engine, "x")
    engine.settle()
    child = task_of(engine, root, "s")["subWorkflowId"]
    put_into_quarantine(engine, root)
    engine.engine.recovery.retry(child)
    engine.settle()
    assert status_of(engine, child) == "RUNNING"
    engine.engine.executions.terminate(root, reason="give up")
    pass_time(engine, seconds=2)
    assert (status_of(engine, root), status_of(engine, child)) == ("TERMINATED", then)
    assert engine.engine.auditor.whole() == ()


def test_its_termination_ends_a_child_that_was_to_take_its_dag_up_again(
    engine: MemoryEngine,
) -> None:
    root = engine.start(dag("w", [sub_workflow("s", workflow("c", simple("x"))), simple("z")]))
    engine.settle()
    engine.run("z")
    run_failing(engine, "x")
    engine.settle()
    child = task_of(engine, root, "s")["subWorkflowId"]
    put_into_quarantine(engine, root)
    below = str(task_of(engine, child, "x")["taskId"])
    engine.engine.recovery.rerun(root, RerunRequest(from_task=below))
    engine.settle()
    assert status_of(engine, child) == "RUNNING"
    engine.engine.executions.terminate(root, reason="give up")
    pass_time(engine, seconds=2)
    assert (status_of(engine, root), status_of(engine, child)) == ("TERMINATED", "TERMINATED")


@pytest.mark.parametrize("ended", ["TERMINATED", "COMPLETED"])
def test_termination_of_one_that_has_ended_goes_on_with_its_clean_up(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, ended: str
) -> None:
    over = {"terminationStatus": "COMPLETED"}
    end = {"name": "e", "taskReferenceName": "e", "type": "TERMINATE", "inputParameters": over}
    started = engine.start(workflow("w", fork("f", [simple("a")], [simple("b"), end]), join("j")))
    engine.settle()
    drain = ending.drain

    def away(_: Workspace) -> None:
        raise StoreUnavailable("the process that cleans up is gone")

    monkeypatch.setattr(ending, "drain", away)
    with suppress(StoreUnavailable):
        if ended == "COMPLETED":
            engine.run("b")
        else:
            engine.engine.executions.terminate(started, reason="enough")
    assert status_of(engine, started) == ended
    put_into_quarantine(engine, started)
    monkeypatch.setattr(ending, "drain", drain)
    with suppress(Conflict):  # one that is completed stays so
        engine.engine.executions.terminate(started, reason="get out of there")
    for _ in range(3):
        pass_time(engine, seconds=100)
    assert engine.engine.executions.view(started) is None
    archived = engine.workflow(started)
    assert archived["status"] == ended
    assert {task["status"] for task in archived["tasks"] if task["taskType"] == "a"} == {"CANCELED"}


def test_what_cannot_even_be_read_is_not_terminated_but_kept(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (task,) = engine.poll("a")
    execution = stored(space, started)
    known = execution.fields["h"]
    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.executor, "go_on", lambda *_: None)
        engine.complete(task)
    execution.fields["h"] = orjson.dumps({**execution.header(), "f": 99})
    pass_minutes(engine, 40)
    assert "cannot read" in listed(engine)[0]["reason"]
    with pytest.raises(Conflict, match="cannot read"):
        engine.engine.executions.terminate(started, reason="enough")
    assert listed(engine), "it is back in quarantine"
    execution.fields["h"] = known
    assert engine.engine.quarantine.retry(started)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_what_not_even_abandoning_helps_is_in_quarantine_with_the_error(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = engine.start(workflow("w", simple("a"), simple("b")))
    fine = engine.start(workflow("w", simple("a"), simple("b")))

    def hopeless(plan: Any, execution: Any, *rest: Any) -> Any:
        if execution.id == broken:
            raise ZeroDivisionError("by zero")
        return deciding.decide(plan, execution, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", hopeless)
        patch.setattr(deliberation, "abandon", hopeless)
        for task in engine.poll("a", 2):
            engine.complete(task)
        pass_minutes(engine, 40)
        (one,) = listed(engine)
        assert one["workflowId"] == broken
        assert one["reason"] == "internal error: ZeroDivisionError: by zero"
        assert engine.statuses(fine)["b"] == "SCHEDULED"
    assert engine.engine.quarantine.retry(broken)
    assert engine.statuses(broken)["b"] == "SCHEDULED"


def test_a_store_that_is_away_sets_nothing_back(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))

    def away(*_: Any) -> Any:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", away)
        engine.run("a")
    assert stored(space, started).setback is None


@pytest.mark.parametrize("lack", [OSError(24, "Too many open files"), MemoryError()])
def test_a_lack_of_resources_ends_nothing_and_is_over_when_it_is_over(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, lack: Exception
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))

    def lacking(*_: Any) -> Any:
        raise lack

    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", lacking)
        engine.run("a")
    assert status_of(engine, started) == "RUNNING"
    pass_minutes(engine, 8)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_a_lack_of_resources_that_does_not_end_leads_into_quarantine(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))

    def lacking(*_: Any) -> Any:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(deliberation, "decide", lacking)
        engine.run("a")
        pass_minutes(engine, 40)
    (one,) = listed(engine)
    assert (one["workflowId"], one["tries"]) == (started, 5)
    assert "Too many open files" in one["reason"]
    assert engine.engine.quarantine.retry(started)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


class _Died(BaseException):
    """The process is gone."""


def test_what_ends_every_process_that_decides_on_it_ends_in_quarantine_and_takes_none_with_it(
    engine: MemoryEngine, space: MemorySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = [engine.start(workflow("w", simple("a"), simple("b"))) for _ in range(12)]
    poison, deaths = started[3], 0
    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.executor, "go_on", lambda *_: None)
        for task in engine.poll("a", 12):
            engine.complete(task)

    def deadly(plan: Any, execution: Any, *rest: Any) -> Any:
        told = any(isinstance(event, ResultReported) for event in rest[0])
        if execution.id == poison and told:
            raise _Died
        return deciding.decide(plan, execution, *rest)

    monkeypatch.setattr(deliberation, "decide", deadly)
    for _ in range(120):
        engine.clock.advance(seconds=1)
        try:
            engine.settle()
        except _Died:
            deaths += 1
    assert deaths <= 5
    (one,) = listed(engine)
    assert (one["workflowId"], one["reason"]) == (poison, "whoever decided on it vanished")
    for execution in set(started) - {poison}:
        assert engine.statuses(execution) == {"a": "COMPLETED", "b": "SCHEDULED"}
    engine.engine.executions.terminate(poison, reason=None)  # decided on the verb alone
    assert listed(engine) == []


def test_a_thousand_poisoned_do_not_starve_the_others(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    poisoned = [engine.start(workflow("w", simple("a"), simple("b"))) for _ in range(1_000)]
    tasks = [task for _ in range(5) for task in engine.poll("a", 200)]
    assert len(tasks) == 1_000
    lose_plan(engine, space, poisoned[0])
    for task in tasks:
        engine.complete(task)
    fine = [engine.start(workflow("v", typed("WAIT", "t", inputParameters={"duration": "5s"})))]
    for _ in range(8):
        engine.clock.advance(seconds=1)
        for _ in range(10):
            engine.engine.sweeper.tick()
    assert {status_of(engine, execution) for execution in fine} == {"COMPLETED"}
    for _ in range(200):
        engine.clock.advance(seconds=1)
        for _ in range(10):
            engine.engine.sweeper.tick()
    assert engine.engine.quarantine.count() == 1_000

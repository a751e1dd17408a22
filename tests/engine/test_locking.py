"""Deciding under a lock beside the store: nothing waits for ever, nothing is lost, all is said."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import fork, join, simple, status_of, sub_workflow, workflow

_LEASE_MS = 3_000


class _Lock:
    """A lock that its test can watch, take and break. Its leases end by the fake clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.held: dict[str, tuple[str, int]] = {}
        self.away = False
        self.taken: list[str] = []
        self.missed = 0

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        self._reach()
        _, until = self.held.get(execution, ("", 0))
        if until > self._clock():
            self.missed += 1
            return False
        self.held[execution] = (holder, self._clock() + lease_ms)
        self.taken.append(execution)
        return True

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        self._reach()
        if not self._is_held(execution, holder):
            return False
        self.held[execution] = (holder, self._clock() + lease_ms)
        return True

    def release(self, execution: ExecutionId, holder: str) -> bool:
        self._reach()
        kept = self._is_held(execution, holder)
        if kept:
            del self.held[execution]
        return kept

    def _is_held(self, execution: ExecutionId, holder: str) -> bool:
        by, until = self.held.get(execution, ("", 0))
        return by == holder and until > self._clock()

    def _reach(self) -> None:
        if self.away:
            raise StoreUnavailable("There is no connection.")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def lock(clock: FakeClock) -> _Lock:
    return _Lock(clock)


@pytest.fixture
def engine(clock: FakeClock, lock: _Lock) -> MemoryEngine:
    return memory_engine(clock=clock, lock=lock)


def _unfenced(engine: MemoryEngine, lock: _Lock) -> MemoryEngine:
    """A server over the same store that does not compare versions."""
    space: MemorySpace = engine.ports.store._space  # type: ignore[attr-defined]
    return memory_engine(clock=engine.clock, space=space, lock=lock, fencing=False)


def _somebody_holds(lock: _Lock, workflow_id: str) -> None:
    assert lock.acquire(ExecutionId(workflow_id), "another", wait_ms=0, lease_ms=_LEASE_MS)


def _actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [getattr(record, "action", "") for record in caplog.records]


def _before(engine: MemoryEngine, step: str, act: Callable[[], object]) -> None:
    """Do something right before the next call of that name of an engine's store, once."""
    store: Any = engine.ports.store
    real = getattr(store, step)

    def stepping(*given: Any, **named: Any) -> Any:
        setattr(store, step, real)
        act()
        return real(*given, **named)

    setattr(store, step, stepping)


def test_every_decision_is_made_under_the_lock_and_none_is_kept(
    engine: MemoryEngine, lock: _Lock
) -> None:
    child = workflow("child", simple("c"))
    started = engine.start(workflow("w", simple("a"), sub_workflow("s", child)))
    commits: list[bool] = []
    store: Any = engine.ports.store
    real = store.commit

    def commit(order: Any) -> Any:
        commits.append(lock.held[order.execution][0] == order.holder)
        return real(order)

    store.commit = commit
    engine.run("a")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"
    assert len(commits) >= 3
    assert all(commits)
    assert lock.held == {}


def test_a_child_and_its_parent_are_decided_one_after_the_other_in_one_thread(
    engine: MemoryEngine, lock: _Lock
) -> None:
    """Nobody needs a lock that is entered twice, and no time passes."""
    innermost = workflow("w3", simple("a"))
    nested = workflow("w1", sub_workflow("s1", workflow("w2", sub_workflow("s2", innermost))))
    started = engine.start(nested)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert lock.missed == 0
    assert lock.held == {}


def test_a_result_that_misses_the_lock_is_taken_along_by_its_holder(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    refs = ("a", "b")
    started = engine.start(workflow("w", fork("f", *[[simple(r)] for r in refs]), join("j", *refs)))
    (a,), (b,) = engine.poll("a"), engine.poll("b")
    second = memory_engine(clock=clock, space=engine.ports.store._space, lock=lock)  # type: ignore[attr-defined]
    _before(engine, "commit", lambda: second.complete(b))
    engine.complete(a)
    assert lock.missed == 1
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-27")
def test_a_result_that_misses_the_lock_of_somebody_who_is_gone_waits_for_the_end_of_that_only(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (a,) = engine.poll("a")
    _somebody_holds(lock, started)
    engine.complete(a)
    clock.advance(milliseconds=_LEASE_MS - 200)
    engine.engine.sweeper.tick()
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}, "still another's to decide"
    clock.advance(milliseconds=201)
    engine.engine.sweeper.tick()
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_a_result_that_comes_between_the_last_commit_and_the_release_is_decided_within_a_moment(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    """The holder has looked for the last time, and the other one finds the lock taken."""
    refs = ("a", "b")
    started = engine.start(workflow("w", fork("f", *[[simple(r)] for r in refs]), join("j", *refs)))
    (a,), (b,) = engine.poll("a"), engine.poll("b")
    second = memory_engine(clock=clock, space=engine.ports.store._space, lock=lock)  # type: ignore[attr-defined]
    real = lock.release

    def release(execution: ExecutionId, holder: str) -> bool:
        lock.release = real  # type: ignore[method-assign]
        second.complete(b)
        return real(execution, holder)

    lock.release = release  # type: ignore[method-assign]
    engine.complete(a)
    assert lock.missed == 1
    assert status_of(engine, started) == "RUNNING"
    clock.advance(milliseconds=100)
    second.engine.sweeper.tick()
    assert status_of(engine, started) == "COMPLETED"


def test_a_sweeper_does_not_wait_for_one_execution_and_decides_the_others(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    waits: list[int] = []
    real = lock.acquire

    def acquire(execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        waits.append(wait_ms)
        return real(execution, holder, wait_ms=wait_ms, lease_ms=lease_ms)

    timed = {"timeoutSeconds": 60, "timeoutPolicy": "TIME_OUT_WF"}
    locked, free = (engine.start(workflow("w", simple("a"), **timed)) for _ in range(2))
    sweeper = memory_engine(
        clock=clock,
        space=engine.ports.store._space,  # type: ignore[attr-defined]
        lock=lock,
        lock_wait_ms=500,
    )
    clock.advance(seconds=61)
    _somebody_holds(lock, locked)
    lock.acquire = acquire  # type: ignore[method-assign]
    sweeper.engine.sweeper.tick()
    assert (status_of(engine, locked), status_of(engine, free)) == ("RUNNING", "TIMED_OUT")
    assert set(waits) == {0}
    clock.advance(seconds=4)
    sweeper.engine.sweeper.tick()
    assert status_of(engine, locked) == "TIMED_OUT"


def test_whoever_waited_for_the_lock_decides_on_what_is_there_then(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    """What was loaded before is old: no decision is made only to be refused."""
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    (a,) = engine.poll("a")
    patient = memory_engine(
        clock=clock,
        space=engine.ports.store._space,  # type: ignore[attr-defined]
        lock=lock,
        lock_wait_ms=500,
    )
    _somebody_holds(lock, started)
    real = lock.acquire

    def acquire(execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        if wait_ms:  # the holder ends, and has decided on the result by then
            lock.held.clear()
            lock.acquire = real  # type: ignore[method-assign]
            engine.engine.executor.follow([execution])
            engine.run("b")
        return real(execution, holder, wait_ms=wait_ms, lease_ms=lease_ms)

    lock.acquire = acquire  # type: ignore[method-assign]
    refused: list[str] = []
    store: Any = patient.ports.store
    commit = store.commit

    def counted(order: Any) -> Any:
        reply = commit(order)
        refused.append(reply.outcome.value)
        return reply

    store.commit = counted
    patient.complete(a)
    assert set(refused) <= {"OK"}
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "COMPLETED", "c": "SCHEDULED"}


def test_a_deadline_passes_without_fencing_although_nothing_came_in(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    """Looked at again under the lock, an execution that is only due is not taken for done."""
    unfenced = _unfenced(engine, lock)
    timed = {"timeoutSeconds": 60, "timeoutPolicy": "TIME_OUT_WF"}
    started = unfenced.start(workflow("w", simple("a"), **timed))
    clock.advance(seconds=61)
    unfenced.engine.sweeper.tick()
    assert status_of(unfenced, started) == "TIMED_OUT"


def test_a_lock_that_was_lost_is_said_and_the_decision_goes_on_fenced(
    engine: MemoryEngine, lock: _Lock, caplog: pytest.LogCaptureFixture
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (a,) = engine.poll("a")
    _before(engine, "commit", lock.held.clear)
    with caplog.at_level(logging.WARNING):
        engine.complete(a)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    (lost,) = [r for r in caplog.records if getattr(r, "action", "") == "lock_lost"]
    assert lost.__dict__["workflow_id"] == started


def test_a_lock_whose_service_goes_away_is_said_to_be_lost_perhaps(
    engine: MemoryEngine, lock: _Lock, caplog: pytest.LogCaptureFixture
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (a,) = engine.poll("a")
    _before(engine, "commit", lambda: setattr(lock, "away", True))
    with caplog.at_level(logging.WARNING):
        engine.complete(a)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    assert _actions(caplog) == ["lock_away", "lock_lost"]


def test_without_fencing_nothing_is_committed_under_a_lock_that_is_known_to_be_lost(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock, caplog: pytest.LogCaptureFixture
) -> None:
    unfenced = _unfenced(engine, lock)
    started = unfenced.start(workflow("w", simple("a"), simple("b")))
    (a,) = unfenced.poll("a")
    before = unfenced.ports.store.load(ExecutionId(started), ["h"])
    # Under the lock it looks at the version first.
    _before(unfenced, "load", lock.held.clear)
    with caplog.at_level(logging.WARNING):
        unfenced.complete(a)
    assert unfenced.ports.store.load(ExecutionId(started), ["h"]) == before
    assert "lock_lost" in _actions(caplog)
    clock.advance(milliseconds=_LEASE_MS)
    unfenced.engine.sweeper.tick()
    assert unfenced.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_while_the_lock_service_is_away_fenced_servers_go_on(
    engine: MemoryEngine, lock: _Lock, caplog: pytest.LogCaptureFixture
) -> None:
    lock.away = True
    with caplog.at_level(logging.WARNING):
        started = engine.start(workflow("w", simple("a"), simple("b")))
        engine.run("a")
        engine.engine.steering.pause(started)
        engine.engine.steering.resume(started)
        engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    lock.away = False
    other = engine.start(workflow("w", simple("a")))
    with caplog.at_level(logging.WARNING):
        engine.run("a")
    assert status_of(engine, other) == "COMPLETED"
    assert _actions(caplog) == ["lock_away", "lock_back"]


def test_while_the_lock_service_is_away_unfenced_servers_take_all_in_and_decide_later(
    engine: MemoryEngine, clock: FakeClock, lock: _Lock
) -> None:
    unfenced = _unfenced(engine, lock)
    started = unfenced.start(workflow("w", simple("a"), simple("b")))
    (a,) = unfenced.poll("a")
    lock.away = True
    unfenced.complete(a, {"x": 1})
    with pytest.raises(StoreUnavailable, match="is decided later"):
        unfenced.engine.steering.pause(started)
    clock.advance(seconds=4)
    unfenced.engine.sweeper.tick()
    assert unfenced.workflow(started)["status"] == "RUNNING"
    lock.away = False
    clock.advance(seconds=4)
    unfenced.engine.sweeper.tick()
    found = unfenced.workflow(started)
    assert (found["status"], found["tasks"][0]["outputData"]) == ("PAUSED", {"x": 1})


def test_many_threads_that_report_on_one_execution_lose_nothing(lock: _Lock) -> None:
    """Real threads and a lock with a mutex of its own; what they miss, one sweep finishes."""
    guard = threading.Lock()
    clock = FakeClock()
    locked = _Lock(clock)
    for verb in ("acquire", "renew", "release"):
        real = getattr(locked, verb)

        def guarded(*given: Any, real: Any = real, **named: Any) -> Any:
            with guard:
                return real(*given, **named)

        setattr(locked, verb, guarded)
    space = MemorySpace(clock=clock)
    servers = [memory_engine(clock=clock, space=space, lock=locked) for _ in range(4)]
    refs = [f"b{n}" for n in range(40)]
    branches = [[{**simple(ref), "name": "a"}] for ref in refs]
    started = servers[0].start(workflow("w", fork("f", *branches), join("j", *refs)))
    tasks = servers[0].poll("a", 40)

    def report(number: int) -> None:
        for task in tasks[number::4]:
            servers[number].complete(task)

    threads = [threading.Thread(target=report, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clock.advance(milliseconds=_LEASE_MS)
    servers[0].settle()
    assert status_of(servers[0], started) == "COMPLETED"
    assert locked.held == {}

"""A start whose answer was lost is sent again by the connection: late, perhaps."""

from typing import Any

import pytest

from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine.decisions.executor import Executor
from conductor_py.model.requests import StartRequest
from conductor_py.ports.store import Changes, Outcome, Start, StartReply
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import pass_time, simple, status_of, workflow


def _left(engine: MemoryEngine, execution: str) -> bool:
    return engine.engine.executions.view(execution) is None


def test_what_has_ended_and_left_before_its_start_came_again_is_not_started_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I5. The store knows nothing of it, and says only that the caller's time is old."""
    real, outcomes = MemoryExecutionStore.start, list[Outcome]()

    def sent_again(store: MemoryExecutionStore, start: Start) -> StartReply:
        reply = real(store, start)
        if reply.outcome is Outcome.OK and Outcome.CLOCK not in outcomes:
            engine.run("a")
            pass_time(engine, seconds=1)
            pass_time(engine, seconds=60)
            assert _left(engine, start.execution)
            reply = real(store, start)
        outcomes.append(reply.outcome)
        return reply

    monkeypatch.setattr(MemoryExecutionStore, "start", sent_again)
    started = engine.start(workflow("w", simple("a")))

    assert outcomes[-1] is Outcome.CLOCK
    assert status_of(engine, started) == "COMPLETED"
    assert _left(engine, started)
    assert engine.poll("a") == []


def test_what_has_ended_stays_longer_than_the_store_would_take_its_start_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """I5."""
    engine, starts = memory_engine(remove_after_ms=0), list[Start]()
    store, real = engine.ports.store, MemoryExecutionStore.start

    def seen(self: Any, start: Start) -> StartReply:
        starts.append(start)
        return real(self, start)

    monkeypatch.setattr(MemoryExecutionStore, "start", seen)
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    while not _left(engine, started):
        assert store.start(starts[-1]).outcome is Outcome.OK
        assert engine.poll("a") == []
        pass_time(engine, milliseconds=100)
    assert store.start(starts[-1]).outcome is Outcome.CLOCK


def test_it_stays_as_long_when_its_first_decision_took_long_and_ended_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """I5. Its start is as young as its sending, not as what was decided before."""
    engine, real = memory_engine(remove_after_ms=0), Executor.first

    def slow(self: Executor, *given: Any) -> Changes:
        changes = real(self, *given)
        engine.clock.advance(seconds=20)
        return changes

    monkeypatch.setattr(Executor, "first", slow)
    started = engine.start(workflow("w", simple("a", type="NOOP")))

    pass_time(engine, seconds=9)
    assert status_of(engine, started) == "COMPLETED"
    assert not _left(engine, started)
    pass_time(engine, seconds=1)
    assert _left(engine, started)


def test_what_another_with_the_same_cause_has_started_meanwhile_is_not_started_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I5. One that is stopped after its look at the archive believes that nothing is there."""
    definition = workflow("w", simple("a"))
    real, others = engine.ports.search.archived_version, list[str]()

    def stopped(execution: str) -> Any:
        found = real(execution)
        if not others:
            monkeypatch.setattr(engine.ports.search, "archived_version", real)
            request = StartRequest(name="w", definition=workflow_from_json(definition))
            others.append(engine.engine.executions.start(request, cause="an event"))
            engine.run("a")
            pass_time(engine, seconds=61)
            assert _left(engine, others[0])
        return found

    monkeypatch.setattr(engine.ports.search, "archived_version", stopped)
    request = StartRequest(name="w", definition=workflow_from_json(definition))
    assert [engine.engine.executions.start(request, cause="an event")] == others
    assert _left(engine, others[0])
    assert engine.poll("a") == []

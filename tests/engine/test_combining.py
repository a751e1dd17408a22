"""Many completions of one execution: they combine in its inbox, and a missed lock costs nobody a
wake-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.decisions import executor
from conductor_py.ports.store import Commit, CommitReply, Outcome
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import fork, fork_inputs, join, pass_time, simple, status_of, workflow

Call = Callable[[Commit], CommitReply]


def _wide(engine: MemoryEngine, width: int) -> tuple[str, list[Any]]:
    """A fork with its branches in the hands of workers, and a task behind it."""
    spread = fork_inputs("f", list(range(width)), forkTaskName="x")
    started = engine.start(workflow("w", spread, join("j"), simple("last")))
    engine.settle()
    tasks: list[Any] = []
    while more := engine.poll("x", width):
        tasks += more
    return started, tasks


def _commits(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[Commit]:
    seen: list[Commit] = []
    commit = engine.ports.store.commit

    def noted(order: Commit) -> CommitReply:
        seen.append(order)
        return commit(order)

    monkeypatch.setattr(engine.ports.store, "commit", noted)
    return seen


def _at_commit(
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Commit, Call], CommitReply],
) -> None:
    """Do something in the middle of this server's next commit."""
    commit = engine.ports.store.commit

    def once(order: Commit) -> CommitReply:
        monkeypatch.setattr(engine.ports.store, "commit", commit)
        return act(order, commit)

    monkeypatch.setattr(engine.ports.store, "commit", once)


def _lease(engine: MemoryEngine, space: MemorySpace, started: str) -> int:
    """How long the lease of an execution lasts from now on, in ms."""
    (found,) = (e for e in space.partition(0).executions.values() if e.id == started)
    return max(0, found.lease_until - engine.clock.now_ms)


def test_sixty_four_results_that_wait_in_the_inbox_are_one_commit(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, tasks = _wide(engine, 64)
    with monkeypatch.context() as dead:
        # The server that took the first result dies with the lease in its hands.
        dead.setattr(engine.engine.executor, "go_on", lambda *_: None)
        engine.complete(tasks[0])
    commits = _commits(engine, monkeypatch)
    for task in tasks[1:]:
        engine.complete(task)
    assert commits == []
    pass_time(engine, seconds=3)
    assert commits[0].consumed - commits[0].first_event + 1 == 64
    assert len(commits) == 1
    engine.run("last")
    assert status_of(engine, started) == "COMPLETED"


def test_holder_takes_up_what_came_while_it_decided(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else does anything, and no time passes."""
    started, tasks = _wide(engine, 8)

    def others_first(order: Commit, commit: Call) -> CommitReply:
        for task in tasks[1:]:
            engine.complete(task)
        return commit(order)

    _at_commit(engine, monkeypatch, others_first)
    engine.complete(tasks[0])
    assert engine.statuses(started)["last"] == "SCHEDULED"


def test_holder_goes_on_while_there_is_a_backlog_however_long_it_has_served_others(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who brought the backlog are gone: left alone it would wait for a sweeper."""
    started, tasks = _wide(engine, 1_500)
    monkeypatch.setattr(executor, "_SERVE_OTHERS_S", -1.0)
    monkeypatch.setattr(executor, "_BACKLOG_S", 600.0)

    def others_first(order: Commit, commit: Call) -> CommitReply:
        for task in tasks[1:]:
            engine.complete(task)
        return commit(replace(order, let_go=False))

    _at_commit(engine, monkeypatch, others_first)
    engine.complete(tasks[0])
    assert engine.statuses(started)["last"] == "SCHEDULED"


def test_holder_that_has_served_others_long_enough_leaves_the_rest_to_a_sweeper_that_is_due_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    engine = memory_engine(clock=clock)
    started, tasks = _wide(engine, 8)
    monkeypatch.setattr(executor, "_SERVE_OTHERS_S", -1.0)

    def others_first(order: Commit, commit: Call) -> CommitReply:
        for task in tasks[1:]:
            engine.complete(task)
        return commit(order)

    _at_commit(engine, monkeypatch, others_first)
    engine.complete(tasks[0])
    assert "last" not in engine.statuses(started)
    engine.settle()
    assert engine.statuses(started)["last"] == "SCHEDULED"


def _two_servers() -> tuple[FakeClock, MemorySpace, MemoryEngine, MemoryEngine]:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    first = memory_engine(clock=clock, space=space)
    return clock, space, first, memory_engine(clock=clock, space=space, server="server-2")


def test_refused_decision_is_made_again_at_once_and_leaves_no_lease_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that was slow commits before the one that took over from it."""
    clock, space, first, second = _two_servers()
    started = first.start(
        workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    )
    (a,), (b,) = first.poll("a"), first.poll("b")
    outcomes: list[Outcome] = []

    def slow(order: Commit, commit: Call) -> CommitReply:
        clock.advance(seconds=4)
        replies: list[CommitReply] = []

        def overtaken(mine: Commit, commit_mine: Call) -> CommitReply:
            replies.append(commit(order))
            found = commit_mine(mine)
            outcomes.append(found.outcome)
            return found

        _at_commit(second, monkeypatch, overtaken)
        second.complete(b)
        return replies[0]

    _at_commit(first, monkeypatch, slow)
    first.complete(a)
    assert outcomes == [Outcome.STALE]
    assert status_of(first, started) == "COMPLETED"
    assert _lease(first, space, started) == 0


def test_refused_holder_gives_the_lease_up_when_nothing_is_left_to_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, space, first, second = _two_servers()
    started = first.start(workflow("w", simple("a"), simple("b")))
    (task,) = first.poll("a")

    def slow(order: Commit, commit: Call) -> CommitReply:
        clock.advance(seconds=4)
        replies: list[CommitReply] = []

        def overtaken(mine: Commit, commit_mine: Call) -> CommitReply:
            replies.append(commit(order))
            return commit_mine(mine)

        _at_commit(second, monkeypatch, overtaken)
        second.engine.sweeper.tick()
        return replies[0]

    _at_commit(first, monkeypatch, slow)
    first.complete(task)
    assert _lease(first, space, started) == 0
    first.run("b")
    assert status_of(first, started) == "COMPLETED"

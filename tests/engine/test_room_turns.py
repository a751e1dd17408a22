"""Those who wait for room try again one after the other."""

from __future__ import annotations

from itertools import pairwise

from conductor_py.engine.decisions.room_turns import RoomTurns
from conductor_py.errors import StoreFull
from conductor_py.ports.store import Commit, CommitReply
from conductor_py.testing import memory_engine
from tests.builders import simple, typed, workflow


def test_each_waits_some_seconds_and_behind_those_before_it() -> None:
    now_s = [100.0]
    turns = RoomTurns(lambda: now_s[0])
    first = [turns.next_ms() for _ in range(1_000)]
    assert first[0] == 5_000
    assert all(later - earlier == 20 for earlier, later in pairwise(first))
    now_s[0] += 60.0
    assert turns.next_ms() == 5_000


def test_nobody_waits_longer_than_ten_minutes() -> None:
    turns = RoomTurns(lambda: 100.0)
    assert max(turns.next_ms() for _ in range(50_000)) == 600_000


def test_a_crowd_that_waits_for_room_tries_seldom() -> None:
    engine = memory_engine()
    engine.register(workflow("leaf", typed("NOOP", "n")))
    given = {"startWorkflow": {"name": "leaf"}}
    definition = workflow("w", simple("a"), typed("START_WORKFLOW", "s", inputParameters=given))
    for _ in range(300):
        engine.start(definition)
    commit, refused = engine.ports.store.commit, []

    def refuse(given: Commit) -> CommitReply:
        if not given.changes.children:
            return commit(given)
        refused.append(given.execution)
        raise StoreFull

    engine.ports.store.commit = refuse  # type: ignore[assignment, method-assign]
    for _ in range(300):
        engine.run("a")
    begun = len(refused)
    assert begun >= 300
    engine.advance(seconds=20)
    assert len(refused) - begun <= 20 * 50 + 1
    engine.ports.store.commit = commit  # type: ignore[method-assign]
    engine.advance(seconds=30)
    assert len(engine.started("leaf")) == 300

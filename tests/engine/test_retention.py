"""Archived executions go when they ended long enough ago, and not while the store has them."""

from collections.abc import Sequence
from typing import cast

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.sweeping.retention import FOREVER, Retention
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import ExecutionStore
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.engine.test_collection import simple

_DAY_MS = 86_400_000


def retention(made: MemoryEngine, *, keep_ms: int = _DAY_MS, batch: int = 10) -> Retention:
    ports = made.ports
    clock = StoreClock(ports.store.now_ms, made.clock.monotonic)
    return Retention(
        ports.search, ports.store, clock, left=lambda _: None, keep_ms=keep_ms, batch=batch
    )


class _Held:
    """A store that some executions do not leave."""

    def __init__(self, store: ExecutionStore, stuck: frozenset[str]) -> None:
        self._store = store
        self.stuck = stuck

    def load(self, execution: ExecutionId, fields: Sequence[str]) -> object:
        return (1, {}) if execution in self.stuck else self._store.load(execution, fields)


def ended(made: MemoryEngine) -> str:
    """Run one execution to its end, and index it."""
    execution = made.start(simple())
    made.run("task")
    made.settle()
    return execution


def leave(made: MemoryEngine) -> None:
    made.clock.advance(seconds=61)
    made.settle()


def test_what_ended_long_ago_leaves_archive_and_search() -> None:
    made = memory_engine()
    old = ended(made)
    leave(made)
    made.clock.advance(milliseconds=_DAY_MS)
    young = ended(made)
    leave(made)

    assert retention(made).tick() == 1
    assert retention(made).tick() == 0
    assert made.ports.search.archived(old) is None
    assert made.workflow(young)["status"] == "COMPLETED"
    found = made.engine.executions.search(query="", free_text="*", sort="", start=0, size=10)
    assert [summary["workflowId"] for summary in found.results] == [young]


def test_what_is_still_in_the_store_stays_in_the_archive() -> None:
    made = memory_engine()
    execution = ended(made)
    made.clock.advance(milliseconds=2 * _DAY_MS)

    assert retention(made).tick() == 0

    made.settle()
    assert retention(made).tick() == 1
    assert made.ports.search.archived(execution) is None


def test_one_tick_removes_one_batch() -> None:
    made = memory_engine()
    for _ in range(3):
        ended(made)
    leave(made)
    made.clock.advance(milliseconds=2 * _DAY_MS)

    assert [retention(made, batch=2).tick() for _ in range(3)] == [2, 1, 0]


def test_forever_removes_nothing() -> None:
    made = memory_engine()
    execution = ended(made)
    leave(made)
    made.clock.advance(milliseconds=1000 * _DAY_MS)

    assert retention(made, keep_ms=FOREVER).tick() == 0
    assert made.workflow(execution)["status"] == "COMPLETED"


def test_what_cannot_leave_the_store_keeps_nothing_else_in_the_archive() -> None:
    made = memory_engine()
    stuck = [ended(made) for _ in range(5)]
    made.clock.advance(seconds=1)
    free = [ended(made) for _ in range(3)]
    leave(made)
    held = _Held(made.ports.store, frozenset(stuck))
    ports = made.ports
    clock = StoreClock(ports.store.now_ms, made.clock.monotonic)
    made.clock.advance(milliseconds=2 * _DAY_MS)
    kept = Retention(
        ports.search,
        cast(ExecutionStore, held),
        clock,
        left=lambda _: None,
        keep_ms=_DAY_MS,
        batch=2,
    )

    assert sum(kept.tick() for _ in range(6)) == 3
    assert [ports.search.archived(execution) for execution in free] == [None] * 3
    assert all(ports.search.archived(execution) for execution in stuck)

    held.stuck = frozenset()
    assert sum(kept.tick() for _ in range(6)) == 5

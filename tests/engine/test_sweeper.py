"""The sweeper and the relay: nobody is left out, and nothing leaves before it is done."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conductor_py.adapters.memory.outbox import MemoryOutbox
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.execution import dump_json
from conductor_py.engine.decisions.deliberation import Deliberation
from conductor_py.engine.decisions.executor import Driven, Executor
from conductor_py.engine.decisions.precedence import HEAD_START_MS, PATIENCE_MS
from conductor_py.engine.sweeping.sweeper import Relay, Sweeper
from conductor_py.errors import StoreFull, StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import Loaded
from conductor_py.processes.sweeper import hurried_tick
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import pass_time, simple, status_of, sub_workflow, typed, wait, workflow

_LEASE_MS = 30_000


@pytest.mark.anomaly("A-36")
def test_one_that_cannot_be_decided_keeps_no_other_of_its_round_waiting(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = workflow("w", wait("t", duration="5 seconds"))
    # Those that are due together are taken in the order of their ids.
    broken, fine = sorted(engine.start(definition) for _ in range(2))
    real = Executor.drive

    def throwing(self: Executor, loaded: Loaded | None, *more: Any, **named: Any) -> Driven:
        if loaded is not None and loaded.execution == broken:
            raise ZeroDivisionError
        return real(self, loaded, *more, **named)

    engine.clock.advance(seconds=5)
    with monkeypatch.context() as patch:
        patch.setattr(Executor, "drive", throwing)
        engine.engine.sweeper.tick()
    assert (status_of(engine, broken), status_of(engine, fine)) == ("RUNNING", "COMPLETED")


def test_one_whose_payload_does_not_answer_keeps_no_other_waiting_and_is_no_suspect(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = workflow("w", wait("t", duration="5 seconds"))
    away, fine = sorted(engine.start(definition) for _ in range(2))
    real = Deliberation.decided

    def without_payloads(
        self: Deliberation, plan: Any, execution: Any, *more: Any, **named: Any
    ) -> Any:
        if execution.id == away:
            raise StoreUnavailable("The payload storage does not answer.")
        return real(self, plan, execution, *more, **named)

    engine.clock.advance(seconds=5)
    with monkeypatch.context() as patch:
        patch.setattr(Deliberation, "decided", without_payloads)
        for _ in range(20):  # more often than an execution may fail
            engine.engine.sweeper.tick()
            engine.clock.advance(seconds=5)
    assert status_of(engine, fine) == "COMPLETED"
    assert engine.engine.quarantine.count() == 0
    engine.engine.sweeper.tick()
    assert status_of(engine, away) == "COMPLETED"


def test_timers_of_every_partition_are_fired() -> None:
    clock = FakeClock()
    engine = memory_engine(clock=clock, space=MemorySpace(3, clock))
    definition = workflow("w", wait("t", duration="5 seconds"))
    started: list[str] = []
    while {partition_of(ExecutionId(one)) for one in started} != {0, 1, 2}:
        started.append(engine.start(definition))
    clock.advance(seconds=5)
    engine.engine.sweeper.tick()
    assert {status_of(engine, execution) for execution in started} == {"COMPLETED"}


class _Handed:
    """Whoever effects are handed to, who may die with them."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def enqueue(self, _partition: int, ids: Any) -> None:
        self.ids.extend(ids)


def test_effects_that_were_handed_on_come_again_until_somebody_confirms_them() -> None:
    """I7."""
    clock, handed = FakeClock(), _Handed()
    outbox = MemoryOutbox(MemorySpace(clock=clock))
    relay = Relay(outbox, handed.enqueue, now_ms=clock, partitions=1, lease_ms=_LEASE_MS)
    outbox.order(0, [("one", b"{}"), ("two", b"{}")])
    assert (relay.tick(), relay.tick()) == (2, 0)
    clock.advance(milliseconds=_LEASE_MS)
    assert relay.tick() == 2
    assert handed.ids == ["one", "two"] * 2
    (first, _) = outbox.read(0, ["one", "two"])
    outbox.confirm(0, [(first.id, first.stamp)])
    clock.advance(milliseconds=_LEASE_MS)
    assert relay.tick() == 1
    assert handed.ids[-1] == "two"


def test_effects_stay_in_the_outbox_in_their_order_while_nobody_has_room_for_them() -> None:
    clock, handed, room = FakeClock(), _Handed(), [False]
    outbox = MemoryOutbox(MemorySpace(clock=clock))
    relay = Relay(
        outbox,
        handed.enqueue,
        now_ms=clock,
        partitions=1,
        batch=1,
        lease_ms=_LEASE_MS,
        has_room=lambda: room[0],
    )
    for name in ("first", "second", "third"):
        outbox.order(0, [(name, b"{}")])
        clock.advance(milliseconds=10)
        assert relay.tick() == 0
    clock.advance(milliseconds=10 * _LEASE_MS)

    room[0] = True
    assert [relay.tick() for _ in range(4)] == [1, 1, 1, 0]
    assert handed.ids == ["first", "second", "third"]


def _relay(engine: MemoryEngine, handed: _Handed, first: _Handed) -> Relay:
    return Relay(
        engine.ports.outbox,
        handed.enqueue,
        now_ms=engine.ports.store.now_ms,
        enqueue_first=first.enqueue,
        partitions=1,
        batch=5,
        lease_ms=_LEASE_MS,
    )


def test_what_was_carried_out_before_the_store_came_back_is_carried_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """I12. The store lost its last writes, perhaps with what the effect had done."""
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    put, times = engine.ports.search.put, list[int]()

    def comes_back(documents: Any) -> None:
        put(documents)
        times.append(space.life)
        space.life = max(space.life, 2)

    monkeypatch.setattr(engine.ports.search, "put", comes_back)
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=31)
    assert times == [1, 2]
    assert [one.id for one in engine.ports.outbox.take(0, 9, 1)] == []
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("kinds", "counted"),
    [(["index"], 0), (["index", "start"], 2), (["index"] * 5, 5), ([], 0)],
    ids=["nobody waits", "one is awaited", "more may be due", "nothing"],
)
def test_only_behind_what_executions_wait_for_or_a_full_batch_another_comes_soon(
    kinds: list[str], counted: int
) -> None:
    engine, handed, first = memory_engine(), _Handed(), _Handed()
    relay = _relay(engine, handed, first)
    engine.ports.outbox.order(0, [("before", b'{"kind": "post"}')])
    assert hurried_tick(relay) == 1

    effects = [(f"e{at}", dump_json({"kind": kind})) for at, kind in enumerate(kinds)]
    engine.ports.outbox.order(0, effects)

    assert hurried_tick(relay) == counted
    assert len(handed.ids) + len(first.ids) == 1 + len(kinds)


def _keyed_child() -> Any:
    child = sub_workflow("s", workflow("child", simple("c")))
    child["subWorkflowParam"] |= {"idempotencyKey": "k"}
    return workflow("w", child)


def test_what_an_execution_stands_still_for_is_handed_on_before_what_waits_already() -> None:
    engine, handed, first = memory_engine(), _Handed(), _Handed()
    for _ in range(30):
        engine.start(workflow("v", typed("NOOP", "n")))
    engine.clock.advance(seconds=60)
    parent = engine.start(_keyed_child())

    assert _relay(engine, handed, first).tick() == 5
    assert first.ids == [f"{parent}:start:1"]
    assert len(handed.ids) == 4


def test_however_many_executions_stand_still_what_has_waited_for_long_has_its_turn() -> None:
    engine, handed, first = memory_engine(), _Handed(), _Handed()
    others = [engine.start(workflow("v", typed("NOOP", "n"))) for _ in range(3)]
    engine.clock.advance(milliseconds=HEAD_START_MS + 1)
    for _ in range(30):
        engine.start(_keyed_child())

    _relay(engine, handed, first).tick()
    assert set(handed.ids) == {f"{other}:index" for other in others}
    assert len(first.ids) == 2


def _with_timers(count: int, *, partitions: int = 1, **more: Any) -> MemoryEngine:
    """An engine in a partition of which so many timers are due."""
    clock = FakeClock()
    engine = memory_engine(clock=clock, space=MemorySpace(partitions, clock), **more)
    definition = workflow("w", wait("t", duration="5 seconds"))
    started: list[ExecutionId] = []
    while max(Counter(map(partition_of, started)).values(), default=0) < count:
        started.append(ExecutionId(engine.start(definition)))
    clock.advance(seconds=5)
    return engine


def _sweeper(engine: MemoryEngine, *, partitions: int = 1, batch: int = 4) -> Sweeper:
    return Sweeper(
        engine.ports.timers,
        engine.engine.executor,
        engine.engine.shards,
        now_ms=engine.ports.store.now_ms,
        partitions=partitions,
        batch=batch,
        monotonic=engine.clock.monotonic,
    )


@pytest.mark.parametrize("partitions", [1, 3])
def test_timers_are_behind_for_two_seconds_after_half_a_batch(partitions: int) -> None:
    engine = _with_timers(2, partitions=partitions)
    sweeper = _sweeper(engine, partitions=partitions)
    assert not sweeper.is_behind()
    assert sweeper.tick() >= 2
    engine.clock.advance(milliseconds=1_999)
    assert (sweeper.tick(), sweeper.is_behind()) == (0, True)
    engine.clock.advance(milliseconds=1)
    assert not sweeper.is_behind()


def test_less_than_half_a_batch_is_not_behind() -> None:
    engine = _with_timers(1)
    sweeper = _sweeper(engine)
    assert (sweeper.tick(), sweeper.is_behind()) == (1, False)


def test_timers_that_cannot_go_on_in_a_full_store_are_not_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What can wait is what makes room."""
    engine = _with_timers(4)

    def full(*_: Any, **__: Any) -> Driven:
        raise StoreFull("Redis is full.")

    monkeypatch.setattr(Executor, "drive", full)
    sweeper = _sweeper(engine)
    assert (sweeper.tick(), sweeper.is_behind()) == (4, False)


@pytest.mark.parametrize(("gives_way", "handed"), [(True, 0), (False, 60)])
def test_what_can_wait_gives_way_where_the_engine_is_told_so(gives_way: bool, handed: int) -> None:
    engine = _with_timers(60, gather_tasks_ms=None, effects_give_way=gives_way)
    while engine.engine.relay.tick():
        pass
    while engine.engine.sweeper.tick():
        pass
    assert engine.engine.relay.tick() == handed
    engine.clock.advance(seconds=2)
    assert engine.engine.relay.tick() == 60 - handed


def test_what_can_wait_gives_way_to_timers_for_a_minute() -> None:
    engine, handed, behind = memory_engine(gather_tasks_ms=None), _Handed(), [True]
    relay = Relay(
        engine.ports.outbox,
        handed.enqueue,
        now_ms=engine.ports.store.now_ms,
        partitions=1,
        lease_ms=PATIENCE_MS * 2,
        gives_way=lambda: behind[0],
    )
    sends = typed("EVENT", "e", sink="conductor:told")
    execution = engine.start(workflow("w", sends, simple("a")))
    parent = engine.start(_keyed_child())
    engine.clock.advance(seconds=2)
    assert relay.tick() == 2
    assert set(handed.ids) == {f"{execution}:publish:1", f"{parent}:start:1"}

    engine.clock.advance(milliseconds=PATIENCE_MS - 1_001)
    assert relay.tick() == 0
    engine.clock.advance(milliseconds=1)
    assert relay.tick() == 2  # an index is wanted a second after the start
    other = engine.start(workflow("v", typed("NOOP", "n")))
    assert relay.tick() == 0
    behind[0] = False
    assert relay.tick() == 1
    assert set(handed.ids[2:4]) == {f"{execution}:index", f"{parent}:index"}
    assert handed.ids[4:] == [f"{other}:index"]

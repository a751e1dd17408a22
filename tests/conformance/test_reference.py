"""Memory and a real Redis, told the same random story, answer the same and keep the same."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from conductor_py.ports.store import Changes, Child, ClaimGuard, Effect, Loaded, Message
from tests.conformance.stores import (
    LEASE_MS,
    NOW,
    Clock,
    Store,
    a_poll,
    an_id,
    header,
    memory_store,
    offering,
    redis_store,
)
from tests.conftest import RealRedis

STEPS = 150
IDS = (an_id(1), an_id(2), an_id(3))
SEQS = (1, 2, 3)
PLANS = ("p1", "p2", "p3")
OWNERS = {"p3": an_id(3)}
READS = json.dumps(["vars", ">aco r:t1", "j:x#*1"]).encode()

Call = Callable[[Store], object]


def plain(value: Any) -> Any:
    """Without the order of mappings."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


class Story:
    """Makes up one call after another out of a seed; what it asks the reference, it asks both."""

    def __init__(self, seed: int, clock: Clock) -> None:
        self.chance = random.Random(seed)
        self.clock = clock
        self.loaded: dict[str, Loaded] = {}

    def some(self, *weights: int) -> range:
        return range(self.chance.choice(weights))

    def changes(self) -> Changes:
        choice, now = self.chance.choice, self.clock.now_ms
        changes = offering(
            choice((0, 1, 2, 3)),
            lim=choice((0, 0, 2)),
            rl=choice((0, 0, 3)),
            rw=1_000,
            rt=choice((0, 1_000, 60_000)),
            tt=choice((0, 700)),
            it=choice(("", "1.2")),
            deadline=choice((0, NOW + 3_000)),
        )
        status = choice(("RUNNING", "RUNNING", "RUNNING", "PAUSED", "COMPLETED"))
        head = header(
            plan=choice(PLANS), first_seq=choice((1, 1, 2)), drain=choice((0, 0, 0, 0, 1))
        )
        pointer = {"r:t1": b"%d" % choice(SEQS)} if choice((True, False)) else {}
        return replace(
            changes,
            status=status,
            terminal=status == "COMPLETED",
            generation=choice((1, 1, 1, 2)),
            fields={**changes.fields, **pointer, "h": head},
            offers=tuple(replace(o, due_ms=choice((0, now + 500))) for o in changes.offers),
            ended=tuple(seq for seq in SEQS if choice((True, False, False, False))),
            reopened=tuple(choice(SEQS) for _ in self.some(0, 0, 1)),
            attempt_timers=tuple((choice(SEQS), choice((0, now + 300))) for _ in self.some(0, 1)),
            due_ms=choice((0, now + 400)),
            children=tuple(
                Child(
                    home="s0",
                    execution=choice(IDS),
                    name="wf",
                    generation=1,
                    fields=choice(({}, {"h": header(plan=choice(PLANS))})),
                    event=b"s",
                )
                for _ in self.some(0, 0, 1)
            ),
            messages=tuple(
                Message(execution=choice(IDS), event=b"m", wanted=choice((True, False)))
                for _ in self.some(0, 0, 1)
            ),
            own_events=tuple(b"%d own" % choice(SEQS) for _ in self.some(0, 0, 1)),
            effects=tuple(
                Effect(id=choice("ab"), document=b"{}", due_ms=choice((0, now + 100)))
                for _ in self.some(0, 1, 2)
            ),
            answers=tuple((choice(("o1", "o2")), b"1") for _ in self.some(0, 0, 1)),
            plans=choice(((), ("p1",), ("p1",), ("p1", "missing"))),
            deleted=tuple(choice(("i:1", "o:1", "r:t1", "a:3")) for _ in self.some(0, 0, 1)),
            unpark=choice((True, False, False)),
            logs=tuple((choice(SEQS), now, "a line") for _ in self.some(0, 0, 1)),
        )

    def start(self) -> Call:
        choice, changes = self.chance.choice, self.changes()
        execution, operation = choice(IDS), choice(("s1", "s2"))
        more = {
            "idempotency_key": choice((None, "k")),
            "holder": choice(("", "d")),
            "on_existing": choice(("FAIL", "FAIL_ON_RUNNING")),
        }
        return lambda store: store.start(execution, changes, operation=operation, **more)

    def poll(self) -> Call:
        choice = self.chance.choice
        poll = replace(
            a_poll(),
            count=choice((1, 2, 3)),
            worker=choice("uvw"),
            lease_ms=choice((0, 400)),
            limit=choice((None, None, 0, 1)),
        )
        return lambda store: store.queues.poll(0, poll)

    def report(self) -> Call:
        choice = self.chance.choice
        execution, seq, claim = choice(IDS), choice((*SEQS, 4)), choice((0, 0, NOW, NOW + 1))
        more = {"worker": choice(("", "v", "w")), "output": choice((None, b"{}"))}
        return lambda store: store.report(execution, seq, claim, **more)

    def send(self) -> Call:
        choice = self.chance.choice
        send = (choice(IDS), choice(("o1", "o2", "o3")), b"1 e", choice("de"), LEASE_MS)
        return lambda store: store.executions.send(*send)

    def acquire(self) -> Call:
        execution = self.chance.choice(IDS)

        def call(store: Store) -> object:
            loaded = store.executions.acquire(execution, "d", LEASE_MS)
            if loaded is not None:
                self.loaded[execution] = loaded
            return loaded

        return call

    def commit(self) -> Call:
        choice, changes = self.chance.choice, self.changes()
        loaded = self.loaded.get(choice(IDS))
        if loaded is None:
            return self.acquire()
        operation, let_go = f"c{choice(range(40))}", choice((True, False, False))
        guards = tuple(ClaimGuard(seq=1, claim=0, until_ms=0) for _ in self.some(0, 0, 0, 1))
        return lambda store: store.commit(
            loaded, changes, operation=operation, guards=guards, let_go=let_go
        )

    def extend(self) -> Call:
        choice = self.chance.choice
        extend = (choice(IDS), choice(SEQS), 0, choice(("", "w")), 400, choice((None, b"{}")))
        return lambda store: store.queues.extend(*extend)

    def fire(self) -> Call:
        return lambda store: store.timers.claim_due(0, "s0", 5, "d", LEASE_MS)

    def load(self) -> Call:
        execution = self.chance.choice(IDS)
        reads = ["h", ">aci r:t1", "a:1", "a:1", ">a r:none"]
        return lambda store: store.executions.load(execution, reads)

    def remove(self) -> Call:
        execution = self.chance.choice(IDS)
        loaded = self.loaded.get(execution)
        version = loaded.version if loaded else NOW

        def call(store: Store) -> object:
            present = store.reader.snapshot(execution)
            return store.reader.remove(execution, present[0] if present else version)

        return call

    def put(self) -> Call:
        plan = self.chance.choice(PLANS)
        return lambda store: store.plans.put(0, plan, b"{}", {"t1": READS}, OWNERS.get(plan))

    def collect(self) -> Call:
        choice = self.chance.choice
        collect = (0, choice((0, 1_000, 60_000)), choice((1, 10)))
        return lambda store: store.plans.collect_unused(*collect)

    def take(self) -> Call:
        return lambda store: store.outbox.take(0, 3, 50)

    def __iter__(self) -> Iterator[Call]:
        often = (self.commit, self.acquire, self.report, self.poll, self.fire)
        rarely = (
            *(self.start, self.send, self.extend, self.load, self.remove, self.take),
            *(self.put, self.collect),
        )
        for _ in range(STEPS):
            self.clock.advance(self.chance.choice((0, 0, 1, 100, 500, 3_000, 30_000)))
            yield self.chance.choice((*often, *often, *rarely))()


def put_plans(store: Store) -> None:
    """Store all plans of the stories."""
    for plan in PLANS:
        store.plans.put(0, plan, b"{}", {"t1": READS}, OWNERS.get(plan))


def plans_named(store: Store) -> set[str]:
    """The plans that the headers of present executions name."""
    present = [store.reader.snapshot(execution) for execution in IDS]
    headers = [json.loads(found[1].get("h", b"{}")) for found in present if found is not None]
    return {header["plan"] for header in headers if "plan" in header}


def state_of(store: Store) -> object:
    """All that a caller can see."""
    return plain(
        (
            [store.reader.snapshot(execution) for execution in IDS],
            store.queues.sizes(0),
            store.timers.next_due_ms(0, "s0"),
            sorted(store.reader.running("wf")),
            store.outbox.size(0),
            [store.plans.get(0, plan) for plan in PLANS],
        )
    )


@pytest.mark.parametrize("seed", range(15))
def test_same_story_has_the_same_answers_and_leaves_the_same_state(
    newest_redis: RealRedis, seed: int
) -> None:
    clock = Clock()
    stores = (memory_store(clock), redis_store(newest_redis.url, clock))
    for store in stores:
        put_plans(store)
    for call in Story(seed, clock):
        reference, real = (plain(call(store)) for store in stores)
        assert real == reference
        assert state_of(stores[1]) == state_of(stores[0])
    assert stores[1].connection is not None
    stores[1].connection.close()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happened_exactly_the_plans_that_nothing_uses_are_dropped(seed: int) -> None:
    clock = Clock()
    store = memory_store(clock)
    put_plans(store)
    for call in Story(seed, clock):
        call(store)
        put_plans(store)
        store.plans.collect_unused(0, 0, 10)
        kept = {plan for plan in PLANS if store.plans.get(0, plan) is not None}
        owned = {plan for plan, owner in OWNERS.items() if store.reader.snapshot(owner)}
        assert kept == plans_named(store) | owned
        put_plans(store)

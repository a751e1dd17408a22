"""What the store promises of being late: spans in which what was due was not taken."""

import pytest

from conductor_py.ports.store import Child, Effect
from tests.conformance.stores import LEASE_MS, NOW, Store, an_id, header, running

_HOUR_MS = 3_600_000


def _timer(store: Store, number: int, due_ms: int, home: str = "s0") -> None:
    """An execution that has a timer of its own."""
    child = Child(
        execution=an_id(number),
        home=home,
        name="wf",
        generation=1,
        fields={"h": header()},
        event=b"s",
    )
    store.start(an_id(number + 100), running(children=(child,)))
    loaded = store.executions.acquire(an_id(number), "d", LEASE_MS)
    assert loaded is not None
    store.commit(loaded, running(due_ms=due_ms), home=home)


def _effect(store: Store, number: int, due_ms: int) -> None:
    effect = Effect(id="e", document=b"{}", due_ms=due_ms)
    store.start(an_id(number), running(effects=(effect,)))


def _fire(store: Store, home: str = "s0") -> None:
    for loaded in store.timers.claim_due(0, home, 10, "d", LEASE_MS):
        store.commit(loaded, running(), home=home)


def _spans(store: Store) -> list[tuple[int, int]]:
    return [(began - NOW, ended - NOW) for began, ended in store.timers.late_spans(0)]


@pytest.mark.parametrize("kind", ["timer", "effect"])
def test_what_is_taken_within_a_second_is_not_late(store: Store, kind: str) -> None:
    {"timer": _timer, "effect": _effect}[kind](store, 1, NOW + 500)
    store.clock.advance(1_499)
    _fire(store)
    assert store.outbox.take(0, 10, LEASE_MS) or kind == "timer"
    assert _spans(store) == []


@pytest.mark.parametrize("kind", ["timer", "effect"])
def test_what_is_taken_later_is_late_since_it_was_due(store: Store, kind: str) -> None:
    {"timer": _timer, "effect": _effect}[kind](store, 1, NOW + 500)
    store.clock.advance(9_000)
    for _ in range(2):  # what has been taken is due later
        _fire(store)
        store.outbox.take(0, 10, LEASE_MS)
    assert _spans(store) == [(500, 9_000)]


def test_spans_of_both_homes_that_meet_are_one_and_others_stay_apart(store: Store) -> None:
    _timer(store, 1, NOW + 1_000)
    _timer(store, 2, NOW + 5_000, home="s0:chains")
    _timer(store, 3, NOW + 25_000)
    store.clock.advance(4_000)
    _fire(store)
    assert _spans(store) == [(1_000, 4_000)]
    store.clock.advance(5_000)
    _fire(store, "s0:chains")
    _effect(store, 4, NOW + 3_500)
    store.clock.advance(1_000)
    assert _spans(store) == [(1_000, 4_000), (5_000, 9_000)]
    store.outbox.take(0, 10, LEASE_MS)
    assert _spans(store) == [(1_000, 10_000)]
    store.clock.advance(20_000)
    _fire(store)
    assert _spans(store) == [(1_000, 10_000), (25_000, 30_000)]


def test_what_ended_an_hour_ago_is_forgotten(store: Store) -> None:
    _timer(store, 1, NOW)
    store.clock.advance(2_000)
    _fire(store)
    _timer(store, 2, NOW + _HOUR_MS)
    store.clock.advance(_HOUR_MS)
    _fire(store)
    assert _spans(store) == [(_HOUR_MS, _HOUR_MS + 2_000)]


def test_child_is_at_home_where_it_is_told_to_be(store: Store) -> None:
    child = Child(
        execution=an_id(9),
        home="s0:chains",
        name="wf",
        generation=1,
        fields={"h": header()},
        event=b"s",
    )
    execution = store.started()
    store.commit(store.sent(execution), running(children=(child,)))
    store.clock.advance(1_000)
    assert store.timers.claim_due(0, "s0", 10, "d", LEASE_MS) == ()
    (woken,) = store.timers.claim_due(0, "s0:chains", 10, "d", LEASE_MS)
    assert woken.execution == an_id(9)

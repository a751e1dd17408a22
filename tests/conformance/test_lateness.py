"""What the store promises of being late: spans in which what was due was not taken.

Of effects only those are late that executions stand still for: they are ordered with a head start.
"""

import pytest

from conductor_py.ports.store import Child, Effect
from tests.conformance.stores import LEASE_MS, NOW, Store, an_id, header, running

_HOUR_MS = 3_600_000
_HEAD_START_MS = 600_000


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
    """One that is wanted at once, and due at an instant."""
    effect = Effect(id=f"e{number}", document=b"{}", due_ms=due_ms)
    store.start(an_id(number), running(effects=(effect,)))


def _fire(store: Store, home: str = "s0") -> None:
    for loaded in store.timers.claim_due(0, home, 10, "d", LEASE_MS):
        store.commit(loaded, running(), home=home)


def _spans(store: Store, home: str = "s0") -> list[tuple[int, int]]:
    return [(began - NOW, ended - NOW) for began, ended in store.timers.late_spans(0, home)]


def test_timer_that_fires_within_a_second_is_not_late(store: Store) -> None:
    _timer(store, 1, NOW + 500)
    store.clock.advance(1_499)
    _fire(store)
    assert _spans(store) == []


def test_timer_that_fires_later_is_late_since_it_was_due(store: Store) -> None:
    _timer(store, 1, NOW + 500)
    store.clock.advance(9_000)
    for _ in range(2):  # what has fired is not late again
        _fire(store)
    assert _spans(store) == [(500, 9_000)]


def test_effect_with_a_head_start_is_not_late_by_it(store: Store) -> None:
    _effect(store, 1, -_HEAD_START_MS)
    store.clock.advance(999)
    assert store.outbox.take(0, 10, LEASE_MS)
    assert _spans(store) == []


def test_effect_with_a_head_start_is_late_since_it_was_ordered(store: Store) -> None:
    _effect(store, 1, -_HEAD_START_MS)
    store.clock.advance(500)
    _effect(store, 2, -_HEAD_START_MS)
    store.clock.advance(8_500)
    for _ in range(2):
        store.outbox.take(0, 10, LEASE_MS)
    assert _spans(store) == _spans(store, "s1") == [(0, 9_000)]


@pytest.mark.parametrize("due_ms", [0, NOW, NOW + 500])
def test_effect_that_nobody_stands_still_for_is_not_late(store: Store, due_ms: int) -> None:
    _effect(store, 1, due_ms)
    store.clock.advance(9_000)
    assert store.outbox.take(0, 10, LEASE_MS)
    assert _spans(store) == []


def test_spans_that_meet_are_one_and_others_stay_apart(store: Store) -> None:
    for number, due_ms in enumerate((1_000, 5_000, 3_500, 25_000)):
        _timer(store, number + 1, NOW + due_ms)
    store.clock.advance(3_000)
    _fire(store)
    assert _spans(store) == [(1_000, 3_000)]
    store.clock.advance(7_000)
    _fire(store)
    assert _spans(store) == [(1_000, 3_000), (3_500, 10_000)]
    _timer(store, 9, NOW + 9_500)
    store.clock.advance(2_000)
    _fire(store)
    assert _spans(store) == [(1_000, 3_000), (3_500, 12_000)]
    store.clock.advance(18_000)
    _fire(store)
    assert _spans(store) == [(1_000, 3_000), (3_500, 12_000), (25_000, 30_000)]


def test_timers_of_one_home_do_not_make_another_late(store: Store) -> None:
    _timer(store, 1, NOW + 500, home="s0~chains")
    store.clock.advance(9_000)
    _fire(store)
    _fire(store, "s0~chains")
    assert _spans(store) == []
    assert _spans(store, "s0~chains") == [(500, 9_000)]


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
        home="s0~chains",
        name="wf",
        generation=1,
        fields={"h": header()},
        event=b"s",
    )
    execution = store.started()
    store.commit(store.sent(execution), running(children=(child,)))
    store.clock.advance(1_000)
    assert store.timers.claim_due(0, "s0", 10, "d", LEASE_MS) == ()
    (woken,) = store.timers.claim_due(0, "s0~chains", 10, "d", LEASE_MS)
    assert woken.execution == an_id(9)

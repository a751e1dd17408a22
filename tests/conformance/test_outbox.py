"""What `Outbox` promises, on every store."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor_py.ports.outbox import Pending
from conductor_py.ports.store import Effect, Outcome
from tests.conformance.stores import NOW, Store, an_id, completed, running


def order(store: Store, *effects: Effect) -> None:
    store.start(an_id(1), running(effects=effects))


def test_effect_is_taken_due_again_after_the_lease_and_gone_when_confirmed(store: Store) -> None:
    order(store, Effect(id="index", document=b'{"a": 1}'))
    pending = Pending(id="index", stamp=NOW, document=b'{"a": 1}')
    assert store.outbox.take(0, 10, 5_000) == (pending,)
    assert store.outbox.take(0, 10, 5_000) == ()
    store.clock.advance(5_000)
    assert store.outbox.take(0, 10, 5_000) == (pending,)
    assert store.outbox.confirm(0, [("index", NOW), ("other", NOW)]) == 1
    store.clock.advance(5_000)
    assert store.outbox.take(0, 10, 5_000) == ()
    assert store.outbox.size(0) == 0


def test_effect_ordered_anew_survives_the_confirmation_of_the_old_one(store: Store) -> None:
    order(store, Effect(id="index", document=b'"old"'))
    store.clock.advance(5)
    store.commit(store.sent(an_id(1)), running(effects=(Effect(id="index", document=b'"new"'),)))
    assert store.outbox.confirm(0, [("index", NOW)]) == 0
    assert store.outbox.size(0) == 1
    (pending,) = store.outbox.take(0, 10, 5_000)
    assert (pending.stamp, pending.document) == (NOW + 5, b'"new"')


@pytest.mark.parametrize("kind", ["remove", "forget"])
def test_removal_stays_while_its_execution_stands_as_it_did_when_that_was_ordered(
    store: Store, kind: str
) -> None:
    order(store)
    removal = f"{an_id(1)}:{kind}"
    ended = replace(completed(), effects=(Effect(id=removal, document=b"{}"),))
    version = store.commit(store.sent(an_id(1)), ended).version
    (pending,) = store.outbox.take(0, 10, 5_000)
    assert pending.stamp == version
    # As when a store has lost its last writes, the removal among them.
    assert store.outbox.confirm(0, [(removal, version)]) == 0
    assert store.outbox.size(0) == 1
    assert store.reader.remove(an_id(1), version) is Outcome.OK
    assert store.outbox.confirm(0, [(removal, version)]) == 1


def test_removal_goes_when_its_execution_has_moved_on(store: Store) -> None:
    order(store)
    removal = f"{an_id(1)}:remove"
    ended = replace(completed(), effects=(Effect(id=removal, document=b"{}"),))
    version = store.commit(store.sent(an_id(1)), ended).version
    store.clock.advance(5)
    reply = store.commit(store.sent(an_id(1)), running(generation=2))
    assert reply.outcome is Outcome.OK
    assert store.outbox.confirm(0, [(removal, version)]) == 1


def test_effects_are_taken_oldest_first_when_due(store: Store) -> None:
    order(
        store,
        Effect(id="late", document=b"{}", due_ms=NOW + 20),
        Effect(id="soon", document=b"{}", due_ms=NOW + 10),
        Effect(id="now", document=b"{}", due_ms=0),
    )
    assert [effect.id for effect in store.outbox.take(0, 10, 5_000)] == ["now"]
    store.clock.advance(20)
    assert [effect.id for effect in store.outbox.take(0, 1, 5_000)] == ["soon"]
    assert [effect.id for effect in store.outbox.take(0, 1, 5_000)] == ["late"]


def _ids(taken: Sequence[Pending]) -> list[str]:
    return [effect.id for effect in taken]


def test_what_can_wait_is_left_alone_for_as_long_as_is_asked(store: Store) -> None:
    execution = an_id(1)
    waits = ["tasks", *(f"{execution}:{kind}" for kind in ("index", "remove", "forget"))]
    urgent = [f"{execution}:start:1", f"{execution}:notify:2", "admit:w:index", "other:index"]
    order(store, *(Effect(id=id_, document=b"{}") for id_ in (*waits, *urgent)))
    assert set(_ids(store.outbox.take(0, 10, 5_000, patience_ms=60_000))) == set(urgent)
    # What was taken, or put off, comes again in its time whatever can wait.
    (first, *others) = [(each.id, each.stamp) for each in store.outbox.read(0, urgent)]
    store.outbox.postpone(0, [(*first, NOW + 100)])
    store.clock.advance(100)
    assert _ids(store.outbox.take(0, 10, 5_000, patience_ms=60_000)) == [first[0]]
    store.outbox.confirm(0, [first, *others])
    store.clock.advance(59_899)
    assert _ids(store.outbox.take(0, 10, 5_000, patience_ms=60_000)) == []
    store.clock.advance(1)
    assert set(_ids(store.outbox.take(0, 10, 5_000, patience_ms=60_000))) == set(waits)


def test_of_what_is_urgent_no_more_is_taken_than_is_asked(store: Store) -> None:
    order(store, *(Effect(id=f"e{n}", document=b"{}", due_ms=NOW + n) for n in range(5)))
    store.clock.advance(10)
    assert _ids(store.outbox.take(0, 3, 5_000, patience_ms=60_000)) == ["e0", "e1", "e2"]
    assert _ids(store.outbox.take(0, 3, 5_000, patience_ms=60_000)) == ["e3", "e4"]


def test_effects_with_a_head_start_pass_those_that_wait_for_less_and_no_others(
    store: Store,
) -> None:
    order(store, Effect(id="old", document=b"{}"))
    store.clock.advance(600)
    order_on = running(effects=(Effect(id="young", document=b"{}"),))
    store.commit(store.sent(an_id(1)), order_on)
    store.clock.advance(500)
    awaited = running(effects=(Effect(id="awaited", document=b"{}", due_ms=-1_000),))
    store.commit(store.sent(an_id(1)), awaited)
    taken = [store.outbox.take(0, 1, 5_000)[0].id for _ in range(3)]
    assert taken == ["old", "awaited", "young"]


def test_nothing_is_confirmed_in_another_life_of_the_server(store: Store) -> None:
    """I12: what it did may be lost with the last writes."""
    order(store, Effect(id="a", document=b"1"))
    life = store.outbox.life(0)
    assert life == store.outbox.life(0) != ""
    assert store.outbox.confirm(0, [("a", NOW)], "another") == 0
    assert store.outbox.size(0) == 1
    assert store.outbox.confirm(0, [("a", NOW)], life) == 1


def test_effects_are_read_by_id_without_being_taken(store: Store) -> None:
    order(store, Effect(id="a", document=b"1"), Effect(id="b", document=b"2"))
    found = store.outbox.read(0, ["b", "gone", "a"])
    assert [(effect.id, effect.document) for effect in found] == [("b", b"2"), ("a", b"1")]
    assert store.outbox.read(0, []) == ()
    assert len(store.outbox.take(0, 10, 5_000)) == 2


def test_partitions_have_their_own_outbox(store: Store) -> None:
    order(store, Effect(id="a", document=b"1"))
    assert store.outbox.take(1, 10, 5_000) == ()
    assert store.outbox.size(1) == 0


def test_postponed_effect_is_due_when_it_is_said_and_not_when_its_lease_ends(store: Store) -> None:
    order(store, Effect(id="a", document=b"1"), Effect(id="b", document=b"2"))
    store.outbox.take(0, 10, 5_000)
    later = [("a", NOW, NOW + 60_000), ("b", NOW + 1, NOW + 60_000), ("gone", NOW, NOW)]
    assert store.outbox.postpone(0, later) == 1
    assert store.outbox.postpone(0, []) == 0
    store.clock.advance(5_000)
    assert [effect.id for effect in store.outbox.take(0, 10, 90_000)] == ["b"]
    store.clock.advance(55_000)
    assert [effect.id for effect in store.outbox.take(0, 10, 5_000)] == ["a"]


def test_effects_are_ordered_outside_of_a_commit_once_an_id(store: Store) -> None:
    assert store.outbox.order(1, [("a", b"1"), ("b", b"2")]) == 2
    store.clock.advance(5)
    assert store.outbox.order(1, [("a", b"other")]) == 0
    assert store.outbox.order(1, []) == 0
    taken = store.outbox.take(1, 10, 5_000)
    assert taken == (
        Pending(id="a", stamp=NOW, document=b"1"),
        Pending(id="b", stamp=NOW, document=b"2"),
    )
    assert store.outbox.confirm(1, [(effect.id, effect.stamp) for effect in taken]) == 2


def test_the_next_effect_is_due_when_it_says(store: Store) -> None:
    assert store.outbox.next_due_ms(0) == 0
    order(
        store,
        Effect(id="index", document=b"{}"),
        Effect(id="later", document=b"{}", due_ms=NOW + 900),
    )
    assert store.outbox.next_due_ms(0) == NOW
    store.outbox.take(0, 10, 5_000)
    assert store.outbox.next_due_ms(0) == NOW + 900
    store.clock.advance(900)
    store.outbox.take(0, 10, 5_000)
    assert store.outbox.next_due_ms(0) == NOW + 5_000


def test_effect_that_is_put_aside_is_damaged_until_it_is_done_put_off_or_dropped(
    store: Store,
) -> None:
    order(store, *(Effect(id=name, document=b"{}") for name in ("done", "off", "dropped")))
    names = ("done", "off", "dropped")
    problems = [(name, NOW, "it lacks a member") for name in names]
    assert store.outbox.put_aside(0, [*problems, ("gone", NOW, ""), ("done", NOW + 1, "")]) == 3
    assert store.outbox.put_aside(0, []) == 0
    first = store.damage.listed()[0]
    assert (first.since_ms, first.tries, first.again_ms, first.problem) == (
        NOW,
        1,
        NOW + 60_000,
        "it lacks a member",
    )
    assert {one.entry for one in store.damage.listed()} == {f"0 outbox {name}" for name in names}
    assert store.outbox.take(0, 10, 5_000) == ()
    store.clock.advance(60_000)
    assert len(store.outbox.take(0, 10, 5_000)) == 3
    assert store.outbox.put_aside(0, problems) == 3
    assert [(one.since_ms, one.tries, one.again_ms) for one in store.damage.listed()] == [
        (NOW, 2, NOW + 180_000)
    ] * 3
    assert store.outbox.confirm(0, [("done", NOW)]) == 1
    assert store.outbox.postpone(0, [("off", NOW, NOW + 90_000)]) == 1
    assert [one.entry for one in store.damage.listed()] == ["0 outbox dropped"]
    assert store.damage.drop("0 outbox dropped")
    assert not store.damage.drop("0 outbox dropped")
    assert (len(store.damage.listed()), store.outbox.size(0)) == (0, 1)


def test_effect_that_is_put_aside_is_due_at_once_when_somebody_retries_it(store: Store) -> None:
    order(store, Effect(id="effect", document=b"{}"))
    store.outbox.put_aside(0, [("effect", NOW, "it lacks a member")])
    assert store.damage.retry("0 outbox effect")
    assert not store.damage.retry("0 outbox effect")
    assert not store.damage.retry("9 outbox effect")
    assert not store.damage.retry("0 timers:s0 effect")
    assert len(store.damage.listed()) == 0
    assert [one.id for one in store.outbox.take(0, 10, 5_000)] == ["effect"]

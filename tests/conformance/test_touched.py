"""What `TouchedTasks` promises, on every store."""

from dataclasses import replace

import pytest

from conductor_py.ports.store import Outcome
from conductor_py.ports.touched import EFFECT, GATHER_MS, Touch
from tests.conformance.stores import NOW, Store, an_id, attempt, completed, header, offering

ONE = an_id(1)


def touching(*seqs: int):
    return replace(offering(len(seqs)), touched=seqs, gather_ms=GATHER_MS)


def touch(seq: int, at_ms: int = NOW) -> Touch:
    return Touch(execution=ONE, seq=seq, at_ms=at_ms)


def test_what_a_start_and_a_commit_change_is_listed_from_the_next_instant_on(store: Store) -> None:
    store.start(ONE, touching(1, 2))
    assert store.touched.look(0, 10) == ()
    store.clock.advance(1)
    assert store.touched.look(0, 10) == (touch(1), touch(2))
    changes = replace(
        offering(2),
        fields={"h": header(), "a:2": attempt()},
        offers=(),
        touched=(2,),
        gather_ms=GATHER_MS,
    )
    store.commit(store.sent(ONE), changes)
    store.clock.advance(1)
    assert store.touched.look(0, 10) == (touch(1), touch(2, NOW + 1))
    assert store.touched.look(0, 1) == (touch(1),)
    assert store.touched.size(0) == 2


def test_what_was_touched_again_since_is_not_dropped(store: Store) -> None:
    store.start(ONE, touching(1, 2))
    store.clock.advance(1)
    seen = store.touched.look(0, 10)
    store.poll(gather_ms=GATHER_MS, count=1)
    store.touched.drop(0, seen)
    store.clock.advance(1)
    assert store.touched.look(0, 10) == (touch(1, NOW + 1),)


@pytest.mark.parametrize("gather_ms", [GATHER_MS, 0])
def test_claims_are_noted_when_the_poll_says_so(store: Store, gather_ms: int) -> None:
    store.start(ONE, offering(2))
    assert len(store.poll(gather_ms=gather_ms)) == 2
    store.clock.advance(1)
    assert store.touched.look(0, 10) == ((touch(1), touch(2)) if gather_ms else ())


def test_changes_are_gathered_as_long_as_the_first_of_them_says(store: Store) -> None:
    store.start(ONE, replace(touching(1, 2), gather_ms=1_500))
    store.poll(gather_ms=GATHER_MS)
    store.clock.advance(1_499)
    assert store.outbox.take(0, 10, 5_000) == ()
    store.clock.advance(1)
    (pending,) = store.outbox.take(0, 10, 5_000)
    store.touched.drop(0, store.touched.look(0, 10)[:1])
    assert store.outbox.confirm(0, [(EFFECT, pending.stamp)]) == 0
    assert store.outbox.take(0, 10, 5_000)[0].id == EFFECT


def test_the_end_of_an_execution_forgets_what_it_names(store: Store) -> None:
    store.start(ONE, touching(1, 2))
    reply = store.commit(store.sent(ONE), completed(touched=(1,)))
    assert reply.outcome is Outcome.OK
    store.clock.advance(1)
    assert store.touched.look(0, 10) == (touch(2),)


def test_one_effect_waits_for_all_that_is_touched(store: Store) -> None:
    store.start(ONE, touching(1, 2))
    store.clock.advance(GATHER_MS - 1)
    assert store.outbox.take(0, 10, 5_000) == ()
    store.poll(gather_ms=GATHER_MS)
    store.clock.advance(1)
    (pending,) = store.outbox.take(0, 10, 5_000)
    assert (pending.id, pending.stamp, pending.document) == (
        *(EFFECT, NOW),
        b'{"kind":"tasks","gather":500}',
    )


def test_the_effect_stays_until_nothing_is_touched(store: Store) -> None:
    store.start(ONE, touching(1))
    store.clock.advance(GATHER_MS)
    (pending,) = store.outbox.take(0, 10, 5_000)
    seen = store.touched.look(0, 10)
    store.poll(gather_ms=GATHER_MS)
    store.touched.drop(0, seen)
    assert store.outbox.confirm(0, [(EFFECT, pending.stamp)]) == 0
    store.clock.advance(GATHER_MS - 1)
    assert store.outbox.take(0, 10, 5_000) == ()
    store.clock.advance(1)
    (pending,) = store.outbox.take(0, 10, 5_000)
    store.touched.drop(0, store.touched.look(0, 10))
    assert store.outbox.confirm(0, [(EFFECT, pending.stamp)]) == 1
    assert store.outbox.size(0) == 0


def test_the_effect_comes_again_with_the_next_change(store: Store) -> None:
    store.start(ONE, touching(1))
    store.clock.advance(GATHER_MS)
    (pending,) = store.outbox.take(0, 10, 5_000)
    store.touched.drop(0, store.touched.look(0, 10))
    store.outbox.confirm(0, [(EFFECT, pending.stamp)])
    store.poll(gather_ms=GATHER_MS)
    store.clock.advance(GATHER_MS)
    (again,) = store.outbox.take(0, 10, 5_000)
    assert (again.id, again.stamp) == (EFFECT, NOW + GATHER_MS)

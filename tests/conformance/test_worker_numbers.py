"""What `WorkerNumbers` promises, on every store."""

import pytest

from conductor_py.errors import ConfigurationError
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.worker_numbers import Lease
from tests.conformance.stores import NOW, Store

TTL_MS = 10_000
FOUR = CodeLayout(worker_bits=2)


def lease(store: Store, owner: str, held: Lease | None = None) -> Lease:
    found = asked(store, owner, held)
    assert found is not None
    assert found.now_ms == store.clock.now_ms
    return found


def asked(store: Store, owner: str, held: Lease | None = None) -> Lease | None:
    return store.numbers.lease(owner, FOUR, TTL_MS, held)


def numbers(store: Store, *owners: str) -> list[int]:
    return [lease(store, owner).number for owner in owners]


def test_each_owner_gets_a_number_of_its_own_from_now_on(store: Store) -> None:
    first = lease(store, "a")
    assert (first.number, first.from_ms, first.until_ms) == (0, NOW, NOW + TTL_MS)
    assert numbers(store, "b", "c", "d") == [1, 2, 3]


def test_nothing_is_leased_while_all_numbers_are_taken(store: Store) -> None:
    numbers(store, "a", "b", "c", "d")
    store.clock.advance(TTL_MS - 1)
    assert asked(store, "e") is None
    store.clock.advance(1)
    assert lease(store, "e").number == 0


def test_a_number_that_is_held_goes_on_where_its_times_end(store: Store) -> None:
    first = lease(store, "a")
    store.clock.advance(TTL_MS - 1)

    second = lease(store, "a", first)

    assert (second.number, second.from_ms) == (first.number, first.until_ms)
    assert second.until_ms == store.clock.now_ms + TTL_MS


def test_a_number_that_nobody_took_goes_on_long_after_its_end(store: Store) -> None:
    first = lease(store, "a")
    store.clock.advance(100 * TTL_MS)

    later = lease(store, "a", first)

    assert (later.number, later.from_ms) == (first.number, store.clock.now_ms)
    assert later.until_ms == store.clock.now_ms + TTL_MS


def test_the_number_that_ended_first_is_taken_first(store: Store) -> None:
    held = [lease(store, owner) for owner in ("a", "b", "c", "d")]
    store.clock.advance(1)
    lease(store, "a", held[0])
    lease(store, "c", held[2])
    store.clock.advance(TTL_MS)
    assert numbers(store, "e", "f", "g", "h") == [1, 3, 0, 2]


def test_a_number_that_another_took_is_not_held_any_more(store: Store) -> None:
    first = lease(store, "a")
    numbers(store, "b", "c", "d")
    store.clock.advance(TTL_MS)
    taken = lease(store, "e")
    assert taken.number == first.number

    after = lease(store, "a", first)

    assert after.number != first.number
    assert lease(store, "e", taken).number == taken.number


def test_only_the_end_that_is_stored_makes_it_held(store: Store) -> None:
    first = lease(store, "a")
    store.clock.advance(1)
    second = lease(store, "a", first)

    assert lease(store, "a", first).number == 1
    assert lease(store, "b", second).number == 2
    assert lease(store, "a", second).number == 0


def test_times_of_a_number_begin_at_its_end_after_the_clock_was_set_back(store: Store) -> None:
    ends = [lease(store, owner).until_ms for owner in ("a", "b", "c", "d")]
    store.clock.advance(-1_000_000)

    again = [lease(store, owner) for owner in ("e", "f", "g", "h")]

    assert [each.number for each in again] == [0, 1, 2, 3]
    assert [each.from_ms for each in again] == ends
    assert [each.until_ms for each in again] == [end + TTL_MS for end in ends]


def test_a_number_whose_end_the_clock_did_not_pass_is_taken_last(store: Store) -> None:
    lease(store, "a")
    store.clock.advance(-1_000_000)
    assert numbers(store, "b", "c", "d") == [1, 2, 3]
    assert lease(store, "e").number == 0
    assert asked(store, "f") == Lease(
        number=0,
        from_ms=NOW + 2 * TTL_MS,
        until_ms=NOW + 3 * TTL_MS,
        now_ms=store.clock.now_ms,
    )


def test_the_end_of_a_number_never_goes_back(store: Store) -> None:
    first = lease(store, "a")
    store.clock.advance(-1_000_000)

    second = lease(store, "a", first)
    assert (second.number, second.until_ms) == (first.number, first.until_ms)
    assert second.from_ms == first.until_ms  # no times at all

    store.clock.advance(1_000_000)
    third = lease(store, "a", second)
    assert (third.from_ms, third.until_ms) == (first.until_ms, first.until_ms)
    store.clock.advance(3_000)
    assert lease(store, "a", third).until_ms == first.until_ms + 3_000


def test_the_layout_of_the_first_lease_stays(store: Store) -> None:
    lease(store, "a")
    other = CodeLayout(worker_bits=3)
    with pytest.raises(ConfigurationError, match="laid out as 41/2/6, not as 41/3/6"):
        store.numbers.lease("b", other, TTL_MS, None)
    same_bits = CodeLayout(worker_bits=2, epoch_ms=0)
    with pytest.raises(ConfigurationError):
        store.numbers.lease("b", same_bits, TTL_MS, None)
    assert lease(store, "b").number == 1

"""What `ScheduleStore` promises, on every store."""

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.ports.schedules import ScheduleSettlement, StoredSchedule
from tests.conformance.stores import NOW, Store

LEASE = 30_000


def put(store: Store, name: str = "s", *, version: int = 0, **more: Any) -> int:
    given: dict[str, Any] = {"document": b'{"a": "b c"}', "next_ms": NOW, "armed": True}
    new = store.schedules.put(name, version=version, **given | more)
    assert new is not None
    return new


def claim(store: Store, limit: int = 10) -> tuple[StoredSchedule, ...]:
    return store.schedules.claim_due(limit, LEASE)[1]


def names(store: Store, limit: int = 10) -> list[str]:
    return [one.name for one in claim(store, limit)]


def settlement(stored: StoredSchedule, **more: Any) -> ScheduleSettlement:
    given = ScheduleSettlement(
        name=stored.name,
        generation=stored.generation,
        fired_ms=stored.next_ms,
        next_ms=NOW + 60_000,
        record_id=f"r{stored.next_ms}",
        record_ms=stored.next_ms,
        record=b"{}",
        keep=2,
        trim_above=4,
    )
    return replace(given, **more)


def test_schedule_is_read_as_it_was_put(store: Store) -> None:
    version = put(store, next_ms=NOW + 5)
    known = StoredSchedule(
        name="s",
        document=b'{"a": "b c"}',
        version=version,
        generation=version,
        next_ms=NOW + 5,
        armed=True,
    )
    assert version == NOW
    assert store.schedules.read(("s", "none")) == (known,)
    put(store, "r \N{SNOWMAN}")
    assert [one.name for one in store.schedules.read(None)] == ["r \N{SNOWMAN}", "s"]
    assert store.schedules.read(()) == ()


def test_put_compares_the_version(store: Store) -> None:
    first = put(store)
    more: dict[str, Any] = {"document": b"x", "next_ms": NOW, "armed": True}
    assert store.schedules.put("s", version=0, **more) is None
    assert store.schedules.put("s", version=first + 1, **more) is None
    assert store.schedules.put("t", version=first, **more) is None
    assert put(store, version=first) == first + 1
    store.clock.advance(50)
    assert put(store, version=first + 1) == NOW + 50
    (known,) = store.schedules.read(("s",))
    assert known.generation == first


def test_claim_ends_with_its_lease(store: Store) -> None:
    put(store)
    now, (first,), next_ms = store.schedules.claim_due(10, LEASE)
    assert next_ms == now + LEASE
    assert (now, first.tries, first.next_ms) == (NOW, 1, NOW)
    assert claim(store) == ()
    store.clock.advance(LEASE - 1)
    assert claim(store) == ()
    store.clock.advance(1)
    (second,) = claim(store)
    assert (second.tries, second.version) == (2, first.version)


def test_only_armed_schedules_with_an_instant_become_due(store: Store) -> None:
    put(store, "later", next_ms=NOW + 1)
    put(store, "unarmed", armed=False)
    put(store, "over", next_ms=0)
    assert names(store) == []
    store.clock.advance(1)
    assert names(store) == ["later"]


def test_longest_due_is_claimed_first_and_the_limit_holds(store: Store) -> None:
    for name, due in (("b", NOW - 1), ("a", NOW), ("c", NOW - 2)):
        put(store, name, next_ms=due)
    assert names(store, 2) == ["c", "b"]
    assert names(store, 2) == ["a"]


def test_put_that_leaves_the_instant_alone_leaves_its_claim_alone(store: Store) -> None:
    version = put(store)
    claim(store)
    put(store, version=version, document=b"other")
    assert claim(store) == ()
    assert store.schedules.read(("s",))[0].tries == 1


@pytest.mark.parametrize(("next_ms", "due"), [(NOW - 1, ["s"]), (NOW + 1, []), (0, [])])
def test_put_with_another_instant_ends_the_claim(
    store: Store, next_ms: int, due: list[str]
) -> None:
    version = put(store)
    claim(store)
    put(store, version=version, next_ms=next_ms)
    assert store.schedules.read(("s",))[0].tries == 0
    assert names(store) == due


def test_disarmed_schedule_is_not_due_and_keeps_its_instant(store: Store) -> None:
    version = put(store, version=put(store), armed=False)
    store.clock.advance(LEASE)
    assert names(store) == []
    assert store.schedules.read(("s",))[0].next_ms == NOW
    put(store, version=version, armed=True)
    assert names(store) == ["s"]


def test_settlement_moves_the_schedule_on(store: Store) -> None:
    put(store)
    (claimed,) = claim(store)
    assert store.schedules.settle(settlement(claimed))
    (moved,) = store.schedules.read(("s",))
    assert (moved.next_ms, moved.tries) == (NOW + 60_000, 0)
    assert moved.version > claimed.version
    store.clock.advance(59_999)
    assert names(store) == []
    store.clock.advance(1)
    assert names(store) == ["s"]


def test_settlement_is_carried_out_once(store: Store) -> None:
    put(store)
    (claimed,) = claim(store)
    assert store.schedules.settle(settlement(claimed))
    assert not store.schedules.settle(settlement(claimed, next_ms=NOW + 1))
    assert store.schedules.read(("s",))[0].next_ms == NOW + 60_000
    assert store.schedules.records(("s",), 10) == ((b"{}",),)


def test_settlement_of_a_schedule_that_changed_only_keeps_the_record(store: Store) -> None:
    version = put(store)
    (claimed,) = claim(store)
    put(store, version=version, next_ms=NOW + 7)
    assert not store.schedules.settle(settlement(claimed, record=b"kept"))
    assert store.schedules.read(("s",))[0].next_ms == NOW + 7
    assert store.schedules.records(("s",), 10) == ((b"kept",),)


def test_settlement_moves_a_schedule_whose_document_changed_meanwhile(store: Store) -> None:
    version = put(store)
    (claimed,) = claim(store)
    put(store, version=version, document=b"changed", armed=False)
    assert store.schedules.settle(settlement(claimed))
    (moved,) = store.schedules.read(("s",))
    assert (moved.document, moved.next_ms, moved.armed) == (b"changed", NOW + 60_000, False)
    store.clock.advance(60_000)
    assert names(store) == []


def test_count_of_claims_stays_while_the_instant_does(store: Store) -> None:
    version = put(store)
    claim(store)
    put(store, version=put(store, version=version, armed=False), armed=True)
    (again,) = claim(store)
    assert again.tries == 2


def test_record_of_a_start_is_not_replaced_by_one_of_none(store: Store) -> None:
    put(store)
    (known,) = store.schedules.read(("s",))

    def keep(record: bytes, **more: Any) -> None:
        store.schedules.settle(settlement(known, fired_ms=0, record=record, **more))

    keep(b"failed")
    keep(b"failed again")
    assert store.schedules.records(("s",), 10) == ((b"failed",),)
    keep(b"started", started="one")
    keep(b"failed late")
    assert store.schedules.records(("s",), 10) == ((b"started",),)


def test_what_was_started_is_known_until_it_has_ended(store: Store) -> None:
    put(store)
    (known,) = store.schedules.read(("s",))

    def start(number: int, *ended: str, started: bool = True) -> None:
        name = f"e{number:02}" if started else ""
        store.schedules.settle(
            settlement(known, fired_ms=0, record_ms=NOW + number, started=name, ended=ended)
        )

    for number in (2, 1, 3):
        start(number)
    assert store.schedules.started("s") == ("e03", "e02", "e01")
    start(4, "e03", "e01", "unknown", started=False)
    assert store.schedules.started("s") == ("e02",)
    for number in range(10, 31):
        start(number)
    assert store.schedules.started("s") == tuple(f"e{number}" for number in range(30, 10, -1))
    assert store.schedules.started("none") == ()


def test_settlement_of_a_schedule_that_is_gone_keeps_nothing(store: Store) -> None:
    put(store)
    (claimed,) = claim(store)
    assert store.schedules.delete("s")
    assert not store.schedules.settle(settlement(claimed))
    store.clock.advance(1)
    put(store)
    assert not store.schedules.settle(settlement(claimed))
    assert store.schedules.records(("s",), 10) == ((),)


def test_instant_that_has_passed_is_due_at_once_behind_those_that_are_due(store: Store) -> None:
    put(store, "s", next_ms=NOW - 10)
    (claimed,) = claim(store)
    put(store, "t", next_ms=NOW - 1)
    assert store.schedules.settle(settlement(claimed, next_ms=NOW - 5))
    assert names(store) == ["t", "s"]


def test_settlement_without_a_next_instant_ends_the_schedule(store: Store) -> None:
    put(store)
    (claimed,) = claim(store)
    assert store.schedules.settle(settlement(claimed, next_ms=0))
    store.clock.advance(10 * LEASE)
    assert names(store) == []


def test_record_of_a_run_that_was_asked_for_moves_nothing(store: Store) -> None:
    put(store)
    (known,) = store.schedules.read(("s",))
    assert not store.schedules.settle(settlement(known, fired_ms=0, record=b"asked"))
    assert store.schedules.records(("s",), 10) == ((b"asked",),)
    assert names(store) == ["s"]


def test_records_are_read_newest_first_and_trimmed(store: Store) -> None:
    put(store)
    (known,) = store.schedules.read(("s",))

    def keep(number: int, record: bytes) -> None:
        store.schedules.settle(
            settlement(
                known,
                fired_ms=0,
                record_id=f"r{number}",
                record_ms=NOW + number,
                record=record,
                started=f"e{number}",
            )
        )

    for number in (3, 1, 4, 2):
        keep(number, b"%d" % number)
    keep(3, b"again")
    assert store.schedules.records(("s",), 10) == ((b"4", b"again", b"2", b"1"),)
    assert store.schedules.records(("none", "s"), 2) == ((), (b"4", b"again"))
    keep(5, b"5")
    assert store.schedules.records(("s",), 10) == ((b"5", b"4"),)


def test_record_is_kept_as_it_is(store: Store) -> None:
    put(store)
    (known,) = store.schedules.read(("s",))
    record = '{"reason": "a b  c\\n\u2603"}'.encode()
    store.schedules.settle(settlement(known, fired_ms=0, record=record))
    store.schedules.settle(settlement(known, fired_ms=0, record=b"other", record_id="r"))
    assert set(store.schedules.records(("s",), 10)[0]) == {record, b"other"}


def test_delete_leaves_nothing(store: Store) -> None:
    put(store)
    (claimed,) = claim(store)
    store.schedules.settle(settlement(claimed, started="one"))
    assert store.schedules.delete("s")
    assert not store.schedules.delete("s")
    assert store.schedules.started("s") == ()
    assert store.schedules.read(None) == ()
    store.clock.advance(60_000)
    assert names(store) == []
    if store.connection is not None:
        assert store.keys() == []


def test_halted_schedules_are_claimed_when_they_go_on(store: Store) -> None:
    put(store)
    store.schedules.halt(halted=True)
    assert names(store) == []
    store.schedules.halt(halted=False)
    store.schedules.halt(halted=False)
    assert names(store) == ["s"]


def test_requeue_moves_no_entry_that_is_there(store: Store) -> None:
    put(store)
    claim(store)
    assert not store.schedules.requeue("s")
    assert names(store) == []
    put(store, "paused", armed=False)
    put(store, "over", next_ms=0)
    assert not any(store.schedules.requeue(name) for name in ("paused", "over", "none"))

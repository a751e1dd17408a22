"""What `Inspector` promises, on every store."""

from dataclasses import replace

import pytest

from conductor_py.ports.inspector import Inspection, StoredKey
from conductor_py.ports.restore import Restore
from conductor_py.ports.store import Effect, Offer, Outcome
from tests.conformance.stores import (
    LEASE_MS,
    NOW,
    RESPONSE_MS,
    Store,
    an_id,
    attempt,
    completed,
    header,
    offering,
    running,
)


def look(store: Store, number: int = 1) -> Inspection:
    found = store.inspector.inspect(an_id(number))
    assert found is not None
    return found


def walked(store: Store, limit: int = 3) -> set[StoredKey]:
    found: set[StoredKey] = set()
    cursor = ""
    while True:
        keys, cursor = store.inspector.walk(cursor, limit)
        found.update(keys)
        if not cursor:
            return found


def test_an_execution_that_is_not_there_is_nothing(store: Store) -> None:
    assert store.inspector.inspect(an_id(1)) is None
    assert store.inspector.standings([an_id(1)]) == {}


def test_a_queued_attempt_is_found_in_its_queue(store: Store) -> None:
    store.started(count=2)
    found = look(store)
    assert (found.version, found.status, found.terminal) == (NOW, "RUNNING", False)
    assert found.listed
    assert {seq: place.ready for seq, place in found.places.items()} == {1: True, 2: True}
    assert found.fields.keys() == {"h", "a:1", "a:2", "i:1", "i:2"}
    assert (found.waiting, found.events, found.due_ms, found.holder) == (0, (), 0, "")


def test_a_claimed_attempt_has_a_timer_and_its_permit(store: Store) -> None:
    store.started(lim=1)
    store.poll()
    place = look(store).places[1]
    ends = NOW + RESPONSE_MS
    assert (place.ready, place.timer_ms, place.permit_ms) == (False, ends, ends)
    assert place.claim is not None
    assert b'"held":1' in place.claim


def test_a_delayed_attempt_says_when_it_is_due(store: Store) -> None:
    changes = offering()
    due = NOW + 5_000
    offers = (Offer(seq=1, queue="task", shard="s0", score=1, due_ms=due),)
    store.start(an_id(1), replace(changes, offers=offers))
    place = look(store).places[1]
    assert (place.ready, place.delayed_ms) == (False, due)


def test_a_parked_attempt_is_seen_as_parked(store: Store) -> None:
    execution = store.started()
    store.commit(store.sent(execution), replace(running(), status="PAUSED"))
    store.poll()
    found = look(store)
    assert found.parked == 1
    assert found.places[1].parked
    assert not found.places[1].ready


def test_events_lease_and_timer_are_of_one_instant(store: Store) -> None:
    execution = store.started()
    store.sent(execution, b'{"t":"signal"}')
    found = look(store)
    assert (found.waiting, found.events) == (1, (b'{"t":"signal"}',))
    assert (found.holder, found.lease_until) == ("d", NOW + LEASE_MS)
    assert found.due_ms == NOW + LEASE_MS
    assert found.held
    store.clock.advance(LEASE_MS)
    assert not look(store).held


def test_what_was_ordered_for_it_is_seen(store: Store) -> None:
    execution = an_id(1)
    effects = (
        Effect(id=f"{execution}:index", document=b"{}", due_ms=NOW + 7),
        Effect(id=f"{execution}:start:1", document=b"{}"),
    )
    store.start(execution, replace(offering(), effects=effects))
    found = look(store)
    assert found.effects == {"index": NOW + 7}
    assert found.places[1].ordered
    assert not found.places[1].published


def test_an_ended_execution_has_no_places(store: Store) -> None:
    execution = store.started()
    fields = {"h": header(), "a:1": attempt(st="SCHEDULED")}
    store.commit(store.sent(execution), completed(fields=fields, ended=(1,)))
    found = look(store)
    assert (found.terminal, found.listed, found.places) == (True, False, {})
    standing = store.inspector.standings([execution])[execution]
    assert (standing.terminal, standing.status) == (True, "COMPLETED")


def test_attempts_beyond_one_page_are_all_placed(store: Store) -> None:
    many = 2_100
    fields = {"h": header()}
    for seq in range(1, many + 1):
        fields[f"a:{seq}"] = attempt()
        fields[f"i:{seq}"] = b"{}"
    offers = tuple(Offer(seq=s, queue="task", shard="s0", score=s) for s in range(1, many + 1))
    store.start(an_id(1), running(fields=fields, offers=offers))
    found = look(store)
    assert len(found.places) == many
    assert all(place.ready for place in found.places.values())


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_a_walk_names_every_key_of_executions_and_sets(store: Store, limit: int) -> None:
    first, second = store.started(1), store.started(2)
    store.sent(second)
    found = {(key.kind, key.rest) for key in walked(store, limit)}
    assert {("exec:", first), ("exec:", second), ("queue:", "task:s0")} <= found
    assert {("timers:", "s0"), ("running:", "wf")} <= found


def test_a_key_is_there_until_it_goes(store: Store) -> None:
    execution = store.started()
    key, queue = StoredKey(0, "exec:", execution), StoredKey(0, "queue:", "task:s0")
    assert store.inspector.stays(key)
    assert store.inspector.stays(queue)
    store.poll()
    assert store.inspector.stays(key)
    assert not store.inspector.stays(queue)
    assert not store.inspector.stays(StoredKey(0, "log:", an_id(9)))


def test_a_page_of_what_was_not_restored_does_not_stay(store: Store) -> None:
    execution = an_id(1)
    restore = Restore(
        execution=execution,
        token="t1",
        version=NOW,
        home="s0",
        status="FAILED",
        generation=1,
        claim=1,
        fields={"h": header()},
        effect=f"{execution}:remove",
        plans=("lost",),
        checkpoints={"l": b"[]"},
    )
    assert store.reader.begin_restore(execution, "t1") == "t1"
    assert store.reader.restore(restore) is Outcome.NEED_PLAN
    assert not store.inspector.stays(StoredKey(0, "ckpt:", execution))


def test_a_cursor_that_is_none_is_refused(store: Store) -> None:
    for cursor in ("x", "-1", "0.x", "9.9.9"):
        with pytest.raises(ValueError, match=cursor):
            store.inspector.walk(cursor, 10)


def test_members_come_in_pages_with_their_scores(store: Store) -> None:
    execution = store.started(count=3)
    key = StoredKey(0, "queue:", "task:s0")
    found: dict[str, int] = {}
    cursor = ""
    while True:
        page, cursor = store.inspector.members(key, cursor, 2)
        found.update(page)
        if not cursor:
            break
    assert found == {f"{execution}-{seq}": 100 + seq for seq in (1, 2, 3)}
    assert store.inspector.size(key) == 3
    assert store.inspector.head(key, 1) == ((f"{execution}-1", 101),)
    assert store.inspector.scores(key, [f"{execution}-2", "none"]) == {f"{execution}-2": 102}


def test_the_last_audit_is_kept(store: Store) -> None:
    assert store.inspector.last_audit() == {}
    store.inspector.record_audit({"I3": 2})
    store.inspector.record_audit({"I4": 1})
    assert store.inspector.last_audit() == {"I4": 1}

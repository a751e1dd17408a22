"""What `Timers` promises, on every store."""

import pytest

from conductor_py.ports.store import ClaimGuard, Message, Offer
from tests.conformance.stores import (
    LEASE_MS,
    NOW,
    RESPONSE_MS,
    Store,
    an_id,
    attempt,
    completed,
    header,
    running,
)

REFIRE_MS = 30_000


def fire(store: Store, holder: str = "d", limit: int = 10) -> dict[str, tuple[bytes, ...]]:
    due = store.timers.claim_due(0, "s0", limit, holder, LEASE_MS)
    return {loaded.execution: loaded.events for loaded in due}


def test_nothing_is_due_before_its_time(store: Store) -> None:
    store.started()
    store.poll()
    store.clock.advance(RESPONSE_MS - 1)
    assert fire(store) == {}
    assert store.timers.next_due_ms(0, "s0") == NOW + RESPONSE_MS


def test_end_of_a_claim_is_told_once_with_what_was_seen(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS)
    event = b'1 {"t":"due","k":%d,"d":%d}' % (task.claim, NOW + RESPONSE_MS)
    assert fire(store) == {execution: (event,)}
    store.clock.advance(REFIRE_MS)
    assert fire(store) == {execution: (event,)}  # still in the inbox, not told again


def test_firing_never_loses_a_timer(store: Store) -> None:
    execution = store.started()
    store.poll()
    store.clock.advance(RESPONSE_MS)
    fire(store)
    due = [store.timers.next_due_ms(0, "s0")]
    store.clock.advance(LEASE_MS)
    assert list(fire(store, "other")) == [execution]
    due.append(store.timers.next_due_ms(0, "s0"))
    fired = NOW + RESPONSE_MS
    assert due == [fired + LEASE_MS, fired + 2 * LEASE_MS]


def test_extended_claim_is_told_again_at_its_new_end(store: Store) -> None:
    execution = store.started(1, tt=1_000)
    (task,) = store.poll()
    store.clock.advance(1_000)
    first = fire(store)[execution]
    store.clock.advance(500)
    loaded = store.executions.acquire(execution, "d", LEASE_MS)
    assert loaded is not None
    longer = {"a:1": attempt(tt=0)}
    store.commit(loaded, running(fields=longer))
    store.queues.extend(execution, 1, task.claim, "w", 0, None)
    store.clock.advance(RESPONSE_MS)
    event = b'1 {"t":"due","k":%d,"d":%d}' % (task.claim, NOW + 1_500 + RESPONSE_MS)
    assert fire(store)[execution] == (event,)
    assert first != (event,)


def test_timer_of_an_unclaimed_attempt_names_no_claim(store: Store) -> None:
    fields = {"h": header(), "a:1": attempt(q="", sh="")}
    store.start(an_id(1), running(fields=fields, attempt_timers=((1, NOW + 50),)))
    store.clock.advance(50)
    assert fire(store) == {an_id(1): (b'1 {"t":"due","k":0,"d":0}',)}


def test_timer_that_a_commit_moves_fires_at_the_new_time_only(store: Store) -> None:
    fields = {"h": header(), "a:1": attempt(q="", sh="")}
    store.start(an_id(1), running(fields=fields, attempt_timers=((1, NOW + 50),)))
    store.commit(store.sent(an_id(1)), running(attempt_timers=((1, NOW + 90),)))
    store.clock.advance(50)
    assert fire(store) == {}
    store.clock.advance(40)
    assert len(fire(store)[an_id(1)]) == 1
    store.clock.advance(LEASE_MS)
    loaded = store.executions.acquire(an_id(1), "d", LEASE_MS)
    assert loaded is not None
    store.commit(loaded, running(attempt_timers=((1, 0),)))
    assert store.timers.next_due_ms(0, "s0") == 0


def test_poll_of_an_attempt_replaces_the_timer_of_its_wait(store: Store) -> None:
    fields = {"h": header(), "a:1": attempt()}
    offer = Offer(seq=1, queue="task", shard="s0", score=1)
    changes = running(fields=fields, offers=(offer,), attempt_timers=((1, NOW + 50),))
    store.start(an_id(1), changes)
    store.poll()
    assert store.timers.next_due_ms(0, "s0") == NOW + RESPONSE_MS


def test_execution_that_is_due_brings_its_lease_and_no_event(store: Store) -> None:
    store.start(an_id(1), running(due_ms=NOW + 50))
    store.clock.advance(50)
    assert fire(store) == {an_id(1): ()}
    assert store.executions.acquire(an_id(1), "other", LEASE_MS) is None
    assert store.timers.next_due_ms(0, "s0") == NOW + 50 + LEASE_MS


def test_execution_whose_lease_is_held_is_not_brought(store: Store) -> None:
    execution = store.started()
    store.sent(execution)
    store.executions.renew(execution, "d", 10 * LEASE_MS)
    store.clock.advance(LEASE_MS)
    assert fire(store, "other") == {}
    store.clock.advance(9 * LEASE_MS)
    assert list(fire(store, "other")) == [execution]


@pytest.mark.anomaly("A-27")
def test_execution_that_is_due_while_its_lease_is_held_is_brought_when_that_ends(
    store: Store,
) -> None:
    """I4: a message makes it due sooner than its holder's lease ends."""
    execution, other = store.started(1), store.started(2)
    store.sent(execution)
    message = Message(execution=execution, event=b"m")
    store.commit(store.sent(other), running(messages=(message,)))
    store.clock.advance(LEASE_MS - 1)
    assert fire(store, "other") == {}
    store.clock.advance(1)
    assert list(fire(store, "other")) == [execution]


def test_timer_of_an_attempt_that_fired_stays_until_a_commit_moves_it(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS)
    (found,) = store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)
    store.commit(found, running())
    assert store.timers.next_due_ms(0, "s0") == NOW + RESPONSE_MS + REFIRE_MS
    guard = ClaimGuard(seq=1, claim=task.claim, until_ms=NOW + RESPONSE_MS)
    store.commit(store.sent(execution), running(attempt_timers=((1, 0),)), guards=(guard,))
    assert store.timers.next_due_ms(0, "s0") == 0


def test_timers_of_what_has_ended_go(store: Store) -> None:
    execution = store.started(count=2)
    store.poll()
    store.commit(store.sent(execution), completed(due_ms=NOW + 1))
    store.clock.advance(RESPONSE_MS)
    assert fire(store) == {}
    assert store.timers.next_due_ms(0, "s0") == 0


def test_timers_of_a_vanished_execution_go(store: Store) -> None:
    execution = store.started()
    store.poll()
    version = store.commit(store.sent(execution), completed()).version
    store.reader.remove(execution, version)
    store.clock.advance(RESPONSE_MS)
    assert fire(store) == {}
    assert store.timers.next_due_ms(0, "s0") == 0


def test_reported_attempt_has_no_timer_left(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    loaded = store.report(execution, 1, task.claim).loaded
    assert loaded is not None
    store.commit(loaded, running())
    assert store.timers.next_due_ms(0, "s0") == 0


def test_deadlines_of_one_moment_fire_in_the_order_of_the_attempts(store: Store) -> None:
    numbers = range(1, 24)
    fields = {"h": header(), **{f"a:{number}": attempt(q="", sh="") for number in numbers}}
    timers = tuple((number, NOW + (40 if number == 23 else 50)) for number in numbers)
    for execution in (an_id(1), an_id(2)):
        store.start(execution, running(fields=fields, attempt_timers=timers))
    store.clock.advance(50)
    fired = fire(store, limit=100)
    for execution in (an_id(1), an_id(2)):
        order = [int(event.partition(b" ")[0]) for event in fired[execution]]
        assert order == [23, *range(1, 23)]


def test_limit_bounds_a_firing_and_earliest_go_first(store: Store) -> None:
    for number in (3, 1, 2):
        store.start(an_id(number), running(due_ms=NOW + number))
    store.clock.advance(10)
    assert list(fire(store, limit=2)) == [an_id(1), an_id(2)]
    assert list(fire(store, limit=2)) == [an_id(3)]


def test_under_another_lock_what_is_due_is_brought_without_the_lease(store: Store) -> None:
    store = store.again(True, False)
    store.start(an_id(1), running(due_ms=NOW + 1))
    store.clock.advance(1)
    assert fire(store) == {an_id(1): ()}
    assert store.timers.next_due_ms(0, "s0") == NOW + 1 + LEASE_MS


def test_shards_and_partitions_have_their_own_timers(store: Store) -> None:
    store.start(an_id(1), running(due_ms=NOW + 1), home="s1")
    store.start(an_id(1, partition=1), running(due_ms=NOW + 2))
    due = [store.timers.next_due_ms(*where) for where in ((0, "s0"), (0, "s1"), (1, "s0"))]
    assert due == [0, NOW + 1, NOW + 2]

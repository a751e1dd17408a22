"""What `QuarantineStore` promises, and what timers and commits do about it, on every store."""

import pytest

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.inspector import Inspection
from conductor_py.ports.quarantine import VANISHED, QuarantinePlace
from conductor_py.ports.store import Effect, Loaded, Outcome
from tests.conformance.stores import LEASE_MS, NOW, Store, an_id, header, running

WAIT_MS = 600_000
TRIES = 5


def look(store: Store, execution: ExecutionId) -> Inspection:
    found = store.inspector.inspect(execution)
    assert found is not None
    return found


def fire(store: Store, holder: str = "d", limit: int = 10) -> list[ExecutionId]:
    return [one.execution for one in store.timers.claim_due(0, "s0", limit, holder, LEASE_MS)]


def failing(store: Store, number: int = 1) -> Loaded:
    """An execution with an event, and the lease of decider d."""
    return store.sent(store.started(number))


def set_back(
    store: Store, loaded: Loaded, holder: str = "d", reason: str = "it is broken"
) -> tuple[Outcome, bool]:
    return store.quarantine.set_back(loaded.execution, holder, loaded.version, reason)


def into_quarantine(store: Store, loaded: Loaded) -> None:
    for _ in range(TRIES):
        assert set_back(store, loaded)[0] is Outcome.OK


def test_a_setback_is_counted_and_waits_twice_as_long_each_time(store: Store) -> None:
    loaded = failing(store)
    waits = []
    for _ in range(4):
        assert set_back(store, loaded) == (Outcome.OK, False)
        waits.append(look(store, loaded.execution).due_ms - NOW)
    assert waits == [1_000, 2_000, 4_000, 8_000]
    found = look(store, loaded.execution)
    assert (found.holder, found.waiting) == ("", 1)
    assert found.setback is not None
    assert (found.setback.tries, found.setback.reason) == (4, "it is broken")


def test_setbacks_are_counted_until_a_commit_even_out_of_quarantine(store: Store) -> None:
    loaded = failing(store)
    assert store.quarantine.setbacks(loaded.execution) == 0
    into_quarantine(store, loaded)
    assert store.quarantine.setbacks(loaded.execution) == TRIES
    taken = store.quarantine.take(loaded.execution, "d", LEASE_MS)
    assert taken is not None
    assert store.quarantine.setbacks(loaded.execution) == TRIES
    store.clock.advance(1)
    store.commit(taken, running())
    assert store.quarantine.setbacks(loaded.execution) == 0
    assert store.quarantine.setbacks(an_id(9)) == 0


def test_after_five_setbacks_it_is_in_quarantine_and_listed(store: Store) -> None:
    loaded = failing(store)
    into_quarantine(store, loaded)
    (one,), total = store.quarantine.listed(0, 10)
    assert total == 1
    assert (one.execution, one.tries, one.since_ms) == (loaded.execution, 5, NOW)
    assert (one.reason, one.again_ms) == ("it is broken", NOW + WAIT_MS)
    assert store.quarantine.get(loaded.execution) == one
    assert look(store, loaded.execution).quarantined


def test_in_quarantine_events_are_kept_and_nobody_decides(store: Store) -> None:
    loaded = failing(store)
    into_quarantine(store, loaded)
    reply = store.executions.send(loaded.execution, "op", b'{"t":"more"}', "e", LEASE_MS)
    assert (reply.outcome, reply.loaded) == (Outcome.OK, None)
    (task,) = store.poll()
    assert store.report(loaded.execution, 1, task.claim).loaded is None
    assert store.executions.acquire(loaded.execution, "e", LEASE_MS) is None
    store.clock.advance(WAIT_MS - 1)
    assert fire(store) == []
    assert look(store, loaded.execution).waiting == 3


def test_in_quarantine_no_other_kind_of_lock_decides_either(store: Store) -> None:
    other = store.again(True, False)
    loaded = failing(other)
    into_quarantine(other, loaded)
    reply = other.executions.send(loaded.execution, "op", b'{"t":"more"}', "e", LEASE_MS)
    assert (reply.outcome, reply.loaded) == (Outcome.OK, None)
    assert other.executions.acquire(loaded.execution, "e", LEASE_MS) is None
    assert fire(other) == []


def test_after_its_wait_it_is_tried_again_and_then_waits_twice_as_long(store: Store) -> None:
    loaded = failing(store)
    into_quarantine(store, loaded)
    store.clock.advance(WAIT_MS)
    assert fire(store) == [loaded.execution]
    assert store.quarantine.listed(0, 10) == ((), 0)
    assert set_back(store, loaded) == (Outcome.OK, True)
    (one,), _ = store.quarantine.listed(0, 10)
    assert one.again_ms == store.clock.now_ms + 2 * WAIT_MS
    assert (one.tries, one.since_ms) == (6, NOW)


def test_a_commit_ends_quarantine(store: Store) -> None:
    loaded = failing(store)
    into_quarantine(store, loaded)
    assert store.commit(loaded, running()).outcome is Outcome.OK
    assert store.quarantine.listed(0, 10) == ((), 0)
    found = look(store, loaded.execution)
    assert (found.holder, found.lease_until, found.setback) == ("", 0, None)


def test_what_has_moved_on_is_not_set_back(store: Store) -> None:
    loaded = failing(store)
    store.commit(loaded, running())
    assert set_back(store, loaded) == (Outcome.STALE, False)
    assert store.quarantine.set_back(an_id(9), "d", 1, "x") == (Outcome.GONE, False)


def test_whoever_lost_the_lease_sets_nothing_back(store: Store) -> None:
    loaded = failing(store)
    assert set_back(store, loaded, "other") == (Outcome.BUSY, False)
    assert look(store, loaded.execution).setback is None


def test_taking_one_out_takes_its_lease_and_keeps_its_count(store: Store) -> None:
    loaded = failing(store)
    into_quarantine(store, loaded)
    taken = store.quarantine.take(loaded.execution, "e", LEASE_MS)
    assert taken is not None
    assert (taken.execution, taken.events) == (loaded.execution, loaded.events)
    assert look(store, loaded.execution).holder == "e"
    assert store.quarantine.listed(0, 10) == ((), 0)
    assert store.quarantine.take(loaded.execution, "e", LEASE_MS) is None
    assert set_back(store, taken, "e") == (Outcome.OK, True)


def test_a_decider_that_vanishes_is_a_setback(store: Store) -> None:
    loaded = failing(store)
    store.clock.advance(LEASE_MS)
    assert fire(store, "d1") == [loaded.execution]  # once is an accident
    found = look(store, loaded.execution)
    assert found.setback is not None
    assert (found.setback.tries, found.setback.reason) == (1, VANISHED)


def test_a_decider_that_lets_go_in_order_is_no_setback(store: Store) -> None:
    loaded = failing(store)
    store.commit(loaded, running(own_events=(b'{"t":"more"}',)), let_go=True)
    assert fire(store) == [loaded.execution]
    assert look(store, loaded.execution).setback is None


@pytest.mark.parametrize("for_script", [False, True])
def test_a_decision_put_off_is_no_setback(store: Store, for_script: bool) -> None:
    loaded = failing(store)
    assert store.executions.postpone(
        loaded.execution, "d", loaded.first_event, 10_000, for_script=for_script
    )
    assert look(store, loaded.execution).holder == ("scripts" if for_script else "")
    store.clock.advance(10_000)
    assert fire(store) == [loaded.execution]
    assert look(store, loaded.execution).setback is None


def test_what_ends_all_its_deciders_comes_into_quarantine_in_the_end(store: Store) -> None:
    loaded = failing(store)
    handed_out = 0
    for _ in range(200):
        store.clock.advance(LEASE_MS)
        handed_out += len(fire(store, f"d{handed_out}"))
        if store.quarantine.get(loaded.execution):
            break
    assert handed_out == TRIES - 1
    (one,), _ = store.quarantine.listed(0, 10)
    assert one.reason == VANISHED


def test_suspects_are_handed_out_last_and_one_at_a_time(store: Store) -> None:
    """They neither take others with them, nor wait for a moment at which nothing else is due."""
    suspects = [failing(store, number) for number in (1, 2)]
    for _ in range(2):
        for suspect in suspects:
            set_back(store, suspect, reason=VANISHED)
    good = [failing(store, number).execution for number in (3, 4)]
    for execution in good:
        store.executions.postpone(execution, "d", 0, 0)
    store.clock.advance(2_000)
    *first, last = fire(store)
    assert sorted(first) == sorted(good)
    assert last == suspects[0].execution
    store.clock.advance(200)
    assert fire(store) == [suspects[1].execution]


def test_innocents_that_died_with_it_are_decided_and_forgotten(store: Store) -> None:
    """One batch whose decider dies twice: afterwards each is tried by itself."""
    batch = [failing(store, number).execution for number in range(1, 5)]
    poison = batch[2]
    for _ in range(400):
        store.clock.advance(1_000)
        alive = True
        for loaded in store.timers.claim_due(0, "s0", 10, "d", LEASE_MS):
            if not alive or loaded.execution == poison:
                alive = False  # it, and all behind it, are not decided
                continue
            store.commit(loaded, running())
        if store.quarantine.get(poison):
            break
    assert [one.execution for one in store.quarantine.listed(0, 10)[0]] == [poison]
    for execution in set(batch) - {poison}:
        assert look(store, execution).waiting == 0


@pytest.mark.parametrize("reason", ["it is broken", VANISHED])
def test_a_thousand_poisoned_do_not_starve_those_behind_them(store: Store, reason: str) -> None:
    poisoned = [failing(store, number) for number in range(1, 1_001)]
    for loaded in poisoned:
        for _ in range(2):
            set_back(store, loaded, reason=reason)
    store.clock.advance(3_000)
    good = failing(store, 2_000).execution
    store.executions.postpone(good, "d", 0, 0)
    rounds = 0
    while good not in fire(store, f"d{rounds}", 50):
        rounds += 1
        assert rounds <= 25, "those that are poisoned come first"


def test_the_list_comes_in_pages(store: Store) -> None:
    for number in (1, 2, 3):
        into_quarantine(store, failing(store, number))
        store.clock.advance(1)
    first, total = store.quarantine.listed(0, 2)
    rest, _ = store.quarantine.listed(2, 2)
    assert total == 3
    assert [one.execution for one in (*first, *rest)] == [an_id(n) for n in (1, 2, 3)]
    assert store.quarantine.listed(0, 0) == ((), 3)


def _walked(store: Store, limit: int, start: QuarantinePlace | None = None) -> list[str]:
    found: list[str] = []
    while True:
        page = store.quarantine.walk(start, limit)
        assert len(page.found) <= limit
        found += [place.execution for place in page.found]
        if page.following is None:
            assert page.left == len(page.found)
            return found
        assert page.left > len(page.found)
        start = page.following


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_walk_comes_by_each_though_some_are_put_back_and_others_leave(
    store: Store, limit: int
) -> None:
    waiting = [failing(store, number) for number in range(1, 8)]
    for number, loaded in enumerate(waiting):
        into_quarantine(store, loaded)
        store.clock.advance(number % 2)  # some begin to fail in one moment
    everyone = [loaded.execution for loaded in waiting]
    assert _walked(store, limit) == everyone
    page = store.quarantine.walk(None, 3)
    assert (page.left, page.following) == (7, QuarantinePlace(since_ms=NOW + 1, execution=an_id(4)))
    for number in (0, 1, 5):  # tried, and put back
        taken = store.quarantine.take(everyone[number], "d", LEASE_MS)
        assert taken is not None
        set_back(store, taken)
    store.commit(waiting[2], running())
    assert _walked(store, limit, page.following) == everyone[3:]


def test_a_walk_whose_next_one_has_left_goes_on_with_those_that_fail_as_long(store: Store) -> None:
    waiting = [failing(store, number) for number in range(1, 5)]
    for number, loaded in enumerate(waiting):
        into_quarantine(store, loaded)
        store.clock.advance(number % 2)
    start = QuarantinePlace(since_ms=NOW + 1, execution=an_id(4))
    assert _walked(store, 10, start) == [an_id(4)]
    store.commit(waiting[3], running())
    assert _walked(store, 10, start) == [an_id(3)]
    assert store.quarantine.walk(QuarantinePlace(since_ms=NOW + 9, execution=an_id(4)), 9).left == 0


def test_one_whose_header_nobody_can_read_is_dropped_without_a_trace(store: Store) -> None:
    damaged, kept = header(plan="lost"), an_id(2)
    loaded = failing(store)
    store.started(2)
    store.commit(loaded, running(fields={"h": damaged}))
    again = store.sent(loaded.execution)
    into_quarantine(store, again)
    drop = store.quarantine.drop_unreadable
    assert not drop(again.execution, b"another"), "it has been mended, or was never so"
    assert not drop(again.execution, damaged, is_readable=True), "its record can be read"
    assert not drop(kept, header()), "it is not in quarantine"
    assert drop(again.execution, damaged)
    assert not drop(again.execution, damaged)
    assert store.executions.load(again.execution, ["h"]) is None
    assert store.quarantine.listed(0, 10) == ((), 0)
    assert store.reader.running("wf") == (kept,)
    found = {one.id: one for one in store.outbox.take(0, 100, LEASE_MS)}
    effect = found[f"{again.execution}:forget"]
    assert effect.document == b'{"kind":"forget"}'
    assert effect.stamp >= again.version, "what is in the index is not newer"


def test_what_tells_its_parent_is_ordered_with_the_drop_and_not_without(store: Store) -> None:
    loaded = failing(store)
    damaged = header(plan="lost")
    store.commit(loaded, running(fields={"h": damaged}))
    into_quarantine(store, store.sent(loaded.execution))
    post = Effect(id="child:post:dropped", document=b'{"kind":"post"}', due_ms=-5_000)
    before = store.outbox.size(0)
    assert not store.quarantine.drop_unreadable(loaded.execution, b"another", post=post)
    assert store.outbox.size(0) == before
    assert store.quarantine.drop_unreadable(loaded.execution, damaged, post=post)
    assert store.outbox.next_due_ms(0) == store.clock() - 5_000
    found = {one.id: one.document for one in store.outbox.take(0, 100, LEASE_MS)}
    assert found[post.id] == post.document


def test_a_lost_header_is_dropped_by_the_name_that_somebody_else_knows(store: Store) -> None:
    loaded = failing(store)
    store.commit(loaded, running(fields={"h": b"{}"}))
    into_quarantine(store, store.sent(loaded.execution))
    assert store.quarantine.drop_unreadable(loaded.execution, b"{}", workflow="wf")
    assert store.reader.running("wf") == ()

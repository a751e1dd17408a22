"""Permits: a limit over several partitions is never exceeded, and never stuck."""

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.ports.permits import TOKEN_KEPT_MS, TOKEN_TRUSTED_MS, Holding, task_limit
from conductor_py.ports.queues import LeasedRate, PollData, PollReply
from tests.conformance.stores import RESPONSE_MS, Store, a_poll, an_id, offering, running

LIMIT = task_limit("task")


def _started(store: Store, partition: int, count: int = 3, **state: Any) -> None:
    """Attempts of the definition `task` that wait in a partition."""
    store.start(an_id(10 * partition + 1, partition), offering(count, lim=4, **state))


def _poll(store: Store, partition: int, **more: Any) -> PollReply:
    return store.queues.poll(partition, replace(a_poll(), shared=True, **more))


def _held(partition: int, token: int, number: int) -> Holding:
    return Holding(partition=partition, token=token, number=number)


def test_partition_without_permits_hands_out_nothing_and_says_what_is_short(store: Store) -> None:
    _started(store, 1)
    reply = _poll(store, 1)
    assert reply.claimed == ()
    assert reply.short is not None
    assert (reply.short.definition, reply.short.what, reply.short.limit) == ("task", "limit", 4)
    assert reply.retry_at_ms > store.clock.now_ms


def test_partition_hands_out_as_many_as_it_has_permits(store: Store) -> None:
    _started(store, 1)
    shared = store.permits.share(LIMIT, 4, 1, 2)
    assert (shared.granted, shared.own.number) == (2, 2)
    (own,) = store.permits.adjust(LIMIT, 4, [(shared.own, "keep")])
    assert own is not None
    assert (own.number, own.used) == (2, 0)
    reply = _poll(store, 1)
    assert len(reply.claimed) == 2
    assert reply.short is not None


def test_permits_that_are_out_are_not_granted_again(store: Store) -> None:
    assert store.permits.share(LIMIT, 4, 0, 3).granted == 3
    shared = store.permits.share(LIMIT, 4, 1, 3)
    assert shared.granted == 1
    assert shared.others == (_held(0, shared.others[0].token, 3),)
    assert store.permits.share(LIMIT, 4, 1, 3).granted == 0


def test_what_is_unused_is_given_back_and_can_be_had_elsewhere(store: Store) -> None:
    _started(store, 0, count=1)
    shared = store.permits.share(LIMIT, 4, 0, 4)
    store.permits.adjust(LIMIT, 4, [(shared.own, "keep")])
    assert len(_poll(store, 0).claimed) == 1
    (left,) = store.permits.adjust(LIMIT, 4, [(shared.own, "give")])
    assert left is not None
    assert (left.number, left.used, left.there) == (1, 1, 1)
    report = _held(0, left.token, left.there)
    assert store.permits.share(LIMIT, 4, 1, 4, [report]).granted == 3


def test_grant_that_never_arrived_is_found_out_and_freed(store: Store) -> None:
    lost = store.permits.share(LIMIT, 4, 0, 4)  # and the server dies
    store.clock.advance(3_600_000)
    seen = store.permits.share(LIMIT, 4, 1, 1)
    assert seen.granted == 0
    (left,) = store.permits.adjust(LIMIT, 4, [(seen.others[0], "give")])
    assert left is not None
    assert (left.token, left.there) == (lost.own.token, 0)
    assert store.permits.share(LIMIT, 4, 1, 4, [_held(0, left.token, 0)]).granted == 4


def test_number_that_arrives_after_it_was_taken_back_changes_nothing(store: Store) -> None:
    late = store.permits.share(LIMIT, 4, 0, 4)
    (left,) = store.permits.adjust(LIMIT, 4, [(late.own, "give")])
    assert left is not None
    store.permits.share(LIMIT, 4, 1, 4, [_held(0, left.token, left.there)])
    (own,) = store.permits.adjust(LIMIT, 4, [(late.own, "keep")])
    assert own is not None
    assert own.number == 0


def test_report_under_an_old_token_frees_nothing(store: Store) -> None:
    first = store.permits.share(LIMIT, 4, 0, 1)
    second = store.permits.share(LIMIT, 4, 0, 1)
    assert second.own.token > first.own.token
    again = store.permits.share(LIMIT, 4, 1, 4, [_held(0, first.own.token, 0)])
    assert again.granted == 2


def test_who_has_to_yield_uses_what_comes_free_no_more(store: Store) -> None:
    _started(store, 0, count=2)
    shared = store.permits.share(LIMIT, 1, 0, 1)
    store.permits.adjust(LIMIT, 1, [(shared.own, "keep")])
    (claimed,) = _poll(store, 0, limit=1).claimed
    (left,) = store.permits.adjust(LIMIT, 1, [(shared.own, "yield")])
    assert left is not None
    assert left.there == 1, "what is in use still counts"
    store.report(claimed.execution, claimed.seq, claimed.claim)
    assert _poll(store, 0, limit=1).claimed == ()
    (left,) = store.permits.adjust(LIMIT, 1, [(shared.own, "give")])
    assert left is not None
    assert left.there == 0


def test_claim_that_ends_by_its_time_frees_its_permit(store: Store) -> None:
    _started(store, 0, count=2)
    shared = store.permits.share(LIMIT, 1, 0, 1)
    store.permits.adjust(LIMIT, 1, [(shared.own, "keep")])
    assert len(_poll(store, 0, limit=1).claimed) == 1
    assert _poll(store, 0, limit=1).claimed == ()
    store.clock.advance(RESPONSE_MS)
    assert len(_poll(store, 0, limit=1).claimed) == 1


def test_permits_of_a_higher_limit_do_not_count_under_a_lower_one(store: Store) -> None:
    _started(store, 0)
    shared = store.permits.share(LIMIT, 4, 0, 4)
    store.permits.adjust(LIMIT, 4, [(shared.own, "keep")])
    assert _poll(store, 0, limit=2).claimed == ()
    (own,) = store.permits.adjust(LIMIT, 2, [(shared.own, "give")])
    assert own is not None
    granted = store.permits.share(LIMIT, 2, 0, 2, [_held(0, own.token, own.there)])
    store.permits.adjust(LIMIT, 2, [(granted.own, "keep")])
    assert len(_poll(store, 0, limit=2).claimed) == 2


def test_who_seeks_is_told_to_others_until_it_gets_some(store: Store) -> None:
    store.permits.share(LIMIT, 1, 0, 1)
    assert store.permits.share(LIMIT, 1, 1, 1, seek=True).granted == 0
    seen = store.permits.share(LIMIT, 1, 0, 0)
    assert seen.seekers == (1,)
    freed = store.permits.share(LIMIT, 1, 1, 1, [_held(0, seen.own.token, 0)])
    assert freed.granted == 1
    assert store.permits.share(LIMIT, 1, 0, 0).seekers == ()


def test_number_that_is_old_when_it_arrives_gives_no_more_than_is_in_use(store: Store) -> None:
    held = store.permits.share(LIMIT, 4, 0, 4).own
    store.clock.advance(TOKEN_TRUSTED_MS - 1)
    (fresh,) = store.permits.adjust(LIMIT, 4, [(held, "look")])
    assert fresh is not None
    assert fresh.number == 4
    other = store.permits.share(task_limit("other"), 4, 0, 4).own
    store.clock.advance(TOKEN_TRUSTED_MS)
    (old,) = store.permits.adjust(task_limit("other"), 4, [(other, "keep")])
    assert old is not None
    assert (old.token, old.number, old.there) == (other.token, 0, 0)


def test_old_number_keeps_what_is_in_use(store: Store) -> None:
    _started(store, 0, rt=2 * TOKEN_KEPT_MS)
    first = store.permits.share(LIMIT, 4, 0, 2).own
    store.permits.adjust(LIMIT, 4, [(first, "keep")])
    assert len(_poll(store, 0).claimed) == 2
    late = store.permits.share(LIMIT, 4, 0, 2).own
    store.clock.advance(TOKEN_TRUSTED_MS + 1)
    (own,) = store.permits.adjust(LIMIT, 4, [(late, "keep")])
    assert own is not None
    assert (own.token, own.number, own.used) == (late.token, 2, 2)


def test_partition_that_was_only_asked_knows_no_limit(store: Store) -> None:
    nothing = _held(0, 0, 0)
    store.permits.adjust(LIMIT, 4, [(nothing, "keep")])
    held = store.permits.share(LIMIT, 2, 0, 2).own
    (own,) = store.permits.adjust(LIMIT, 2, [(held, "look")])
    assert own is not None
    assert own.number == 2


def test_partition_without_permits_forgets_its_token_after_a_while(store: Store) -> None:
    held = store.permits.share(LIMIT, 4, 0, 4).own
    nothing = _held(0, 0, 0)
    store.permits.adjust(LIMIT, 4, [(held, "give")])
    store.clock.advance(TOKEN_KEPT_MS - 1)
    (known,) = store.permits.adjust(LIMIT, 4, [(nothing, "look")])
    store.clock.advance(1)
    (forgotten,) = store.permits.adjust(LIMIT, 4, [(nothing, "look")])
    assert known is not None
    assert forgotten is not None
    assert (known.token, forgotten.token) == (held.token, 0)
    (late,) = store.permits.adjust(LIMIT, 4, [(held, "keep")])
    assert late is not None
    assert late.number == 0, "what is so old counts for nothing"


def test_partition_that_yields_remembers_it_as_long_as_the_permit_is_in_use(store: Store) -> None:
    _started(store, 0, count=2, rt=2 * TOKEN_KEPT_MS)
    held = store.permits.share(LIMIT, 1, 0, 1).own
    store.permits.adjust(LIMIT, 1, [(held, "keep")])
    assert len(_poll(store, 0, limit=1).claimed) == 1
    store.permits.adjust(LIMIT, 1, [(held, "yield")])
    store.clock.advance(TOKEN_KEPT_MS)
    (own,) = store.permits.adjust(LIMIT, 1, [(held, "look")])
    assert own is not None
    assert (own.token, own.number, own.used) == (held.token, 0, 1)


def test_home_that_has_lost_its_last_moment_believes_that_nothing_is_left(store: Store) -> None:
    before = store.permits.share(LIMIT, 4, 0, 2).own
    lost = _held(0, before.token + 1, 4)  # what the home gave after that, and has forgotten
    (left,) = store.permits.adjust(LIMIT, 4, [(lost, "give")])
    assert left is not None
    assert (left.token, left.there) == (lost.token, 0)
    report = _held(0, left.token, 0)
    assert store.permits.share(LIMIT, 4, 1, 4, [report]).granted == 4


def test_who_has_not_sought_for_a_while_is_not_told_to_others(store: Store) -> None:
    store.permits.share(LIMIT, 1, 0, 1)
    store.permits.share(LIMIT, 1, 1, 1, seek=True)
    store.clock.advance(TOKEN_KEPT_MS - 1)
    assert store.permits.share(LIMIT, 1, 0, 0).seekers == (1,)
    store.clock.advance(1)
    assert store.permits.share(LIMIT, 1, 0, 0).seekers == ()


def test_several_partitions_are_told_in_one_go_and_answer_in_order(store: Store) -> None:
    asked = [store.permits.share(LIMIT, 4, partition, 2).own for partition in (0, 1)]
    answers = store.permits.adjust(LIMIT, 4, [(asked[1], "keep"), (asked[0], "give")])
    assert [(one.token, one.number) for one in answers if one is not None] == [
        (asked[1].token, 2),
        (asked[0].token, 0),
    ]


def test_limit_of_no_kind_is_refused(store: Store) -> None:
    for unknown in ("task", "x:task", ""):
        with pytest.raises(ValueError, match="limit"):
            store.permits.adjust(unknown, 1, [(_held(0, 0, 0), "look")])


def test_rate_is_leased_once_in_a_window(store: Store) -> None:
    assert store.permits.lease_rate("task", (3, 1_000), 2, "a", 10_000)[0] == 2
    assert store.permits.lease_rate("task", (3, 1_000), 2, "b", 10_000)[0] == 1
    store.permits.settle_rate("task", "a", 2, 1)
    granted, more_at, now = store.permits.lease_rate("task", (3, 1_000), 2, "c", 10_000)
    assert (granted, now) == (1, store.clock.now_ms)
    assert more_at == now + 1_000, "when what was used leaves the window"
    store.permits.settle_rate("task", "b", 1, 1)
    store.permits.settle_rate("task", "c", 1, 1)
    assert store.permits.lease_rate("task", (3, 1_000), 1, "d", 10_000)[0] == 0
    store.clock.advance(1_000)
    assert store.permits.lease_rate("task", (3, 1_000), 5, "e", 10_000)[0] == 3


def test_lease_of_a_rate_that_nobody_settles_ends_by_itself(store: Store) -> None:
    store.permits.lease_rate("task", (1, 1_000), 1, "a", 10_000)
    store.clock.advance(10_999)
    assert store.permits.lease_rate("task", (1, 1_000), 1, "b", 10_000)[0] == 0
    store.clock.advance(1)
    assert store.permits.lease_rate("task", (1, 1_000), 1, "b", 10_000)[0] == 1


def test_poll_uses_no_more_of_a_rate_than_was_leased(store: Store) -> None:
    store.start(an_id(1, 1), offering(3, rl=5, rw=1_000))
    reply = _poll(store, 1)
    assert reply.claimed == ()
    assert reply.short is not None
    assert (reply.short.what, reply.short.rate, reply.short.window_ms) == ("rate", 5, 1_000)
    until = store.clock.now_ms + 100
    leased = LeasedRate(definition="task", claims=2, until_ms=until)
    assert len(_poll(store, 1, leased=leased).claimed) == 2
    store.clock.advance(101)
    assert _poll(store, 1, leased=leased).claimed == (), "the lease is over"


def test_where_a_queue_has_something_is_seen_at_one_look(store: Store) -> None:
    assert store.queues.waiting("task", ("s0",)) == frozenset()
    store.start(an_id(1, 1), offering())
    assert store.queues.waiting("task", ("s0",)) == frozenset({1})
    assert store.queues.waiting("task", ("s1",)) == frozenset()
    assert store.queues.waiting("other", ("s0",)) == frozenset()


def test_where_something_is_due_is_seen_at_one_look(store: Store) -> None:
    store.start(an_id(1, 1), running(due_ms=store.clock.now_ms + 50))
    assert store.timers.due(("s0", "s1")) == ()
    store.outbox.order(0, [("x", b"{}")])
    assert store.outbox.due() == (0,)
    store.clock.advance(50)
    assert store.timers.due(("s1", "s0")) == ((1, "s0"),)


def test_who_polled_last_is_written_down_once_for_all_partitions(store: Store) -> None:
    store.queues.record_poll("task", "blue", "w1", ("s0",), 5)
    store.queues.record_poll("task", "blue", "w2", ("s1",), 7)
    found = [data for partition in (0, 1) for data in store.queues.poll_data(partition)]
    looked = {"s0": 5, "s1": 7}
    assert found == [PollData(queue="task", domain="blue", worker="w2", at_ms=7, shards=looked)]

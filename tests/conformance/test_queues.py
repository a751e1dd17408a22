"""What `TaskQueues` promises, on every store."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from conductor_py.ports.queues import MOST_POLLS, PollData
from conductor_py.ports.store import Changes, Offer, Outcome
from tests.conformance.stores import (
    NOW,
    RESPONSE_MS,
    Store,
    a_poll,
    an_id,
    attempt,
    completed,
    header,
    offering,
    running,
)


def offered(seq: int = 1, due_ms: int = 0, score: int = 101) -> Offer:
    return Offer(seq=seq, queue="task", shard="s0", score=score, due_ms=due_ms)


def test_polled_attempt_comes_with_its_claim_and_fields(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    assert (task.execution, task.seq, task.claim) == (execution, 1, NOW)
    assert (task.header, task.input, task.output) == (header(), b'{"in":1}', None)
    assert task.attempt == attempt(score=101)
    assert json.loads(task.claim_side) == {
        "k": NOW,
        "held": 1,
        "until": NOW + RESPONSE_MS,
        "leased": 0,
        "closed": 0,
        "done": 0,
        "permit": 0,
        "polls": 1,
        "first": NOW,
        "upd": NOW,
        "cb": 0,
        "at": NOW + RESPONSE_MS,
        "w": "w",
        "prev": "",
    }
    snapshot = store.reader.snapshot(execution)
    assert snapshot is not None
    assert snapshot[1]["c:1"] == task.claim_side


@pytest.mark.anomaly("A-9")
@pytest.mark.anomaly("A-53")
def test_claimed_attempt_is_handed_out_once(store: Store) -> None:
    store.started()
    assert len(store.poll()) == 1
    assert store.poll() == ()


@pytest.mark.anomaly("A-9")
def test_poll_does_not_move_the_version(store: Store) -> None:
    execution = store.started()
    store.clock.advance(10)
    store.poll()
    snapshot = store.reader.snapshot(execution)
    assert snapshot is not None
    assert snapshot[0] == NOW


def test_lower_scores_go_first_and_equal_ones_by_task_id(store: Store) -> None:
    fields = {"h": header(), **{f"a:{seq}": attempt() for seq in (1, 2, 3)}}
    offers = (offered(1, score=7), offered(2, score=5), offered(3, score=5))
    store.start(an_id(1), running(fields=fields, offers=offers))
    assert [task.seq for task in store.poll()] == [2, 3, 1]


def test_claims_of_one_execution_grow(store: Store) -> None:
    store.started(count=3)
    assert [task.claim for task in store.poll()] == [NOW, NOW + 1, NOW + 2]


def test_poll_takes_no_more_than_asked_for_and_looks_into_shards_in_order(store: Store) -> None:
    changes = offering(3)
    away = replace(changes.offers[0], shard="s1", score=1)
    store.start(an_id(1), replace(changes, offers=(away, *changes.offers[1:])))
    assert [task.seq for task in store.poll(shards=("s0", "s1"), count=2)] == [2, 3]
    assert [task.seq for task in store.poll(shards=("s0", "s1"), count=2)] == [1]


def test_poll_tells_whether_it_left_something_that_is_ready(store: Store) -> None:
    store.started(count=3)
    two, one = replace(a_poll(), count=2), replace(a_poll(), count=1)
    assert store.queues.poll(0, two).retry_at_ms == NOW
    assert store.queues.poll(0, one).retry_at_ms == 0
    for number, shard in ((2, "s2"), (3, "s3")):
        changes = offering()
        offer = replace(changes.offers[0], shard=shard)
        store.start(an_id(number), replace(changes, offers=(offer,)))
    in_both = replace(one, shards=("s2", "s3"))
    assert store.queues.poll(0, in_both).retry_at_ms == NOW
    assert store.queues.poll(0, in_both).retry_at_ms == 0


def test_poll_of_many_bytes_stops_after_the_first(store: Store) -> None:
    store.started(count=3)
    assert [task.seq for task in store.poll(max_bytes=10)] == [1]
    assert [task.seq for task in store.poll()] == [2, 3]


def test_lease_ends_a_claim_earlier_than_the_response_timeout_never_later(store: Store) -> None:
    store.started(count=2)
    (first,) = store.poll(count=1, lease_ms=10_000)
    (second,) = store.poll(count=1, lease_ms=RESPONSE_MS + 1)
    ends = [json.loads(task.claim_side) for task in (first, second)]
    assert [(c["until"] - NOW, c["leased"]) for c in ends] == [(10_000, 1), (RESPONSE_MS, 0)]


@pytest.mark.anomaly("A-28")
def test_timer_of_a_claim_is_its_nearest_deadline(store: Store) -> None:
    store.started(1, tt=500)
    store.poll()
    assert store.timers.next_due_ms(0, "s0") == NOW + 500
    store.started(2, deadline=NOW + 400)
    store.poll()
    assert store.timers.next_due_ms(0, "s0") == NOW + 400


def test_claim_without_any_timeout_has_no_timer(store: Store) -> None:
    execution = store.started(1, rt=0)
    (task,) = store.poll()
    assert store.timers.next_due_ms(0, "s0") == 0
    assert store.queues.extend(execution, 1, task.claim, "w", 1_000, None) == (Outcome.OK, 0)


def test_dead_entries_are_dropped(store: Store) -> None:
    ended = store.started(1)
    store.commit(store.sent(ended), completed())
    stale_generation = store.started(2)
    store.commit(store.sent(stale_generation), running(generation=2))
    vanished = store.started(3)
    store.commit(store.sent(vanished), running(deleted=("a:1",)))
    below = store.started(4)
    store.commit(store.sent(below), running(fields={"h": header(first_seq=2)}))
    removed = store.started(5)
    version = store.commit(store.sent(removed), completed()).version
    store.reader.remove(removed, version)
    alive = store.started(6)
    assert [task.execution for task in store.poll(count=1)] == [alive]
    assert store.queues.sizes(0) == {("task", "s0"): (0, 0)}


def test_poll_looks_at_200_dead_heads_at_most(store: Store) -> None:
    dead = an_id(1)
    store.start(dead, offering(250))
    store.commit(store.sent(dead), completed())
    last = replace(offering(), offers=(offered(score=10_000),))
    store.start(an_id(2), last)
    reply = store.queues.poll(0, replace(a_poll(), count=1))
    assert (reply.claimed, reply.retry_at_ms) == ((), NOW), "more may be behind them"
    assert store.queues.sizes(0)["task", "s0"][0] == 51
    reply = store.queues.poll(0, replace(a_poll(), count=10))
    assert [task.execution for task in reply.claimed] == [an_id(2)]
    assert reply.retry_at_ms == 0


def test_poll_that_stops_at_its_bytes_may_be_repeated_at_once(store: Store) -> None:
    store.started(count=3)
    assert store.queues.poll(0, replace(a_poll(), max_bytes=10)).retry_at_ms == NOW
    assert store.queues.poll(0, a_poll()).retry_at_ms == 0


def test_paused_entries_are_parked_and_come_back(store: Store) -> None:
    paused, other = store.started(1, count=2), store.started(2)
    store.commit(store.sent(paused), replace(running(), status="PAUSED"))
    assert [task.execution for task in store.poll()] == [other]
    assert store.queues.sizes(0) == {("task", "s0"): (0, 0)}
    store.commit(store.sent(paused), running(unpark=True))
    assert [(task.execution, task.seq) for task in store.poll()] == [(paused, 1), (paused, 2)]


def test_parked_entry_of_an_ended_attempt_does_not_come_back(store: Store) -> None:
    paused = store.started(1, count=2)
    store.commit(store.sent(paused), replace(running(), status="PAUSED"))
    store.poll()
    store.commit(store.sent(paused), replace(running(ended=(1,)), status="PAUSED"))
    store.commit(store.sent(paused), running(unpark=True))
    assert [task.seq for task in store.poll()] == [2]


def test_thousands_of_parked_entries_come_back_in_pieces(store: Store) -> None:
    paused = an_id(1)
    store.start(paused, offering(2_500))
    store.commit(store.sent(paused), replace(running(), status="PAUSED"))
    while store.queues.sizes(0)["task", "s0"][0] > 0:
        assert store.poll() == ()
    store.commit(store.sent(paused), running(unpark=True))
    assert store.queues.sizes(0)["task", "s0"] == (2_000, 0)
    store.timers.claim_due(0, "s0", 10, "d", 1_000)
    assert store.queues.sizes(0)["task", "s0"] == (2_500, 0)


def test_delayed_entry_is_handed_out_when_due(store: Store) -> None:
    changes = replace(offering(), offers=(offered(due_ms=NOW + 500),))
    store.start(an_id(1), changes)
    assert store.queues.sizes(0) == {("task", "s0"): (0, 1)}
    reply = store.queues.poll(0, a_poll())
    assert (reply.claimed, reply.retry_at_ms) == ((), NOW + 500)
    store.clock.advance(500)
    assert len(store.poll()) == 1


@pytest.mark.parametrize("due_ms", [0, NOW + 5])
def test_places_that_differ_by_one_keep_their_order_up_to_2_to_the_53rd(
    store: Store, due_ms: int
) -> None:
    last = 2**53 - 1
    places = {1: last, 2: last - 2, 3: last - 1}
    fields = {f"a:{seq}": attempt(score=place) for seq, place in places.items()}
    offers = tuple(offered(seq, due_ms, place) for seq, place in places.items())
    store.start(an_id(1), running(fields={"h": header(), **fields}, offers=offers))
    store.clock.advance(5)
    assert [task.seq for task in store.poll()] == [2, 3, 1]


def test_places_that_differ_by_a_32nd_keep_their_order_ready_delayed_and_parked(
    store: Store,
) -> None:
    highest, seqs = 2**48 - 2, range(1, 13)
    places = {seq: highest + seq / 32 for seq in seqs}
    changes = replace(offering(12), fields={"h": header()})
    states = {f"a:{seq}": attempt(score=place) for seq, place in places.items()}
    due = {1: 0, 2: NOW + 1_000}
    for number, due_ms in due.items():
        offers = tuple(
            Offer(seq=seq, queue="task", shard="s0", score=place, due_ms=due_ms)
            for seq, place in places.items()
        )
        fields = {**changes.fields, **states}
        store.start(an_id(number), replace(changes, fields=fields, offers=offers))
    store.clock.advance(1_000)
    store.commit(store.sent(an_id(2)), replace(running(), status="PAUSED"))
    assert [each.seq for each in store.poll(count=20)] == list(seqs)
    store.commit(store.sent(an_id(2)), replace(running(), unpark=True))
    assert [each.seq for each in store.poll(count=20)] == list(seqs)


def test_poll_tells_when_the_next_falls_due_after_those_that_did(store: Store) -> None:
    changes = replace(offering(2), offers=(offered(1, NOW + 10), offered(2, NOW + 500)))
    store.start(an_id(1), changes)
    store.clock.advance(10)
    reply = store.queues.poll(0, a_poll())
    assert ([task.seq for task in reply.claimed], reply.retry_at_ms) == ([1], NOW + 500)


def test_poll_that_has_moved_200_delayed_entries_may_be_repeated_at_once(store: Store) -> None:
    offers = tuple(offered(seq, due_ms=NOW + 1) for seq in range(1, 251))
    store.start(an_id(1), replace(offering(250), offers=offers))
    store.clock.advance(1)
    reply = store.queues.poll(0, replace(a_poll(), count=250))
    assert (len(reply.claimed), reply.retry_at_ms) == (200, NOW + 1)
    assert len(store.queues.poll(0, replace(a_poll(), count=250)).claimed) == 50


def test_attempt_offered_again_is_in_one_queue_and_is_claimed_anew(store: Store) -> None:
    execution = store.started()
    (first,) = store.poll()
    report = store.report(execution, 1, first.claim, final=False)
    assert report.loaded is not None
    store.commit(report.loaded, running(offers=(offered(due_ms=NOW + 500),)))
    store.commit(store.sent(execution), running(offers=(offered(),)))
    assert store.queues.sizes(0) == {("task", "s0"): (1, 0)}
    (second,) = store.poll(worker="w2")
    assert second.claim > first.claim
    assert second.output == b'{"r":1}'
    side = json.loads(second.claim_side)
    assert (side["polls"], side["w"], side["prev"]) == (2, "w2", "w")


def test_ten_former_holders_are_remembered(store: Store) -> None:
    execution = store.started()
    for number in range(12):
        store.poll(worker=f"a/b{number}")
        store.commit(store.sent(execution), running(offers=(offered(),)))
    (task,) = store.poll(worker="a/b12")
    side = json.loads(task.claim_side)
    assert side["prev"].split("\n") == [f"a/b{number}" for number in range(11, 1, -1)]


def test_concurrency_limit_stops_the_poll_until_a_claim_ends(store: Store) -> None:
    execution = store.started(count=3, lim=2)
    reply = store.queues.poll(0, a_poll())
    assert [task.seq for task in reply.claimed] == [1, 2]
    assert reply.retry_at_ms == NOW + RESPONSE_MS
    store.report(execution, 1, reply.claimed[0].claim)
    assert [task.seq for task in store.poll()] == [3]


def test_dead_holder_frees_its_permit_when_its_claim_ends(store: Store) -> None:
    store.started(count=2, lim=1)
    assert len(store.poll()) == 1
    store.clock.advance(RESPONSE_MS - 1)
    assert store.poll() == ()
    store.clock.advance(1)
    assert [task.seq for task in store.poll()] == [2]


def test_extended_claim_keeps_its_permit(store: Store) -> None:
    execution = store.started(count=2, lim=1)
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS - 1)
    store.queues.extend(execution, 1, task.claim, "w", 0, None)
    store.clock.advance(RESPONSE_MS - 1)
    assert store.poll() == ()


def test_limits_of_the_live_definition_go_before_the_snapshot(store: Store) -> None:
    store.started(count=3, lim=1)
    assert [task.seq for task in store.poll(limit=2)] == [1, 2]
    assert [task.seq for task in store.poll(limit=0)] == [3]


def test_live_limits_are_those_of_their_definition_only(store: Store) -> None:
    store.started(1, count=2, lim=1, **{"def": "other"})
    store.started(2, count=2)
    reply = store.queues.poll(0, replace(a_poll(), definition="task", limit=0, rate=(0, 0)))
    assert [(task.execution, task.seq) for task in reply.claimed] == [
        (an_id(1), 1),
        (an_id(2), 1),
        (an_id(2), 2),
    ]
    assert reply.retry_at_ms == NOW + RESPONSE_MS
    store.clock.advance(RESPONSE_MS)
    assert [(task.execution, task.seq) for task in store.poll(definition="task")] == [(an_id(1), 2)]


def test_what_waits_for_the_rate_of_its_definition_holds_up_no_other(store: Store) -> None:
    store.started(1, count=3, rl=1, rw=1_000, **{"def": "other"})
    store.started(2)
    claimed = store.poll(definition="task", limit=1)
    assert [task.execution for task in claimed] == [an_id(1), an_id(2)]
    store.clock.advance(1_000)
    assert [task.seq for task in store.poll(definition="task", limit=1)] == [2]


def test_rate_limit_holds_in_every_window(store: Store) -> None:
    store.started(count=5, rl=2, rw=1_000)
    assert len(store.poll(count=1)) == 1
    store.clock.advance(400)
    reply = store.queues.poll(0, a_poll())
    assert (len(reply.claimed), reply.retry_at_ms) == (1, NOW + 1_000)
    store.clock.advance(599)
    assert store.poll() == ()
    store.clock.advance(1)
    assert len(store.poll()) == 1
    assert len(store.poll(rate=(3, 1_000))) == 1


@pytest.mark.oracle(49)
@pytest.mark.anomaly("A-56")
def test_limits_are_exact_when_many_poll_at_once(store: Store) -> None:
    store.started(count=60, lim=7, rl=1_000, rw=1_000)
    claimed: list[int] = []

    def work() -> None:
        for _ in range(10):
            claimed.extend(task.seq for task in store.poll(count=2))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.anomaly("A-56")
def test_rate_is_exact_when_many_poll_at_once(store: Store) -> None:
    store.started(count=60, rl=9, rw=1_000)
    claimed: list[int] = []

    def work() -> None:
        for _ in range(10):
            claimed.extend(task.seq for task in store.poll(count=2))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(1, 10))


# ------------------------------------------------------------------------------------------- extend


def test_extend_prolongs_by_the_response_timeout_and_keeps_progress(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    store.clock.advance(100)
    ends = NOW + 100 + RESPONSE_MS
    extend = store.queues.extend
    assert extend(execution, 1, task.claim, "w", 0, b'{"p":1}') == (Outcome.OK, ends)
    found = store.executions.load(execution, ["p:1"])
    assert found == (NOW, {"p:1": b'{"p":1}'})
    assert store.timers.next_due_ms(0, "s0") == ends


def test_extend_of_a_lease_prolongs_by_the_lease(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll(lease_ms=10_000)
    store.clock.advance(9_000)
    extend = store.queues.extend
    assert extend(execution, 1, task.claim, "w", 10_000, None) == (Outcome.OK, NOW + 19_000)
    assert extend(execution, 1, task.claim, "w", 10**9, None) == (
        Outcome.OK,
        NOW + 9_000 + RESPONSE_MS,
    )


def test_claim_is_not_extended_past_its_end(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS)
    before = store.reader.snapshot(execution)
    reply = store.queues.extend(execution, 1, task.claim, "w", 0, b"{}")
    assert reply == (Outcome.SUPERSEDED, 0)
    assert store.reader.snapshot(execution) == before


@pytest.mark.anomaly("A-53")
def test_extend_with_a_stale_claim_changes_nothing(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    before = store.reader.snapshot(execution)
    extend = store.queues.extend
    assert extend(execution, 1, task.claim - 1, "w", 0, b"{}")[0] is Outcome.SUPERSEDED
    assert extend(execution, 1, 0, "another", 0, b"{}")[0] is Outcome.SUPERSEDED
    assert extend(execution, 2, task.claim, "w", 0, b"{}")[0] is Outcome.UNKNOWN_TASK
    assert store.reader.snapshot(execution) == before
    assert extend(execution, 1, 0, "w", 0, None)[0] is Outcome.OK
    assert extend(execution, 1, 0, "", 0, None)[0] is Outcome.OK


def test_extend_after_the_result_or_the_end_is_ignored(store: Store) -> None:
    reported, ended = store.started(1), store.started(2)
    claims = {task.execution: task.claim for task in store.poll()}
    store.report(reported, 1, claims[reported])
    store.commit(store.sent(ended), completed())
    for execution, claim in claims.items():
        reply = store.queues.extend(execution, 1, claim, "w", 0, None)
        assert reply == (Outcome.IGNORED, 0)


# --------------------------------------------------------------------------------- sizes, poll data


def test_last_poll_is_recorded_by_type_and_domain(store: Store) -> None:
    store.poll(poll_name="task", worker="one")
    store.clock.advance(5_000)
    store.poll(poll_name="task", worker="one two")
    store.poll(poll_name="task", poll_domain="gpu")
    store.poll()
    later = NOW + 5_000
    assert store.queues.poll_data(0) == (
        PollData(queue="task", domain="", worker="one two", at_ms=later, shards={"s0": later}),
        PollData(queue="task", domain="gpu", worker="w", at_ms=later, shards={"s0": later}),
    )


def test_polls_are_known_by_the_shards_they_look_into(store: Store) -> None:
    """One worker that asks two servers in turn is seen at both."""
    for at_ms in range(0, 3_000, 500):
        shard = "s0" if at_ms % 1_000 == 0 else "s1"
        store.poll(poll_name="task", worker="w", shards=(shard,))
        store.clock.advance(500)
    store.poll(poll_name="task", worker="w", shards=("s2", "s3"))
    (found,) = store.queues.poll_data(0)
    looked = {"s0": 2_000, "s1": 2_500, "s2": 3_000, "s3": 3_000}
    assert found.shards == {shard: NOW + at_ms for shard, at_ms in looked.items()}


def test_polls_of_invented_names_push_out_the_oldest_and_nothing_else(store: Store) -> None:
    shards = tuple(f"s{number}" for number in range(99))
    invented = range(MOST_POLLS // 100 + 1)
    for at, domain in enumerate(("abandoned", *map(str, invented))):
        store.queues.record_poll("task", domain, "w", shards, NOW + at)
    found = [poll for partition in range(2) for poll in store.queues.poll_data(partition)]
    assert sum(1 + len(poll.shards) for poll in found) <= MOST_POLLS
    assert {poll.domain for poll in found}.isdisjoint({"abandoned"})
    assert {poll.domain for poll in found}.issuperset(map(str, invented[2:]))


def test_sizes_list_every_queue_that_was_written(store: Store) -> None:
    assert store.queues.sizes(0) == {}
    store.started(count=2)
    store.poll()
    assert store.queues.sizes(0) == {("task", "s0"): (0, 0)}
    assert store.queues.sizes(1) == {}


def test_names_list_every_queue_that_was_written(store: Store) -> None:
    assert store.queues.names(0) == frozenset()
    store.started(count=2)
    store.poll()
    assert store.queues.names(0) == {"task"}
    assert store.queues.names(1) == frozenset()
    assert store.queues.names(None) == {"task"}


def test_the_first_claim_of_an_attempt_that_tells_its_start_is_an_event(store: Store) -> None:
    execution = store.started(tell=True)
    store.poll(lease_ms=1_000)
    loaded = store.executions.acquire(execution, "d", 3_000)
    assert loaded is not None
    assert loaded.events == (b'1 {"t":"claimed"}',)
    assert loaded.version == NOW, "the version has not moved"
    fields = {"h": header(), "a:1": attempt(tell=True)}
    store.commit(loaded, running(fields=fields, offers=(offered(),)))
    assert [again.seq for again in store.poll()] == [1]
    assert store.executions.acquire(execution, "e", 3_000) is None, "a second claim is none"
    other = store.started(2)
    assert len(store.poll()) == 1
    assert store.executions.acquire(other, "d", 3_000) is None


def test_the_first_claim_of_an_attempt_that_tells_its_start_wakes_its_execution(
    store: Store,
) -> None:
    execution = store.started(tell=True)
    store.poll()
    (due,) = store.timers.claim_due(0, "s0", 10, "d", 3_000)
    assert (due.execution, len(due.events)) == (execution, 1)


# -------------------------------------------------------------------- names of queues that are over


def _forgotten(store: Store, limit: int = 1_000) -> int:
    """Go through all names; how many went."""
    gone, cursor = 0, ""
    while True:
        cursor, more = store.queues.forget_empty(0, cursor, limit, keep=0)
        gone += more
        if not cursor:
            return gone


def _to(queue: str, seq: int = 1, due_ms: int = 0) -> Changes:
    """Changes that offer an attempt to a queue."""
    offer = Offer(seq=seq, queue=queue, shard="s0", score=101, due_ms=due_ms)
    fields = {"h": header(), f"a:{seq}": attempt(q=queue, score=101)}
    return running(fields=fields, offers=(offer,))


def test_a_queue_that_nothing_is_in_is_forgotten_and_comes_back_with_its_next_entry(
    store: Store,
) -> None:
    execution = store.started()
    assert _forgotten(store) == 0
    assert store.queues.names(0) == {"task"}
    (task,) = store.poll()
    assert _forgotten(store) == 1
    assert store.queues.names(0) == frozenset()
    assert store.queues.sizes(0) == {}
    assert store.poll() == ()
    report = store.report(execution, 1, task.claim, final=False)
    assert report.loaded is not None
    store.commit(report.loaded, running(offers=(offered(),)))
    assert store.queues.sizes(0) == {("task", "s0"): (1, 0)}
    assert len(store.poll()) == 1


def test_a_queue_whose_entries_are_not_due_is_not_forgotten(store: Store) -> None:
    store.start(an_id(1), _to("task", due_ms=NOW + 500))
    assert _forgotten(store) == 0
    store.clock.advance(500)
    assert len(store.poll()) == 1


def test_a_queue_is_named_again_by_entries_that_were_parked(store: Store) -> None:
    paused = store.started(1)
    store.commit(store.sent(paused), replace(running(), status="PAUSED"))
    assert store.poll() == ()
    assert _forgotten(store) == 1
    store.commit(store.sent(paused), running(unpark=True))
    assert store.queues.names(0) == {"task"}
    assert [task.execution for task in store.poll()] == [paused]


def test_invented_names_are_forgotten_in_pieces_and_no_other(store: Store) -> None:
    for number in range(300):
        store.start(an_id(number), _to(f"invented-{number}"))
    for number in range(0, 300, 2):
        assert len(store.queues.poll(0, a_poll(f"invented-{number}")).claimed) == 1
    left = {f"invented-{number}" for number in range(1, 300, 2)}
    _, first = store.queues.forget_empty(0, "", 20, keep=0)
    assert first < 60
    while store.queues.names(0) != left:
        assert _forgotten(store, 20)
    assert {queue for queue, _ in store.queues.sizes(0)} == left
    assert _forgotten(store, 20) == 0


def test_so_many_names_may_stay_though_nothing_is_in_their_queues(store: Store) -> None:
    for number in range(9):
        store.start(an_id(number), _to(f"task-{number}"))
        assert len(store.queues.poll(0, a_poll(f"task-{number}")).claimed) == 1
    assert store.queues.forget_empty(0, "", 100, keep=9) == ("", 0)
    assert store.queues.forget_empty(0, "", 100, keep=4)[1] == 5
    assert len(store.queues.names(0)) == 4


def test_a_queue_that_is_filled_while_it_is_forgotten_keeps_its_name(store: Store) -> None:
    over = threading.Event()

    def forget() -> None:
        while not over.is_set():
            _forgotten(store)

    with ThreadPoolExecutor(2) as threads:
        forgetting = [threads.submit(forget) for _ in range(2)]
        try:
            for number in range(100):
                store.start(an_id(number), _to("task"))
                assert store.queues.names(0) == {"task"}
                assert len(store.poll()) == 1
        finally:
            over.set()
        assert [each.result() for each in forgetting] == [None, None]

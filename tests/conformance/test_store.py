"""What `ExecutionStore` and `ExecutionReader` promise, on every store."""

import json
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.reader import FEW_FIELDS, MOST_LOG_BYTES, Beside
from conductor_py.ports.store import (
    READ_BYTES,
    Changes,
    Child,
    ClaimGuard,
    Effect,
    Loaded,
    Message,
    Offer,
    Outcome,
)
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


def claimed_and_reported(store: Store, number: int = 1) -> Loaded:
    """An execution whose only attempt was claimed and reported; the lease is won."""
    execution = store.started(number)
    (task,) = store.poll()
    loaded = store.report(execution, 1, task.claim).loaded
    assert loaded is not None
    return loaded


# -------------------------------------------------------------------------------------------- start


def test_started_execution_has_its_fields_and_its_first_version(store: Store) -> None:
    execution = store.started()
    assert store.executions.load(execution, ["h", "i:1", "o:1"]) == (
        NOW,
        {"h": header(), "i:1": b'{"in":1}', "o:1": None},
    )


def test_repeated_start_is_ok_and_changes_nothing(store: Store) -> None:
    store.start(an_id(1), offering(), operation="a")
    store.clock.advance(5_000)
    assert store.start(an_id(1), offering(3), operation="a").outcome is Outcome.OK
    assert store.queues.sizes(0) == {("task", "s0"): (1, 0)}
    assert store.executions.load(an_id(1), ["a:2"]) == (NOW, {"a:2": None})


def test_repeated_start_is_ok_after_later_commits(store: Store) -> None:
    store.start(an_id(1), offering(), operation="a")
    store.commit(store.sent(an_id(1)), running())
    assert store.start(an_id(1), offering(), operation="a").outcome is Outcome.OK


def test_start_with_a_taken_id_by_another_operation_says_exists(store: Store) -> None:
    store.start(an_id(1), offering(), operation="a")
    reply = store.start(an_id(1), offering(2), operation="b")
    assert (reply.outcome, reply.existing) == (Outcome.EXISTS, an_id(1))
    assert store.queues.sizes(0) == {("task", "s0"): (1, 0)}


@pytest.mark.parametrize("rule", ["FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"])
def test_idempotency_key_of_a_running_execution_names_it(store: Store, rule: str) -> None:
    store.start(an_id(1), running(), idempotency_key="key")
    reply = store.start(an_id(2), running(), idempotency_key="key", on_existing=rule)
    assert (reply.outcome, reply.existing) == (Outcome.EXISTS, an_id(1))
    assert store.reader.snapshot(an_id(2)) is None


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("FAIL", Outcome.EXISTS),
        ("RETURN_EXISTING", Outcome.EXISTS),
        ("FAIL_ON_RUNNING", Outcome.OK),
    ],
)
def test_idempotency_key_of_an_ended_execution(store: Store, rule: str, outcome: Outcome) -> None:
    store.start(an_id(1), completed(), idempotency_key="key")
    reply = store.start(an_id(2), running(), idempotency_key="key", on_existing=rule)
    assert reply.outcome is outcome


def test_start_under_another_clock_is_refused(store: Store) -> None:
    reply = store.start(an_id(1), running(), now_ms=NOW - 1_001)
    assert (reply.outcome, reply.now_ms) == (Outcome.CLOCK, NOW)
    assert store.start(an_id(1), running(), now_ms=NOW - 1_000).outcome is Outcome.OK


def test_start_with_an_old_revision_of_the_definitions_is_refused(store: Store) -> None:
    seen = store.metadata.revision(0)
    store.metadata.put_workflow("wf", 1, b"{}", create=True)
    reply = store.start(an_id(1), running(), meta_revision=seen)
    assert reply.outcome is Outcome.META_MOVED
    moved = store.metadata.revision(0)
    assert store.start(an_id(1), running(), meta_revision=moved).outcome is Outcome.OK


def test_start_and_commit_need_their_plans(store: Store) -> None:
    before = store.keys()
    assert store.start(an_id(1), running(plans=("p1",))).outcome is Outcome.NEED_PLAN
    assert store.keys() == before
    store.plans.put(0, "p1", b"{}", {})
    assert store.start(an_id(1), running(plans=("p1",))).outcome is Outcome.OK
    reply = store.commit(store.sent(an_id(1)), running(plans=("p1", "p2")))
    assert reply.outcome is Outcome.NEED_PLAN


def test_start_with_a_deadline_wakes_its_execution_then(store: Store) -> None:
    """I4."""
    store.start(an_id(1), running(due_ms=NOW + 10))
    assert store.timers.claim_due(0, "s0", 10, "d", LEASE_MS) == ()
    store.clock.advance(10)
    (found,) = store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)
    assert (found.execution, found.events) == (an_id(1), ())


def test_start_with_continuations_brings_them_with_the_lease(store: Store) -> None:
    changes = running(own_events=(b'{"t":"continue"}',))
    reply = store.start(an_id(1), changes, holder="d", lease_ms=LEASE_MS)
    assert reply.more is not None
    assert reply.more.events == (b'{"t":"continue"}',)
    assert store.executions.acquire(an_id(1), "other", LEASE_MS) is None
    assert store.commit(reply.more, running()).outcome is Outcome.OK


# ------------------------------------------------------------------------------------------- report


def test_result_brings_what_the_next_decision_reads(store: Store) -> None:
    reads = json.dumps(["vars", ">ao r:t2", "j:join#*1", ">c r:none"]).encode()
    store.plans.put(0, "p1", b"{}", {"t1": reads})
    fields = {
        **offering().fields,
        "a:1": attempt(it="1.2"),
        "a:2": attempt(ref="t2"),
        "o:2": b"{}",
        "r:t2": b"2",
        "vars": b"{}",
        "j:join#1": b"[]",
    }
    store.start(an_id(1), running(fields=fields, offers=offering().offers))
    (task,) = store.poll()
    reply = store.report(an_id(1), 1, task.claim)
    assert reply.loaded is not None
    found = dict(reply.loaded.fields)
    assert json.loads(found.pop("c:1") or b"")["closed"] == 1
    assert found == {
        "h": header(),
        "a:1": fields["a:1"],
        "o:1": b'{"r":1}',
        "vars": b"{}",
        "r:t2": b"2",
        "a:2": fields["a:2"],
        "o:2": b"{}",
        "j:join#1": b"[]",
        "r:none": None,
    }
    assert (reply.loaded.first_event, reply.loaded.events) == (1, (b'1 {"t":"result"}',))


@pytest.mark.anomaly("A-8")
def test_results_of_several_iterations_bring_what_each_of_them_reads(store: Store) -> None:
    store.plans.put(0, "p1", b"{}", {"*": json.dumps(["vars", "j:loop#*1"]).encode()})
    vectors = {1: "1", 2: "2", 3: "2"}
    changes = offering(len(vectors))
    fields = {**changes.fields, **{f"a:{n}": attempt(it=at) for n, at in vectors.items()}}
    fields |= {"vars": b'{"v":1}', "j:loop#1": b"one", "j:loop#2": b"two"}
    store.start(an_id(1), replace(changes, fields=fields))
    claims = {task.seq: task.claim for task in store.poll()}
    assert store.report(an_id(1), 1, claims[1]).loaded is not None
    for seq in (2, 3):
        assert store.report(an_id(1), seq, claims[seq]).loaded is None
    store.clock.advance(LEASE_MS + 1)
    loaded = store.executions.acquire(an_id(1), "e", LEASE_MS)
    assert loaded is not None
    assert len(loaded.events) == 3
    assert set(loaded.fields) == {
        *(f"{kind}:{seq}" for kind in "aco" for seq in vectors),
        *("h", "vars", "j:loop#1", "j:loop#2"),
    }
    assert (loaded.fields["j:loop#1"], loaded.fields["j:loop#2"]) == (b"one", b"two")


def test_second_result_of_a_closed_claim_is_ignored(store: Store) -> None:
    loaded = claimed_and_reported(store)
    claim = store.clock.now_ms
    for given in (claim, claim + 1, 0):
        reply = store.report(loaded.execution, 1, given, output=b'{"r":2}')
        assert reply.outcome is Outcome.IGNORED
    found = store.executions.load(loaded.execution, ["o:1"])
    assert found == (NOW, {"o:1": b'{"r":1}'})
    again = store.executions.acquire(loaded.execution, "d", LEASE_MS)
    assert again is not None
    assert len(again.events) == 1


def test_repeat_of_a_result_is_ignored_after_the_attempt_was_offered_again(store: Store) -> None:
    loaded = claimed_and_reported(store)
    offer = Offer(seq=1, queue="task", shard="s0", score=1, due_ms=NOW + 500)
    store.commit(loaded, running(offers=(offer,)))
    assert store.report(loaded.execution, 1, NOW).outcome is Outcome.IGNORED


def test_result_under_another_claim_is_superseded(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    assert store.report(execution, 1, task.claim - 1).outcome is Outcome.SUPERSEDED


def test_result_without_claim_by_a_former_holder_is_superseded(store: Store) -> None:
    execution = store.started()
    store.poll(worker="first")
    loaded = store.sent(execution)
    store.commit(loaded, running(offers=(Offer(seq=1, queue="task", shard="s0", score=1),)))
    store.poll(worker="second")
    assert store.report(execution, 1, 0, worker="first").outcome is Outcome.SUPERSEDED
    assert store.report(execution, 1, 0, worker="stranger").outcome is Outcome.OK


def test_result_of_an_attempt_in_a_queue_takes_it_out(store: Store) -> None:
    execution = store.started()
    assert store.report(execution, 1, 0).outcome is Outcome.OK
    assert store.poll() == ()
    assert store.queues.sizes(0) == {("task", "s0"): (0, 0)}


def test_late_result_past_the_claims_end_is_accepted_while_the_attempt_is_open(
    store: Store,
) -> None:
    execution = store.started()
    (task,) = store.poll()
    store.clock.advance(RESPONSE_MS + 1)
    assert store.report(execution, 1, task.claim).outcome is Outcome.OK


@pytest.mark.parametrize("state", [{"st": "COMPLETED"}, {"gen": 0}])
def test_result_of_an_ended_attempt_is_ignored(store: Store, state: dict[str, Any]) -> None:
    execution = store.started(1, **state)
    assert store.report(execution, 1, 0).outcome is Outcome.IGNORED


def test_result_of_an_ended_execution_or_below_the_first_attempt_is_ignored(store: Store) -> None:
    ended = store.started(1)
    store.commit(store.sent(ended), completed())
    assert store.report(ended, 1, 0).outcome is Outcome.IGNORED
    restarted = store.started(2)
    store.commit(store.sent(restarted), running(fields={"h": header(first_seq=2)}))
    assert store.report(restarted, 1, 0).outcome is Outcome.IGNORED


def test_result_of_an_unknown_attempt(store: Store) -> None:
    assert store.report(store.started(), 7, 0).outcome is Outcome.UNKNOWN_TASK


def test_result_leaves_the_lease_to_who_holds_it(store: Store) -> None:
    execution = store.started(count=2)
    store.sent(execution)
    reply = store.report(execution, 1, 0)
    assert (reply.outcome, reply.loaded) == (Outcome.OK, None)
    store.clock.advance(LEASE_MS)
    (loaded,) = store.timers.claim_due(0, "s0", 10, "other", LEASE_MS)
    assert len(loaded.events) == 2


def test_under_another_lock_nothing_takes_the_lease(store: Store) -> None:
    store = store.again(True, False)
    execution = store.started(count=2)
    first, second = store.report(execution, 1, 0), store.report(execution, 2, 0)
    assert first.loaded is not None
    assert second.loaded is not None
    assert len(second.loaded.events) == 2
    assert store.executions.acquire(execution, "other", LEASE_MS) is not None
    assert store.executions.renew(execution, "anyone", LEASE_MS)


# --------------------------------------------------------------------------------------------- send


def test_repeated_operation_appends_nothing_and_brings_its_answer(store: Store) -> None:
    execution = store.started()
    first = store.executions.send(execution, "pause", b"e", "d", LEASE_MS)
    assert first.loaded is not None
    assert store.executions.send(execution, "pause", b"e", "other", LEASE_MS).loaded is None
    store.commit(first.loaded, running(answers=(("pause", b'{"ok":true}'),)))
    reply = store.executions.send(execution, "pause", b"e", "other", LEASE_MS)
    assert (reply.loaded, reply.answer) == (None, b'{"ok":true}')
    assert store.reader.answer(execution, "pause") == b'{"ok":true}'
    assert store.reader.answer(execution, "other") is None
    assert store.executions.acquire(execution, "d", LEASE_MS) is None


def test_full_inbox_takes_no_further_operation_but_knows_a_repeat(store: Store) -> None:
    execution = store.started()
    send = store.executions.send
    assert send(execution, "o1", b"e", "d", LEASE_MS, 2).outcome is Outcome.OK
    assert send(execution, "o2", b"e", "other", LEASE_MS, 2).outcome is Outcome.OK
    refused = send(execution, "o3", b"e", "other", LEASE_MS, 2)
    assert (refused.outcome, refused.loaded, refused.answer) == (Outcome.LIMITED, None, None)
    assert send(execution, "o1", b"e", "other", LEASE_MS, 2).outcome is Outcome.OK
    assert send(execution, "o3", b"e", "other", LEASE_MS).outcome is Outcome.OK
    store.clock.advance(LEASE_MS + 1)
    loaded = store.executions.acquire(execution, "d", LEASE_MS)
    assert loaded is not None
    assert len(loaded.events) == 3


def test_many_events_bring_the_attempts_of_the_first_256(store: Store) -> None:
    execution = store.started(count=300)
    first = store.report(execution, 1, 0)
    assert first.loaded is not None
    for seq in range(2, 301):
        assert store.report(execution, seq, 0).loaded is None
    store.clock.advance(LEASE_MS + 1)
    loaded = store.executions.acquire(execution, "d", LEASE_MS)
    assert loaded is not None
    assert len(loaded.events) == 300
    assert len([name for name in loaded.fields if name.startswith("a:")]) == 256


def test_every_answer_is_kept_as_long_as_somebody_waits_and_of_older_ones_some(
    store: Store,
) -> None:
    execution = store.started()
    answers = tuple((f"o{n}", b"%d" % n) for n in range(150))
    store.commit(store.sent(execution), running(answers=answers))

    def kept() -> list[str]:
        named = (name for name, _ in answers)
        return [name for name in named if store.reader.answer(execution, name) is not None]

    assert len(kept()) == 150
    store.clock.advance(10_001)
    more = tuple((f"p{n}", b"") for n in range(64))
    store.commit(store.sent(execution), running(answers=more))
    assert 0 < len(kept()) < 64
    assert all(store.reader.answer(execution, name) is not None for name, _ in more)
    store.clock.advance(50_000)
    assert kept() == []
    assert store.reader.answer(execution, "p1") is not None
    store.clock.advance(10_001)
    assert store.reader.answer(execution, "p1") is None


def test_of_very_many_answers_the_newest_are_kept(store: Store) -> None:
    execution = store.started()
    for first in range(0, 1_600, 100):
        answers = tuple((f"o{n}", b"1") for n in range(first, first + 100))
        store.commit(store.sent(execution), running(answers=answers))
        store.clock.advance(10)
    kept = [n for n in range(1_600) if store.reader.answer(execution, f"o{n}") is not None]
    assert kept == list(range(1_600 - len(kept), 1_600))
    assert 1_000 <= len(kept) <= 1_100


# ------------------------------------------------------------------------------------------- commit


@pytest.mark.anomaly("A-4")
@pytest.mark.anomaly("A-11")
@pytest.mark.anomaly("A-24")
def test_commit_with_a_stale_version_changes_nothing(store: Store) -> None:
    loaded = claimed_and_reported(store)
    assert store.commit(loaded, running(), let_go=True).outcome is Outcome.OK
    before, snapshot = store.keys(), store.reader.snapshot(loaded.execution)
    reply = store.commit(
        loaded,
        completed(
            fields={"output": b"{}"},
            offers=offering().offers,
            effects=(Effect(id="x", document=b"{}"),),
            own_events=(b"e",),
            due_ms=NOW + 1,
        ),
    )
    assert reply.outcome is Outcome.STALE
    assert (store.keys(), store.reader.snapshot(loaded.execution)) == (before, snapshot)


@pytest.mark.anomaly("A-24")
def test_commits_that_consume_nothing_are_told_apart_by_their_version(store: Store) -> None:
    """I1: both have seen the same inbox."""
    loaded = claimed_and_reported(store)
    first = replace(loaded, events=())
    assert store.commit(first, running(due_ms=NOW + 10)).outcome is Outcome.OK
    before, snapshot = store.keys(), store.reader.snapshot(loaded.execution)
    assert store.commit(first, completed(due_ms=NOW + 20)).outcome is Outcome.STALE
    assert store.commit(loaded, completed(due_ms=NOW + 20)).outcome is Outcome.STALE
    assert (store.keys(), store.reader.snapshot(loaded.execution)) == (before, snapshot)


def test_commit_takes_only_those_events_out_of_the_inbox_that_were_read(store: Store) -> None:
    """I12: a store that lost its last writes has given their numbers to others."""
    loaded = store.sent(store.started())
    others = replace(loaded, events=(b'0 {"t":"due"}',))
    assert store.commit(others, running()).outcome is Outcome.STALE
    more = replace(loaded, events=(*loaded.events, b'0 {"t":"due"}'))
    assert store.commit(more, running()).outcome is Outcome.STALE
    again = store.executions.acquire(loaded.execution, "d", LEASE_MS)
    assert again is not None
    assert again.events == loaded.events
    assert store.commit(again, running()).outcome is Outcome.OK


def test_repeated_commit_is_ok_and_changes_nothing(store: Store) -> None:
    loaded = claimed_and_reported(store)
    changes = running(own_events=(b"more",), effects=(Effect(id="x", document=b"{}"),))
    first = store.commit(loaded, changes, operation="c")
    again = store.commit(loaded, changes, operation="c")
    assert (again.outcome, again.version) == (Outcome.OK, first.version)
    assert again.more is not None
    assert again.more.events == (b"more",)
    assert store.outbox.size(0) == 1


def test_versions_grow_even_when_the_clock_stands_still(store: Store) -> None:
    loaded = claimed_and_reported(store)
    assert store.commit(loaded, running()).version == NOW + 1
    store.clock.advance(500)
    assert store.commit(store.sent(loaded.execution), running()).version == NOW + 500


@pytest.mark.anomaly("A-8")
def test_claim_that_moved_refuses_the_whole_commit(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    loaded = store.sent(execution)
    guard = ClaimGuard(seq=1, claim=task.claim, until_ms=NOW + RESPONSE_MS)
    store.clock.advance(1)
    store.queues.extend(execution, 1, task.claim, "w", 0, None)
    before, snapshot = store.keys(), store.reader.snapshot(execution)
    reply = store.commit(loaded, completed(ended=(1,)), guards=(guard,))
    assert reply.outcome is Outcome.CLAIM_MOVED
    assert (store.keys(), store.reader.snapshot(execution)) == (before, snapshot)
    guard = ClaimGuard(seq=1, claim=task.claim, until_ms=NOW + 1 + RESPONSE_MS)
    assert store.commit(loaded, completed(ended=(1,)), guards=(guard,)).outcome is Outcome.OK


def test_guard_of_an_unclaimed_attempt_refuses_once_it_was_polled(store: Store) -> None:
    execution = store.started()
    loaded = store.sent(execution)
    guard = ClaimGuard(seq=1, claim=0, until_ms=0)
    store.poll()
    assert store.commit(loaded, running(), guards=(guard,)).outcome is Outcome.CLAIM_MOVED


def test_guard_of_an_attempt_that_was_offered_again_names_its_last_claim_or_none(
    store: Store,
) -> None:
    loaded = claimed_and_reported(store)
    offer = Offer(seq=1, queue="task", shard="s0", score=1)
    store.commit(loaded, running(offers=(offer,)))
    for guard in (
        ClaimGuard(seq=1, claim=NOW, until_ms=NOW + RESPONSE_MS),
        ClaimGuard(seq=1, claim=0, until_ms=0),
    ):
        reply = store.commit(store.sent(loaded.execution), running(), guards=(guard,))
        assert reply.outcome is Outcome.OK
    store.poll()
    loaded = store.sent(loaded.execution)
    assert store.commit(loaded, running(), guards=(guard,)).outcome is Outcome.CLAIM_MOVED


def test_guard_of_a_claim_that_a_result_closed_refuses(store: Store) -> None:
    execution = store.started()
    (task,) = store.poll()
    loaded = store.sent(execution)
    store.report(execution, 1, task.claim)
    guard = ClaimGuard(seq=1, claim=task.claim, until_ms=NOW + RESPONSE_MS)
    assert store.commit(loaded, running(), guards=(guard,)).outcome is Outcome.CLAIM_MOVED


def test_commit_keeps_the_lease_while_events_are_left(store: Store) -> None:
    execution = store.started(count=2)
    first = store.report(execution, 1, 0)
    store.report(execution, 2, 0)
    assert first.loaded is not None
    reply = store.commit(first.loaded, running())
    assert reply.more is not None
    assert (reply.more.first_event, reply.more.events) == (2, (b'2 {"t":"result"}',))
    assert reply.more.version == reply.version
    assert store.executions.acquire(execution, "other", LEASE_MS) is None
    assert store.commit(reply.more, running()).more is None
    assert store.report(execution, 1, 0).outcome is Outcome.IGNORED


def test_commit_that_lets_go_leaves_the_rest_to_whoever_comes(store: Store) -> None:
    execution = store.started(count=2)
    first = store.report(execution, 1, 0)
    store.report(execution, 2, 0)
    assert first.loaded is not None
    assert store.commit(first.loaded, running(), let_go=True).more is None
    (loaded,) = store.timers.claim_due(0, "s0", 10, "other", LEASE_MS)
    assert loaded.events == (b'2 {"t":"result"}',)


def test_finished_execution_leaves_no_timer_and_is_not_running(store: Store) -> None:
    loaded = claimed_and_reported(store)
    assert store.reader.running("wf") == (loaded.execution,)
    store.commit(loaded, completed(ended=(1,)))
    assert store.timers.next_due_ms(0, "s0") == 0
    assert store.reader.running("wf") == ()


def test_new_generation_is_running_again(store: Store) -> None:
    loaded = claimed_and_reported(store)
    store.commit(loaded, completed())
    store.commit(store.sent(loaded.execution), running(generation=2))
    assert store.reader.running("wf") == (loaded.execution,)


@pytest.mark.parametrize("fencing", [True, False])
def test_terminal_execution_does_not_open_again_in_its_generation(
    store: Store, fencing: bool
) -> None:
    store = store.again(fencing, True)
    loaded = claimed_and_reported(store)
    store.commit(loaded, completed())
    assert store.commit(store.sent(loaded.execution), running()).outcome is Outcome.STALE


def test_without_fencing_only_the_version_is_not_compared(store: Store) -> None:
    store = store.again(False, True)
    loaded = claimed_and_reported(store)
    older = replace(loaded, version=loaded.version - 1)
    assert store.commit(older, running(), consumed=0).outcome is Outcome.OK
    assert store.commit(older, running(), consumed=-1).outcome is Outcome.STALE
    assert store.commit(older, running()).outcome is Outcome.OK


@pytest.mark.parametrize("fencing", [True, False])
def test_events_that_somebody_else_has_consumed_refuse_a_commit(
    store: Store, fencing: bool
) -> None:
    store = store.again(fencing, True)
    loaded = claimed_and_reported(store)
    assert store.commit(loaded, running()).outcome is Outcome.OK
    assert store.commit(loaded, completed()).outcome is Outcome.STALE
    assert store.reader.running("wf") == (loaded.execution,)


def test_ended_attempt_leaves_queue_timer_and_permit(store: Store) -> None:
    execution = store.started(count=3, lim=1)
    store.poll()
    changes = running(ended=(1, 2), attempt_timers=((3, NOW + 10),))
    store.commit(store.sent(execution), changes)
    assert store.queues.sizes(0) == {("task", "s0"): (1, 0)}
    assert store.timers.next_due_ms(0, "s0") == NOW + 10
    assert [task.seq for task in store.poll()] == [3]


def test_reopened_attempt_takes_another_result_without_a_queue(store: Store) -> None:
    loaded = claimed_and_reported(store)
    store.commit(loaded, running(reopened=(1,)))
    assert store.poll() == ()
    assert store.report(loaded.execution, 1, 0).outcome is Outcome.OK


def test_deleted_fields_are_gone(store: Store) -> None:
    execution = store.started(count=2)
    store.commit(store.sent(execution), running(deleted=("a:2", "i:2")))
    snapshot = store.reader.snapshot(execution)
    assert snapshot is not None
    assert sorted(snapshot[1]) == ["a:1", "h", "i:1"]


@pytest.mark.anomaly("A-45")
def test_children_are_created_once(store: Store) -> None:
    execution = an_id(1)
    store.start(execution, running())
    child = Child(
        home="s0",
        execution=an_id(9),
        name="sub",
        generation=1,
        fields={"h": header()},
        event=b"start",
    )
    store.commit(store.sent(execution), running(children=(child,)))
    store.commit(store.sent(execution), running(children=(child,)))
    assert store.reader.running("sub") == (an_id(9),)
    loaded = store.executions.acquire(an_id(9), "d", LEASE_MS)
    assert loaded is not None
    assert (loaded.version, loaded.first_event, loaded.events) == (NOW, 1, (b"start",))
    changes = running(fields={"a:1": attempt()}, offers=offering().offers)
    assert store.commit(loaded, changes, name="sub").outcome is Outcome.OK
    assert len(store.poll()) == 1


@pytest.mark.anomaly("A-45")
def test_child_that_nobody_decides_is_woken_by_its_timer(store: Store) -> None:
    execution = store.started()
    child = Child(
        home="s0", execution=an_id(9), name="sub", generation=1, fields={"h": b"{}"}, event=b"s"
    )
    store.commit(store.sent(execution), running(children=(child,)))
    store.clock.advance(1_000)
    due = store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)
    assert [loaded.execution for loaded in due] == [an_id(9)]


def test_message_reaches_another_execution_and_arms_its_wake_up(store: Store) -> None:
    sender, target = store.started(1), store.started(2)
    store.commit(store.sent(sender), running(messages=(Message(execution=target, event=b"m"),)))
    store.clock.advance(1_000)
    (loaded,) = store.timers.claim_due(0, "s0", 10, "d", LEASE_MS)
    assert (loaded.execution, loaded.events) == (target, (b"m",))


def test_message_to_a_vanished_execution_creates_nothing(store: Store) -> None:
    sender = store.started(1)
    loaded = store.sent(sender)
    store.commit(loaded, running())
    before = store.keys()
    changes = running(messages=(Message(execution=an_id(5), event=b"m"),))
    loaded = store.sent(sender)
    assert store.commit(loaded, changes).outcome is Outcome.OK
    assert store.keys() == before


def test_message_that_is_waited_for_refuses_its_commit_where_nobody_would_get_it(
    store: Store,
) -> None:
    sender, target = store.started(1), store.started(2)
    loaded = store.sent(sender)
    wanted = tuple(
        Message(execution=execution, event=b"m", wanted=True) for execution in (target, an_id(5))
    )
    before = store.keys()
    assert store.commit(loaded, running(messages=wanted)).outcome is Outcome.RECEIVER_GONE
    assert store.keys() == before
    assert store.commit(loaded, running(messages=wanted[:1])).outcome is Outcome.OK
    received = store.executions.acquire(target, "d", LEASE_MS)
    assert received is not None
    assert received.events == (b"m",)


def test_thousand_attempts_in_one_commit(store: Store) -> None:
    execution = store.started()
    changes = offering(1_500)
    store.commit(store.sent(execution), changes)
    assert store.queues.sizes(0) == {("task", "s0"): (1_500, 0)}
    seqs = tuple(range(1, 1_501))
    deleted = tuple(f"i:{seq}" for seq in seqs)
    reply = store.commit(store.sent(execution), running(ended=seqs, deleted=deleted))
    assert reply.outcome is Outcome.OK
    assert store.queues.sizes(0) == {("task", "s0"): (0, 0)}


def test_thousand_children_and_messages_in_one_commit(store: Store) -> None:
    execution = store.started()
    children = tuple(
        Child(
            home="s0", execution=an_id(n), name="sub", generation=1, fields={"h": b"{}"}, event=b"s"
        )
        for n in range(10, 1_010)
    )
    messages = tuple(Message(execution=child.execution, event=b"m") for child in children)
    changes = running(children=children, messages=messages, own_events=(b"c",) * 5_000)
    reply = store.commit(store.sent(execution), changes)
    assert len(store.reader.running("sub")) == 1_000
    assert reply.more is not None
    assert len(reply.more.events) == 1_000


def test_documents_come_back_byte_for_byte(store: Store) -> None:
    document = '{"a":[],"b":{},"n":12345678901234567890,"f":1.0,"u":"\\u0000 é 漢 /"}'.encode()
    execution = store.started()
    changes = running(fields={"output": document, "h": header()})
    store.commit(store.sent(execution), changes)
    assert store.executions.load(execution, ["output"]) == (NOW + 1, {"output": document})


# ---------------------------------------------------------------------------------- lease and reads


def test_lease_is_taken_only_when_there_is_something_to_do(store: Store) -> None:
    execution = store.started()
    assert store.executions.acquire(execution, "d", LEASE_MS) is None
    loaded = store.sent(execution)
    assert store.executions.acquire(execution, "other", LEASE_MS) is None
    assert store.executions.acquire(execution, "d", LEASE_MS) is not None
    store.commit(loaded, running(due_ms=NOW + 10))
    store.clock.advance(9)
    assert store.executions.acquire(execution, "other", LEASE_MS) is None
    store.clock.advance(1)
    assert store.executions.acquire(execution, "other", LEASE_MS) is not None


@pytest.mark.anomaly("A-25")
def test_lease_is_renewed_by_its_holder_until_it_is_lost(store: Store) -> None:
    execution = store.started()
    store.sent(execution)
    store.clock.advance(LEASE_MS - 1)
    assert store.executions.renew(execution, "d", LEASE_MS)
    assert not store.executions.renew(execution, "other", LEASE_MS)
    store.clock.advance(LEASE_MS)
    assert not store.executions.renew(execution, "d", LEASE_MS)


def _fired(store: Store) -> list[ExecutionId]:
    return [due.execution for due in store.timers.claim_due(0, "s0", 10, "sweeper", LEASE_MS)]


def test_lease_that_is_given_up_is_free_and_its_timer_due_later(store: Store) -> None:
    execution = store.started()
    loaded = store.sent(execution)
    seen = loaded.first_event + len(loaded.events) - 1
    assert not store.executions.postpone(execution, "other", seen, 500)
    assert store.executions.postpone(execution, "d", seen, 500)
    assert not store.executions.postpone(execution, "d", seen, 500)
    store.clock.advance(499)
    assert not _fired(store)
    store.clock.advance(1)
    assert _fired(store) == [execution]


def test_lease_that_is_given_up_can_be_taken_for_what_waits_in_the_inbox(store: Store) -> None:
    execution = store.started()
    loaded = store.sent(execution)
    seen = loaded.first_event + len(loaded.events) - 1
    assert store.executions.postpone(execution, "d", seen, 500)
    again = store.executions.acquire(execution, "other", LEASE_MS)
    assert again is not None
    assert again.events == loaded.events


def test_lease_is_not_given_up_over_events_that_were_not_seen(store: Store) -> None:
    execution = store.started()
    loaded = store.sent(execution)
    store.executions.send(execution, store.operation(), b'{"t":"signal"}', "other", LEASE_MS)
    seen = loaded.first_event + len(loaded.events) - 1
    assert store.executions.postpone(execution, "d", seen, 500)
    assert _fired(store) == [execution]


def test_pointers_below_the_first_attempt_read_as_absent(store: Store) -> None:
    execution = store.started()
    fields = {"h": header(first_seq=2), "r:t1": b"1", "r:t2": b"2", "a:2": attempt()}
    store.commit(store.sent(execution), running(fields=fields))
    found = store.executions.load(execution, [">ao r:t1", ">ao r:t2"])
    assert found == (
        NOW + 1,
        {"r:t1": None, "r:t2": b"2", "a:2": attempt(), "o:2": None},
    )


def test_what_is_more_than_a_read_brings_is_left_out_and_is_not_absent(store: Store) -> None:
    execution = store.started()
    large = b"x" * (READ_BYTES + 1)
    store.commit(store.sent(execution), running(fields={"o:1": b"1", "o:2": large, "o:3": b"3"}))
    found = store.executions.load(execution, ["o:9", "o:1", "o:2", "o:3", "i:9"])
    assert found is not None
    assert found[1] == {"o:9": None, "o:1": b"1", "o:3": b"3", "i:9": None}
    alone = store.executions.load(execution, ["o:9", "o:2", "o:3", "i:9"])
    assert alone is not None
    assert alone[1] == {"o:9": None, "o:2": large, "i:9": None}


def test_of_many_large_fields_those_come_that_fit_and_the_others_when_they_are_asked_for(
    store: Store,
) -> None:
    execution = store.started()
    large = {f"o:{n}": b"%d" % n + b"x" * (READ_BYTES // 8) for n in range(1, 81, 8)}
    small = {f"a:{n}": attempt() for n in range(1, 81)}
    store.commit(store.sent(execution), running(fields={**large, **small}))
    wanted = [f"{kind}:{n}" for n in range(1, 83) for kind in "ao"]
    found = store.executions.load(execution, wanted)
    assert found is not None
    present = {**dict.fromkeys(wanted), **large, **small}
    assert {name: present[name] for name in found[1]} == found[1]
    assert len(large.keys() & found[1].keys()) == 7
    left = [name for name in wanted if name not in found[1]]
    rest = store.executions.load(execution, left)
    assert rest is not None
    assert {**found[1], **rest[1]} == present


def test_logs_are_kept_in_the_order_they_came(store: Store) -> None:
    execution = store.started(count=2)
    assert store.reader.append_log(execution, 2, "two words", 5) is Outcome.OK
    assert store.reader.append_log(execution, 1, "", 4) is Outcome.OK
    assert store.reader.append_log(execution, 3, "x", 4) is Outcome.UNKNOWN_TASK
    assert store.reader.logs(execution) == ((2, 5, "two words"), (1, 4, ""))


def test_lines_of_a_decision_are_there_with_its_commit_and_once(store: Store) -> None:
    logs = ((1, 5, "two words"), (1, 6, "[WARN] \n"))
    execution = an_id(1)
    store.start(execution, running(logs=logs[:1]))
    store.commit(store.sent(execution), running(logs=logs[1:]))
    assert store.reader.logs(execution) == logs
    store.start(execution, running(logs=logs[:1]))
    assert store.reader.logs(execution) == logs
    store.commit(store.sent(execution), running(logs=tuple((1, 7, "x") for _ in range(10_050))))
    assert store.reader.logs(execution) == ((1, 7, "x"),) * 10_000


def test_of_a_log_larger_than_its_bound_the_newest_lines_are_read(store: Store) -> None:
    execution = store.started()
    long = "x" * 100_000
    for number in range(180):
        store.reader.append_log(execution, 1, f"{number} {long}", number)
    read = store.reader.logs(execution)
    assert [at for _, at, _ in read] == list(range(180 - len(read), 180))
    assert len(read) == MOST_LOG_BYTES // len(f"1 100 100 {long}")
    assert store.reader.beside(execution).logs == read


@pytest.mark.anomaly("A-23")
@pytest.mark.anomaly("A-38")
def test_removal_compares_version_end_inbox_and_draining(store: Store) -> None:
    execution = store.started()
    remove = store.reader.remove
    assert remove(execution, NOW) is Outcome.STALE
    draining = completed(fields={"h": header(drain=1)}, own_events=(b"drain",))
    more = store.commit(store.sent(execution), draining).more
    assert more is not None
    assert remove(execution, more.version) is Outcome.STALE
    version = store.commit(more, completed(fields={"h": header(drain=1)})).version
    assert remove(execution, version) is Outcome.STALE
    version = store.commit(store.sent(execution), completed()).version
    store.sent(execution)
    assert remove(execution, version) is Outcome.STALE
    loaded = store.executions.acquire(execution, "d", LEASE_MS)
    assert loaded is not None
    version = store.commit(loaded, completed(ended=(1,))).version
    assert remove(execution, version - 1) is Outcome.STALE
    assert remove(execution, version) is Outcome.OK
    assert remove(execution, version) is Outcome.GONE
    assert store.reader.snapshot(execution) is None


def test_many_are_removed_at_once_each_under_its_own_conditions(store: Store) -> None:
    ended = [store.started(number) for number in (1, 2, 3)]
    versions = [store.commit(store.sent(one), completed()).version for one in ended]
    fragments = completed(fields={"h": header(frag=1), "d:f": b"plan"})
    versions[2] = store.commit(store.sent(ended[2]), fragments).version
    open_one, gone = store.started(4), an_id(5)
    archived = [
        (ended[0], versions[0]),
        (ended[1], versions[1] - 1),
        (ended[2], versions[2]),
        (open_one, NOW),
        (gone, 1),
    ]
    outcomes = store.reader.remove_plain(0, archived)
    assert outcomes == (Outcome.OK, Outcome.STALE, None, Outcome.STALE, Outcome.GONE)
    assert [store.reader.snapshot(one) is None for one, _ in archived] == [True, *3 * [False], True]
    assert store.reader.remove(ended[2], versions[2]) is Outcome.OK
    assert store.reader.remove_plain(0, ()) == ()


def test_several_are_read_at_once_those_that_are_small(store: Store) -> None:
    small, ended, wide, kept = (store.started(number) for number in (1, 2, 3, 4))
    for execution in (small, ended):
        store.reader.append_log(execution, 1, "a line", 5)
    version = store.commit(store.sent(ended), completed()).version
    many = {f"x:{number}": b"1" for number in range(FEW_FIELDS)}
    store.commit(store.sent(wide), running(fields=many))
    large = running(fields={"x:1": b"x" * (5 << 20)})
    store.commit(store.sent(kept), large)
    found = store.reader.several(0, [small, ended, wide, kept, an_id(9)])
    assert set(found) == {small, ended}
    for execution, read in found.items():
        assert (read.version, read.fields) == store.reader.snapshot(execution)
    assert found[ended].version == version
    assert found[ended].beside == store.reader.beside(ended) == Beside(logs=((1, 5, "a line"),))
    assert store.reader.several(0, []) == {}


@pytest.mark.anomaly("A-7")
@pytest.mark.anomaly("A-23")
@pytest.mark.anomaly("A-39")
def test_nothing_said_to_a_vanished_execution_creates_a_key(store: Store) -> None:
    gone, before = an_id(1), store.keys()
    stranger = Loaded(
        execution=gone, version=1, now_ms=NOW, first_event=1, events=(b"e",), fields={}
    )
    changes: Changes = offering(2)
    assert store.report(gone, 1, 0).outcome is Outcome.GONE
    assert store.executions.send(gone, "o", b"e", "d", LEASE_MS).outcome is Outcome.GONE
    assert store.commit(stranger, changes).outcome is Outcome.GONE
    assert store.executions.acquire(gone, "d", LEASE_MS) is None
    assert not store.executions.renew(gone, "d", LEASE_MS)
    assert store.executions.load(gone, ["h", ">a r:t1"]) is None
    assert store.queues.extend(gone, 1, 1, "w", 0, b"{}") == (Outcome.GONE, 0)
    assert store.reader.append_log(gone, 1, "line", 1) is Outcome.GONE
    assert store.reader.remove(gone, 1) is Outcome.GONE
    assert store.reader.logs(gone) == ()
    assert store.keys() == before


@pytest.mark.parametrize("once", [True, False])
def test_only_a_report_that_may_be_repeated_is_sent_again(newest_store: Store, once: bool) -> None:
    store, connection = newest_store, newest_store.connection
    assert connection is not None
    execution = store.started(1)
    (task,) = store.poll()
    connection.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
    refused = pytest.raises(StoreUnavailable) if once else nullcontext()
    with refused:
        assert store.report(execution, 1, task.claim, once=once).outcome is Outcome.OK


@pytest.mark.anomaly("A-64")
def test_start_and_poll_cost_one_round_trip_and_a_free_update_two(newest_store: Store) -> None:
    store, connection = newest_store, newest_store.connection
    assert connection is not None
    store.commit(claimed_and_reported(store), completed(ended=(1,)))  # the server knows the scripts
    store.clock.advance(1)
    trips = [connection.round_trips]
    execution = store.started(2)
    trips.append(connection.round_trips)
    (task,) = store.poll()
    trips.append(connection.round_trips)
    loaded = store.report(execution, 1, task.claim).loaded
    assert loaded is not None
    store.commit(loaded, completed(ended=(1,)))
    trips.append(connection.round_trips)
    assert [after - before for before, after in pairwise(trips)] == [1, 1, 2]

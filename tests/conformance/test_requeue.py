"""An attempt that a decision takes from its holder and offers again, on every store."""

from dataclasses import replace

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.inspector import OpenAttempt
from conductor_py.ports.queues import Claimed
from conductor_py.ports.store import ClaimGuard, Offer, Outcome
from tests.conformance.stores import LEASE_MS, Store, an_id, attempt, header, offering, running

OFFER = Offer(seq=1, queue="task", shard="s0", score=100)


def held(store: Store, **state: int) -> tuple[ExecutionId, Claimed]:
    execution = store.started(**state)
    (claimed,) = store.poll(worker="dead")
    return execution, claimed


def requeue(store: Store, execution: ExecutionId, claimed: Claimed, until: int) -> Outcome:
    guard = ClaimGuard(seq=1, claim=claimed.claim, until_ms=until)
    changes = replace(running(), offers=(OFFER,))
    return store.commit(store.sent(execution), changes, guards=(guard,)).outcome


def until_of(store: Store, execution: ExecutionId) -> int:
    found = store.inspector.inspect(execution)
    assert found is not None
    return found.places[1].timer_ms


def test_it_is_handed_out_once_more_under_a_higher_claim(store: Store) -> None:
    execution, claimed = held(store)
    assert not store.poll(worker="other")
    assert requeue(store, execution, claimed, until_of(store, execution)) is Outcome.OK
    assert until_of(store, execution) == 0
    (again,) = store.poll(worker="other")
    assert again.claim > claimed.claim
    assert not store.poll(worker="third")
    assert store.report(execution, 1, again.claim, worker="other").outcome is Outcome.OK


def test_its_former_holder_is_refused_at_once_and_later(store: Store) -> None:
    execution, claimed = held(store)
    requeue(store, execution, claimed, until_of(store, execution))
    for _ in range(2):
        for claim in (claimed.claim, 0):
            reply = store.report(execution, 1, claim, worker="dead")
            assert reply.outcome is Outcome.SUPERSEDED
            extended = store.queues.extend(execution, 1, claim, "dead", LEASE_MS, None)
            assert extended == (Outcome.SUPERSEDED, 0)
        store.poll(worker="other")


def test_its_former_holder_may_take_it_again(store: Store) -> None:
    execution, claimed = held(store)
    requeue(store, execution, claimed, until_of(store, execution))
    (again,) = store.poll(worker="dead")
    assert store.report(execution, 1, again.claim, worker="dead").outcome is Outcome.OK


def test_its_permit_is_free_for_another(store: Store) -> None:
    execution, claimed = held(store, lim=1)
    store.started(2, lim=1)
    assert not store.poll(worker="other")
    requeue(store, execution, claimed, until_of(store, execution))
    (taken,) = store.poll(worker="other")
    assert not store.poll(worker="third")
    found = store.inspector.inspect(execution)
    assert found is not None
    assert (found.places[1].permit_ms > 0) == (taken.execution == execution)


def test_a_result_that_came_in_between_wins(store: Store) -> None:
    execution, claimed = held(store)
    until, loaded = until_of(store, execution), store.sent(execution)
    store.report(execution, 1, claimed.claim, worker="dead", holder="another")
    guard = ClaimGuard(seq=1, claim=claimed.claim, until_ms=until)
    reply = store.commit(loaded, replace(running(), offers=(OFFER,)), guards=(guard,))
    assert reply.outcome is Outcome.CLAIM_MOVED
    assert not store.poll(worker="other")


def test_open_attempts_of_a_type_are_found_with_who_has_them(store: Store) -> None:
    for number in (1, 2, 3):
        states = {
            "h": header(first_seq=2, next_seq=7),
            "a:1": attempt(type="mail"),
            "a:2": attempt(type="mail", st="IN_PROGRESS"),
            "a:3": attempt(type="mail", st="COMPLETED"),
            "a:4": attempt(type="print"),
            "a:5": attempt(type="mail", gen=2),
            "a:6": attempt(type="ask", q="", st="IN_PROGRESS"),
        }
        offers = (replace(OFFER, seq=2), replace(OFFER, seq=4))
        changes = replace(offering(), fields=states, offers=offers)
        assert store.start(an_id(number), changes).outcome is Outcome.OK
    first, second, third = an_id(1), an_id(2), an_id(3)
    (claimed,) = store.poll(count=1)
    assert (claimed.execution, claimed.seq) == (first, 2)
    store.commit(store.sent(third), replace(running(), terminal=True, status="COMPLETED"))
    asked = (second, an_id(9), third, first)
    assert store.inspector.open_attempts(asked, "mail") == (
        OpenAttempt(second, 2, queued=True, held=False),
        OpenAttempt(first, 2, queued=True, held=True),
    )
    (asked_for,) = store.inspector.open_attempts((first,), "ask")
    assert (asked_for.seq, asked_for.queued) == (6, False)
    assert store.inspector.open_attempts(asked, "post") == ()
    assert store.inspector.open_attempts((), "mail") == ()


def test_an_execution_of_many_attempts_is_looked_through_whole(store: Store) -> None:
    fields = {f"a:{seq}": attempt(type="wide") for seq in range(1, 2502)}
    fields["h"] = header(next_seq=2502)
    offers = tuple(replace(OFFER, seq=seq) for seq in range(1, 2502))
    store.start(an_id(1), replace(offering(), fields=fields, offers=offers))
    found = store.inspector.open_attempts((an_id(1),), "wide")
    assert [one.seq for one in found] == list(range(1, 2502))

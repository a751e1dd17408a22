"""What the store promises of admission: counted, in order, in the same step as start and commit."""

from typing import Any

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.admission import Admission
from conductor_py.ports.store import Outcome, StartReply
from tests.conformance.stores import Store, an_id, completed, header, running

_YES, _NO = b'0 {"t":"yes"}', b'0 {"t":"no"}'
_LEAVE = Admission(key="wf:k", leave=True, admitted=_YES)


def _start(store: Store, number: int, *, limit: int = 1, **more: Any) -> StartReply:
    asked = Admission(key="wf:k", limit=limit, admitted=_YES, refused=_NO, **more)
    fields = {"h": header(akey="wf:k", alim=limit)}
    return store.start(an_id(number), running(fields=fields, admission=asked), holder="d")


def _end(store: Store, number: int) -> tuple[ExecutionId, ...]:
    loaded = store.executions.acquire(an_id(number), "d", 3_000) or store.sent(an_id(number))
    return store.commit(loaded, completed(admission=_LEAVE)).woken


def test_admitted_start_has_its_event_and_one_beyond_the_limit_has_none(store: Store) -> None:
    admitted, waiting = _start(store, 1).more, _start(store, 2)
    assert admitted is not None
    assert admitted.events == (_YES,)
    assert (waiting.outcome, waiting.more) == (Outcome.OK, None)
    assert store.executions.acquire(an_id(2), "d", 3_000) is None


def test_leaving_admits_the_one_that_asked_first(store: Store) -> None:
    for number in (1, 9, 5, 7):
        _start(store, number)
    assert _end(store, 1) == (an_id(9),)
    loaded = store.executions.acquire(an_id(9), "e", 3_000)
    assert loaded is not None
    assert loaded.events == (_YES,)
    assert store.executions.acquire(an_id(5), "e", 3_000) is None


def test_one_that_ended_while_it_waited_is_passed_over(store: Store) -> None:
    for number in (1, 2, 3):
        _start(store, number)
    assert _end(store, 2) == ()
    assert _end(store, 1) == (an_id(3),)


def test_rejected_start_leaves_nothing(store: Store) -> None:
    _start(store, 1)
    assert _start(store, 2, reject=True).outcome is Outcome.LIMITED
    assert store.executions.load(an_id(2), ["h"]) is None
    assert store.reader.running("wf") == (an_id(1),)


def test_commit_that_asks_is_admitted_waits_or_is_turned_away(store: Store) -> None:
    asked = Admission(key="wf:k", limit=1, admitted=_YES, refused=_NO)
    turned_away = Admission(key="wf:k", limit=1, admitted=_YES, refused=_NO, reject=True)
    fields = {"h": header(akey="wf:k", alim=1)}
    for number in (1, 2, 3):
        store.start(an_id(number), running(fields=fields))
    first = store.commit(store.sent(an_id(1)), running(admission=asked)).more
    second = store.commit(store.sent(an_id(2)), running(admission=asked)).more
    third = store.commit(store.sent(an_id(3)), running(admission=turned_away)).more
    assert first is not None
    assert third is not None
    assert (first.events, second, third.events) == ((_YES,), None, (_NO,))


def test_raised_limit_admits_those_that_wait_before_those_that_come(store: Store) -> None:
    for number in (1, 2):
        _start(store, number)
    _start(store, 3, limit=3)
    assert _end(store, 1) == (an_id(2), an_id(3))


def test_holder_that_ended_without_leaving_is_not_counted(store: Store) -> None:
    _start(store, 1)
    loaded = store.executions.acquire(an_id(1), "d", 3_000)
    assert loaded is not None
    store.commit(loaded, completed())
    admitted = _start(store, 2).more
    assert admitted is not None


def test_ended_execution_that_is_opened_again_counts(store: Store) -> None:
    _start(store, 1)
    _end(store, 1)
    fields = {"h": header(akey="wf:k", alim=1)}
    opened = running(fields=fields)
    store.commit(
        store.sent(an_id(1)),
        opened.__class__(status="RUNNING", terminal=False, generation=2, fields=fields),
    )
    assert _start(store, 2).more is None


def test_who_waits_gets_the_place_of_one_that_is_dropped(store: Store) -> None:
    loaded = _start(store, 1).more
    _start(store, 2)
    assert loaded is not None
    while store.quarantine.set_back(an_id(1), "d", loaded.version, "broken") == (Outcome.OK, False):
        pass
    damaged = header(akey="wf:k", alim=1)
    assert store.quarantine.drop_unreadable(an_id(1), damaged, admitted=_YES)
    second = store.executions.acquire(an_id(2), "d", 3_000)
    assert second is not None
    assert second.events == (_YES,)

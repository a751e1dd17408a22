"""What the store promises of chains: counted by root, in the same step, or refused whole."""

from dataclasses import replace
from typing import Any

from conductor_py.ports.chains import CHAIN_KEPT_MS, ChainRoom, ChainUse
from conductor_py.ports.store import Child, Outcome, StartReply
from tests.conformance.stores import Store, an_id, header, running

_ROOT = an_id(999)
_ONE = ChainUse(root=_ROOT, starts=1, nested=0, most_starts=3, most_nested=2)
_NESTED = replace(_ONE, starts=0, nested=1)


def _start(store: Store, number: int, use: ChainUse = _ONE, **more: Any) -> StartReply:
    execution = an_id(number, more.pop("partition", 0))
    return store.start(execution, running(chain=use), **more)


def _child(number: int) -> Child:
    fields = {"h": header()}
    return Child(
        home="s0", execution=an_id(number), name="wf", generation=1, fields=fields, event=b"0 {}"
    )


def test_start_beyond_the_bound_leaves_nothing_and_tells_what_has_room(store: Store) -> None:
    started = [_start(store, number).outcome for number in (1, 2, 3)]
    refused = _start(store, 4)
    assert started == [Outcome.OK] * 3
    assert (refused.outcome, refused.room) == (Outcome.CHAIN_FULL, ChainRoom(0, 2))
    assert store.executions.load(an_id(4), ["h"]) is None
    assert an_id(4) not in store.reader.running("wf")


def test_commit_beyond_the_bound_changes_nothing_and_one_within_it_goes_through(
    store: Store,
) -> None:
    _start(store, 1)
    loaded = store.sent(an_id(1))
    wide = replace(_ONE, starts=3)
    refused = store.commit(loaded, running(chain=wide, children=(_child(2), _child(3), _child(4))))
    assert (refused.outcome, refused.room) == (Outcome.CHAIN_FULL, ChainRoom(2, 2))
    assert store.reader.running("wf") == (an_id(1),)
    fits = running(chain=replace(_ONE, starts=2), children=(_child(2), _child(3)))
    assert store.commit(loaded, fits).outcome is Outcome.OK
    assert set(store.reader.running("wf")) == {an_id(1), an_id(2), an_id(3)}
    assert _start(store, 5).outcome is Outcome.CHAIN_FULL


def test_sub_workflows_are_counted_apart(store: Store) -> None:
    for number in (1, 2, 3):
        _start(store, number)
    nested = [_start(store, number, _NESTED).outcome for number in (4, 5)]
    refused = _start(store, 6, _NESTED)
    assert nested == [Outcome.OK] * 2
    assert (refused.outcome, refused.room) == (Outcome.CHAIN_FULL, ChainRoom(0, 0))


def test_repeats_of_a_start_and_of_a_commit_count_once(store: Store) -> None:
    for _ in range(5):
        assert _start(store, 1, operation="same").outcome is Outcome.OK
    loaded = store.sent(an_id(1))
    changes = running(chain=_ONE, children=(_child(2),))
    for _ in range(5):
        assert store.commit(loaded, changes, operation="same too").outcome is Outcome.OK
    assert _start(store, 3).outcome is Outcome.OK
    assert _start(store, 4).outcome is Outcome.CHAIN_FULL


def test_starts_that_are_refused_for_another_reason_count_nothing(store: Store) -> None:
    _start(store, 1, idempotency_key="k")
    for number in range(2, 7):
        assert _start(store, number, idempotency_key="k").outcome is Outcome.EXISTS
        assert _start(store, number, now_ms=1).outcome is Outcome.CLOCK
    assert _start(store, 7).outcome is Outcome.OK


def test_other_roots_and_other_partitions_have_room_of_their_own(store: Store) -> None:
    for number in (1, 2, 3):
        _start(store, number)
    other = replace(_ONE, root=an_id(998))
    assert _start(store, 4, other).outcome is Outcome.OK
    assert _start(store, 5, partition=1).outcome is Outcome.OK
    assert _start(store, 6).outcome is Outcome.CHAIN_FULL


def test_lowered_bound_leaves_no_room_rather_than_less_than_none(store: Store) -> None:
    for number in (1, 2, 3):
        _start(store, number)
    refused = _start(store, 4, replace(_ONE, most_starts=1))
    assert (refused.outcome, refused.room) == (Outcome.CHAIN_FULL, ChainRoom(0, 2))


def test_start_without_a_root_keeps_nothing_of_chains(store: Store) -> None:
    store.start(an_id(1), running())
    assert "chain:" not in str(store.keys())


def test_count_of_a_root_is_kept_for_an_hour_after_the_first(newest_store: Store) -> None:
    _start(newest_store, 1)
    assert newest_store.connection is not None
    key = f"{{test:0}}:chain:{_ROOT}"
    left = newest_store.connection.command("PTTL", key)
    assert CHAIN_KEPT_MS - 60_000 < int(left) <= CHAIN_KEPT_MS
    newest_store.connection.command("PEXPIRE", key, CHAIN_KEPT_MS // 2)
    _start(newest_store, 2)
    assert int(newest_store.connection.command("PTTL", key)) <= CHAIN_KEPT_MS // 2

"""Two users' texts that are joined into one key never make the key of two others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.decider.scheduling import queue_name
from conductor_py.model.ids import escaped
from conductor_py.ports.queues import PollData
from conductor_py.ports.store import Outcome, StartReply
from tests.conformance.stores import NOW, Store, an_id, header, running

_PARTITIONS = range(2)
_NAMES = st.text(alphabet=":%\n 3A25ab-@#", min_size=1, max_size=8)


@given(_NAMES, _NAMES, _NAMES, _NAMES)
def test_a_name_and_a_key_are_read_out_of_what_they_are_joined_into(
    name: str, key: str, other: str, another: str
) -> None:
    joined, theirs = f"{escaped(name)}:{key}", f"{escaped(other)}:{another}"
    assert (joined == theirs) == ((name, key) == (other, another))


_ACTIONS = st.tuples(_NAMES, _NAMES, st.integers(0, 99))


@given(_ACTIONS, _ACTIONS)
def test_an_action_of_a_handler_is_read_out_of_its_identity(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    joined, theirs = (f"{message}:{escaped(name)}:{at}" for message, name, at in (one, other))
    assert (joined == theirs) == (one == other)


def test_an_idempotency_key_does_not_reach_into_another_workflow(store: Store) -> None:
    assert _started(store, 1, "pay:eu", "7").outcome is Outcome.OK
    assert _started(store, 2, "pay", "eu:7").outcome is Outcome.OK
    assert _started(store, 3, "pay:eu", "7").existing == an_id(1)
    assert _started(store, 4, "pay", "eu:7").existing == an_id(2)


def test_a_key_that_a_release_before_has_written_still_holds_for_its_workflow(
    store: Store,
) -> None:
    if store.connection is None:
        pytest.skip("memory keeps nothing from one release to the next")
    assert _started(store, 1, "pay:eu", "7").outcome is Outcome.OK
    written = [key.decode() for key in store.connection.command("KEYS", "*idem:*")]
    if len(written) != 1:
        pytest.skip("of a cluster one node is asked; the script is the same")
    before = written[0].replace("pay%3Aeu", "pay:eu")
    assert store.connection.command("RENAME", written[0], before)
    assert _started(store, 2, "pay:eu", "7").existing == an_id(1)
    assert _started(store, 3, "pay", "eu:7").outcome is Outcome.OK


def test_a_poll_without_domain_takes_no_task_of_the_domain_that_its_type_spells(
    store: Store,
) -> None:
    assert queue_name("prod:pay", "") == queue_name("pay", "prod") == "prod:pay"
    store.started(type="pay")
    assert not store.poll(task_type="prod:pay")
    assert len(store.poll(task_type="pay")) == 1


def test_what_another_type_has_at_the_head_stays_there_in_its_order(store: Store) -> None:
    store.started(1, count=3, type="other")
    store.started(2, type="pay", score=900)
    assert [each.execution for each in store.poll(task_type="pay")] == [an_id(2)]
    assert [each.seq for each in store.poll(task_type="other")] == [1, 2, 3]


def test_however_many_another_type_has_at_the_head_they_hide_nothing_for_ever(
    store: Store,
) -> None:
    store.started(1, count=450, type="other")
    store.started(2, type="pay", score=900)
    polls = 0
    while not (found := store.poll(task_type="pay")):
        polls += 1
        assert polls < 5
    assert [each.execution for each in found] == [an_id(2)]

    store.started(3, type="pay", score=-1)
    assert [each.execution for each in store.poll(task_type="pay")] == [an_id(3)]
    assert [each.seq for each in store.poll(task_type="other", count=2)] == [1, 2]


def test_a_line_break_in_a_type_does_not_speak_for_a_domain(store: Store) -> None:
    store.queues.record_poll("pay\nprod", "", "w", ("s0",), NOW)
    store.queues.record_poll("pay", "a%0Ab", "w", ("s0",), NOW)
    rows = [data for at in _PARTITIONS for data in store.queues.poll_data(at)]
    found = {(data.queue, data.domain): data for data in rows}
    assert found.keys() == {("pay\nprod", ""), ("pay", "a%0Ab")}
    assert found["pay\nprod", ""] == PollData(
        queue="pay\nprod", domain="", worker="w", at_ms=NOW, shards={"s0": NOW}
    )


def _started(store: Store, number: int, name: str, key: str) -> StartReply:
    changes = running(fields={"h": header(name=name)})
    return store.start(
        an_id(number), changes, name=name, idempotency_key=key, on_existing="RETURN_EXISTING"
    )

"""What ``ExecutionReader.restore`` promises, on every store."""

import json
from typing import Any

import pytest

from conductor_py.ports.restore import LEAVES_AGAIN_MS, Restore
from conductor_py.ports.store import Child, Outcome
from tests.conformance.stores import NOW, Store, an_id, attempt, completed, header, running


def _restore(number: int = 1, **more: Any) -> Restore:
    ended = json.loads(header()) | {"st": "FAILED", "plan": "p1"}
    facts: dict[str, Any] = {
        "execution": an_id(number),
        "token": "t1",
        "version": NOW - 5,
        "home": "s0",
        "status": "FAILED",
        "generation": 2,
        "claim": 7,
        "fields": {"h": json.dumps(ended).encode(), "a:1": attempt(st="FAILED"), "o:1": b"{}"},
        "logs": ((1, 5, "a line"), (1, 6, "with spaces and \n ends")),
        "effect": f"{an_id(number)}:remove",
        "plans": ("p1",),
    }
    return Restore(**(facts | more))


def _ready(store: Store, number: int = 1) -> None:
    store.plans.put(0, "p1", b"{}", {})
    assert store.reader.begin_restore(an_id(number), "t1") == "t1"


def test_restored_execution_is_there_with_fields_logs_and_a_higher_version(store: Store) -> None:
    _ready(store)
    restore = _restore()
    assert store.reader.restore(restore) is Outcome.OK
    found = store.reader.snapshot(an_id(1))
    assert found == (NOW, restore.fields)
    assert store.reader.logs(an_id(1)) == restore.logs
    assert store.reader.running("wf") == ()
    assert store.timers.next_due_ms(0, "s0") == 0


def test_version_is_above_the_archived_one_even_when_the_clock_is_behind(store: Store) -> None:
    _ready(store)
    assert store.reader.restore(_restore(version=NOW + 50)) is Outcome.OK
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert found[0] == NOW + 51


def test_execution_that_is_there_is_left_alone(store: Store) -> None:
    _ready(store)
    store.start(an_id(1), running())
    assert store.reader.begin_restore(an_id(1), "t1") is None
    before = store.reader.snapshot(an_id(1))
    assert store.reader.restore(_restore()) is Outcome.EXISTS
    assert store.reader.snapshot(an_id(1)) == before
    _ready(store, 2)
    assert store.reader.restore(_restore(2)) is Outcome.OK
    assert store.reader.restore(_restore(2)) is Outcome.EXISTS
    assert store.reader.begin_restore(an_id(2), "t2") is None


def test_its_plans_must_be_there(store: Store) -> None:
    assert store.reader.begin_restore(an_id(1), "t1") == "t1"
    assert store.reader.restore(_restore()) is Outcome.NEED_PLAN
    assert store.reader.snapshot(an_id(1)) is None
    assert store.executions.load(an_id(1), ["h"]) is None
    store.plans.put(0, "p1", b"{}", {})
    assert store.reader.restore(_restore()) is Outcome.OK


def test_its_plan_is_kept_while_it_is_there(store: Store) -> None:
    _ready(store)
    store.reader.restore(_restore())
    store.clock.advance(90_000_000)
    assert store.plans.collect_unused(0, 86_400_000, 10) == (1, 0)
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert store.reader.remove(an_id(1), found[0]) is Outcome.OK
    store.clock.advance(90_000_000)
    assert store.plans.collect_unused(0, 86_400_000, 10) == (1, 1)


def test_it_is_ordered_to_leave_again_unless_that_is_ordered_already(store: Store) -> None:
    _ready(store)
    store.reader.restore(_restore())
    store.clock.advance(LEAVES_AGAIN_MS - 1)
    assert store.outbox.take(0, 10, 1_000) == ()
    store.clock.advance(1)
    (due,) = store.outbox.take(0, 10, 1_000)
    assert due.id == f"{an_id(1)}:remove"


def test_new_generation_begins_on_it(store: Store) -> None:
    _ready(store)
    store.reader.restore(_restore())
    reply = store.commit(store.sent(an_id(1)), running(generation=3))
    assert reply.outcome is Outcome.OK
    assert store.reader.running("wf") == (an_id(1),)


def test_many_fields(store: Store) -> None:
    _ready(store)
    restore = _restore()
    fields = {**restore.fields, **{f"o:{n}": b'{"n":1}' for n in range(2, 12_000)}}
    assert store.reader.restore(_restore(fields=fields)) is Outcome.OK
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert found[1] == fields


def test_attempt_that_has_not_begun_restores_nothing(store: Store) -> None:
    store.plans.put(0, "p1", b"{}", {})
    assert store.reader.restore(_restore()) is Outcome.GONE
    assert store.reader.snapshot(an_id(1)) is None


def test_who_comes_later_joins_the_attempt_that_is_under_way(store: Store) -> None:
    _ready(store)
    assert store.reader.begin_restore(an_id(1), "t2") == "t1"
    assert store.reader.restore(_restore(token="t2")) is Outcome.GONE
    assert store.reader.restore(_restore()) is Outcome.OK
    assert store.reader.restore(_restore()) is Outcome.EXISTS


def test_attempt_does_not_outlast_a_life_of_the_execution(store: Store) -> None:
    """A holder that slept comes with what the archive had before the execution went on."""
    _ready(store)
    assert store.reader.restore(_restore()) is Outcome.OK
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert store.reader.restore(_restore()) is Outcome.EXISTS
    assert store.reader.remove(an_id(1), found[0]) is Outcome.OK
    assert store.reader.restore(_restore()) is Outcome.GONE
    assert store.reader.begin_restore(an_id(1), "t2") == "t2"
    assert store.reader.restore(_restore()) is Outcome.GONE
    assert store.reader.snapshot(an_id(1)) is None
    assert store.reader.restore(_restore(token="t2")) is Outcome.OK


@pytest.mark.parametrize("kept", ["exec:", "ckpt:"])
def test_what_is_not_whole_does_not_come_back(newest_store: Store, kept: str) -> None:
    """I12: the store may lose a page that was put, and nobody is told."""
    store = newest_store
    assert store.connection is not None
    _ready(store)
    store.connection.command("HSET", f"{{test:0}}:{kept}{an_id(1)}", "number", "another")
    assert store.reader.restore(_restore()) is Outcome.GONE
    assert store.reader.snapshot(an_id(1)) is None
    assert store.reader.begin_restore(an_id(1), "t2") == "t2"
    assert store.reader.restore(_restore(token="t2")) is Outcome.OK
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert found[1] == _restore().fields


def test_child_that_starts_after_a_broken_off_attempt_starts(store: Store) -> None:
    assert store.reader.begin_restore(an_id(9), "t1") == "t1"
    store.start(an_id(1), running())
    child = Child(
        home="s0", execution=an_id(9), name="c", generation=1, fields={"h": header()}, event=b"s"
    )
    assert store.commit(store.sent(an_id(1)), running(children=(child,))).outcome is Outcome.OK
    assert store.executions.load(an_id(9), ["h"]) is not None
    assert store.reader.restore(_restore(9)) is Outcome.EXISTS


def test_execution_that_starts_after_a_broken_off_attempt_has_nothing_of_it(store: Store) -> None:
    assert store.reader.begin_restore(an_id(1), "t1") == "t1"
    assert store.reader.restore(_restore(fields={"h": header(), "x": b"1"})) is Outcome.NEED_PLAN
    store.start(an_id(1), running())
    found = store.reader.snapshot(an_id(1))
    assert found is not None
    assert "x" not in found[1]
    if store.connection is not None:
        assert store.connection.command("TTL", f"{{test:0}}:exec:{an_id(1)}") == -1
    store.plans.put(0, "p1", b"{}", {})
    version = store.commit(store.sent(an_id(1)), completed()).version
    assert store.reader.remove(an_id(1), version) is Outcome.OK
    assert store.reader.restore(_restore()) is Outcome.GONE


def test_an_attempt_that_is_ended_brings_nothing_back(store: Store) -> None:
    _ready(store)
    assert store.reader.cancel_restore(an_id(1))
    assert store.reader.restore(_restore()) is Outcome.GONE
    assert store.reader.snapshot(an_id(1)) is None
    assert store.reader.begin_restore(an_id(1), "t2") == "t2"


def test_one_that_is_back_stays_when_the_attempt_is_to_be_ended(store: Store) -> None:
    _ready(store)
    assert store.reader.restore(_restore()) is Outcome.OK
    assert not store.reader.cancel_restore(an_id(1))
    assert store.reader.snapshot(an_id(1)) is not None


@pytest.mark.parametrize("name", ["wf", "a:b"])
def test_a_key_is_let_go_by_who_holds_it(store: Store, name: str) -> None:
    start = {"name": name, "idempotency_key": "k", "on_existing": "FAIL"}
    assert store.start(an_id(1), running(), **start).outcome is Outcome.OK
    store.reader.release_key(an_id(2), name, "k")
    assert store.start(an_id(2), running(), **start).outcome is Outcome.EXISTS
    store.reader.release_key(an_id(1), name, "k")
    assert store.start(an_id(2), running(), **start).outcome is Outcome.OK

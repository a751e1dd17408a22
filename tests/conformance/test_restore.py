"""What ``ExecutionReader.restore`` promises, on every store."""

import json
from typing import Any

from conductor_py.ports.restore import LEAVES_AGAIN_MS, Restore
from conductor_py.ports.store import Outcome
from tests.conformance.stores import NOW, Store, an_id, attempt, header, running


def _restore(number: int = 1, **more: Any) -> Restore:
    ended = json.loads(header()) | {"st": "FAILED", "plan": "p1"}
    facts: dict[str, Any] = {
        "execution": an_id(number),
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


def _ready(store: Store) -> None:
    store.plans.put(0, "p1", b"{}", {})


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
    before = store.reader.snapshot(an_id(1))
    assert store.reader.restore(_restore()) is Outcome.EXISTS
    assert store.reader.snapshot(an_id(1)) == before
    assert store.reader.restore(_restore(2)) is Outcome.OK
    assert store.reader.restore(_restore(2)) is Outcome.EXISTS


def test_its_plans_must_be_there(store: Store) -> None:
    assert store.reader.restore(_restore()) is Outcome.NEED_PLAN
    assert store.reader.snapshot(an_id(1)) is None
    assert store.executions.load(an_id(1), ["h"]) is None
    _ready(store)
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

"""Who wants to hear of what may become due hears of each script that may have set it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from tests.conformance.stores import NOW, Clock, Store, redis_store
from tests.conftest import RealRedis


class _Connection:
    """Replies as it is told."""

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    def run(self, *_: Any, **__: Any) -> Any:
        if isinstance(self._reply, Exception):
            raise self._reply
        return self._reply


@pytest.mark.parametrize(
    ("name", "reply", "told"),
    [
        ("claim_due", [], 0),
        ("claim_due", [b"loaded"], 1),
        ("take_effects", [], 0),
        ("take_effects", [b"id", b"1 {}"], 1),
        ("poll_tasks", [NOW, 0, b""], 0),
        ("poll_tasks", [NOW, 0, b"", b"id", 1], 1),
        ("commit_decision", [b"OK"], 1),
        ("commit_decision", StoreUnavailable("it may have run"), 1),
        ("load_fields", [b"x"], 0),
        ("load_fields", StoreUnavailable("it is away"), 0),
    ],
)
def test_scripts_that_may_set_something_tell_of_it(name: str, reply: Any, told: int) -> None:
    changes: list[str] = []
    connection: Any = _Connection(reply)
    scripts = Scripts(connection, Namespace("test"), changed=lambda: changes.append(name))
    try:
        scripts.run(name, 0, ())
    except StoreUnavailable:
        assert isinstance(reply, Exception)
    assert len(changes) == told


@pytest.fixture
def store(newest_redis: RealRedis) -> Iterator[Store]:
    store = redis_store(newest_redis.url, Clock())
    yield store
    assert store.connection is not None
    store.connection.close()


def test_looks_that_find_nothing_tell_nothing_and_what_sets_a_timer_does(store: Store) -> None:
    changes: list[str] = []
    scripts: Any = store.timers
    scripts._scripts._changed = lambda: changes.append("changed")

    def told() -> int:
        found = len(changes)
        changes.clear()
        return found

    def look() -> int:
        store.timers.claim_due(0, "s0", 10, "here", 1_000)
        store.outbox.take(0, 10, 1_000)
        store.poll()
        return told()

    assert look() == 0
    store.started(1)
    assert told() == 1
    assert len(store.poll()) == 1
    assert told() == 1
    assert look() == 0
    store.clock.advance(60_000)
    assert look() > 0

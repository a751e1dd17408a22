"""An effect that is JSON and lacks what it orders costs its batch nothing: it is put aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import simple, typed, workflow
from tests.conftest import RealRedis
from tests.damage.world import PREFIX, World, made

_EXECUTION = "0" * 8 + "-0000-4000-8000-" + "0" * 12
_LACKING: dict[str, dict[str, Any]] = {
    "start": {"kind": "start"},
    "start-of-nobody": {"kind": "start", "task": "x"},
    "start-of-a-child": {"kind": "start", "task": f"{_EXECUTION}-1", "plan": "x"},
    "start-of-a-number": {"kind": "start", "task": 10**30},
    "post": {"kind": "post"},
    "post-to-nobody": {"kind": "post", "to": "x", "event": "{}"},
    "post-without-event": {"kind": "post", "to": _EXECUTION},
    "notify": {"kind": "notify"},
    "notify-without-payload": {"kind": "notify", "number": 1, "at": 1},
    "notify-of-a-text": {"kind": "notify", "number": "1", "at": 1, "payload": []},
    "admit": {"kind": "admit", "limit": 1},
    "admit-of-a-list": {"kind": "admit", "key": "k", "limit": [1]},
    "publish": {"kind": "publish", "at": 1},
    "discard": {"kind": "discard"},
    "index": {"kind": "index"},
    "remove": {"kind": "remove"},
    "forget": {"kind": "forget"},
    "no-kind": {},
    "kind-of-a-list": {"kind": ["start"]},
}


class _Stored:
    """Where the attack writes an effect: Redis, or the memory adapter."""

    def __init__(self, server: MemoryEngine, world: World | None) -> None:
        self.server = server
        self._world = world

    def attack(self, name: str, document: dict[str, Any]) -> str:
        effect = f"0000bad-{name}"
        text = orjson.dumps(document) if document.get("task") != 10**30 else _big()
        if self._world is None:
            self.server.ports.outbox.order(0, [(effect, text)])
        else:
            self._world.redis.hset(f"{PREFIX}effects", effect, b"1 " + text)
            self._world.redis.zadd(f"{PREFIX}outbox", {effect: 0})
        return f"0 outbox {effect}"

    def damaged(self) -> list[dict[str, Any]]:
        return [dict(one) for one in self.server.engine.quarantine.damaged()]


def _big() -> bytes:
    return b'{"kind":"start","task":' + b"9" * 40 + b"}"


@pytest.fixture(params=["redis", "memory"])
def stored(request: pytest.FixtureRequest, newest_redis: RealRedis) -> Iterator[_Stored]:
    if request.param == "memory":
        yield _Stored(memory_engine(), None)
        return
    world = made(newest_redis.url)
    world.redis.delete(f"{PREFIX}damaged")
    yield _Stored(world.server, world)
    world.close()


def _keyed(number: int) -> dict[str, Any]:
    asked = {"name": "target", "idempotencyKey": f"key {number}"}
    return workflow("keyed", typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": asked}))


def test_thirty_keyed_starts_go_on_beside_every_effect_that_lacks_a_member(
    stored: _Stored,
) -> None:
    server = stored.server
    server.register(workflow("target", simple("t")))
    entries = {stored.attack(name, document) for name, document in _LACKING.items()}
    started = [server.start(_keyed(number)) for number in range(30)]
    server.settle()
    assert {server.workflow(one)["status"] for one in started} == {"COMPLETED"}
    assert {one["entry"] for one in stored.damaged()} == entries


@pytest.mark.parametrize("name", _LACKING)
def test_an_effect_that_lacks_a_member_is_listed_waits_longer_is_retried_and_dropped(
    stored: _Stored, name: str
) -> None:
    server = stored.server
    entry = stored.attack(name, _LACKING[name])
    server.settle()
    (one,) = stored.damaged()
    assert (one["entry"], one["tries"]) == (entry, 1)
    assert "effect" in str(one["reason"])
    server.clock.advance(seconds=61)
    server.settle()
    assert [each["tries"] for each in stored.damaged()] == [2]

    server.engine.quarantine.retry_damaged(entry)
    assert stored.damaged() == []
    server.settle()
    assert [each["entry"] for each in stored.damaged()] == [entry]
    waiting = server.ports.outbox.size(0)
    server.engine.quarantine.drop_damaged(entry)
    assert stored.damaged() == []
    assert server.ports.outbox.size(0) == waiting - 1


def test_an_effect_that_is_mended_is_carried_out_and_not_listed_any_more(
    world: World, server: MemoryEngine
) -> None:
    stored = _Stored(server, world)
    started = server.start(workflow("w", simple("t")))
    entry = stored.attack("post", {"kind": "post"})
    server.settle()
    assert [one["entry"] for one in stored.damaged()] == [entry]
    post = {"kind": "post", "to": started, "event": '0 {"t":"start"}'}
    world.redis.hset(f"{PREFIX}effects", "0000bad-post", b"1 " + orjson.dumps(post))
    server.clock.advance(seconds=61)
    server.settle()
    assert stored.damaged() == []
    assert not world.redis.hexists(f"{PREFIX}effects", "0000bad-post")


@pytest.mark.parametrize("field", ["h", "v"])
@pytest.mark.parametrize("kind", ["forget", "remove", "index", "post"])
def test_an_effect_of_an_execution_that_is_damaged_costs_no_other(
    world: World, server: MemoryEngine, kind: str, field: str
) -> None:
    bad = server.start(workflow("w", simple("t")))
    server.settle()
    world.redis.hset(f"{PREFIX}exec:{bad}", field, "x")
    order = {"kind": kind, "to": bad, "event": '{"t":"decide"}'}
    world.redis.hset(f"{PREFIX}effects", f"{bad}:{kind}", b"1 " + orjson.dumps(order))
    world.redis.zadd(f"{PREFIX}outbox", {f"{bad}:{kind}": 0})
    good = server.start(workflow("w", simple("good")))
    server.run("good")
    server.settle()
    assert server.ports.search.archived(good) is not None


def test_what_is_put_aside_is_told_to_operators(world: World, server: MemoryEngine) -> None:
    stored = _Stored(server, world)
    entry = stored.attack("start", {"kind": "start"})
    server.settle()
    client = create_app(server.engine).test_client()
    listed = client.get("/api/admin/quarantine").get_json()["damaged"]
    assert [(one["entry"], one["reason"]) for one in listed] == [
        (entry, "the stored effect lacks task")
    ]
    dropped = client.post("/api/admin/quarantine/damaged/drop", query_string={"entry": entry})
    assert dropped.status_code == 200

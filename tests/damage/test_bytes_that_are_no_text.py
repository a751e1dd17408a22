"""Names that many share and that are no UTF-8: they stop nobody, and are told and dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from conductor_py.adapters.redis.file_records import RedisFileRecords
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.payload_holders import RedisPayloadHolders
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.testing import FakeClock, MemoryEngine
from tests.damage.beside import Beside
from tests.damage.world import PREFIX, World, schedule_of

_NO_TEXT = b"\xff\xfe"
_SHOWN = r"\xff\xfe"


def _effect(redis: Redis) -> None:
    redis.hset(f"{PREFIX}effects", _NO_TEXT, '1 {"kind":"index"}')
    redis.zadd(f"{PREFIX}outbox", {_NO_TEXT: 0})


def _stamped(redis: Redis, stamp: str) -> None:
    redis.hset(f"{PREFIX}effects", "bad:index", f'{stamp} {{"kind":"index"}}')
    redis.zadd(f"{PREFIX}outbox", {"bad:index": 0})


def _schedule(redis: Redis) -> None:
    whole = redis.hget(f"{PREFIX}schedules", "victim")
    assert isinstance(whole, bytes)
    redis.hset(f"{PREFIX}schedules", _NO_TEXT, whole)
    redis.zadd(f"{PREFIX}schedules:due", {_NO_TEXT: 0})


def _execution(redis: Redis, set_: str, prefix: bytes = b"", suffix: bytes = b"-1") -> None:
    """An execution that is whole, but for its id."""
    (queued,) = redis.zrange(f"{PREFIX}running:victim2", 0, 0)
    assert isinstance(queued, bytes)
    copied, key = _NO_TEXT + b"x" * 34, f"{PREFIX}exec:".encode()
    redis.execute_command("COPY", key + queued, key + copied)
    redis.zadd(f"{PREFIX}{set_}", {prefix + copied + suffix: 0})


_ATTACKS: dict[str, Callable[[Redis], object]] = {
    "until when a shard is swept": lambda r: r.hset(f"{PREFIX}swept", "s0", b"1\xb10"),
    "digits without end": lambda r: r.hset(f"{PREFIX}swept", "s0", "9" * 10_000),
    "who sweeps a shard": lambda r: r.hset(f"{PREFIX}swept", b"s9", _NO_TEXT),
    "a shard": lambda r: r.hset(f"{PREFIX}shards", _NO_TEXT, "0 0 "),
    "a shard's server": lambda r: r.hset(f"{PREFIX}shards", "s9", b"0 1 \xff"),
    "a shard's instant": lambda r: r.hset(f"{PREFIX}shards", "s9", "never 1 one"),
    "a server": lambda r: r.hset(f"{PREFIX}servers", _NO_TEXT, "9999999999999 1 "),
    "a server's instants": lambda r: r.hset(f"{PREFIX}servers", "other", "a b c"),
    "a server's shards": lambda r: r.hset(f"{PREFIX}servers", "x", b"9999999999999 1 \xff"),
    "a queue": lambda r: r.sadd(f"{PREFIX}queues", b"\xff", b"\xff\ns0", "no shard"),
    "a poll": lambda r: r.hset(f"{PREFIX}polldata", "elsewhere\n", "9" * 10_000 + " w"),
    "a poll of a shard": lambda r: r.hset(f"{PREFIX}polldata", b"\xff\n\ns0", b"\xff"),
    "an effect's stamp": lambda r: _stamped(r, "9" * 10_000),
    "a schedule's number": lambda r: r.hset(
        f"{PREFIX}schedules", "victim", f"1 1 {'9' * 10_000} 1 0 {{}}"
    ),
    "a revision": lambda r: r.set(f"{PREFIX}meta:revision", "9" * 10_000),
    "a sign of life": lambda r: r.hset(f"{PREFIX}signs", _NO_TEXT, "1 9999999999999 {}"),
    "an effect": _effect,
    "a schedule": _schedule,
    "a timer of an execution": lambda r: _execution(r, "timers:s0", b"x:", b""),
    "a timer of an attempt": lambda r: _execution(r, "timers:s0", b"a:"),
    "a workflow": lambda r: r.sadd(f"{PREFIX}meta:workflows", _NO_TEXT),
    "in quarantine": lambda r: r.zadd(f"{PREFIX}quarantine", {_NO_TEXT: 1}),
}


@pytest.mark.parametrize("attack", _ATTACKS)
def test_a_shared_name_that_is_no_text_stops_nobody(world: World, attack: str) -> None:
    _ATTACKS[attack](world.redis)
    beside = Beside(world)
    assert (beside.go_on(waits=True), beside.raised) == ("", [])


def test_what_is_no_name_is_in_no_list(world: World, server: MemoryEngine) -> None:
    redis, ports = world.redis, server.ports
    before = ports.metadata.workflows()
    redis.hset(f"{PREFIX}meta:workflow:kept", _NO_TEXT, "{}")
    redis.sadd(f"{PREFIX}meta:workflows", _NO_TEXT)
    redis.hset(f"{PREFIX}meta:tasks", _NO_TEXT, "{}")
    redis.hset(f"{PREFIX}meta:schemas", b"one \xff", "{}")
    redis.hset(f"{PREFIX}meta:tags:workflow", _NO_TEXT, "[]")
    redis.hset(f"{PREFIX}meta:handlers", mapping={_NO_TEXT: "x\n{}", "fine": b"\xff\n{}"})
    redis.sadd(f"{PREFIX}meta:handled:x", _NO_TEXT)
    redis.hset(f"{PREFIX}event:counts", mapping={"FAILED": "many", _NO_TEXT: 1, "DEAD": 2})
    redis.zadd(f"{PREFIX}running:victim", {_NO_TEXT: 1.5})
    redis.zadd(f"{PREFIX}quarantine", {_NO_TEXT: 1})

    assert ports.metadata.workflows() == before
    assert _SHOWN not in str(ports.metadata.tasks(None))
    assert _SHOWN not in str((ports.metadata.schemas(), ports.metadata.tags("workflow")))
    assert list(ports.events.handlers(None)) == ["fine", "x"]
    assert ports.events.handlers("x") == {}
    assert ports.events.counts() == {"DEAD": 2, "x": 1}
    assert len(ports.reader.running("victim")) == 1
    assert ports.quarantine.listed(0, 10) == ((), 0)


def _damaged(server: MemoryEngine) -> list[dict[str, Any]]:
    return [dict(one) for one in server.engine.quarantine.damaged()]


@pytest.mark.parametrize(
    ("attack", "set_"), [("an effect", "outbox"), ("a schedule", "schedules:due")]
)
def test_an_entry_whose_name_is_no_text_is_told_waits_longer_and_is_dropped(
    world: World, server: MemoryEngine, attack: str, set_: str
) -> None:
    _ATTACKS[attack](world.redis)
    for _ in range(50):
        server.engine.relay.tick()
        server.engine.scheduler.tick()
    (one,) = _damaged(server)
    assert (one["entry"], one["tries"]) == (f"0 {set_} {_SHOWN}", 1)
    world.clock.advance(seconds=61)
    server.settle()
    assert [each["tries"] for each in _damaged(server)] == [2]

    server.engine.quarantine.drop_damaged(one["entry"])
    for stored in ("effects", "schedules"):
        assert not world.redis.hexists(f"{PREFIX}{stored}", _NO_TEXT)
    assert world.redis.zscore(f"{PREFIX}{set_}", _NO_TEXT) is None
    assert _damaged(server) == []


def test_a_head_whose_name_is_no_text_leaves_the_queue_to_others(
    world: World, server: MemoryEngine
) -> None:
    _execution(world.redis, "queue:queued:s0")
    assert len(server.poll("queued", 5)) == 1
    (one,) = _damaged(server)
    assert one["entry"] == rf"0 delayed:queued:s0 {_SHOWN}{'x' * 34}-1"
    server.engine.quarantine.drop_damaged(one["entry"])
    assert not world.redis.exists(f"{PREFIX}delayed:queued:s0")


def test_an_entry_whose_name_is_no_text_is_looked_at_again_when_asked(
    world: World, server: MemoryEngine
) -> None:
    _effect(world.redis)
    server.settle()
    server.engine.quarantine.retry_damaged(f"0 outbox {_SHOWN}")
    assert _damaged(server) == []
    server.settle()
    assert [one["entry"] for one in _damaged(server)] == [f"0 outbox {_SHOWN}"]


def test_names_in_other_scripts_are_no_damage(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    names = ("Grüße", "日本", "\U0001d49c", "e\u0301", "\uffee")
    for name in names:
        server.schedule(schedule_of(name))
    clock.advance(seconds=61)
    for _ in names:
        server.engine.scheduler.tick()
    assert _damaged(server) == []
    assert len(server.poll("t", 10)) == len(names) + 1


@pytest.mark.parametrize(
    "name",
    [
        *(b"\x80", b"\xc0\x80", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80"),
        *(b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"a\xe2\x28\xa1"),
    ],
)
def test_scripts_know_text_as_everybody_else_does(
    world: World, server: MemoryEngine, name: bytes
) -> None:
    with pytest.raises(UnicodeDecodeError):
        name.decode()
    world.redis.hset(f"{PREFIX}effects", name, '1 {"kind":"index"}')
    world.redis.zadd(f"{PREFIX}outbox", {name: 0})
    assert all(each.id.isascii() for each in server.ports.outbox.take(0, 100, 1_000))
    assert len(_damaged(server)) == 1


@pytest.mark.parametrize("key", ["files:due", "payloads:due"])
def test_what_is_due_and_names_nothing_leaves(world: World, key: str) -> None:
    world.redis.zadd(f"{PREFIX}{key}", {_NO_TEXT: 0})
    scripts = Scripts(world.connection, Namespace("test"))
    store = RedisFileRecords if key == "files:due" else RedisPayloadHolders
    assert _NO_TEXT.decode(errors="replace") not in store(scripts).due(2**53, 100)
    assert world.redis.zscore(f"{PREFIX}{key}", _NO_TEXT) is None

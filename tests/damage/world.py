"""A real Redis with something of every kind in it, that can be damaged and put back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from redis import Redis

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import KEYS, KeyName
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.testing import FakeClock, MemoryEngine
from tests.builders import policy, simple, typed, workflow
from tests.engine.partitioned import engine_over, ports_over

_LIMITS = {
    "concurrentExecLimit": 2,
    "rateLimitPerFrequency": 5,
    "rateLimitFrequencyInSeconds": 600,
}
PREFIX = "{test:0}:"
_NAMES = sorted(KEYS, key=lambda kind: -len(kind.name))


def kind_of(key: str) -> KeyName | None:
    """The kind of a key of partition 0; ``None`` for a key that is not ours."""
    rest = key.removeprefix(PREFIX)
    for kind in _NAMES:
        if rest == kind.name or (kind.name.endswith(":") and rest.startswith(kind.name)):
            return kind
    return None


@dataclass
class World:
    """One server over a Redis whose clock stands still until ``advance``."""

    redis: Redis
    connection: Connection
    clock: FakeClock
    server: MemoryEngine
    saved: dict[bytes, bytes]
    began_ms: int
    waiting: str = ""
    plan: str = ""

    def restore(self) -> None:
        """Put everything back as it was before the damage, with a server that knows nothing."""
        self.redis.flushall()
        with self.redis.pipeline() as pipeline:
            for key, value in self.saved.items():
                pipeline.restore(key, 0, value)
            pipeline.execute()
        self.clock.now_ms = self.began_ms
        self._end_server()
        self.server = _server(self.connection, self.clock)

    def close(self) -> None:
        """Leave nobody behind who listens to this Redis."""
        self._end_server()
        self.connection.close()
        self.redis.close()

    def _end_server(self) -> None:
        wakeups = self.server.ports.wakeups
        assert isinstance(wakeups, RedisWakeups)
        wakeups.close()

    def spares(self, text: str) -> bool:
        """Tell whether it is of the execution that waits, whose own bytes stay whole."""
        return self.waiting in text or self.plan in text

    def keys(self, kind: KeyName) -> Iterator[str]:
        for key in sorted(self.saved):
            if kind_of(key.decode()) is kind:
                yield key.decode()


def _server(connection: Connection, clock: FakeClock) -> MemoryEngine:
    ports = ports_over(connection, 1, clock)
    server = engine_over(ports, connection, 1, clock)
    server.engine.shards.keep()
    return server


def schedule_of(name: str) -> dict[str, Any]:
    """Every minute an execution with a definition of its own."""
    return {
        "name": name,
        "cronExpression": "0 * * * * *",
        "startWorkflowRequest": {
            "name": name,
            "version": 1,
            "workflowDef": workflow(name, simple("t")),
        },
    }


def made(url: str) -> World:
    """Fill a Redis with something of each kind."""
    connection = Connection(url)
    redis = Redis.from_url(url)
    clock = FakeClock()
    server = _server(connection, clock)
    engine = server.engine
    server.register(workflow("kept", simple("a")), workflow("kept", simple("b")) | {"version": 2})
    server.register_tasks({"name": "a", "retryCount": 1, "ownerEmail": "a@b.c"})
    server.schedule(schedule_of("victim"))
    world = World(redis, connection, clock, server, {}, 0)
    world.waiting = server.start(
        workflow("healthy-wait", typed("WAIT", "w", inputParameters={"duration": "1 minute"}))
    )
    wait = typed("WAIT", "w", inputParameters={"duration": "30 seconds"})
    victim = server.start(workflow("victim", simple("a"), wait, simple("a2")), idempotency_key="k")
    server.run("a", {"x": 1})
    server.start(workflow("victim2", simple("queued")))
    server.start(
        workflow(
            "victim3",
            policy("limited", **_LIMITS),
        )
    )
    server.poll("limited")
    server.start(workflow("delayed", policy("d", startDelay=30)))
    paused = server.start(workflow("paused", simple("p")))
    engine.steering.pause(paused)
    server.poll("p")
    limited = workflow("rated", simple("r")) | {
        "rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}
    }
    server.start(limited)
    server.start(limited)
    server.start("kept")
    server.complete(server.poll("b")[0], status="FAILED")
    header = redis.hget(f"{PREFIX}exec:{world.waiting}", "h") or b"{}"
    world.plan = orjson.loads(header)["plan"]
    _fill(redis, victim)
    world.began_ms = clock.now_ms
    world.saved = {key: redis.dump(key) for key in redis.keys("*")}  # type: ignore[misc]
    return world


_WHOLE = {
    "erasure": ("removed", "1"),
    "signs": ("x", "1 1 {}"),
    "numbers": ("1", "1 x"),
    "meta:schemas": ("1 x", "{}"),
    "meta:handlers": ("x", "event\n{}"),
    "permits:": ("0", "1 1"),
}
_WHOLE_TEXTS = {"permitted:": "1 1 1", "audit": '{"runs":1,"began_ms":1,"ended_ms":1}'}
_NOT_PUT_THERE = ("schedules:halted", "room")
"""What means something by being there, and what every script removes."""


def _fill(redis: Redis, execution: str) -> None:
    """Write something of each kind that no execution has written."""
    present = {kind_of(bytes(key).decode()) for key in redis.keys("*")}  # type: ignore[arg-type]
    for kind in KEYS:
        suffix = execution if kind.meaning.startswith("<execution>") else "x"
        key = PREFIX + kind.name + (suffix if kind.name.endswith(":") else "")
        if kind in present or kind.name in _NOT_PUT_THERE:
            continue
        if kind.kind == "hash":
            redis.hset(key, *_WHOLE.get(kind.name, ("x", "1")))
        elif kind.kind == "zset":
            redis.zadd(key, {"x": 1})
        elif kind.kind == "set":
            redis.sadd(key, "x")
        elif kind.kind == "list":
            redis.rpush(key, "x")
        else:
            redis.set(key, _WHOLE_TEXTS.get(kind.name, "1"))

"""Conductor's own server out of Maven Central: as it ships, and on Redis without an index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks.peers.conductor import turn_of
from benchmarks.peers.peer import Peer, Ready
from benchmarks.peers.valkey import KEEPS, valkey
from benchmarks.peers.valkey import version as valkey_version
from benchmarks.server_part import Reached
from tests.services.conductor_java import conductor_java, version
from tests.services.ports import free_port

#: What a JVM needs until its pace is steady.
_WARM: Final = 6000
#: Its loops look for work all the time.
_IDLE_MS: Final = 250.0


@contextmanager
def _on_sqlite() -> Iterator[Ready]:
    with _server() as at:
        yield Ready(version=version(), pids=at.pids, turn=turn_of(at, warm=_WARM, loses=True))


@contextmanager
def _on_redis() -> Iterator[Ready]:
    port = free_port()
    settings = {
        "conductor.db.type": "redis_standalone",
        "conductor.queue.type": "redis_standalone",
        "conductor.redis.hosts": f"127.0.0.1:{port}:us-east-1c",
        "conductor.indexing.enabled": "false",
    }
    with valkey(port) as store, _server(settings, store.pid) as at:
        yield Ready(
            version=f"{version()}, {valkey_version()}",
            pids=at.pids,
            turn=turn_of(at, warm=_WARM, loses=True),
        )


@contextmanager
def _server(settings: dict[str, str] | None = None, *beside: int) -> Iterator[Reached]:
    with conductor_java(settings) as server:
        yield Reached(port=server.port, pids=(server.pid, *beside), idle_ms=_IDLE_MS)


ON_SQLITE: Final = Peer(
    name="java",
    title="Conductor (Java), as it ships",
    keeps="SQLite in a file (WAL); index in it",
    counted="all processes",
    start=_on_sqlite,
)
ON_REDIS: Final = Peer(
    name="java",
    title="Conductor (Java) on Redis",
    keeps=f"{KEEPS}; no index",
    counted="the server and Redis",
    start=_on_redis,
)

"""Shard names in memory: the reference implementation of the port."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from conductor_py.adapters.memory.space import MemorySpace

_NUMBERED = re.compile(r"s(\d+)\Z")


@dataclass(slots=True)
class _Server:
    until: int
    configured: bool


@dataclass(slots=True)
class _Shard:
    until: int
    server: str


def in_order(name: str) -> tuple[int, int, str]:
    """Order names: s0, s1, … s10, then configured ones by name."""
    found = _NUMBERED.match(name)
    return (0, int(found[1]), "") if found else (1, 0, name)


class MemoryShardRegistry:
    """``ShardRegistry`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the clock and the lock of the space."""
        self._lock = space.lock
        self._clock: Callable[[], int] = space.clock
        self._servers: dict[str, _Server] = {}
        self._shards: dict[str, _Shard] = {}

    def lease(self, server: str, wanted: tuple[str, ...], lease_ms: int) -> tuple[str, ...]:
        with self._lock:
            now = self._clock()
            self._servers = {
                name: other
                for name, other in self._servers.items()
                if other.until > now and name != server
            }
            mine = self._choose(server, wanted, now)
            self._servers[server] = _Server(now + lease_ms, bool(wanted))
            for name, shard in self._shards.items():
                if shard.server == server and name not in mine:
                    self._shards[name] = _Shard(0, "")
            for name in mine:
                self._shards[name] = _Shard(now + lease_ms, server)
            return tuple(sorted(mine, key=in_order))

    def _choose(self, server: str, wanted: tuple[str, ...], now: int) -> list[str]:
        names = sorted(self._shards, key=in_order)
        mine = [name for name in names if self._shards[name].server == server]
        held = {name: self._held_by(name, now) for name in names}
        spare = [name for name in names if name not in mine and not held[name]]
        counts = dict.fromkeys(self._servers, 0)
        for owner in held.values():
            if owner in counts:
                counts[owner] += 1
        if wanted:
            return [*dict.fromkeys((*mine, *spare, *wanted))]
        if not mine:
            many = any(n > 1 and not self._servers[name].configured for name, n in counts.items())
            if spare or many:
                return spare[:1]
            return [next(name for n in count() if (name := f"s{n}") not in self._shards)]
        if 0 in counts.values():
            return mine[:-1] if len(mine) > 1 else mine
        return mine + spare

    def _held_by(self, name: str, now: int) -> str:
        """Name the live server, other than the asking one, that holds a shard; empty: none."""
        shard = self._shards[name]
        return shard.server if shard.until > now and shard.server in self._servers else ""

    def live(self) -> tuple[str, ...]:
        with self._lock:
            held = {name for names in self.servers().values() for name in names}
            return tuple(sorted(held, key=in_order))

    def servers(self) -> dict[str, tuple[str, ...]]:
        with self._lock:
            now = self._clock()
            live = {name: server for name, server in self._servers.items() if server.until > now}
            return {
                server: tuple(
                    name
                    for name in sorted(self._shards, key=in_order)
                    if self._shards[name].server == server and self._shards[name].until > now
                )
                for server in sorted(live)
            }

    def release(self, server: str) -> None:
        with self._lock:
            self._servers.pop(server, None)
            for name, shard in self._shards.items():
                if shard.server == server:
                    self._shards[name] = _Shard(0, "")

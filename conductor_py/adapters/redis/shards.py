"""Shard names in Redis, in partition 0."""

from __future__ import annotations

import re
from typing import Final

from conductor_py.adapters.redis.scripts import Scripts

_NUMBERED: Final = re.compile(r"s(\d+)\Z")


def _in_order(name: str) -> tuple[int, int, str]:
    found = _NUMBERED.match(name)
    return (0, int(found[1]), "") if found else (1, 0, name)


class RedisShardRegistry:
    """``ShardRegistry`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def lease(self, server: str, wanted: tuple[str, ...], lease_ms: int) -> tuple[str, ...]:
        arguments = (self._scripts.now(), server, lease_ms, *wanted)
        names = self._scripts.run("lease_shards", 0, arguments)
        return tuple(sorted((name.decode() for name in names), key=_in_order))

    def live(self) -> tuple[str, ...]:
        held = {name for names in self.servers().values() for name in names}
        return tuple(sorted(held, key=_in_order))

    def servers(self) -> dict[str, tuple[str, ...]]:
        prefix, now = self._scripts.prefix(0), self._scripts.now_ms()
        present, held = self._scripts.connection.pipeline(
            [("HGETALL", f"{prefix}servers"), ("HGETALL", f"{prefix}shards")]
        )
        found: dict[str, list[str]] = {
            server: [] for server, until, _ in _leases(present) if until > now
        }
        for name, until, server in _leases(held):
            if until > now and server in found:
                found[server].append(name)
        return {server: tuple(sorted(found[server], key=_in_order)) for server in sorted(found)}

    def release(self, server: str) -> None:
        self._scripts.run("release_shards", 0, (server,))


def _leases(flat: list[bytes]) -> list[tuple[str, int, str]]:
    """Read a hash of '<until ms> <what>'."""
    found = []
    for at in range(0, len(flat), 2):
        until, _, what = flat[at + 1].decode().partition(" ")
        found.append((flat[at].decode(), int(until), what))
    return found

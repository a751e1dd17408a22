"""Shard names in Redis, in partition 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.shards import LiveServer, Shard, ShardView, shard_order


class RedisShardRegistry:
    """``ShardRegistry`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def lease(
        self, server: str, wanted: tuple[str, ...], lease_ms: int, terms: Mapping[str, int]
    ) -> dict[str, int]:
        arguments: list[Argument] = [self._scripts.now(), server, lease_ms, len(wanted), *wanted]
        for name, term in terms.items():
            arguments += (name, term)
        flat = self._scripts.run("lease_shards", 0, arguments)
        found = {flat[at].decode(): int(flat[at + 1]) for at in range(0, len(flat), 2)}
        return {name: found[name] for name in sorted(found, key=shard_order)}

    def make_known(self, name: str) -> None:
        # Held by nobody, until no instant, under the term before all.
        self._scripts.connection.command("HSETNX", f"{self._scripts.prefix(0)}shards", name, "0 0 ")

    def sweep(self, names: tuple[str, ...], lease_ms: int) -> None:
        self._scripts.run("sweep_shards", 0, (self._scripts.now(), lease_ms, *names))

    def view(self) -> ShardView:
        prefix, now = self._scripts.prefix(0), self._scripts.now_ms()
        present, held, swept = self._scripts.connection.pipeline(
            [("HGETALL", f"{prefix}{name}") for name in ("servers", "shards", "swept")]
        )
        servers = {server.name: server for server in _servers(present) if server.until_ms > now}
        sweepers = {name: int(until) for name, until in _pairs(swept) if until.isdecimal()}
        shards = []
        for stored in _shards(held):
            shard = replace(stored, swept_ms=sweepers.get(stored.name, 0))
            if shard.until_ms <= now or shard.server not in servers:
                shard = replace(shard, server="", until_ms=0)
            shards.append(shard)
        return ShardView(
            now_ms=now,
            servers=tuple(servers[name] for name in sorted(servers)),
            shards=tuple(sorted(shards, key=lambda shard: shard_order(shard.name))),
        )

    def release(self, server: str) -> None:
        self._scripts.run("release_shards", 0, (server,))


def _pairs(flat: list[bytes]) -> Iterator[tuple[str, str]]:
    for at in range(0, len(flat), 2):
        yield flat[at].decode(), flat[at + 1].decode()


def _servers(flat: list[bytes]) -> Iterator[LiveServer]:
    """Read ``<until ms> <renewed ms> <names>``; what has another form is of another version."""
    for name, text in _pairs(flat):
        until, _, rest = text.partition(" ")
        renewed, between, names = rest.partition(" ")
        if between:
            configured = tuple(filter(None, names.split(",")))
            yield LiveServer(
                name=name, configured=configured, renewed_ms=int(renewed), until_ms=int(until)
            )


def _shards(flat: list[bytes]) -> Iterator[Shard]:
    """Read ``<until ms> <term> <server>``; what has another form is held by nobody."""
    for name, text in _pairs(flat):
        until, _, rest = text.partition(" ")
        term, _, server = rest.partition(" ")
        if term.isdecimal():
            yield Shard(name=name, server=server, term=int(term), until_ms=int(until))
        else:
            yield Shard(name=name)

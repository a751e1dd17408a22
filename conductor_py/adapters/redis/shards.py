"""Shard names in Redis, in partition 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import names_of, number_of, pairs_of, shown
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
        found = {name: int(term) for name, term in pairs_of(flat)}
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
        sweepers = {name: number_of(until) or 0 for name, until in pairs_of(swept)}
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


def _servers(flat: list[bytes]) -> Iterator[LiveServer]:
    """Read ``<until ms> <renewed ms> <names>``; what has another form is of another version."""
    for name, text in pairs_of(flat):
        first, _, rest = text.partition(b" ")
        second, between, names = rest.partition(b" ")
        until, renewed = number_of(first), number_of(second)
        if between and until is not None and renewed is not None:
            configured = tuple(names_of([each for each in names.split(b",") if each]))
            yield LiveServer(name=name, configured=configured, renewed_ms=renewed, until_ms=until)


def _shards(flat: list[bytes]) -> Iterator[Shard]:
    """Read ``<until ms> <term> <server>``; what has another form is held by nobody."""
    for name, text in pairs_of(flat):
        first, _, rest = text.partition(b" ")
        second, _, server = rest.partition(b" ")
        until, term = number_of(first), number_of(second)
        if until is None or term is None:
            yield Shard(name=name)
        else:
            yield Shard(name=name, server=shown(server), term=term, until_ms=until)

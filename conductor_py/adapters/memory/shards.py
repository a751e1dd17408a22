"""Shard names in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.shards import LiveServer, Shard, ShardView, shard_order


class MemoryShardRegistry:
    """``ShardRegistry`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the clock and the lock of the space."""
        self._lock = space.lock
        self._clock: Callable[[], int] = space.clock
        self._servers: dict[str, LiveServer] = {}
        self._shards: dict[str, Shard] = {}
        self._swept: dict[str, int] = {}

    def lease(
        self, server: str, wanted: tuple[str, ...], lease_ms: int, terms: Mapping[str, int]
    ) -> dict[str, int]:
        with self._lock:
            now = self._clock()
            until = now + lease_ms
            others = {name: each for name, each in self._live(now).items() if name != server}
            refused = {
                name
                for name, term in terms.items()
                if name in self._shards and self._shards[name].term != term
            }
            chosen = self._choose(server, wanted, others, now)
            self._servers = others
            self._servers[server] = LiveServer(
                name=server, configured=wanted, renewed_ms=now, until_ms=until
            )
            for name in self._held(server, now):
                if name not in chosen:
                    self._shards[name] = replace(self._shards[name], server="", until_ms=0)
            for name in chosen:
                if name not in refused and not self._is_shared(name, others, now):
                    self._take(name, server, now, until)
            return {
                name: self._shards[name].term
                for name in sorted(chosen, key=shard_order)
                if name not in refused
            }

    def _choose(
        self, server: str, wanted: tuple[str, ...], others: dict[str, LiveServer], now: int
    ) -> list[str]:
        names = sorted(self._shards, key=shard_order)
        mine = self._held(server, now)
        counts = {name: len(self._held(name, now)) for name in others}
        promised = {name for other in others.values() for name in other.configured}
        spare = [
            name
            for name in names
            if name not in mine and name not in promised and not self._holder(name, others, now)
        ]
        # What was its own comes first.
        spare.sort(key=lambda name: self._shards[name].server != server)
        if wanted:
            return [*dict.fromkeys((*mine, *spare, *wanted))]
        if not mine:
            many = any(n > 1 and not others[name].configured for name, n in counts.items())
            if spare or many:
                return spare[:1]
            return [next(name for n in count() if (name := f"s{n}") not in self._shards)]
        if any(not n and not others[name].configured for name, n in counts.items()):
            return mine[:-1] if len(mine) > 1 else mine
        return mine + spare

    def _take(self, name: str, server: str, now: int, until: int) -> None:
        before = self._shards.get(name, Shard(name=name))
        held = before.server == server and before.until_ms > now
        term = before.term if held else max(before.term + 1, now)
        self._shards[name] = Shard(name=name, server=server, term=term, until_ms=until)

    def _held(self, server: str, now: int) -> list[str]:
        """Name what a server's lease on has not expired, in order."""
        held = [s.name for s in self._shards.values() if s.server == server and s.until_ms > now]
        return sorted(held, key=shard_order)

    def _holder(self, name: str, others: dict[str, LiveServer], now: int) -> LiveServer | None:
        """Find the live other server that holds a shard."""
        shard = self._shards.get(name)
        return others.get(shard.server) if shard and shard.until_ms > now else None

    def _is_shared(self, name: str, others: dict[str, LiveServer], now: int) -> bool:
        """Tell whether another server holds it and is configured for it, too."""
        holder = self._holder(name, others, now)
        return holder is not None and name in holder.configured

    def _live(self, now: int) -> dict[str, LiveServer]:
        return {name: each for name, each in self._servers.items() if each.until_ms > now}

    def make_known(self, name: str) -> None:
        with self._lock:
            self._shards.setdefault(name, Shard(name=name))

    def sweep(self, names: tuple[str, ...], lease_ms: int) -> None:
        with self._lock:
            self._swept |= dict.fromkeys(names, self._clock() + lease_ms)

    def view(self) -> ShardView:
        with self._lock:
            now = self._clock()
            live = self._live(now)
            shards = []
            for name in sorted(self._shards, key=shard_order):
                shard = replace(self._shards[name], swept_ms=self._swept.get(name, 0))
                if shard.until_ms <= now or shard.server not in live:
                    shard = replace(shard, server="", until_ms=0)
                shards.append(shard)
            servers = tuple(live[name] for name in sorted(live))
            return ShardView(now_ms=now, servers=servers, shards=tuple(shards))

    def release(self, server: str) -> None:
        with self._lock:
            self._servers.pop(server, None)
            for name, shard in self._shards.items():
                if shard.server == server:
                    self._shards[name] = replace(shard, server="", until_ms=0)

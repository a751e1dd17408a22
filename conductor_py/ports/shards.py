"""Shards: which server serves which slice of the queues just now. Routing only; no invariant needs
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Protocol

from conductor_py.records import dataclass

_NUMBERED: Final = re.compile(r"s(\d+)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A shard name: who holds it (empty: nobody) under which term, until when, and until when a
    sweeper of its own said that it fires its timers (0: none ever did). Epoch ms.
    """

    name: str
    server: str = ""
    term: int = 0
    until_ms: int = 0
    swept_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveServer:
    """A server whose presence has not expired, and the names it is configured for. Epoch ms."""

    name: str
    configured: tuple[str, ...] = ()
    renewed_ms: int = 0
    until_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardView:
    """All live servers, and every shard name that is known, in order."""

    now_ms: int
    servers: tuple[LiveServer, ...]
    shards: tuple[Shard, ...]

    def served_by(self, server: LiveServer) -> tuple[str, ...]:
        """The names that a server serves: those it holds and those it is configured for."""
        held = (shard.name for shard in self.shards if shard.server == server.name)
        return tuple(sorted({*held, *server.configured}, key=shard_order))

    @property
    def live(self) -> tuple[str, ...]:
        """The names that a live server serves, in order."""
        names = {name for server in self.servers for name in self.served_by(server)}
        return tuple(sorted(names, key=shard_order))


class ShardRegistry(Protocol):
    """Leased shard names, one registry a namespace."""

    def lease(
        self, server: str, wanted: tuple[str, ...], lease_ms: int, terms: Mapping[str, int]
    ) -> dict[str, int]:
        """Renew this server's presence and names, and take names for it; returns the names it
        serves, each with the term it is held under.

        With ``wanted`` names given (configuration) it serves those: it takes them from whoever is
        not configured for them, and shares them with whoever is. Without, a server that holds none
        takes the first free of s0, s1, …. Every name that was leased and expired, and that no live
        server is configured for, is taken over as well; one name is given back when a live server
        without a name is present.

        A name gets a new, higher term whenever it is taken, after its lease expired as well.
        ``terms`` are those that the asking process believes in: a name whose term has moved on is
        neither renewed nor in the answer, so that a process that slept learns that it lost it and
        asks anew.
        """

    def make_known(self, name: str) -> None:
        """Let a live server take over a name that nobody has leased yet, as it does those that
        expired; one that is known is left as it is.
        """

    def sweep(self, names: tuple[str, ...], lease_ms: int) -> None:
        """Say that the timers of these shards are fired by a sweeper of their own for so long."""

    def view(self) -> ShardView:
        """Look at all of it."""

    def release(self, server: str) -> None:
        """Give everything back (clean stop)."""


def shard_order(name: str) -> tuple[int, int, str]:
    """Order names: s0, s1, … s10, then configured ones by name."""
    found = _NUMBERED.match(name)
    return (0, int(found[1]), "") if found else (1, 0, name)

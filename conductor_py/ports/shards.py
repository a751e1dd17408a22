"""Shards: which server serves which slice of the queues just now. Routing only; no invariant needs
it.
"""

from __future__ import annotations

from typing import Protocol


class ShardRegistry(Protocol):
    """Leased shard names, one registry a namespace."""

    def lease(self, server: str, wanted: tuple[str, ...], lease_ms: int) -> tuple[str, ...]:
        """Renew this server's presence and names, and take names for it; returns the names it
        holds.

        With ``wanted`` names given (configuration) it holds those, whoever held them before.
        Without, a server that holds none takes the first free of s0, s1, …. Every name that has
        work (was leased and expired) and that no live server holds is taken over as well; a server
        that was configured for it takes it back, and one name is given back when a live server
        without a name is present.
        """

    def live(self) -> tuple[str, ...]:
        """List the shard names that a live server holds, in order."""

    def servers(self) -> dict[str, tuple[str, ...]]:
        """List live servers with the names they hold."""

    def release(self, server: str) -> None:
        """Give everything back (clean stop)."""

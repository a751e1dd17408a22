"""Sweepers that have nothing to do: they sleep until something is due, not round after round.

In a real deployment they look five times a second. Here they sleep until the earliest timer or
effect, and whoever writes an earlier one wakes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.testing.simulation.loop import MS, SECOND
from conductor_py.testing.simulation.process import Server

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World


class Sleepers:
    """Who sleeps until when."""

    def __init__(self, world: World) -> None:
        """Nobody sleeps."""
        self._world = world
        self._sleeping: dict[str, tuple[Server, int]] = {}

    def next_sweep(self, server: Server) -> int:
        """Choose when an idle sweeper looks again: a moment after something is due."""
        now = self._world.loop.now
        due_ms = self._world.space.next_due_ms()
        until = now + self._world.keep_every
        if due_ms is not None:
            overdue = now - self._world.instant(due_ms)
            # What another is to fire is looked at again and again, less and less often.
            soonest = now + (min(max(overdue, 50 * MS), 2 * SECOND) if overdue >= 0 else 0)
            until = min(until, max(self._world.instant(due_ms), soonest))
        until += int(server.chance.random() * 100 * MS)
        self._sleeping[server.name] = (server, until)
        return until

    def alarm(self, due_ms: int) -> None:
        """Wake those who would sleep past what is due at an instant of the store."""
        if not self._sleeping:
            return
        at = self._world.instant(due_ms)
        for name, (server, until) in list(self._sleeping.items()):
            if at + 100 * MS < until and server.strand is not self._world.loop.current:
                del self._sleeping[name]
                self._wake_at(
                    server,
                    max(at - self._world.loop.now, MS) + int(server.chance.random() * 50 * MS),
                )

    def _wake_at(self, server: Server, after: int) -> None:
        if server.alive and server.strand is not None:
            self._world.loop.wake(server.strand, after)
            self._sleeping[server.name] = (server, self._world.loop.now + after)

    def wake_all(self) -> None:
        """Let everybody look what is due: for example when the clock has stepped."""
        for server, _ in list(self._sleeping.values()):
            self._wake_at(server, MS)

    def woke_up(self, server: Server) -> None:
        """A sweeper does not sleep any more."""
        self._sleeping.pop(server.name, None)


__all__ = ["Sleepers"]

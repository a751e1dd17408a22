"""Shards: which slice of the queues this server serves, and where the next task goes.

Round-robin gives each task to the next live shard in turn and lets a server with nothing to do take
from the others; local-only keeps an execution's tasks with the server that started it. A process
beside the servers can serve all shards and hold none. Routing only: no invariant needs it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from conductor_py.ports.shards import ShardRegistry

ROUND_ROBIN = "roundRobin"
LOCAL_ONLY = "localOnly"


class Shards:
    """The shards of one server, kept leased by ``keep``, called at least every ``lease_ms / 12``.

    A name is written down for two thirds of ``lease_ms`` and looked at in less than a third, so
    those of a server that is gone are served by another within one ``lease_ms``.
    """

    def __init__(
        self,
        registry: ShardRegistry,
        server: str,
        *,
        strategy: str = ROUND_ROBIN,
        names: tuple[str, ...] = (),
        serves_all: bool = False,
        lease_ms: int = 10_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``names`` are configured ones; without, names are leased.

        With ``serves_all`` nothing is leased: this process serves what all live servers hold.
        """
        self._registry = registry
        self.server = server
        self.strategy = strategy
        self._names = names
        self._serves_all = serves_all
        self._lease_ms = lease_ms
        self._monotonic = monotonic
        self._own: tuple[str, ...] = ()
        self._live: tuple[str, ...] = ()
        self._renewed_at = float("-inf")
        self._turn = itertools.count()
        self._lock = threading.Lock()

    def keep(self, *, force: bool = False) -> None:
        """Renew the lease when a quarter of it has passed, and see who else is there."""
        with self._lock:
            age_ms = (self._monotonic() - self._renewed_at) * 1000
            if not force and age_ms < self._lease_ms / 4:
                return
            if not self._serves_all:
                self._own = self._registry.lease(self.server, self._names, self._lease_ms * 2 // 3)
            self._live = self._registry.live()
            if self._serves_all:
                self._own = self._live
            self._renewed_at = self._monotonic()

    @property
    def own(self) -> tuple[str, ...]:
        """The shards this server serves; the first is where its executions are at home."""
        self.keep()
        return self._own

    @property
    def home(self) -> str:
        """The home shard of executions that start here."""
        own = self._names or self.own
        return own[0] if own else (self._live[0] if self._live else "s0")

    def pick(self, home: str) -> str:
        """The shard of the next queue entry of an execution at home in ``home``."""
        if self.strategy == LOCAL_ONLY:
            return home
        self.keep()
        live = self._live
        return live[next(self._turn) % len(live)] if live else home

    def to_poll(self) -> tuple[str, ...]:
        """The shards a poll looks at, in order: its own, and under round-robin then the others."""
        own = self.own
        if self.strategy == LOCAL_ONLY:
            return own
        return (*own, *(name for name in self._live if name not in own))

    def release(self) -> None:
        """Give the names back (clean stop)."""
        if not self._serves_all:
            self._registry.release(self.server)
        self._renewed_at = float("-inf")

"""Shards: which slice of the queues this server serves, and where the next task goes.

Round-robin gives each task to the next live shard in turn and lets a server with nothing to do take
from the others; local-only keeps an execution's tasks and due timers with the server that started
it. A process beside the servers can serve all shards and hold none. Routing only: no invariant
needs it.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from conductor_py.model.homes import shard_of
from conductor_py.model.json import JsonObject
from conductor_py.ports.shards import LiveServer, ShardRegistry, ShardView

ROUND_ROBIN = "roundRobin"
LOCAL_ONLY = "localOnly"

_LOG = logging.getLogger(__name__)
_NOTHING: Final = ShardView(now_ms=0, servers=(), shards=())


class Shards:
    """The shards of one server, kept leased by ``keep``, called at least every ``lease_ms / 12``.

    A name is written down for two thirds of ``lease_ms`` and looked at in less than a third, so
    those of a server that is gone are served by another within one ``lease_ms``. What was read
    longer ago than a fourth of it is not gone by: a process that was frozen serves nothing before
    it has renewed, and renews only what still has the term it knows.
    """

    def __init__(
        self,
        registry: ShardRegistry,
        server: str,
        *,
        strategy: str = ROUND_ROBIN,
        names: tuple[str, ...] = (),
        serves_all: bool = False,
        sweeps: bool = False,
        lease_ms: int = 10_000,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``names`` are configured ones; without, names are leased.

        With ``serves_all`` nothing is leased: this process serves what all live servers hold.
        ``sweeps``: this process fires the timers of its shards, and says so.
        """
        self._registry = registry
        self.server = server
        self.strategy = strategy
        self._names = names
        self._serves_all = serves_all
        self._sweeps = sweeps
        self._lease_ms = lease_ms
        self._monotonic = monotonic
        self._terms: dict[str, int] = {}
        self._own: tuple[str, ...] = ()
        self._live: tuple[str, ...] = ()
        self._known: tuple[str, ...] = ()
        self._to_sweep: tuple[str, ...] = ()
        self._renewed_at = float("-inf")
        self._turn = itertools.count()
        self._lock = threading.Lock()

    def keep(self, *, force: bool = False) -> None:
        """Renew the lease when a quarter of it has passed, and see who else is there."""
        with self._lock:
            asked_at = self._monotonic()
            age_ms = (asked_at - self._renewed_at) * 1000
            if not force and age_ms < self._lease_ms / 4:
                return
            lost = self._lease()
            view = self._registry.view()
            self._live = view.live
            self._known = tuple(shard.name for shard in view.shards)
            self._own = self._live if self._serves_all else tuple(self._terms)
            self._to_sweep = self._swept_here(view)
            # Counted from the question: it was answered while this process may have slept.
            self._renewed_at = float("-inf") if lost else asked_at

    def _lease(self) -> bool:
        """Renew, and tell whether a name that was ours is not: then it is asked for anew."""
        if self._serves_all:
            return False
        before = self._terms
        self._terms = self._registry.lease(
            self.server, self._names, self._lease_ms * 2 // 3, before
        )
        lost = [name for name in before if name not in self._terms]
        if lost:
            _LOG.warning(
                "Shards are not this server's any more",
                extra={"action": "shards_lost", "server": self.server, "shards": lost},
            )
        return bool(lost)

    def _swept_here(self, view: ShardView) -> tuple[str, ...]:
        """Choose the shards whose timers this process fires: its own, and those that no sweeper
        answers for.
        """
        if not self._sweeps or (self._serves_all and self.strategy == ROUND_ROBIN):
            return self._every(view) if self._serves_all else self._own
        mine = self._names if self._serves_all else self._own
        if mine:
            self._registry.sweep(mine, self._lease_ms * 2 // 3)
        # Those that never had a sweeper of their own are left to the processes beside the servers.
        least = 0 if self._serves_all else 1
        left = (
            shard.name
            for shard in view.shards
            if shard.name not in mine and least <= shard.swept_ms <= view.now_ms
        )
        return (*mine, *left)

    def _every(self, view: ShardView) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*view.live, *(shard.name for shard in view.shards))))

    @property
    def own(self) -> tuple[str, ...]:
        """The shards this server serves; the first is where its executions are at home."""
        self.keep()
        return self._own

    @property
    def home(self) -> str:
        """The home shard of executions that start here."""
        if self._serves_all:
            return self._home_beside()
        own = self._names or self.own
        return own[0] if own else (self._live[0] if self._live else self._home_of_nobody())

    def _home_beside(self) -> str:
        """Choose a home for what a process beside the servers starts: its own rack when somebody
        serves that, else the live ones in turn.
        """
        live = self.own
        if not live:
            return self._home_of_nobody()
        near = [name for name in self._names if name in live]
        return near[0] if near else live[next(self._turn) % len(live)]

    def _home_of_nobody(self) -> str:
        """Choose a home while nobody serves any. Servers take over every known name, and no other
        but their own: one that is not known yet becomes so before anything is at home there.
        """
        name = next(iter((*self._names, *self._known)), "s0")
        if name not in self._known:
            self._registry.make_known(name)
            self._known = (*self._known, name)
        return name

    def pick(self, home: str) -> str:
        """The shard of the next queue entry of an execution at home in ``home``."""
        if self.strategy == LOCAL_ONLY:
            return shard_of(home)
        self.keep()
        live = self._live
        return live[next(self._turn) % len(live)] if live else shard_of(home)

    def to_poll(self) -> tuple[str, ...]:
        """The shards a poll looks at, in order: its own, and under round-robin then the others."""
        own = self.own
        if self.strategy == LOCAL_ONLY:
            return own
        return (*own, *(name for name in self._live if name not in own))

    def to_sweep(self) -> tuple[str, ...]:
        """The shards whose due timers this process fires.

        Those of its server, and those whose own sweeper has fallen silent. Beside the servers: all
        under round-robin; under local-only those of its configured names, and those that no server
        sweeps itself.
        """
        self.keep()
        return self._to_sweep

    def view(self) -> ShardView:
        """Look at all servers and shards."""
        return self._registry.view()

    def servers(self) -> tuple[JsonObject, ...]:
        """List the live servers with their shards and terms, as documents."""
        view = self._registry.view()
        return tuple(_server_to_json(view, server) for server in view.servers)

    def release(self) -> None:
        """Give the names back (clean stop)."""
        if not self._serves_all:
            self._registry.release(self.server)
        self._terms = {}
        self._renewed_at = float("-inf")


def _server_to_json(view: ShardView, server: LiveServer) -> JsonObject:
    return {
        "server": server.name,
        "lastRenewal": server.renewed_ms,
        "until": server.until_ms,
        "shards": list(_shards_to_json(view, server)),
    }


def _shards_to_json(view: ShardView, server: LiveServer) -> Iterator[JsonObject]:
    """Write the shards of a server; one that it shares has the term of whoever holds it."""
    known = {shard.name: shard for shard in view.shards}
    for name in view.served_by(server):
        yield {
            "shard": name,
            "term": known[name].term if name in known else 0,
            "configured": name in server.configured,
            "sweptUntil": known[name].swept_ms if name in known else 0,
        }

"""What goes wrong, and when: one seed decides. Whatever is taken away is given back a little later.

Everything happens in `Faults.turn`, which is called by one thread and never waits for long.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Collection

from tests.chaos.crew import Crew, Member
from tests.chaos.proxy import Proxy
from tests.chaos.store import ChaosStore

FROZEN_S = (3.5, 6.5)
"""Longer than the leases of decisions, tasks, shards and effects in this deployment."""
_AWAY_S = (0.1, 1.5)
_STARTING_S = 4.0
_REDIS_AWAY_S = (0.1, 1.0)
_REDIS_FROZEN_S = (0.5, 4.5)
_SLOW_S = 2.0
FAULTS = {
    "kill": 50,
    "kill_two": 12,
    "kill_child": 8,
    "freeze": 10,
    "kill_redis": 6,
    "freeze_redis": 2,
    "cut": 5,
    "cut_proxy": 3,
    "lose_replies": 5,
    "slow": 2,
}


class Faults:
    """Faults against one deployment."""

    def __init__(
        self,
        crew: Crew,
        store: ChaosStore,
        proxy: Proxy,
        chance: random.Random,
        *,
        every_s: float,
        only: Collection[str] = (),
    ) -> None:
        """``only`` names the faults that may happen; none: all."""
        self._crew = crew
        self._store = store
        self._proxy = proxy
        self._chance = chance
        self._every_s = every_s
        self._weights = {each: FAULTS[each] for each in only or FAULTS}
        self._next = time.monotonic() + every_s
        self._owed: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._redis_is_well = True
        self._gone: set[str] = set()
        #: How often what was done to whom.
        self.done: Counter[tuple[str, str]] = Counter()
        self.ended_by_itself: list[str] = []

    @property
    def kills(self) -> int:
        """Processes killed, Redis included."""
        return sum(count for (what, _), count in self.done.items() if what.startswith("killed"))

    def turn(self, *, more: bool) -> None:
        """Give back what is due, look who ended by himself, and with `more` do the next harm."""
        now = time.monotonic()
        while self._owed and self._owed[0][0] <= now:
            heapq.heappop(self._owed)[2]()
        self._supervise()
        if more and now >= self._next:
            self._next = now + self._every_s * self._chance.uniform(0.5, 1.5)
            names, weights = list(self._weights), list(self._weights.values())
            (name,) = self._chance.choices(names, weights=weights)
            getattr(self, f"_{name}")()

    def all_is_well(self) -> bool:
        """Whether everything has been given back."""
        return not self._owed and all(member.is_up() for member in self._crew.members)

    def _later(self, bounds: tuple[float, float], act: Callable[[], None]) -> None:
        due = time.monotonic() + self._chance.uniform(*bounds)
        heapq.heappush(self._owed, (due, next(self._order), act))

    def _count(self, what: str, role: str) -> None:
        self.done[what, role] += 1

    def _supervise(self) -> None:
        """Start again whoever has ended without being killed here."""
        for member in self._crew.members:
            if member.name not in self._gone and member.has_ended():
                self.ended_by_itself.append(member.name)
                self._bring_back(member)

    def _victims(self) -> list[Member]:
        """Who is there long enough to be at work: else only starting would be tested."""
        now = time.monotonic()
        return [
            member
            for member in self._crew.members
            if member.name not in self._gone
            and not member.frozen
            and now > member.started_s + _STARTING_S
        ]

    # -- harm --------------------------------------------------------------------------------------

    def _kill(self) -> None:
        victims = self._victims()
        if victims:
            self._kill_one(self._chance.choice(victims))

    def _kill_two(self) -> None:
        victims = self._victims()
        for member in self._chance.sample(victims, min(2, len(victims))):
            self._kill_one(member)

    def _kill_one(self, member: Member) -> None:
        member.kill()
        self._count("killed -9", member.role)
        self._bring_back(member)

    def _bring_back(self, member: Member) -> None:
        self._gone.add(member.name)

        def start() -> None:
            self._gone.discard(member.name)
            member.start()

        self._later(_AWAY_S, start)

    def _kill_child(self) -> None:
        victims = [member for member in self._victims() if member.role != "worker"]
        if victims:
            member = self._chance.choice(victims)
            if member.kill_child(self._chance):
                self._count("killed -9, a child of", member.role)

    def _freeze(self) -> None:
        victims = self._victims()
        if not victims:
            return
        member = self._chance.choice(victims)
        member.freeze()
        self._count("frozen", member.role)

        def thaw() -> None:
            if member.frozen:
                member.thaw()

        self._later(FROZEN_S, thaw)

    def _kill_redis(self) -> None:
        if not self._redis_is_well:
            return
        self._redis_is_well = False
        self._store.die()
        self._count("killed -9", "redis")
        self._later(_REDIS_AWAY_S, self._revive_redis)

    def _revive_redis(self) -> None:
        self._store.revive()
        self._redis_is_well = True

    def _freeze_redis(self) -> None:
        if not self._redis_is_well:
            return
        self._redis_is_well = False
        self._store.freeze()
        self._count("frozen", "redis")

        def thaw() -> None:
            self._store.thaw()
            self._redis_is_well = True

        self._later(_REDIS_FROZEN_S, thaw)

    def _cut(self) -> None:
        if self._redis_is_well:
            self._store.cut_connections()
            self._count("connections cut", "redis")

    def _cut_proxy(self) -> None:
        self._proxy.cut()
        self._count("connections cut", "proxy")

    def _lose_replies(self) -> None:
        self._proxy.lose_replies()
        self._count("replies lost", "proxy")

    def _slow(self) -> None:
        self._proxy.slow_down(_SLOW_S)
        self._count("slowed down", "proxy")

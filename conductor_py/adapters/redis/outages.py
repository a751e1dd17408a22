"""Outages: how long calls outlast a server that is away.

The time counts from the first call that found it away, for all calls together: while a failover
takes a second or two everybody waits it out, and when it takes longer nobody is held up any more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Final

from conductor_py.errors import StoreUnavailable

_LOG = logging.getLogger(__name__)

_PAUSE_S: Final = 0.05
_REST_S: Final = 0.5
"""A place that is away is tried so often by those who do not wait for it."""


class Outages:
    """Places that are away just now. Safe for threads."""

    def __init__(
        self,
        patience_s: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Calls wait for ``patience_s`` seconds after the first has failed."""
        self._patience_s = patience_s
        self._monotonic = monotonic
        self._pause = pause
        self._since: dict[Hashable, float] = {}
        self._tried: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """Whether anything is away: one look on the way of every call."""
        return bool(self._since)

    def is_away(self, place: Hashable) -> bool:
        """Whether a place was away when it was last asked."""
        return place in self._since

    def note(self, place: Hashable, why: Exception) -> None:
        """A place did not answer."""
        with self._lock:
            self._note(place, why, self._monotonic())

    def is_left_alone(self, place: Hashable, *, patient: bool) -> bool:
        """Whether somebody has tried a place that is away a moment ago: who comes next need not
        wait for its silence, too. Who is ``patient`` tries as long as its time is not over.
        """
        with self._lock:
            since, now = self._since.get(place), self._monotonic()
            if since is None or (patient and now - since < self._patience_s):
                return False
            if now - self._tried.get(place, float("-inf")) < _REST_S:
                return True
            self._tried[place] = now
            return False

    def forget(self, place: Hashable) -> None:
        """A place is not asked any more."""
        with self._lock:
            self._since.pop(place, None)
            self._tried.pop(place, None)

    def over(self, place: Hashable) -> None:
        """A place has answered."""
        with self._lock:
            since = self._since.pop(place, None)
            self._tried.pop(place, None)
        if since is not None:
            away_s = round(self._monotonic() - since, 1)
            facts = {"action": "redis_back", "where": str(place), "seconds": away_s}
            _LOG.warning("A Redis server answers again", extra=facts)

    def outlast(self, place: Hashable, why: Exception) -> None:
        """Wait a moment before the next try; ``StoreUnavailable`` when it was away too long."""
        with self._lock:
            now = self._monotonic()
            since = self._note(place, why, now)
        if now - since >= self._patience_s:
            if isinstance(why, StoreUnavailable):
                raise why
            raise StoreUnavailable(f"Redis does not answer: {why}", unanswered=True) from why
        self._pause(_PAUSE_S)

    def _note(self, place: Hashable, why: Exception, now: float) -> float:
        """Note an outage; since when it lasts."""
        if place not in self._since:
            facts = {"action": "redis_away", "where": str(place), "error": str(why)}
            _LOG.warning("A Redis server does not answer", extra=facts)
            self._tried[place] = now
        return self._since.setdefault(place, now)

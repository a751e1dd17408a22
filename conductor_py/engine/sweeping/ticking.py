"""Ticks: the loop in which one runs after the other, and the walk of one over all partitions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from conductor_py.errors import LimitExceeded, StoreFailure, StoreFull, StoreUnavailable

_LOG = logging.getLogger(__name__)
T = TypeVar("T", bound=Hashable)


class Partitions:
    """The walk over several partitions. It says once that one does not do what is asked, and once
    that it does again.
    """

    def __init__(self) -> None:
        """Begin with all of them as they should be."""
        self._away: set[Hashable] = set()

    def each(self, places: Iterable[T], work: Callable[[T], int]) -> int:
        """Work in these places, each of a partition, and add up what came of it. One that is away
        keeps no other from being served, now or by a pause: its turn comes with the next tick.
        """
        done = 0
        for place in places:
            try:
                done += work(place)
            except StoreUnavailable as failed:
                if place not in self._away:
                    self._away.add(place)
                    facts = {"action": "partition_away", "partition": str(place)}
                    _LOG.warning("A partition is away", extra=facts | {"reason": failed.message})
            else:
                if place in self._away:
                    self._away.discard(place)
                    facts = {"action": "partition_back", "partition": str(place)}
                    _LOG.info("A partition is back", extra=facts)
        return done


def run_ticks(
    tick: Callable[[], int],
    stop: threading.Event,
    *,
    busy_s: float = 0.0,
    idle_s: float | Callable[[], float] = 0.2,
    wait: Callable[[float], object] | None = None,
) -> None:
    """Tick until stopped: at once after a tick that found work, after ``idle_s`` otherwise.
    ``wait`` is how it waits for so long.

    One of the loops that must survive: what goes wrong is logged with its traceback and tried
    again.
    """
    failures = 0
    wait = wait or stop.wait
    while not stop.is_set():
        try:
            found = tick()
            failures = 0
            rest_s = idle_s() if callable(idle_s) else idle_s
            wait_s = busy_s if found else rest_s
        except StoreFailure as failed:
            failures += 1
            wait_s = min(0.2 * 2 ** min(failures, 5), 5.0)
            away = isinstance(failed, StoreUnavailable)
            said = "The store is away" if away else "What the store holds cannot be read"
            if isinstance(failed, StoreFull):
                said = "The store is full"
            _LOG.warning(said, extra={"action": "store_away", "reason": failed.message})
        except LimitExceeded as busy:  # what was begun is begun again
            failures += 1
            wait_s = min(0.2 * 2 ** min(failures, 5), 5.0)
            _LOG.warning(
                "A tick has no room", extra={"action": "tick_refused", "reason": busy.message}
            )
        except Exception:  # noqa: BLE001 - this loop must survive; it logs and tries again
            failures += 1
            wait_s = min(0.2 * 2 ** min(failures, 5), 5.0)
            _LOG.exception("A tick failed", extra={"action": "tick_failed"})
        if wait_s:
            wait(wait_s)

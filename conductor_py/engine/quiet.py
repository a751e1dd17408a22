"""Quiet: how seldom somebody looks for what is due while this process changes nothing.

What is due was set by a script that some process ran. A process that is alone with its store knows
of all of them: after one it looks again soon, and as long as there is none it sleeps until the next
instant that it has read, or for a while (in case it is not alone after all).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Final

MOST_S: Final = 2.0
"""How long nobody looks at most."""

_SOON_S: Final = 0.02
"""After the first change it looks so soon: one seldom comes alone."""

_AFTER_S: Final = 0.005
"""For what is due to be so by the store's clock, too, of which there is an estimate."""


class Quiet:
    """The changes that this process makes to the store, and who sleeps until the next. Safe for
    threads.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._sleeping = 0
        self.last = 0
        """The last change, by a number; another one after each."""

    def note(self) -> None:
        """Something was changed: wake who sleeps."""
        self.last = next(self._numbers)
        if self._sleeping:
            with self._changed:
                self._changed.notify_all()

    def sleep(self, seen: int, most_s: float) -> bool:
        """Wait until something was changed after ``seen``, or for so long; whether it was."""
        with self._changed:
            self._sleeping += 1
            try:
                # Who changes something counts it before it looks for sleepers.
                return self._changed.wait_for(lambda: self.last != seen, most_s)
            finally:
                self._sleeping -= 1


def last_change(quiet: Quiet | None) -> int:
    """Tell the last change, as far as anybody knows."""
    return 0 if quiet is None else quiet.last


class Looking:
    """A loop that looks for what is due, for ``run_ticks``: its tick, and its waits."""

    def __init__(
        self,
        tick: Callable[[], int],
        stop: threading.Event,
        quiet: Quiet | None,
        due_in_s: Callable[[], float],
    ) -> None:
        """``due_in_s`` tells when the next is due, of those that are known; 0: look as often as
        told, as without ``quiet``.
        """
        self._tick = tick
        self._stop = stop
        self._quiet = quiet
        self._due_in_s = due_in_s
        self._seen = 0
        self._is_idle = False

    def tick(self) -> int:
        """Look once."""
        self._is_idle = False
        if self._quiet is not None:
            self._seen = self._quiet.last
        found = self._tick()
        self._is_idle = not found
        return found

    def wait(self, wait_s: float) -> None:
        """Wait so long; while nothing is changed, until the next is due."""
        quiet, seen = self._quiet, self._seen
        if quiet is not None and self._is_idle and quiet.last == seen:
            due_s = self._known_due_s()
            if due_s > 0:
                if quiet.sleep(seen, min(due_s + _AFTER_S, MOST_S)) and not self._stop.is_set():
                    self._stop.wait(min(wait_s, _SOON_S))
                return
        self._stop.wait(wait_s)

    def _known_due_s(self) -> float:
        try:
            return self._due_in_s()
        except Exception:  # noqa: BLE001 - the loop must survive, and its next look says what is wrong
            return 0.0

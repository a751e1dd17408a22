"""Heavy bodies: what takes much memory once it is parsed, one at a time.

Bytes are bounded where bodies are read; parsed, a list of nothing takes seventy for its three. Who
has such a body waits, with its bytes, until the one before has been dealt with; since one thread
computes at a time, nothing is late for it.
"""

from __future__ import annotations

import threading
from typing import Final

from conductor_py.wire.body import values_of

HEAVY_VALUES: Final = 100_000
"""Of values from so many on a body is heavy: 12 MB, at 120 bytes each."""


def is_heavy(body: bytes) -> bool:
    """Whether a body may hold so many values; those that stand in its strings count, too."""
    return len(body) > HEAVY_VALUES and values_of(body) > HEAVY_VALUES


class HeavyPlace:
    """The place of the one heavy body of a process. Safe for threads, of which each has its own."""

    def __init__(self) -> None:
        self._place = threading.Lock()
        self._own = threading.local()

    @property
    def is_own(self) -> bool:
        """Whether this thread has the place."""
        return getattr(self._own, "place", False)

    def take(self, wait_s: float) -> bool:
        """Have the place, if it comes free in time; whether it did."""
        self._own.place = self.is_own or self._place.acquire(timeout=wait_s)
        return self.is_own

    def leave(self) -> None:
        """Give the place to the next, if this thread has it."""
        if self.is_own:
            self._own.place = False
            self._place.release()

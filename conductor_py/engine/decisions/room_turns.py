"""Turns of those who wait for room in a store that is full.

Each tries again after some seconds, but not all at once: a decision that is refused has cost as
much as any other, and what makes room, archiving and removing what has ended, needs the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

_LEAST_MS: Final = 5_000
_TURN_MS: Final = 20
_LONGEST_MS: Final = 600_000


class RoomTurns:
    """The turns of one process. Safe for threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Tell the time in seconds by ``monotonic``."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._last_ms = 0

    def next_ms(self) -> int:
        """Take the next free turn; how long until then."""
        now_ms = int(self._monotonic() * 1000)
        with self._lock:
            wanted_ms = max(self._last_ms + _TURN_MS, now_ms + _LEAST_MS)
            self._last_ms = min(wanted_ms, now_ms + _LONGEST_MS)
            return self._last_ms - now_ms

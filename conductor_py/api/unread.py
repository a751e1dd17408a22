"""Answers that their clients have not read yet: how many bytes they hold, at most.

The web server takes an answer whole and keeps it until its client has it, and tells nobody when
that is. The kernel knows how many connections have something unread, though not which answers these
are: so the largest of those given are taken for them.
"""

from __future__ import annotations

import heapq
import threading
from typing import Final

LARGE: Final = 64 * 1024
"""Bytes of an answer that is counted; what is smaller has room in the kernel's buffers."""

MOST: Final = 256 << 20
"""Bytes of answers that may be unread in one process."""


class Unread:
    """The large answers that may be unread. Safe for threads."""

    def __init__(self, most: int = MOST) -> None:
        """``most`` bytes may be unread. Nothing is counted before somebody looks."""
        self._most = most
        self._lock = threading.Lock()
        self._sizes: list[int] = []
        self._bytes = 0
        self._looks = False

    def given(self, size: int) -> None:
        """Count an answer of so many bytes that is on its way."""
        if size >= LARGE and self._looks:
            with self._lock:
                self._sizes.append(size)
                self._bytes += size

    def seen(self, connections: int) -> None:
        """Take notice of how many connections have something unread."""
        with self._lock:
            self._looks = True
            self._sizes = heapq.nlargest(connections, self._sizes)
            self._bytes = sum(self._sizes)

    @property
    def is_quiet(self) -> bool:
        """Whether every large answer has been read."""
        return not self._sizes

    @property
    def is_much(self) -> bool:
        """Whether half of the room is taken."""
        return 2 * self._bytes > self._most

    @property
    def is_full(self) -> bool:
        """Whether there is no room: nothing that may have a large answer is to be done."""
        return self._bytes > self._most

"""Answers that their clients have not read yet: how many bytes they hold, at most.

The web server takes an answer whole, keeps all of it until its client has its end, and tells nobody
when that is. So an answer counts in full until no connection can have it. The kernel knows which
connections have something unread, and since when, though not which answers these are: of those that
were given since then, the largest are taken for them, one for each connection.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

LARGE: Final = 64 * 1024
"""Bytes of an answer that is counted; what is smaller has room in the kernel's buffers."""

MOST: Final = 256 << 20
"""Bytes of answers that may be unread in one process; of what workers ask for, twice that."""


class Unread:
    """The large answers that may be unread. Safe for threads."""

    def __init__(self, most: int = MOST) -> None:
        """``most`` bytes may be unread. Nothing is counted before somebody looks."""
        self._most = most
        self._lock = threading.Lock()
        self._answers: list[tuple[int, int]] = []  # bytes, and how many looks there were before
        self._bytes = 0
        self._looks = 0

    def given(self, size: int) -> None:
        """Count an answer of so many bytes that is on its way."""
        if size >= LARGE and self._looks:
            with self._lock:
                self._answers.append((size, self._looks))
                self._bytes += size

    def seen(self, since: Iterable[int]) -> None:
        """Take notice of the connections with something unread: for each, how many ``looks`` there
        had been when that was first seen.
        """
        with self._lock:
            self._answers = _held(self._answers, sorted(since), self._looks)
            self._bytes = sum(size for size, _ in self._answers)
            self._looks += 1

    @property
    def looks(self) -> int:
        """How many times somebody has looked."""
        return self._looks

    @property
    def is_quiet(self) -> bool:
        """Whether every large answer has been read."""
        return not self._answers

    @property
    def is_much(self) -> bool:
        """Whether half of the room is taken."""
        return 2 * self._bytes > self._most

    @property
    def is_full(self) -> bool:
        """Whether there is no room: nothing that may have a large answer is to be done."""
        return self._bytes > self._most

    @property
    def is_over(self) -> bool:
        """Whether it is twice that: workers are given nothing large either."""
        return self._bytes > 2 * self._most


def _held(answers: list[tuple[int, int]], free: list[int], looks: int) -> list[tuple[int, int]]:
    """Tell which may be unread yet. Those given since the last look may not have begun to go out,
    and one given just before a look may be seen at the next.
    """
    held = [each for each in answers if each[1] >= looks]
    for size, before in sorted((each for each in answers if each[1] < looks), reverse=True):
        # The connection that came last of those that may have it: the others may have older ones.
        if place := bisect_right(free, before + 1):
            del free[place - 1]
            held.append((size, before))
    return held

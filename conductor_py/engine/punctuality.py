"""Punctuality: for how long of a span of time the server was late with what was due.

Decisions ask for it, and are not slowed by it: it is read once a second, of partitions where
somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.ports.timers import Timers

_FRESH_S = 1.0


class Punctuality:
    """Of all partitions. Safe for threads."""

    def __init__(self, timers: Timers, monotonic: Callable[[], float]) -> None:
        """``timers`` note when they were late."""
        self._timers = timers
        self._monotonic = monotonic
        self._read: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {}

    def late_ms(self, partition: int, since_ms: int, now_ms: int) -> int:
        """Add up when it was late between two instants (epoch ms), as far as it was known a second
        ago.
        """
        read_s, spans = self._read.get(partition, (float("-inf"), ()))
        now_s = self._monotonic()
        if now_s - read_s >= _FRESH_S:
            spans = self._timers.late_spans(partition)
            self._read[partition] = (now_s, spans)
        cut = ((max(began, since_ms), min(ended, now_ms)) for began, ended in spans)
        return sum(max(ended - began, 0) for began, ended in cut)

"""Punctuality: for how long of a span of time the server was late with what was due.

Decisions ask for it, and are not slowed by it: the store is asked once a second for a home that
somebody wants to know of, and ten times while it is late.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.ports.timers import Timers

_FRESH_S = 1.0
_FRESH_WHEN_LATE_S = 0.1
_LATELY_MS = 60_000
_Spans = tuple[tuple[int, int], ...]


class Punctuality:
    """Of all homes in all partitions. Safe for threads."""

    def __init__(self, timers: Timers, monotonic: Callable[[], float]) -> None:
        """``timers`` note when they were late."""
        self._timers = timers
        self._monotonic = monotonic
        self._read: dict[tuple[int, str], tuple[float, _Spans]] = {}

    def late_ms(self, partition: int, home: str, since_ms: int, now_ms: int) -> int:
        """Add up when it was late between two instants (epoch ms), as last read."""
        late, until = 0, since_ms
        for began, ended in self._spans(partition, home, now_ms):
            late += max(min(ended, now_ms) - max(began, until), 0)
            until = max(until, ended)
        return late

    def _spans(self, partition: int, home: str, now_ms: int) -> _Spans:
        read_s, spans = self._read.get((partition, home), (float("-inf"), ()))
        now_s = self._monotonic()
        is_late = any(ended > now_ms - _LATELY_MS for _, ended in spans)
        if now_s - read_s >= (_FRESH_WHEN_LATE_S if is_late else _FRESH_S):
            spans = tuple(sorted(self._timers.late_spans(partition, home)))
            self._read[partition, home] = (now_s, spans)
        return spans

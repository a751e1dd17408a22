"""Virtual time: strands that run one at a time, and what happens at which instant.

A strand is a greenlet: ordinary synchronous code that runs until it waits, and goes on when its
instant has come. Time is counted in microseconds since the beginning; it stands still while code
runs, and jumps from one instant to the next. Equal instants are served in the order in which they
were asked for, so that the same questions always give the same run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

from greenlet import greenlet

MS: Final = 1_000
SECOND: Final = 1_000_000
_NEVER: Final = 1 << 62
_MANY_STEPS: Final = 20_000
_SHORT: Final = 20 * SECOND
"""So many steps in so short a time: somebody goes round and round."""


class Strand:
    """One line of code on its way; ``asleep`` numbers its waits, so that an old alarm is known."""

    __slots__ = ("_body", "asleep", "name", "over", "runs")

    def __init__(self, name: str, body: Callable[[], None], hub: greenlet) -> None:
        """``body`` is called at the first instant."""
        self.name = name
        self.asleep = 0
        self.over = False
        self._body = body
        self.runs = greenlet(self._run, hub)

    def _run(self) -> None:
        try:
            self._body()
        finally:
            self.over = True


class Loop:
    """What is due next, and the time."""

    def __init__(self, spins: Callable[[str], None] | None = None) -> None:
        """Begin at 0 with nothing to do; ``spins`` is told of many steps in no time."""
        self.now = 0
        self.steps = 0
        self._spins = spins
        self._looked = 0, 0
        self.current: Strand | None = None
        self._hub = greenlet.getcurrent()
        self._due: list[tuple[int, int, Strand | None, int, Callable[[], None] | None]] = []
        self._order = 0

    def spawn(self, name: str, body: Callable[[], None], *, at: int = 0) -> Strand:
        """Begin a strand, now or at an instant."""
        strand = Strand(name, body, self._hub)
        self._push(max(at, self.now), strand, 0, None)
        return strand

    def at(self, instant: int, act: Callable[[], None]) -> None:
        """Call something at an instant; it may not wait."""
        self._push(max(instant, self.now), None, 0, act)

    def sleep(self, microseconds: int) -> None:
        """Let the current strand wait."""
        strand = self.current
        assert strand is not None
        strand.asleep += 1
        self._push(self.now + microseconds, strand, strand.asleep, None)
        self._hub.switch()

    def park(self, until: int = _NEVER) -> None:
        """Let the current strand wait until it is woken, or until an instant."""
        strand = self.current
        assert strand is not None
        strand.asleep += 1
        if until < _NEVER:
            self._push(max(until, self.now), strand, strand.asleep, None)
        self._hub.switch()

    def wake(self, strand: Strand, after: int = 0) -> None:
        """Let a strand that waits go on; what else it waits for is forgotten when it does."""
        self._push(self.now + after, strand, strand.asleep, None)

    def end(self, strand: Strand, how: BaseException) -> None:
        """Raise something in a strand where it waits (or before it began), and let it end."""
        if strand.over:
            return
        before, self.current = self.current, strand
        strand.asleep += 1
        strand.over = True
        if strand.runs:
            strand.runs.throw(how)
        self.current = before

    def run(self, until: int, over: Callable[[], bool] | None = None) -> bool:
        """Let time pass up to an instant, or until ``over``; whether it was over before."""
        while self._due:
            instant, _, strand, asleep, act = self._due[0]
            if instant > until:
                break
            heapq.heappop(self._due)
            if strand is None:
                self._step(instant)
                assert act is not None
                act()
            elif not strand.over and strand.asleep == asleep:
                self._step(instant)
                strand.asleep += 1
                self.current = strand
                strand.runs.switch()
                self.current = None
            else:
                continue
            if over is not None and over():
                return True
        self.now = max(self.now, until)
        return False

    def _step(self, instant: int) -> None:
        self.now = instant
        self.steps += 1
        steps, at = self._looked
        if self.steps - steps < _MANY_STEPS:
            return
        if self._spins is not None and instant - at < _SHORT:
            self._spins(f"{_MANY_STEPS:,} steps in {(instant - at) // MS} ms: somebody spins")
        self._looked = self.steps, instant

    def _push(
        self, at: int, strand: Strand | None, asleep: int, act: Callable[[], None] | None
    ) -> None:
        self._order += 1
        heapq.heappush(self._due, (at, self._order, strand, asleep, act))


__all__ = ["MS", "SECOND", "Loop", "Strand"]

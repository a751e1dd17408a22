"""Worker numbers in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.model.codes import CodeLayout
from conductor_py.ports.worker_numbers import Lease, not_the_layout


class MemoryWorkerNumbers:
    """``WorkerNumbers`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the numbers, the clock and the lock of the space."""
        self._space = space

    def lease(
        self, owner: str, layout: CodeLayout, ttl_ms: int, held: Lease | None
    ) -> Lease | None:
        space = self._space
        with space.lock:
            now = space.clock()
            space.code_layout = space.code_layout or layout
            if space.code_layout != layout:
                raise not_the_layout(layout, str(space.code_layout))
            number = self._held(owner, held)
            goes_on = number is not None
            if number is None:
                number = self._free(layout.workers, now, ttl_ms)
            if number is None:
                return None
            ends = self._end(number)
            from_ms = max(now, ends)
            until_ms = max(ends, (now if goes_on else from_ms) + ttl_ms)
            space.numbers[number] = (until_ms, owner)
            return Lease(number=number, from_ms=from_ms, until_ms=until_ms, now_ms=now)

    def _end(self, number: int) -> int:
        """Tell when the last lease of a number ends or ended; 0: nobody has had it."""
        return self._space.numbers.get(number, (0, ""))[0]

    def _held(self, owner: str, held: Lease | None) -> int | None:
        if held is None or self._space.numbers.get(held.number) != (held.until_ms, owner):
            return None
        return held.number

    def _free(self, workers: int, now: int, ttl_ms: int) -> int | None:
        free = [n for n in range(workers) if not now < self._end(n) <= now + ttl_ms]
        return min(free, key=self._end, default=None)

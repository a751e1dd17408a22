"""A lock that counts what came of it, for metrics. It does nothing else more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from conductor_py.errors import StoreFailure
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.lock import Lock


class CountedLock:
    """Counts ``HELD``, ``MISSED`` and ``LOST`` locks, and calls that found the service ``AWAY``."""

    def __init__(self, lock: Lock, count: Callable[[str, str, int], None]) -> None:
        """Tell ``count`` of every outcome."""
        self._lock = lock
        self._count = count

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        with self._counted_away():
            held = self._lock.acquire(execution, holder, wait_ms=wait_ms, lease_ms=lease_ms)
        self._count("locks", "HELD" if held else "MISSED", 1)
        return held

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        with self._counted_away():
            return self._lock.renew(execution, holder, lease_ms=lease_ms)

    def release(self, execution: ExecutionId, holder: str) -> bool:
        with self._counted_away():
            kept = self._lock.release(execution, holder)
        if not kept:
            self._count("locks", "LOST", 1)
        return kept

    @contextmanager
    def _counted_away(self) -> Iterator[None]:
        try:
            yield
        except StoreFailure:
            self._count("locks", "AWAY", 1)
            raise

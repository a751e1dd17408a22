"""Signs of life in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.presence import Sign

MOST: Final = 10_000


class MemoryPresence:
    """``Presence`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the clock and the lock of the space."""
        self._lock = space.lock
        self._clock = space.clock
        self._signs: dict[str, Sign] = {}

    def put(self, signs: Mapping[str, bytes], lease_ms: int) -> None:
        with self._lock:
            now = self._clock()
            for key, document in signs.items():
                self._signs[key] = Sign(
                    key=key, document=document, at_ms=now, until_ms=now + lease_ms
                )
            counting = [sign for sign in self._signs.values() if sign.until_ms > now]
            counting.sort(key=lambda sign: (sign.until_ms, sign.key))
            self._signs = {sign.key: sign for sign in counting[-MOST:]}

    def present(self) -> tuple[Sign, ...]:
        with self._lock:
            now = self._clock()
            found = (self._signs[key] for key in sorted(self._signs))
            return tuple(sign for sign in found if sign.until_ms > now)

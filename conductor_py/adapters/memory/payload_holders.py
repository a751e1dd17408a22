"""Who holds which payload, in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.payload_holders import PRESENT, Held


@dataclass(slots=True)
class _Record:
    check_ms: int
    version: int = 0
    gone_since: dict[str, int] = field(default_factory=dict)


class MemoryPayloadHolders:
    """``PayloadHolders`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Begin empty; the space's lock makes a call one step."""
        self._space = space
        self._records: dict[str, _Record] = {}

    def hold(self, holder: str, paths: Sequence[str], check_ms: int) -> None:
        with self._space.lock:
            for path in paths:
                record = self._records.setdefault(path, _Record(check_ms))
                record.gone_since[holder] = PRESENT
                record.version += 1

    def let_go(self, holder: str, now_ms: int, check_ms: int) -> int:
        with self._space.lock:
            had = [each for each in self._records.values() if holder in each.gone_since]
            for record in had:
                record.gone_since[holder] = now_ms
                record.check_ms = min(record.check_ms, check_ms)
                record.version += 1
            return len(had)

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        with self._space.lock:
            found = sorted(
                (each.check_ms, path)
                for path, each in self._records.items()
                if each.check_ms <= now_ms
            )
            return tuple(path for _, path in found[:limit])

    def read(self, path: str) -> Held | None:
        with self._space.lock:
            found = self._records.get(path)
            if found is None:
                return None
            return Held(version=found.version, gone_since=dict(found.gone_since))

    def settle(self, path: str, version: int, gone_since: Mapping[str, int], check_ms: int) -> bool:
        with self._space.lock:
            found = self._records.get(path)
            if found is None or found.version != version:
                return False
            found.gone_since.update(gone_since)
            found.check_ms = check_ms
            found.version += 1
            return True

    def drop(self, path: str, version: int) -> bool:
        with self._space.lock:
            found = self._records.get(path)
            if found is None or found.version != version:
                return False
            del self._records[path]
            return True

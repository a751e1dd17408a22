"""Who holds which payload, in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.payload_holders import PRESENT, Held
from conductor_py.records import dataclass, field


@dataclass(slots=True)
class _Record:
    check_ms: int
    version: int = 1
    leaving: bool = False
    holders: dict[str, int] = field(default_factory=dict)


class MemoryPayloadHolders:
    """``PayloadHolders`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Begin empty; the space's lock makes a call one step."""
        self._space = space
        self._records: dict[str, _Record] = {}

    def begin(self, path: str, check_ms: int) -> None:
        with self._space.lock:
            self._records.setdefault(path, _Record(check_ms))

    def hold(self, holder: str, paths: Sequence[str]) -> bool:
        with self._space.lock:
            known = [self._records[path] for path in paths if path in self._records]
            if any(record.leaving for record in known):
                return False
            for record in known:
                record.holders[holder] = PRESENT
                record.version += 1
            return True

    def let_go(self, holder: str, now_ms: int, check_ms: int) -> int:
        with self._space.lock:
            had = [each for each in self._records.values() if holder in each.holders]
            for record in had:
                record.holders[holder] = now_ms
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
            return Held(version=found.version, holders=dict(found.holders), leaving=found.leaving)

    def settle(
        self,
        path: str,
        version: int,
        *,
        found: Mapping[str, int],
        forgotten: Sequence[str],
        check_ms: int,
        leaving: bool = False,
    ) -> bool:
        with self._space.lock:
            record = self._records.get(path)
            if record is None or record.version != version:
                return False
            record.holders.update(found)
            for holder in forgotten:
                record.holders.pop(holder, None)
            record.check_ms, record.leaving = check_ms, leaving
            record.version += 1
            return True

    def forget(self, paths: Sequence[str]) -> None:
        with self._space.lock:
            for path in paths:
                self._records.pop(path, None)

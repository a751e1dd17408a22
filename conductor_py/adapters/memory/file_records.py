"""Records of files in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.files import Changed, RecordChange


class MemoryFileRecords:
    """``FileRecords`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Begin empty; the space's lock makes a call one step."""
        self._space = space
        self._records: dict[str, tuple[str, bytes]] = {}
        self._due: dict[str, int] = {}

    def read(self, file_id: str) -> bytes | None:
        with self._space.lock:
            found = self._records.get(file_id)
            return found[1] if found else None

    def change(self, change: RecordChange, *, most: int) -> Changed:
        with self._space.lock:
            if self.read(change.file_id) != change.before:
                return Changed.OTHER
            if change.after is None:
                self._records.pop(change.file_id, None)
                self._due.pop(change.file_id, None)
                return Changed.OK
            owners = [owner for owner, _ in self._records.values()]
            if change.before is None and owners.count(change.owner) >= most:
                return Changed.FULL
            self._records[change.file_id] = (change.owner, change.after)
            self._due[change.file_id] = change.check_ms
            return Changed.OK

    def put_off(self, file_id: str, check_ms: int) -> None:
        with self._space.lock:
            self._due.pop(file_id, None)
            if file_id in self._records:
                self._due[file_id] = check_ms

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        with self._space.lock:
            found = sorted((at, name) for name, at in self._due.items() if at <= now_ms)
            return tuple(name for _, name in found[:limit])

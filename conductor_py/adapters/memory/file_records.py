"""Records of files in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.ports.files import Changed, RecordChange
from conductor_py.ports.payload_holders import PRESENT


class MemoryFileRecords:
    """``FileRecords`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Begin empty; the space's lock makes a call one step."""
        self._space = space
        self._records: dict[str, tuple[str, bytes]] = {}
        self._due: dict[str, int] = {}
        self._gone: dict[str, int] = {}

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
                if not self._count(change.owner):
                    self._gone.pop(change.owner, None)
                return Changed.OK
            if change.before is None and self._count(change.owner) >= most:
                return Changed.FULL
            self._records[change.file_id] = (change.owner, change.after)
            self._due[change.file_id] = change.check_ms
            return Changed.OK

    def put_off(self, file_id: str, check_ms: int) -> None:
        with self._space.lock:
            self._due.pop(file_id, None)
            if file_id in self._records:
                self._due[file_id] = check_ms

    def let_go(self, owner: str, now_ms: int, forget_ms: int) -> None:
        with self._space.lock:
            self._gone = {each: at for each, at in self._gone.items() if abs(at) > forget_ms}
            if self._count(owner):
                self._gone[owner] = now_ms

    def noted(self, owner: str) -> int:
        with self._space.lock:
            return self._gone.get(owner, PRESENT)

    def note(self, owner: str, before: int, after: int) -> bool:
        with self._space.lock:
            if self.noted(owner) != before or not self._count(owner):
                return False
            self._gone.pop(owner, None)
            if after != PRESENT:
                self._gone[owner] = after
            return True

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        with self._space.lock:
            found = sorted((at, name) for name, at in self._due.items() if at <= now_ms)
            return tuple(name for _, name in found[:limit])

    def _count(self, owner: str) -> int:
        return sum(each == owner for each, _ in self._records.values())

"""Records of files in Redis: one copy, in partition 0."""

from __future__ import annotations

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import score_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.files import Changed, RecordChange
from conductor_py.ports.payload_holders import PRESENT

_OUTCOMES = {1: Changed.OK, 0: Changed.OTHER, -1: Changed.FULL}


class RedisFileRecords:
    """``FileRecords`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def read(self, file_id: str) -> bytes | None:
        found: bytes | None = self._connection.command("HGET", f"{self._home}files", file_id)
        return found

    def change(self, change: RecordChange, *, most: int) -> Changed:
        arguments: list[Argument] = [
            change.file_id,
            change.owner,
            change.before or b"",
            change.after or b"",
            change.check_ms,
            most,
        ]
        return _OUTCOMES[self._scripts.run("change_file", 0, arguments, again=False)]

    def put_off(self, file_id: str, check_ms: int) -> None:
        self._scripts.run("put_off_file", 0, (file_id, check_ms))

    def let_go(self, owner: str, now_ms: int, forget_ms: int) -> None:
        self._scripts.run("let_go_files", 0, (owner, now_ms, forget_ms))

    def noted(self, owner: str) -> int:
        found: bytes | None = self._connection.command("ZSCORE", f"{self._home}files:gone", owner)
        return PRESENT if found is None else score_of(found)

    def note(self, owner: str, before: int, after: int) -> bool:
        return bool(self._scripts.run("note_files", 0, (owner, before, after), again=False))

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        return self._scripts.due_names("files:due", now_ms, limit)

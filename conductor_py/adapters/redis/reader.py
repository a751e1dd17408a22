"""Executions in Redis as people and programs read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from conductor_py.adapters.redis.changes import OUTCOMES
from conductor_py.adapters.redis.connection import Reply
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import Outcome

_LISTED: Final = 10_000
_ANSWER_MS: Final = 60_000
_STORE_FIELDS: Final = frozenset({"v", "l", "k"})
#: Some milliseconds of Redis; executions of up to about 2,000 tasks are one page.
_PAGE: Final = 10_000


class RedisExecutionReader:
    """``ExecutionReader`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def snapshot(self, execution: ExecutionId) -> tuple[int, Mapping[str, bytes]] | None:
        fields = self._in_pages(execution)
        if fields is None:
            fields = _by_name(self._command("HGETALL", execution, "exec:"))
        if "v" not in fields:
            return None
        kept = {name: fields[name] for name in fields if name not in _STORE_FIELDS}
        return _version(fields["v"]), kept

    def _in_pages(self, execution: ExecutionId) -> dict[str, bytes] | None:
        """Read page by page, so that a wide execution does not hold up all others; ``None`` when
        it changed meanwhile.
        """
        cursor, page = self._command("HSCAN", execution, "exec:", 0, "COUNT", _PAGE)
        fields = _by_name(page)
        if int(cursor) == 0:  # one page is one instant
            return fields
        before = self._command("HGET", execution, "exec:", "v")
        fields, cursor = {}, b"0"
        while not fields or int(cursor):
            cursor, page = self._command("HSCAN", execution, "exec:", cursor, "COUNT", _PAGE)
            fields |= _by_name(page)
        after = self._command("HGET", execution, "exec:", "v")
        unchanged = before and after and _version(before) == _version(after)
        return fields if unchanged else None

    def running(self, name: str) -> tuple[ExecutionId, ...]:
        lists = self._scripts.connection.pipeline(
            [
                ("ZRANGE", f"{prefix}running:{name}", 0, _LISTED - 1, "WITHSCORES")
                for prefix in self._scripts.namespace.prefixes
            ]
        )
        found = sorted(
            (int(flat[at + 1]), flat[at].decode())
            for flat in lists
            for at in range(0, len(flat), 2)
        )
        return tuple(ExecutionId(execution) for _, execution in found[:_LISTED])

    def answer(self, execution: ExecutionId, operation: str) -> bytes | None:
        text: bytes | None = self._command("HGET", execution, "ans:", operation)
        if text is None:
            return None
        at_ms, space, answer = text.partition(b" ")
        clock = self._scripts.now()
        if not space or (clock != "" and int(clock) - int(at_ms) > _ANSWER_MS):
            return None
        return answer

    def append_log(self, execution: ExecutionId, seq: int, line: str, created_ms: int) -> Outcome:
        arguments = (execution, seq, f"{seq} {created_ms} {line}")
        return OUTCOMES[self._scripts.run("append_log", partition_of(execution), arguments)]

    def logs(self, execution: ExecutionId) -> tuple[tuple[int, int, str], ...]:
        entries = self._command("LRANGE", execution, "log:", 0, -1)
        found = (entry.decode().split(" ", 2) for entry in entries)
        return tuple((int(seq), int(created_ms), line) for seq, created_ms, line in found)

    def remove(self, execution: ExecutionId, version: int) -> Outcome:
        arguments = (execution, version)
        return OUTCOMES[self._scripts.run("remove_execution", partition_of(execution), arguments)]

    def _command(
        self, command: str, execution: ExecutionId, name: str, *rest: str | bytes | int
    ) -> Reply:
        prefix = self._scripts.prefix(partition_of(execution))
        return self._scripts.connection.command(command, f"{prefix}{name}{execution}", *rest)


def _by_name(flat: Sequence[bytes]) -> dict[str, bytes]:
    each = iter(flat)
    return {name.decode(): value for name, value in zip(each, each, strict=True)}


def _version(record: bytes) -> int:
    return int(record.split(b" ", 1)[0])

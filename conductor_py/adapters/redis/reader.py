"""Executions in Redis as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from conductor_py.adapters.redis.changes import OUTCOMES
from conductor_py.adapters.redis.connection import Argument, Reply
from conductor_py.adapters.redis.names import fields_of, pairs_of, score_of, shown
from conductor_py.adapters.redis.record import DAMAGED, record_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreDamaged
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.reader import (
    FEW_FIELDS,
    MOST_LOG_BYTES,
    PAGE_BYTES,
    PAGE_FIELDS,
    Beside,
    ExecutionChanged,
    Whole,
)
from conductor_py.ports.restore import LEAVES_AGAIN_MS, Restore
from conductor_py.ports.store import Outcome

_LISTED: Final = 10_000
#: So many log lines are within their bound in bytes, whatever they say.
_FEW_LINES: Final = 100
_ANSWER_MS: Final = 60_000
_STORE_FIELDS: Final = frozenset({"v", "l", "k", "q"})
_RESTORED_FIELDS: Final = 4_000
_RESTORED_BYTES: Final = 4 << 20


class RedisExecutionReader:
    """``ExecutionReader`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def snapshot(
        self, execution: ExecutionId, *, before_more: Callable[[int], object] | None = None
    ) -> tuple[int, Mapping[str, bytes]] | None:
        arguments = (execution, PAGE_FIELDS, PAGE_BYTES)
        found = self._scripts.run("read_execution", partition_of(execution), arguments)
        if found and isinstance(found[0], int):
            number, size = found
            if before_more is not None:
                before_more(size)
            fields = self._in_pages(execution, number, size)
            if fields is None:
                fields = fields_of(self._command("HGETALL", execution, "exec:"))
        else:
            fields = fields_of(found)
        return (_version(fields["v"]), _kept(fields)) if "v" in fields else None

    def several(
        self, partition: int, executions: Sequence[ExecutionId]
    ) -> Mapping[ExecutionId, Whole]:
        arguments: list[Argument] = [FEW_FIELDS, PAGE_BYTES, *executions]
        replies = self._scripts.run("read_several", partition, arguments) if executions else ()
        found = zip(executions, map(_whole, replies), strict=True)
        return {execution: whole for execution, whole in found if whole is not None}

    def _in_pages(self, execution: ExecutionId, number: int, size: int) -> dict[str, bytes] | None:
        """Read page by page, so that a wide execution does not hold up all others; ``None`` when
        it changed meanwhile.
        """
        fields = dict[str, bytes]()
        try:
            for page in self._pages(execution, None, _page_fields(number, size)):
                fields |= page
        except ExecutionChanged:
            return None
        return fields

    def scan(self, execution: ExecutionId, version: int) -> Iterator[Mapping[str, bytes]]:
        found = self._scripts.run("read_execution", partition_of(execution), (execution, 0, 0))
        number, size = found or (0, 0)
        yield from map(_kept, self._pages(execution, version, _page_fields(number, size)))

    def _pages(
        self, execution: ExecutionId, version: int | None, count: int
    ) -> Iterator[dict[str, bytes]]:
        """Read about so many fields at once; the version is this one, or any, and stays that."""
        before = self._command("HGET", execution, "exec:", "v")
        cursor = b"0"
        while True:
            cursor, page = self._command("HSCAN", execution, "exec:", cursor, "COUNT", count)
            yield fields_of(page)
            if int(cursor) == 0:  # at once when it has been removed meanwhile
                break
        after = self._command("HGET", execution, "exec:", "v")
        if not before or not after or _version(before) != _version(after):
            raise ExecutionChanged
        if version is not None and version != _version(before):
            raise ExecutionChanged

    def running(self, name: str) -> tuple[ExecutionId, ...]:
        lists = self._scripts.connection.pipeline(
            [
                ("ZRANGE", f"{prefix}running:{name}", 0, _LISTED - 1, "WITHSCORES")
                for prefix in self._scripts.namespace.prefixes
            ]
        )
        found = sorted(
            (score_of(score), execution) for flat in lists for execution, score in pairs_of(flat)
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
        arguments = (execution, MOST_LOG_BYTES)
        return _logs(self._scripts.run("read_logs", partition_of(execution), arguments))

    def beside(self, execution: ExecutionId) -> Beside:
        prefix = self._scripts.prefix(partition_of(execution))
        entries, kept = self._scripts.connection.pipeline(
            [
                ("LRANGE", f"{prefix}log:{execution}", -_FEW_LINES, -1),
                ("HGETALL", f"{prefix}ckpt:{execution}"),
            ]
        )
        logs = _logs(entries) if len(entries) < _FEW_LINES else self.logs(execution)
        return Beside(logs=logs, checkpoints=fields_of(kept))

    def begin_restore(self, execution: ExecutionId, token: str) -> str | None:
        arguments = (execution, token)
        reply = self._scripts.run("begin_restore", partition_of(execution), arguments)
        return reply[1].decode() if OUTCOMES[reply[0]] is Outcome.OK else None

    def restore(self, restore: Restore) -> Outcome:
        kept = (("restore_fields", restore.fields), ("restore_checkpoints", restore.checkpoints))
        for script, fields in kept:
            for page in _pages(fields) if fields else ():
                arguments: list[Argument] = [restore.execution, restore.token, *page]
                reply = self._scripts.run(script, partition_of(restore.execution), arguments)
                if OUTCOMES[reply] is not Outcome.OK:
                    return OUTCOMES[reply]
        return self._made_present(restore)

    def _made_present(self, restore: Restore) -> Outcome:
        arguments: list[Argument] = [
            self._scripts.now(),
            self._scripts.namespace.channels[partition_of(restore.execution)],
            restore.execution,
            restore.token,
            len(restore.fields),
            len(restore.checkpoints),
            restore.version,
            restore.home,
            restore.status,
            restore.generation,
            restore.claim,
            restore.effect,
            b'{"kind":"remove"}',
            LEAVES_AGAIN_MS,
            len(restore.plans),
            *restore.plans,
        ]
        arguments += [f"{seq} {at} {line}" for seq, at, line in restore.logs]
        partition = partition_of(restore.execution)
        return OUTCOMES[self._scripts.run("restore_execution", partition, arguments)]

    def cancel_restore(self, execution: ExecutionId) -> bool:
        reply = self._scripts.run("cancel_restore", partition_of(execution), (execution,))
        return OUTCOMES[reply] is Outcome.OK

    def release_key(self, execution: ExecutionId, name: str, key: str) -> None:
        self._scripts.run("release_key", partition_of(execution), (execution, name, key))

    def remove(self, execution: ExecutionId, version: int) -> Outcome:
        arguments = (0, execution, version)
        (reply,) = self._scripts.run("remove_executions", partition_of(execution), arguments)
        outcome = OUTCOMES.get(reply)
        if outcome is None:
            raise StoreDamaged(f"Redis refused: {shown(reply)}")
        return outcome

    def remove_plain(
        self, partition: int, archived: Sequence[tuple[ExecutionId, int]]
    ) -> tuple[Outcome | None, ...]:
        arguments: list[Argument] = [1, *(part for pair in archived for part in pair)]
        replies = self._scripts.run("remove_executions", partition, arguments) if archived else ()
        return tuple(map(OUTCOMES.get, replies))

    def _command(
        self, command: str, execution: ExecutionId, name: str, *rest: str | bytes | int
    ) -> Reply:
        prefix = self._scripts.prefix(partition_of(execution))
        return self._scripts.connection.command(command, f"{prefix}{name}{execution}", *rest)


def _whole(reply: Sequence[Sequence[bytes]] | None) -> Whole | None:
    if reply is None:
        return None
    flat, entries = reply
    try:
        fields, logs = fields_of(flat), _logs(entries)
        return Whole(version=_version(fields["v"]), fields=_kept(fields), beside=Beside(logs=logs))
    except (StoreDamaged, ValueError):
        return None  # what is wrong is told when it is read alone


def _page_fields(number: int, size: int) -> int:
    """How many of so many fields are read at once, which have about so many bytes in all."""
    return max(1, min(PAGE_FIELDS, PAGE_BYTES * number // max(size, 1)))


def _kept(fields: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: fields[name] for name in fields if name not in _STORE_FIELDS}


def _logs(entries: Sequence[bytes]) -> tuple[tuple[int, int, str], ...]:
    found = (entry.decode().split(" ", 2) for entry in entries)
    return tuple((int(seq), int(created_ms), line) for seq, created_ms, line in found)


def _version(stored: bytes) -> int:
    record = record_of(stored)
    if record is None:
        raise StoreDamaged(f"Redis refused: {DAMAGED}")
    return record.version


def _pages(fields: Mapping[str, bytes]) -> Iterator[list[str | bytes]]:
    """Names and values in pages that hold up nobody."""
    page: list[str | bytes] = []
    size = 0
    for name, value in fields.items():
        if page and (size + len(value) > _RESTORED_BYTES or len(page) >= 2 * _RESTORED_FIELDS):
            yield page
            page, size = [], 0
        page += (name, value)
        size += len(value)
    yield page

"""What long tasks keep, in Redis: one hash an execution, a script a verb."""

from __future__ import annotations

from typing import Final

import orjson

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import fields_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.checkpoints import (
    Checkpoint,
    CheckpointBounds,
    Holder,
    Notes,
    Reply,
    Request,
    Verdict,
)

_DEFAULT: Final = CheckpointBounds()


class RedisCheckpoints:
    """``CheckpointStore`` on Redis."""

    def __init__(self, scripts: Scripts, bounds: CheckpointBounds = _DEFAULT) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._bounds = bounds

    def acquire(self, holder: Holder) -> Reply:
        return self._run("acquire_checkpoints", holder.execution, self._held(holder))

    def append(self, holder: Holder, notes: Notes) -> Reply:
        bounds = self._bounds
        arguments = [
            *self._held(holder),
            notes.part,
            -1 if notes.epoch is None else notes.epoch,
            -1 if notes.position is None else notes.position,
            bounds.parts,
            bounds.notes,
            bounds.note_bytes,
            bounds.bytes,
            *notes.notes,
        ]
        return self._run("append_notes", holder.execution, arguments)

    def put(self, holder: Holder, checkpoint: Checkpoint) -> Reply:
        arguments = [
            *self._held(holder),
            checkpoint.part,
            checkpoint.expected,
            checkpoint.epoch,
            checkpoint.hash,
            checkpoint.retain,
            self._bounds.parts,
            self._bounds.bytes,
            checkpoint.record,
        ]
        return self._run("put_checkpoint", holder.execution, arguments)

    def read(self, execution: ExecutionId, seq: int, *, whole: bool) -> Reply:
        return self._run(
            "read_checkpoints", execution, [execution, seq, "whole" if whole else "heads", "", 0]
        )

    def record(self, execution: ExecutionId, seq: int, part: str, at: int | str) -> bytes | None:
        point = f"e{at}" if isinstance(at, int) else f"s{at}"
        arguments: list[Argument] = [execution, seq, "heads", part, point]
        shown = self._run("read_checkpoints", execution, arguments).shown
        return shown.get("x") if shown else None

    def wanted(self, execution: ExecutionId, seq: int) -> bytes | None:
        arguments: list[Argument] = [execution, seq, "wanted", "", 0]
        shown = self._run("read_checkpoints", execution, arguments).shown
        return shown.get("q") if shown else None

    def places(self, execution: ExecutionId) -> tuple[str, ...]:
        prefix = self._scripts.prefix(partition_of(execution))
        text = self._scripts.connection.command("HGET", f"{prefix}ckpt:{execution}", "l")
        return tuple(orjson.loads(text)) if text else ()

    def request(self, execution: ExecutionId, seq: int, request: Request) -> Reply:
        arguments: list[Argument] = [
            self._scripts.now(),
            execution,
            seq,
            request.action,
            request.savepoint or "-",
            int(request.at_once),
            request.part,
            -1 if request.epoch is None else request.epoch,
            self._bounds.places,
            self._bounds.savepoints,
            self._bounds.bytes,
            int(request.rewind),
        ]
        return self._run("request_checkpoint", execution, arguments)

    def drop_savepoint(self, execution: ExecutionId, seq: int, savepoint: str) -> Reply:
        return self._run("drop_savepoint", execution, [execution, seq, savepoint])

    def _held(self, holder: Holder) -> list[Argument]:
        now, places = self._scripts.now(), self._bounds.places
        return [now, holder.execution, holder.seq, holder.token, places]

    def _run(self, script: str, execution: ExecutionId, arguments: list[Argument]) -> Reply:
        word, number, what, *shown = self._scripts.run(script, partition_of(execution), arguments)
        return Reply(
            verdict=Verdict(word.decode()),
            number=number,
            what=what.decode(),
            shown=fields_of(shown) if script in _SHOWING else None,
        )


_SHOWING: Final = frozenset({"acquire_checkpoints", "read_checkpoints"})

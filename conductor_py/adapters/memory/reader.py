"""Executions in memory as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from conductor_py.adapters.memory.changes import answer_of
from conductor_py.adapters.memory.references import count_reference, plan_of
from conductor_py.adapters.memory.space import LOG_LINES, Execution, MemorySpace
from conductor_py.model.ids import ExecutionId
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


class MemoryExecutionReader:
    """``ExecutionReader`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def snapshot(
        self, execution: ExecutionId, *, before_more: Callable[[int], object] | None = None
    ) -> tuple[int, Mapping[str, bytes]] | None:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            fields = 0 if target is None else len(target.fields)
            size = 0 if target is None else sum(map(len, target.fields.values()))
        if before_more is not None and (fields > PAGE_FIELDS or size > PAGE_BYTES):
            before_more(size)  # not under the lock: it may wait
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            return None if target is None else (target.version, dict(target.fields))

    def scan(self, execution: ExecutionId, version: int) -> Iterator[Mapping[str, bytes]]:
        found = self.snapshot(execution)
        page, size = dict[str, bytes](), 0
        for name, value in found[1].items() if found is not None else ():
            page[name] = value
            size += len(value)
            if len(page) == PAGE_FIELDS or size >= PAGE_BYTES:
                yield page
                page, size = {}, 0
        yield page
        now = self.snapshot(execution)
        if found is None or now is None or not found[0] == now[0] == version:
            raise ExecutionChanged

    def several(
        self, partition: int, executions: Sequence[ExecutionId]
    ) -> Mapping[ExecutionId, Whole]:
        found, left = dict[ExecutionId, Whole](), PAGE_BYTES
        with self._space.lock:
            there = self._space.partition(partition).executions
            for execution in executions:
                target = there.get(execution)
                if target is None or len(target.fields) > FEW_FIELDS or target.checkpoints:
                    continue
                size = sum(map(len, target.fields.values()))
                if size <= left:
                    left -= size
                    logs = _newest(target.log) if target.terminal else ()
                    found[execution] = Whole(
                        version=target.version,
                        fields=dict(target.fields),
                        beside=Beside(logs=logs),
                    )
        return found

    def running(self, name: str) -> tuple[ExecutionId, ...]:
        with self._space.lock:
            found = sorted(
                (started, execution)
                for partition in self._space.partitions
                for execution, started in partition.running[name].scores.items()
            )
            return tuple(ExecutionId(execution) for _, execution in found[:_LISTED])

    def answer(self, execution: ExecutionId, operation: str) -> bytes | None:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            kept = target and answer_of(target, operation, self._space.clock())
            return kept[1] if kept else None

    def append_log(self, execution: ExecutionId, seq: int, line: str, created_ms: int) -> Outcome:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            if target is None:
                return Outcome.GONE
            if f"a:{seq}" not in target.fields:
                return Outcome.UNKNOWN_TASK
            target.log.append((seq, created_ms, line))
            del target.log[:-LOG_LINES]
            return Outcome.OK

    def logs(self, execution: ExecutionId) -> tuple[tuple[int, int, str], ...]:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            return () if target is None else _newest(target.log)

    def beside(self, execution: ExecutionId) -> Beside:
        with self._space.lock:
            target = self._space.of(execution).executions.get(execution)
            if target is None:
                return Beside()
            return Beside(logs=_newest(target.log), checkpoints=dict(target.checkpoints))

    def begin_restore(self, execution: ExecutionId, token: str) -> str | None:
        with self._space.lock:
            partition = self._space.of(execution)
            if execution in partition.executions:
                return None
            return partition.restoring.setdefault(execution, token)

    def restore(self, restore: Restore) -> Outcome:
        with self._space.lock:
            now, partition = self._space.clock(), self._space.of(restore.execution)
            if restore.execution in partition.executions:
                return Outcome.EXISTS
            if partition.restoring.get(restore.execution) != restore.token:
                return Outcome.GONE
            if any(plan not in partition.plans for plan in restore.plans):
                return Outcome.NEED_PLAN
            for plan in restore.plans:
                partition.plans[plan].used_at = now
            restored = Execution(
                id=restore.execution,
                version=max(restore.version + 1, now),
                terminal=True,
                generation=restore.generation,
                home=restore.home,
                begun="restored",
                last="restored",
                status=restore.status,
                highest_claim=restore.claim,
                fields=dict(restore.fields),
                log=list(restore.logs),
                checkpoints=dict(restore.checkpoints),
            )
            partition.executions[restore.execution] = restored
            del partition.restoring[restore.execution]
            count_reference(partition, plan_of(restored), 1)
            partition.effects[restore.effect] = (restored.version, b'{"kind":"remove"}')
            partition.outbox.put(restore.effect, now + LEAVES_AGAIN_MS)
            return Outcome.OK

    def cancel_restore(self, execution: ExecutionId) -> bool:
        with self._space.lock:
            partition = self._space.of(execution)
            partition.restoring.pop(execution, None)
            return execution not in partition.executions

    def release_key(self, execution: ExecutionId, name: str, key: str) -> None:
        with self._space.lock:
            keys = self._space.of(execution).idempotency
            if keys.get((name, key), ("", 0))[0] == execution:
                del keys[name, key]

    def remove(self, execution: ExecutionId, version: int) -> Outcome:
        with self._space.lock:
            partition = self._space.of(execution)
            target = partition.executions.get(execution)
            if target is None:
                return Outcome.GONE
            if (
                not target.terminal
                or target.version != version
                or target.inbox
                or target.is_draining()
            ):
                return Outcome.STALE
            count_reference(partition, plan_of(target), -1)
            del partition.executions[execution]
            partition.timers[target.home].drop(f"x:{execution}")
            return Outcome.OK

    def remove_plain(
        self, partition: int, archived: Sequence[tuple[ExecutionId, int]]
    ) -> tuple[Outcome | None, ...]:
        with self._space.lock:
            there = self._space.partition(partition).executions
            return tuple(
                None
                if execution in there and there[execution].header().get("frag")
                else self.remove(execution, version)
                for execution, version in archived
            )


def _newest(log: list[tuple[int, int, str]]) -> tuple[tuple[int, int, str], ...]:
    left, kept = MOST_LOG_BYTES, 0
    for seq, created_ms, line in reversed(log):
        left -= len(f"{seq} {created_ms} {line}".encode())
        if left < 0 and kept:
            break
        kept += 1
    return tuple(log[len(log) - kept :])

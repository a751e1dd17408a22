"""Workflow rate limits in memory: the twin of ``lua/include/admission.lua``."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.space import Execution, Partition
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.admission import Admission
from conductor_py.ports.permits import workflow_limit

_AT_ONCE: Final = 100
_ALL: Final = 2**62


def has_room(partition: Partition, asked: Admission, now: int) -> bool:
    """Tell whether an execution may begin at once; whoever waits goes first."""
    admitted = partition.admitted[asked.key]
    limit = _most(partition, asked.key, asked.limit, shared=asked.shared)
    if len(admitted) >= limit:
        drop_dead(partition, asked.key)
    admit_waiting(partition, asked.key, asked.admitted, now, shared=asked.shared)
    return len(admitted) < limit and not len(partition.waiting[asked.key])


def drop_dead(partition: Partition, key: str) -> None:
    """Forget those among the first that are admitted who have ended."""
    admitted = partition.admitted[key]
    for member in admitted.upto(_ALL, _AT_ONCE):
        if _alive(partition, member) is None:
            admitted.drop(member)


def enter(
    partition: Partition, execution: Execution, asked: Admission, now: int, *, room: bool
) -> None:
    """Admit an execution, or let it wait, or turn it away."""
    if room:
        partition.admitted[asked.key].put(execution.id, now)
        execution.inbox.append(asked.admitted)
    elif asked.reject:
        execution.inbox.append(asked.refused)
    elif execution.id not in partition.waiting[asked.key].scores:
        waiting = partition.waiting[asked.key]
        waiting.put(execution.id, max(now, max(waiting.scores.values(), default=0) + 1))


def leave(
    partition: Partition, execution: ExecutionId, asked: Admission, now: int
) -> tuple[ExecutionId, ...]:
    """Free the place of an execution; returns who is admitted for it."""
    partition.waiting[asked.key].drop(execution)
    partition.admitted[asked.key].drop(execution)
    return admit_waiting(partition, asked.key, asked.admitted, now, shared=asked.shared)


def count_again(partition: Partition, execution: Execution, now: int) -> None:
    """Count an ended execution that is opened again, even above the limit; it may have ended, while
    it waited, in the same decision.
    """
    key = execution.header().get("akey")
    if isinstance(key, str):
        partition.waiting[key].drop(execution.id)
        partition.admitted[key].put(execution.id, now)


def admit_waiting(
    partition: Partition, key: str, event: bytes, now: int, *, shared: bool
) -> tuple[ExecutionId, ...]:
    """Admit those that wait, in order, as long as there is room; returns who they are."""
    admitted, waiting = partition.admitted[key], partition.waiting[key]
    woken: list[ExecutionId] = []
    for member in waiting.upto(_ALL, _AT_ONCE):
        execution = _alive(partition, member)
        if execution is not None:
            limit = execution.header().get("alim", 0)
            assert isinstance(limit, int)
            if len(admitted) >= _most(partition, key, limit, shared=shared):
                break
            admitted.put(member, now)
            execution.inbox.append(event)
            partition.timers[execution.home].put(f"x:{member}", now)
            woken.append(execution.id)
        waiting.drop(member)
    return tuple(woken)


def _most(partition: Partition, key: str, limit: int, *, shared: bool) -> int:
    return partition.holdings[workflow_limit(key)].under(limit) if shared else limit


def _alive(partition: Partition, member: str) -> Execution | None:
    execution = partition.executions.get(member)
    return None if execution is None or execution.terminal else execution

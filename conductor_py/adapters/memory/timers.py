"""Timers in memory: the reference implementation of the port."""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.memory.changes import Applier
from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.reads import loaded
from conductor_py.adapters.memory.space import MemorySpace, Partition
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.ports.store import Loaded

REFIRE_MS: Final = 30_000


class MemoryTimers:
    """``Timers`` in memory; ``take_lease`` False: executions are brought without taking their
    lease.
    """

    def __init__(self, space: MemorySpace, *, take_lease: bool = True) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._take = take_lease

    def claim_due(
        self, partition: int, shard: str, limit: int, holder: str, lease_ms: int
    ) -> tuple[Loaded, ...]:
        with self._space.lock:
            now, state = self._space.clock(), self._space.partition(partition)
            order: dict[str, None] = {}
            for member in state.timers[shard].upto(now, limit):
                if member.startswith("x:"):
                    order[member[2:]] = None
                elif self._fire_attempt(state, shard, member, now):
                    order[member[2:38]] = None
            lease = (holder, now + lease_ms)
            won = (self._try(state, ExecutionId(name), lease, now) for name in order)
            tried = list(zip(order, won, strict=True))
            for name, _ in tried:
                if name not in state.executions:
                    state.timers[shard].drop(f"x:{name}")
            return tuple(found for _, found in tried if found is not None)

    def _fire_attempt(self, state: Partition, shard: str, member: str, now: int) -> bool:
        """Tell the inbox, once for each deadline; false when there was nothing to tell."""
        timers = state.timers[shard]
        name, seq = split_task_id(member[2:])
        execution = state.executions.get(name)
        text = execution.fields.get(f"a:{seq}") if execution else None
        if execution is None or text is None or f"c:{seq}" not in execution.fields:
            timers.drop(member)
            return False
        claim = claim_side(execution, seq)
        if claim.closed or not is_open(execution, seq, attempt_of(text)):
            timers.drop(member)
            return False
        timers.put(member, now + REFIRE_MS)
        if claim.cb == claim.at:
            return False
        seen, until = (claim.k, claim.until) if claim.held else (0, 0)
        execution.inbox.append(f'{seq} {{"t":"due","k":{seen},"d":{until}}}'.encode())
        claim.cb = claim.at
        execution.fields[f"c:{seq}"] = claim.encode()
        return True

    def _try(
        self, state: Partition, name: ExecutionId, lease: tuple[str, int], now: int
    ) -> Loaded | None:
        execution = state.executions.get(name)
        if execution is None:
            return None
        timers, member = state.timers[execution.home], f"x:{name}"
        if execution.terminal and not execution.inbox and not execution.is_draining():
            timers.drop(member)
            return None
        if execution.status != "PAUSED" and execution.parked:
            applier = Applier(self._space, state, execution, now)
            applier.unpark()
            applier.publish()
        if self._take and execution.lease_until > now:
            timers.put(member, execution.lease_until)
            return None
        timers.put(member, lease[1])
        if self._take:
            execution.holder, execution.lease_until = lease
        return loaded(state, execution, now)

    def next_due_ms(self, partition: int, shard: str) -> int:
        with self._space.lock:
            head = self._space.partition(partition).timers[shard].first()
            return head[0] if head else 0

"""Timers in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.memory.changes import Applier
from conductor_py.adapters.memory.claims import attempt_of, claim_side, is_open
from conductor_py.adapters.memory.inspector import setback_of
from conductor_py.adapters.memory.late import EFFECTS, note_late
from conductor_py.adapters.memory.quarantine import count_setback
from conductor_py.adapters.memory.reads import loaded
from conductor_py.adapters.memory.space import Execution, MemorySpace, Partition
from conductor_py.model.ids import ExecutionId, split_task_id
from conductor_py.ports.inspector import QUARANTINE
from conductor_py.ports.quarantine import SUSPECT, VANISHED, QuarantineBounds
from conductor_py.ports.store import Loaded

REFIRE_MS: Final = 30_000
_SUSPECTS_WAIT_MS: Final = 200
_DEFAULT: Final = QuarantineBounds()


class MemoryTimers:
    """``Timers`` in memory; ``take_lease`` False: executions are brought without taking their
    lease.
    """

    def __init__(
        self,
        space: MemorySpace,
        *,
        take_lease: bool = True,
        bounds: QuarantineBounds = _DEFAULT,
    ) -> None:
        """Share the space with the other ports; ``bounds`` say when an execution whose deciders
        vanish goes into quarantine.
        """
        self._space = space
        self._take = take_lease
        self._bounds = bounds

    def claim_due(
        self, partition: int, shard: str, limit: int, holder: str, lease_ms: int
    ) -> tuple[Loaded, ...]:
        with self._space.lock:
            now, state = self._space.clock(), self._space.partition(partition)
            order: dict[str, None] = {}
            head = state.timers[shard].first()
            note_late(state, shard, head[0] if head else now, now)
            timers = state.timers[shard]
            due = timers.upto(now, limit)
            for member in sorted(due, key=lambda each: (timers.scores[each], _number(each))):
                if member.startswith("x:"):
                    order[member[2:]] = None
                elif self._fire_attempt(state, shard, member, now):
                    order[member[2:38]] = None
            lease = (holder, now + lease_ms)
            each = [self._due(state, shard, ExecutionId(name), now) for name in order]
            found = [one for one in each if one is not None]
            clean = [one for one, is_suspect in found if not is_suspect]
            suspects = [one for one, is_suspect in found if is_suspect]
            for later in suspects[1:]:
                state.timers[later.home].put(f"x:{later.id}", now + _SUSPECTS_WAIT_MS)
            return tuple(self._hand_out(state, one, lease, now) for one in clean + suspects[:1])

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

    def _due(
        self, state: Partition, shard: str, name: ExecutionId, now: int
    ) -> tuple[Execution, bool] | None:
        """An execution that is to be decided, and whether it is to be handed out alone."""
        execution = state.executions.get(name)
        if execution is None:
            state.timers[shard].drop(f"x:{name}")
            return None
        timers, member = state.timers[execution.home], f"x:{name}"
        if execution.terminal and not execution.inbox and not execution.is_draining():
            timers.drop(member)
            return None
        if execution.status != "PAUSED" and execution.parked:
            applier = Applier(self._space, state, execution, now)
            applier.unpark()
            applier.publish()
        if execution.lease_until > now:
            timers.put(member, execution.lease_until)
            return None
        if execution.holder == QUARANTINE:
            execution.holder, execution.lease_until = "", 0
        elif self._take and execution.lease_until > 0:
            tries = count_setback(state, execution, VANISHED, self._bounds, now)
            if tries >= SUSPECT or execution.holder == QUARANTINE:
                return None
        setback = setback_of(execution)
        is_suspect = setback is not None and setback.tries >= SUSPECT and setback.reason == VANISHED
        return execution, is_suspect

    def _hand_out(
        self, state: Partition, execution: Execution, lease: tuple[str, int], now: int
    ) -> Loaded:
        state.timers[execution.home].put(f"x:{execution.id}", lease[1])
        if self._take:
            execution.holder, execution.lease_until = lease
        return loaded(state, execution, now)

    def due(self, shards: Sequence[str]) -> tuple[tuple[int, str], ...]:
        with self._space.lock:
            now = self._space.clock()
            heads = (
                (number, shard, partition.timers[shard].first())
                for number, partition in enumerate(self._space.partitions)
                for shard in shards
            )
            return tuple(
                (number, shard)
                for number, shard, head in heads
                if head is not None and head[0] <= now
            )

    def next_due_ms(self, partition: int, shard: str) -> int:
        with self._space.lock:
            head = self._space.partition(partition).timers[shard].first()
            return head[0] if head else 0

    def late_spans(self, partition: int, home: str) -> tuple[tuple[int, int], ...]:
        with self._space.lock:
            late = self._space.partition(partition).late
            return (*late.get(home, ()), *late.get(EFFECTS, ()))


def _number(member: str) -> tuple[str, int]:
    """What members of one score are ordered by: their texts would have 10 before 2."""
    seq = member[39:]
    return member[2:38], int(seq) if seq.isdigit() else -1

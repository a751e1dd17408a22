"""Compiled definitions in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace, Partition, Plan
from conductor_py.model.ids import ExecutionId


class MemoryPlanStore:
    """``PlanStore`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def put(
        self,
        partition: int,
        plan: str,
        blob: bytes,
        reads: dict[str, bytes],
        owner: ExecutionId | None = None,
    ) -> None:
        with self._space.lock:
            state, now = self._space.partition(partition), self._space.clock()
            state.plans[plan] = Plan(blob=blob, reads=dict(reads), used_at=now, owner=owner)
            if plan not in state.plans_in_order.scores:
                state.plans_in_order.put(plan, now)

    def get(self, partition: int, plan: str) -> bytes | None:
        with self._space.lock:
            stored = self._space.partition(partition).plans.get(plan)
            return None if stored is None else stored.blob

    def count(self, partition: int) -> int:
        with self._space.lock:
            return len(self._space.partition(partition).plans)

    def collect(self, partition: int, plans: tuple[str, ...], unused_ms: int) -> int:
        with self._space.lock:
            state, before = self._space.partition(partition), self._space.clock() - unused_ms
            gone = {
                plan
                for plan in plans
                if plan in state.plans and state.plans[plan].used_at <= before
            }
            for plan in gone:
                _drop(state, plan)
            return len(gone)

    def collect_unused(self, partition: int, unused_ms: int, limit: int) -> tuple[int, int]:
        with self._space.lock:
            state, now, gone = self._space.partition(partition), self._space.clock(), 0
            before = now - unused_ms
            due = state.plans_in_order.upto(before, limit)
            for plan in due:
                stored = state.plans[plan]
                if stored.used_at > before:
                    state.plans_in_order.put(plan, stored.used_at)
                elif plan in state.references or stored.owner in state.executions:
                    state.plans_in_order.put(plan, now)
                else:
                    _drop(state, plan)
                    gone += 1
            return len(due), gone


def _drop(state: Partition, plan: str) -> None:
    del state.plans[plan]
    state.plans_in_order.drop(plan)

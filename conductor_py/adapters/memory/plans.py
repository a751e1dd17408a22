"""Compiled definitions in memory: the reference implementation of the port."""

from __future__ import annotations

from conductor_py.adapters.memory.space import MemorySpace, Plan


class MemoryPlanStore:
    """``PlanStore`` in memory."""

    def __init__(self, space: MemorySpace) -> None:
        """Share the space with the other ports."""
        self._space = space

    def put(self, partition: int, plan: str, blob: bytes, reads: dict[str, bytes]) -> None:
        with self._space.lock:
            stored = Plan(blob=blob, reads=dict(reads), used_at=self._space.clock())
            self._space.partition(partition).plans[plan] = stored

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
                del state.plans[plan]
            return len(gone)

"""The compiled plans that a process remembers: bounded by number and by size, the least recently
used go first.

A fragment (tasks that came as data) belongs to one execution and is of no use after it, so
fragments have a smaller room of their own: however many come by, the plans of definitions stay.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from conductor_py.decider.plan import Plan
from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass

_PLANS: Final = 2_000
_FRAGMENTS: Final = 400
_BYTES: Final = 16 << 20
"""As stored; compiled they are some times as large."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan with the bytes it is stored as; a fragment has an owner."""

    plan: Plan
    blob: bytes
    owner: ExecutionId | None


class PlanCache:
    """Plans by hash. Safe for threads."""

    def __init__(
        self, *, plans: int = _PLANS, fragments: int = _FRAGMENTS, size: int = _BYTES
    ) -> None:
        """Keep so many of each, and of each so many bytes; the newest one always."""
        self._plans = _Room(plans, size)
        self._fragments = _Room(fragments, size)
        self._lock = Lock()

    def get(self, plan_hash: str) -> Compiled | None:
        """Find a plan; it counts as used."""
        with self._lock:
            return self._plans.get(plan_hash) or self._fragments.get(plan_hash)

    def put(self, compiled: Compiled) -> None:
        """Remember a plan."""
        with self._lock:
            (self._plans if compiled.owner is None else self._fragments).put(compiled)

    def clear(self) -> None:
        """Remember nothing."""
        with self._lock:
            self._plans.clear()
            self._fragments.clear()


class _Room:
    """Compiled plans, least recently used first."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, Compiled] = OrderedDict()

    def get(self, plan_hash: str) -> Compiled | None:
        found = self._kept.get(plan_hash)
        if found is not None:
            self._kept.move_to_end(plan_hash)
        return found

    def put(self, compiled: Compiled) -> None:
        plan_hash = compiled.plan.hash
        before = self._kept.pop(plan_hash, None)
        self._bytes += len(compiled.blob) - (len(before.blob) if before else 0)
        self._kept[plan_hash] = compiled
        while len(self._kept) > self._most or (
            self._bytes > self._most_bytes and len(self._kept) > 1
        ):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.blob)

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0

"""The compiled plans that a process remembers: bounded by number and by size, the least recently
used go first.

A fragment (tasks that came as data) belongs to one execution and is of no use after it, so
fragments have a smaller room of their own: however many come by, the plans of definitions stay.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

from conductor_py.decider.plan import Plan
from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass

_PLANS: Final = 2_000
_FRAGMENTS: Final = 400
PLAN_BYTES: Final = 16 << 20
"""As stored; compiled they are some times as large."""
_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan with the bytes it is stored as; a fragment has an owner."""

    plan: Plan
    blob: bytes
    owner: ExecutionId | None


class PlanCache:
    """Plans by hash. Safe for threads."""

    def __init__(
        self, *, plans: int = _PLANS, fragments: int = _FRAGMENTS, size: int = PLAN_BYTES
    ) -> None:
        """Keep so many of each, and of each so many bytes; the newest one always."""
        self._plans = Room[str, Compiled](plans, size)
        self._fragments = Room[str, Compiled](fragments, size)
        self._lock = Lock()

    def get(self, plan_hash: str) -> Compiled | None:
        """Find a plan; it counts as used."""
        with self._lock:
            return self._plans.get(plan_hash) or self._fragments.get(plan_hash)

    def put(self, compiled: Compiled) -> None:
        """Remember a plan."""
        with self._lock:
            room = self._plans if compiled.owner is None else self._fragments
            room.put(compiled.plan.hash, compiled, len(compiled.blob))

    def clear(self) -> None:
        """Remember nothing."""
        with self._lock:
            self._plans.clear()
            self._fragments.clear()


class Room(Generic[_K, _V]):
    """At most so many things of so many bytes together, the newest one always; what was used least
    recently goes first. Not safe for threads.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        """Hold nothing yet."""
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[_K, tuple[_V, int]] = OrderedDict()

    def get(self, key: _K) -> _V | None:
        """Find a thing; it counts as used."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: _K, value: _V, size: int) -> None:
        """Hold a thing of so many bytes, in place of another one with its key."""
        before = self._kept.pop(key, None)
        self._bytes += size - (before[1] if before else 0)
        self._kept[key] = (value, size)
        while len(self._kept) > self._most or (
            self._bytes > self._most_bytes and len(self._kept) > 1
        ):
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= oldest

    def clear(self) -> None:
        """Hold nothing any more."""
        self._kept.clear()
        self._bytes = 0

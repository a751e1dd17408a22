"""What checks look at and find: executions before a call, accepted results, violations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from conductor_py.adapters.memory.claims import ClaimSide
from conductor_py.adapters.memory.space import Execution
from conductor_py.records import dataclass

if TYPE_CHECKING:
    from conductor_py.testing.simulation.invariants import Checks


@dataclass(frozen=True, slots=True)
class Violation:
    """What did not hold, and when (microseconds)."""

    invariant: str
    sentence: str
    at: int = 0


@dataclass(slots=True, eq=False)
class Before:
    """An execution as it was before a call."""

    version: int
    generation: int
    terminal: bool
    base: int
    last: str
    inbox: tuple[bytes, ...]
    fields: dict[str, bytes]

    @staticmethod
    def of(stored: Execution | None) -> Before | None:
        """Copy what may change; nothing when there is no execution."""
        if stored is None:
            return None
        return Before(
            stored.version,
            stored.generation,
            stored.terminal,
            stored.base,
            stored.last,
            tuple(stored.inbox),
            dict(stored.fields),
        )

    def is_still(self, stored: Execution) -> bool:
        """Tell whether an execution is as it was."""
        return (
            (self.version, self.generation, self.terminal, self.base)
            == (stored.version, stored.generation, stored.terminal, stored.base)
            and self.inbox == tuple(stored.inbox)
            and self.fields == stored.fields
        )

    def claim(self, seq: int) -> ClaimSide:
        """Read the claim side of an attempt as it was."""
        text = self.fields.get(f"c:{seq}")
        return ClaimSide() if text is None else ClaimSide(**json.loads(text))


@dataclass(slots=True)
class Accepted:
    """A result that was accepted: its status and output, and whether nothing could go before it."""

    status: str
    output: bytes
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """What had been promised at an instant, by (execution, attempt), execution, or key."""

    accepted: dict[tuple[str, int], Accepted]
    handed: dict[tuple[str, int], int]
    identities: dict[str, dict[tuple[Any, ...], int]]
    started: frozenset[str]
    keys: dict[tuple[str, str], set[str]]

    @staticmethod
    def by(checks: Checks) -> Promised:
        """Copy what has been promised up to now."""
        return Promised(
            accepted=dict(checks.accepted),
            handed=dict(checks.handed),
            identities={name: dict(known) for name, known in checks.identities.items()},
            started=frozenset(checks.started),
            keys={key: set(ids) for key, ids in checks.keys.items()},
        )


__all__ = ["Accepted", "Before", "Promised", "Violation"]

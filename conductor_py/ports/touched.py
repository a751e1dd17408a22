"""Touched attempts: what changed of open executions where a search shows it, until the index knows.

Commits, starts and polls note the attempts they change; the effect ``tasks`` of a partition, which
comes with the first, puts all that were noted meanwhile into the index together. An attempt that
changes again before that is noted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.records import dataclass

EFFECT: Final = "tasks"
"""The id of the effect, one a partition, and its kind."""

GATHER_MS: Final = 500
"""How long changes are gathered before the index is told, where nobody says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """Attempt ``seq`` was changed, or deleted, at an instant of the store."""

    execution: ExecutionId
    seq: int
    at_ms: int


class TouchedTasks(Protocol):
    """What was touched in one partition."""

    def look(self, partition: int, limit: int) -> tuple[Touch, ...]:
        """List what was touched before now, the oldest first."""

    def drop(self, partition: int, touches: Sequence[Touch]) -> None:
        """Forget them; one that was touched again since stays."""

    def size(self, partition: int) -> int:
        """Count what was touched."""

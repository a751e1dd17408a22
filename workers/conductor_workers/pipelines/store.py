"""What the engine keeps for a job, as the coordinator asks for it.

Every verb carries the attempt's token. A refused token is final: ``Fenced``. What the engine did
not answer is not known: ``Unanswered``; the caller looks again before it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from conductor_py.records import dataclass
from conductor_workers.pipelines.connectors import Owner


class Fenced(Exception):
    """Another attempt holds the task: stop everything, touch nothing."""


class EpochConflict(Exception):
    """The record's epoch is not the expected one; ``epoch`` is what it is."""

    def __init__(self, epoch: int) -> None:
        """Say the epoch that is there."""
        super().__init__(f"the newest record has epoch {epoch}")
        self.epoch = epoch


class Unanswered(Exception):
    """The engine did not answer; the call may have been carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """An older record that an operator wants a pipeline to go on from: of an epoch (``savepoint``
    is empty) or of a savepoint.
    """

    record: Mapping[str, Any]
    epoch: int | None = None
    savepoint: str = ""
    rewind: bool = False
    """Whether what was published since may be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the engine keeps of one pipeline: its newest record and the notes since.

    ``resume`` is there until the next record is put; epochs go on from ``epoch`` all the same.
    """

    epoch: int = 0
    record: Mapping[str, Any] | None = None
    notes: tuple[Mapping[str, Any], ...] = ()
    resume: Resume | None = None


class JobStore(Protocol):
    """The records of one task, for one attempt."""

    @property
    def owner(self) -> Owner:
        """The task, and the line of the attempt; known once ``acquire`` was called."""

    @property
    def token(self) -> int:
        """The attempt's token; larger than that of every attempt before."""

    def acquire(self) -> Mapping[str, Kept]:
        """Refuse all older tokens from now on; return what is kept, by pipeline."""

    def append(self, pipeline: str, notes: Sequence[Mapping[str, Any]]) -> None:
        """Add notes to a pipeline's write-ahead log."""

    def put(
        self,
        pipeline: str,
        record: Mapping[str, Any],
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> None:
        """Replace the record if its epoch is ``expected``; ``epoch`` is that or one more.

        Deletes the notes, and all but the newest ``retain`` records. Raises ``EpochConflict``,
        ``Fenced``, ``Unanswered``.
        """

    def pinned(self, pipeline: str) -> Sequence[Mapping[str, Any]]:
        """Return the records that savepoints hold of a pipeline: what they name stays."""

    def get(self, pipeline: str) -> Kept:
        """Return what is kept of one pipeline now."""

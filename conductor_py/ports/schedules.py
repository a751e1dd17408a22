"""Schedules: their documents, which instant each waits for, and the records of what fired.

One store for all partitions. A schedule that is armed has exactly one entry in the due set, from
the put that armed it until the put, settlement or deletion that disarms it: a claim only moves the
entry to the end of its lease, so a scheduler that dies loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSchedule:
    """A schedule as the store has it.

    ``version`` grows with each put and each settlement that moved it;
    ``generation`` is the version of its creation, another one after it was deleted and created
    again. ``next_ms`` is the instant that it waits for (0: none). ``tries`` counts the claims of
    that instant.
    """

    name: str
    document: bytes
    version: int
    generation: int
    next_ms: int
    armed: bool
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSettlement:
    """What came of the claim of an instant: it moves on to ``next_ms`` (0: none), and ``record``
    is kept under ``record_id``. A run that was only asked for has ``fired_ms`` 0 and moves nothing.

    ``started`` is the execution that was started (empty: none); ``ended`` are those started before
    that are known to have ended. When more than ``trim_above`` records are kept, the newest
    ``keep`` stay.
    """

    name: str
    generation: int
    fired_ms: int
    next_ms: int
    record_id: str
    record_ms: int
    record: bytes
    keep: int
    trim_above: int
    started: str = ""
    ended: tuple[str, ...] = ()


class ScheduleStore(Protocol):
    """Schedules by name."""

    def put(
        self, name: str, document: bytes, *, version: int, next_ms: int, armed: bool
    ) -> int | None:
        """Store a schedule that has ``version`` now (0: there is none); its new version, ``None``
        when it has another one.

        Versions are ``max(previous + 1, store time in ms)``. While ``next_ms`` is what it was, the
        count of its claims stays, and when ``armed`` is, too, so does a claim; else the due entry
        is put at ``next_ms``, or dropped unless armed with an instant.
        """

    def read(self, names: Sequence[str] | None) -> tuple[StoredSchedule, ...]:
        """Read those that exist, in the order of ``names``; ``None``: all, by name."""

    def delete(self, name: str) -> bool:
        """Drop a schedule, its due entry and its records; false when there is none."""

    def claim_due(self, limit: int, lease_ms: int) -> tuple[int, tuple[StoredSchedule, ...], int]:
        """Claim what is due, longest due first, with the store's time (epoch ms) before and the
        instant of the next one behind (0: none waits).

        Each counts one try more and is due again ``lease_ms`` after that time, unless it is settled
        before. Nothing is due while all are halted.
        """

    def settle(self, settlement: ScheduleSettlement) -> bool:
        """Keep the record and what was started, and move the schedule on.

        Moves, and returns true, only while the schedule waits for the settlement's instant, in the
        same generation: what was changed meanwhile stays, as that waits for another instant if its
        plan is another. The record is kept even when it does not move, unless the schedule is gone
        or another generation; it replaces one of the same id only when it tells of a start. Moving
        starts the count of tries anew; an instant that has passed already is due at once, behind
        those that are due.
        """

    def started(self, name: str) -> tuple[str, ...]:
        """Name what it started that is not known to have ended, newest first: the last 20."""

    def records(self, names: Sequence[str], limit: int) -> tuple[tuple[bytes, ...], ...]:
        """Read the newest records of each schedule, newest first."""

    def halt(self, *, halted: bool) -> None:
        """Stop all claims, or let them go on."""

    def requeue(self, name: str) -> bool:
        """Put an armed schedule without a due entry back; tells whether there was one to put."""

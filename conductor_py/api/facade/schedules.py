"""What the HTTP front needs of schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from conductor_py.api.facade.definitions import Told
from conductor_py.api.facade.pages import FoundPage
from conductor_py.model.backfills import Backfill
from conductor_py.model.json import JsonObject
from conductor_py.model.schedules import CronSchedule, RunFilter, Schedule, ScheduleFilter

_T = TypeVar("_T")


class Schedules(Protocol):
    """Schedules: they arrive here checked by ``wire``."""

    def save(self, schedule: Schedule, /) -> JsonObject:
        """Store one, new or not, and answer it; ``PayloadTooLarge``."""

    def get(self, name: str, /) -> Schedule:
        """Read one; ``NotFound``."""

    def delete(self, name: str, /) -> None:
        """Remove one; nothing happens when there is none."""

    def pause(self, name: str, reason: str | None, /) -> None:
        """Let one wait; ``NotFound``."""

    def resume(self, name: str, /, *, catch_up: bool) -> None:
        """Let one go on; ``NotFound`` also when it is not paused."""

    def pause_all(self, names: Sequence[str], /) -> JsonObject:
        """Pause each; a BulkResponse."""

    def resume_all(self, names: Sequence[str], /) -> JsonObject:
        """Resume each; a BulkResponse."""

    def tag(self, name: str, tags: Sequence[Mapping[str, str]], /, *, remove: bool) -> None:
        """Add tags or take them away; ``NotFound``."""

    def run(self, name: str, /) -> str:
        """Start what one says; ``NotFound``, and the errors of a start."""

    def halt(self, *, halted: bool) -> None:
        """Stop all, or let them go on."""

    def requeue(self) -> JsonObject:
        """Put back what should be due."""

    def document(self, name: str, /) -> JsonObject:
        """Read one; ``NotFound``."""

    def all(self, workflow_name: str, told: Told[_T], /) -> Sequence[_T]:
        """List what is told of those of a workflow, or of all."""

    def search(
        self, wanted: ScheduleFilter, told: Told[_T], /, *, start: int, size: int
    ) -> tuple[int, Sequence[_T]]:
        """Search schedules: how many there are, and a page of what is told of them."""

    def runs(
        self, wanted: RunFilter, /, *, start: int, size: int, sort: Sequence[tuple[str, bool]]
    ) -> FoundPage:
        """Search records, by fields and whether they ascend."""

    def preview(
        self, cron: CronSchedule, /, *, start_ms: int | None, end_ms: int | None, count: int
    ) -> Sequence[int]:
        """List the next instants of an expression."""


class Backfills(Protocol):
    """Backfills: they arrive here checked by ``wire``."""

    def now_ms(self) -> int:
        """The time that what is past is told by."""

    def plan(self, backfill: Backfill, /) -> Sequence[Sequence[int]]:
        """Tell what would be run, by lanes; ``NotFound``, ``InvalidInput``."""

    def start(self, backfill: Backfill, /) -> tuple[str, Sequence[Sequence[int]]]:
        """Start it; the execution's id and what it runs. ``NotFound``, ``Conflict``."""

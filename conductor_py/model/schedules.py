"""Schedules: what is started when, and which instant comes next.

An instant is planned, then fired. What is planned is kept in the store; here it is worked out of
the definition alone, so that every scheduler comes to the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from heapq import heappop, heappush
from itertools import islice
from types import MappingProxyType

from conductor_py.model.cron import parse
from conductor_py.model.json import JsonObject
from conductor_py.model.zoned_time import next_instant, zone_of
from conductor_py.records import dataclass, field


class Overlap(StrEnum):
    """What happens when an instant comes and the execution started last has not ended."""

    ALLOW = "ALLOW"
    SKIP = "SKIP"


class RunState(StrEnum):
    """How a firing stands: taken by a scheduler, started, or not started for a reason."""

    POLLED = "POLLED"
    EXECUTED = "EXECUTED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSchedule:
    """An expression with its zone."""

    cron_expression: str
    zone_id: str = "UTC"

    @property
    def text(self) -> str:
        """The two as an execution is told of them."""
        return f"{self.cron_expression} {self.zone_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule under Conductor's names. Times are epoch ms, 0 and ``None``: not set; the window
    is inclusive. ``start_workflow_request`` is kept as it was sent.
    """

    name: str
    start_workflow_request: JsonObject
    cron_expression: str | None = None
    zone_id: str = "UTC"
    cron_schedules: tuple[CronSchedule, ...] = ()
    run_catchup_schedule_instances: bool = False
    paused: bool = False
    paused_reason: str | None = None
    schedule_start_time: int | None = None
    schedule_end_time: int | None = None
    overlap_policy: Overlap = Overlap.ALLOW
    description: str | None = None
    tags: tuple[Mapping[str, str], ...] = ()
    create_time: int = 0
    updated_time: int = 0
    created_by: str = ""
    updated_by: str = ""

    @property
    def crons(self) -> tuple[CronSchedule, ...]:
        """The expressions that count: the list when there is one, else the single one."""
        if self.cron_schedules or not self.cron_expression:
            return self.cron_schedules
        return (CronSchedule(cron_expression=self.cron_expression, zone_id=self.zone_id),)

    @property
    def timing(self) -> tuple[object, ...]:
        """What decides about the instants; while it stays, a planned instant stays."""
        return (self.crons, self.schedule_start_time, self.schedule_end_time, self.paused)

    @property
    def workflow_name(self) -> str:
        """The workflow that it starts."""
        return str(self.start_workflow_request.get("name", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    """The record of one firing. ``execution_id`` is the record's own, ``workflow_id`` that of the
    execution, empty when none was started.
    """

    execution_id: str
    schedule_name: str
    scheduled_time: int
    execution_time: int
    workflow_name: str
    workflow_id: str = ""
    state: RunState = RunState.EXECUTED
    reason: str | None = None
    stack_trace: str | None = None
    zone_id: str = "UTC"
    start_workflow_request: JsonObject = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules are wanted; what is not set accepts all."""

    workflow_name: str = ""
    name_part: str = ""
    paused: bool | None = None

    def accepts(self, schedule: Schedule) -> bool:
        """Whether a schedule is one of them."""
        return (
            self.workflow_name in {"", schedule.workflow_name}
            and self.name_part.lower() in schedule.name.lower()
            and self.paused in {None, schedule.paused}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which records are wanted; what is not set accepts all. The times are exclusive; a workflow is
    wanted when its name holds one of ``workflow_parts``.
    """

    names: frozenset[str] | None = None
    states: frozenset[RunState] | None = None
    after_ms: int | None = None
    before_ms: int | None = None
    workflow_parts: frozenset[str] | None = None
    execution: str = ""

    def accepts(self, run: ScheduleRun) -> bool:
        """Whether a record is one of them; an execution is named by either of its ids."""
        return (
            (self.names is None or run.schedule_name in self.names)
            and (self.states is None or run.state in self.states)
            and (self.after_ms is None or run.scheduled_time > self.after_ms)
            and (self.before_ms is None or run.scheduled_time < self.before_ms)
            and (
                self.workflow_parts is None
                or any(part in run.workflow_name for part in self.workflow_parts)
            )
            and self.execution in {"", run.execution_id, run.workflow_id}
        )


def next_run(schedule: Schedule, after_ms: int) -> int | None:
    """Work out the first instant after ``after_ms`` inside the schedule's window."""
    start = schedule.schedule_start_time
    if start:
        after_ms = max(after_ms, start - 1)
    found = min(
        (
            instant
            for one in schedule.crons
            if (instant := _next(one.cron_expression, one.zone_id, after_ms)) is not None
        ),
        default=None,
    )
    end = schedule.schedule_end_time
    return None if found is None or (end and found > end) else found


def run_after(schedule: Schedule, fired_ms: int, now_ms: int) -> int | None:
    """Work out the instant after one that fired: the very next with catch-up, else the next that
    is still to come.
    """
    if schedule.run_catchup_schedule_instances:
        return next_run(schedule, fired_ms)
    return next_run(schedule, max(fired_ms, now_ms))


def cron_of(schedule: Schedule, instant_ms: int) -> CronSchedule:
    """Tell which expression means an instant; the first when none does (a run asked for)."""
    for one in schedule.crons:
        if _next(one.cron_expression, one.zone_id, instant_ms - 1) == instant_ms:
            return one
    return schedule.crons[0]


def upcoming(schedule: Schedule, after_ms: int, count: int) -> tuple[int, ...]:
    """List the next instants, at most ``count``."""
    return tuple(instant for instant, _ in islice(instants(schedule, after_ms), count))


def instants(schedule: Schedule, after_ms: int) -> Iterator[tuple[int, CronSchedule]]:
    """List all instants after ``after_ms`` inside the window, each with the first expression that
    means it. An expression is asked anew when its instant has come, and not for each of the others.
    """
    start, end = schedule.schedule_start_time, schedule.schedule_end_time
    if start:
        after_ms = max(after_ms, start - 1)
    coming: list[tuple[int, int]] = []

    def ask(place: int, after: int) -> None:
        one = schedule.crons[place]
        instant = _next(one.cron_expression, one.zone_id, after)
        if instant is not None and not (end and instant > end):
            heappush(coming, (instant, place))

    for place in range(len(schedule.crons)):
        ask(place, after_ms)
    while coming:
        instant, first = coming[0]
        yield instant, schedule.crons[first]
        while coming and coming[0][0] == instant:
            ask(heappop(coming)[1], instant)


def _next(expression: str, zone: str, after_ms: int) -> int | None:
    return next_instant(parse(expression), after_ms, zone_of(zone))

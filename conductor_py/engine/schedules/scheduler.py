"""The scheduler: takes the schedules that are due and starts what they say, each instant once.

A firing is: claim (the entry moves to the end of a lease), start under an id made of the schedule's
name, generation and instant, settle (the schedule moves on from that instant). Killed between any
two steps, the claim ends and somebody does it again: what was started is found, live or archived,
whatever the schedule says by then. Nobody starts after the end of his claim, by the store's time,
so that one who was held up cannot start what was started, archived and removed meanwhile.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

import orjson

from conductor_py.codec.event_handlers import dump_message
from conductor_py.codec.schedules import dump_run, load_schedule
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.executions.executions import Executions
from conductor_py.errors import (
    ConductorError,
    NotFound,
    StoreFailure,
    StoreFull,
    StoreUnavailable,
)
from conductor_py.model.event_handlers import ALERT, EventMessage
from conductor_py.model.ids import derived_execution_id
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest
from conductor_py.model.schedules import (
    Overlap,
    RunState,
    Schedule,
    ScheduleRun,
    cron_of,
    run_after,
)
from conductor_py.model.status import WorkflowStatus
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.schedules import ScheduleSettlement, ScheduleStore, StoredSchedule
from conductor_py.records import dataclass
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.requests import read_start

_LOG = logging.getLogger(__name__)
_MARGIN_MS = 2_000
"""Twice what an estimate of the store's time may be off."""
_TRIES = 3
"""So often an instant is tried that fails for reasons nobody foresaw."""
_REASON = 999
_TRACE = 2_000
_KEPT_REQUEST_BYTES = 4_096
_LEAST_REST_S = 0.01
_HOME = 0
"""The partition of schedules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """How many records a schedule keeps, and above how many the others go."""

    keep: int = 50
    trim_above: int = 100


class Firing:
    """Starts what a schedule says, and keeps a record of it."""

    def __init__(
        self,
        store: ScheduleStore,
        executions: Executions,
        clock: StoreClock,
        history: RunHistory,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._executions = executions
        self._clock = clock
        self._history = history
        self._definitions = DefinitionReader()

    def start(
        self,
        schedule: Schedule,
        instant_ms: int,
        *,
        cause: str,
        before_ms: int = 0,
    ) -> ScheduleRun:
        """Start the execution of an instant; a repeat of the cause starts nothing more.

        Errors are those of a start. ``before_ms`` is when the right to start ends.
        """
        run = planned_run(schedule, instant_ms, cause, self._clock.now_ms())
        request = self._request(schedule, run)
        started = self._executions.start(request, cause=cause, before_ms=before_ms)
        return replace(run, workflow_id=started, state=RunState.EXECUTED)

    def started(self, schedule: Schedule, instant_ms: int, *, cause: str) -> ScheduleRun | None:
        """Find what a former try of the cause has started."""
        found = self._executions.begun(cause)
        if found is None:
            return None
        run = planned_run(schedule, instant_ms, cause, self._clock.now_ms())
        return replace(run, workflow_id=found, state=RunState.EXECUTED)

    def settle(
        self,
        stored: StoredSchedule,
        run: ScheduleRun,
        *,
        fired_ms: int,
        next_ms: int,
        ended: tuple[str, ...] = (),
    ) -> bool:
        """Keep the record and move the schedule on; ``ended`` are those that it need not know."""
        return self._store.settle(
            ScheduleSettlement(
                name=stored.name,
                generation=stored.generation,
                fired_ms=fired_ms,
                next_ms=next_ms,
                record_id=run.execution_id,
                record_ms=run.scheduled_time,
                record=dump_run(run),
                keep=self._history.keep,
                trim_above=self._history.trim_above,
                started=run.workflow_id,
                ended=ended,
            )
        )

    def running(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Find one that a schedule started and that has not ended (empty: none), and those that
        need not be asked again. The last one does: it may be tried again.
        """
        started = self._store.started(name)
        for number, execution in enumerate(started):
            if not self._has_ended(execution):
                return execution, started[1:number]
        return "", started[1:]

    def _has_ended(self, execution: str) -> bool:
        try:
            found = self._executions.status(
                execution, include_output=False, include_variables=False
            )
        except NotFound:
            return True
        return WorkflowStatus(str(found["status"])).terminal

    def _request(self, schedule: Schedule, run: ScheduleRun) -> StartRequest:
        request = read_start(dict(schedule.start_workflow_request), self._definitions)
        zone = request.zone or cron_of(schedule, run.scheduled_time).zone_id
        request = replace(request, business_at=run.scheduled_time, zone=zone)
        if request.external_input and not request.input:
            return request  # what lies in payload storage is not added to
        told: JsonObject = {
            "_startedByScheduler": schedule.name,
            "_scheduledTime": run.scheduled_time,
            "_executedTime": run.execution_time,
            "_executionId": run.execution_id,
            "_schedulerCron": cron_of(schedule, run.scheduled_time).text,
        }
        return replace(request, input={**request.input, **told})


class Scheduler:
    """Fires what is due; any number may run."""

    def __init__(
        self,
        store: ScheduleStore,
        firing: Firing,
        outbox: Outbox,
        clock: StoreClock,
        *,
        batch: int = 5,
        lease_ms: int = 30_000,
    ) -> None:
        """``outbox`` gets the alerts; ``batch`` bounds what one tick takes, ``lease_ms`` how long
        that may take.
        """
        self._store = store
        self._firing = firing
        self._outbox = outbox
        self._clock = clock
        self._batch = batch
        self._lease_ms = lease_ms
        self._next_ms = 0

    def rest_s(self, most_s: float) -> float:
        """How long there is nothing to fire: until the next instant that the last tick saw, at most
        so long, as somebody may add an earlier one.
        """
        if not self._next_ms:
            return most_s
        return min(max((self._next_ms - self._clock.now_ms()) / 1000, _LEAST_REST_S), most_s)

    def tick(self) -> int:
        """Fire what is due, one instant a schedule; returns how many schedules were due."""
        now, claimed, self._next_ms = self._store.claim_due(self._batch, self._lease_ms)
        self._clock.correct(now)
        for stored in claimed:
            self._take(stored, now + self._lease_ms - _MARGIN_MS)
        return len(claimed)

    def _take(self, stored: StoredSchedule, before_ms: int) -> None:
        try:
            schedule = load_schedule(stored.document)
            run, ended = self._fire(schedule, stored, before_ms)
            self._move(schedule, stored, run, ended)
        except StoreFull as full:
            _LOG.warning(
                "A schedule cannot be fired now; its claim ends and it comes again",
                extra={"action": "fire_later", "schedule": stored.name, "reason": full.message},
            )
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - one schedule must not stop the others
            _LOG.exception(
                "A schedule cannot be fired; its claim ends and it comes again",
                extra={"action": "fire_failed", "schedule": stored.name},
            )

    def _fire(
        self, schedule: Schedule, stored: StoredSchedule, before_ms: int
    ) -> tuple[ScheduleRun, tuple[str, ...]]:
        """The record of the instant, and what has ended of what was started before."""
        instant, cause = stored.next_ms, cause_of(stored)
        ended: tuple[str, ...] = ()
        failed = planned_run(schedule, instant, cause, self._clock.now_ms())
        failed = replace(failed, state=RunState.FAILED)
        try:
            own = stored.tries > 1 and self._firing.started(schedule, instant, cause=cause)
            if own:
                return own, ended
            if schedule.overlap_policy is Overlap.SKIP:
                running, ended = self._firing.running(schedule.name)
                if running:
                    reason = f"Skipped: execution {running} has not ended."
                    return replace(failed, reason=reason), ended
            run = self._firing.start(schedule, instant, cause=cause, before_ms=before_ms)
            return run, ended
        except StoreFailure:
            raise
        except ConductorError as error:
            return self._told(stored, replace(failed, reason=error.message[:_REASON])), ended
        except Exception as error:
            if stored.tries < _TRIES:
                raise
            trace = traceback.format_exc()[-_TRACE:]
            told = replace(failed, reason=str(error)[:_REASON], stack_trace=trace)
            return self._told(stored, told), ended

    def _move(
        self,
        schedule: Schedule,
        stored: StoredSchedule,
        run: ScheduleRun,
        ended: tuple[str, ...],
    ) -> None:
        instant = stored.next_ms
        next_ms = run_after(schedule, instant, self._clock.now_ms()) or 0
        moved = self._firing.settle(stored, run, fired_ms=instant, next_ms=next_ms, ended=ended)
        _LOG.info(
            "A schedule fired",
            extra={
                "action": "schedule_fired",
                "schedule": stored.name,
                "scheduled_ms": instant,
                "state": run.state.value,
                "workflow_id": run.workflow_id,
                "reason": run.reason,
                "moved": moved,
            },
        )

    def _told(self, stored: StoredSchedule, failed: ScheduleRun) -> ScheduleRun:
        """Have somebody look at a firing that failed: a repeat of it is the same alert."""
        message = EventMessage(
            id=cause_of(stored),
            event=ALERT,
            published_at=self._clock.now_ms(),
            payload={
                "schedule": stored.name,
                "scheduledTime": stored.next_ms,
                "reason": f"Schedule {stored.name}: {failed.reason}",
            },
        )
        self._outbox.order(_HOME, [(f"alert:{message.id}", dump_message(message))])
        return failed


def cause_of(stored: StoredSchedule) -> str:
    """Name the firing of the instant that a schedule waits for; its ids are made of it."""
    return f"schedule {stored.name} {stored.generation} {stored.next_ms}"


def planned_run(schedule: Schedule, instant_ms: int, cause: str, now_ms: int) -> ScheduleRun:
    """Begin the record of a firing: taken by a scheduler at ``now_ms``."""
    return ScheduleRun(
        execution_id=derived_execution_id(f"record of {cause}", 0),
        schedule_name=schedule.name,
        scheduled_time=instant_ms,
        execution_time=now_ms,
        workflow_name=schedule.workflow_name,
        state=RunState.POLLED,
        zone_id=cron_of(schedule, instant_ms).zone_id,
        start_workflow_request=_kept_request(schedule.start_workflow_request),
    )


def _kept_request(request: JsonObject) -> JsonObject:
    """Leave out what would make records large."""
    if len(orjson.dumps(request, default=dict)) <= _KEPT_REQUEST_BYTES:
        return request
    return {name: request[name] for name in ("name", "version") if name in request}

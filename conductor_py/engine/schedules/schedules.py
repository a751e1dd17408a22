"""Schedules: saved, read, paused, searched. What is due is fired by ``scheduler``.

Every change is a compare-and-set on the schedule's version: a firing that comes between is seen,
and the change is worked out again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from conductor_py.codec.schedules import (
    Json,
    dump_schedule,
    load_run,
    load_schedule,
    run_to_json,
    schedule_to_json,
)
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.readable import enumerated, readable
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.payloads.holding import PayloadHolding, schedule_holder
from conductor_py.engine.reading.reading import FoundPage
from conductor_py.engine.schedules.scheduler import Firing, RunHistory, cause_of, planned_run
from conductor_py.errors import (
    ConductorError,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    StoreFailure,
    StoreUnavailable,
)
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.schedules import (
    CronSchedule,
    RunFilter,
    RunState,
    Schedule,
    ScheduleFilter,
    ScheduleRun,
    next_run,
    upcoming,
)
from conductor_py.ports.payloads import paths_in
from conductor_py.ports.schedules import ScheduleStore, StoredSchedule

_CHANGE_TRIES = 10
_SAMPLES = 10
_LATE_MS = 60_000
_MAX_DOCUMENT_BYTES = 256 * 1024

_T = TypeVar("_T")

Tags = Sequence[Mapping[str, str]]
_Change = Callable[[Schedule, StoredSchedule, int], tuple[Schedule, int]]
"""From a schedule, as stored, at a time: what it becomes, and the instant that it waits for."""


class Schedules:
    """The verbs of a schedule; they arrive checked by ``wire``."""

    def __init__(
        self,
        store: ScheduleStore,
        firing: Firing,
        clock: StoreClock,
        history: RunHistory,
        holding: PayloadHolding,
        *,
        machine: Machine = REAL_MACHINE,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._firing = firing
        self._clock = clock
        self._history = history
        self._holding = holding
        self._machine = machine

    # -- change ------------------------------------------------------------------------------------

    def save(self, schedule: Schedule) -> JsonObject:
        """Store a schedule, new or not, and answer it.

        A planned instant stays unless expressions, zones, window or pause changed; then the next
        one is worked out from now. Creation time and creator stay. ``PayloadTooLarge`` above
        256 kB.
        """
        for _ in range(_CHANGE_TRIES):
            known, now = self._stored(schedule.name), self._clock.now_ms()
            if known is None:
                new = replace(schedule, create_time=now, updated_time=now)
                next_ms, version = next_run(new, now) or 0, 0
            else:
                before, version = load_schedule(known.document), known.version
                new = replace(
                    schedule,
                    create_time=before.create_time,
                    created_by=before.created_by,
                    updated_time=now,
                    tags=schedule.tags or before.tags,
                )
                same = before.timing == new.timing
                next_ms = known.next_ms if same else next_run(new, now) or 0
            if self._put(new, version, next_ms):
                return _shown(new, next_ms)
        raise _contended(schedule.name)

    def delete(self, name: str) -> None:
        """Drop a schedule and its records; nothing happens when there is none."""
        self._store.delete(name)
        self._holding.let_go(schedule_holder(name))

    def pause(self, name: str, reason: str | None) -> None:
        """Let a schedule wait (``NotFound``); one that waits takes the reason."""

        def paused(schedule: Schedule, stored: StoredSchedule, now: int) -> tuple[Schedule, int]:
            changed = replace(schedule, paused=True, paused_reason=reason, updated_time=now)
            return changed, stored.next_ms

        self._change(name, paused)

    def resume(self, name: str, *, catch_up: bool = False) -> None:
        """Let a paused schedule go on from now; with ``catch_up`` from where it was paused, which
        only a schedule that catches up can (``InvalidInput``). ``NotFound`` also when it is not
        paused.
        """

        def resumed(schedule: Schedule, stored: StoredSchedule, now: int) -> tuple[Schedule, int]:
            if not schedule.paused:
                raise NotFound(f"Schedule '{name}' is not paused.")
            if catch_up and not schedule.run_catchup_schedule_instances:
                raise InvalidInput(
                    "?catchup: only a schedule with runCatchupScheduleInstances makes up for what "
                    "it missed"
                )
            changed = replace(schedule, paused=False, paused_reason=None, updated_time=now)
            missed = stored.next_ms if catch_up else 0
            return changed, missed or next_run(changed, now) or 0

        self._change(name, resumed)

    def _each(self, names: Sequence[str], verb: Callable[[str], None]) -> JsonObject:
        done: list[JsonValue] = []
        errors: dict[str, JsonValue] = {}
        for name in names:
            try:
                verb(name)
                done.append(name)
            except StoreUnavailable:
                raise
            except ConductorError as error:
                errors[name] = error.message
            except (LookupError, TypeError, ValueError, AttributeError):
                errors[name] = "What the store holds of this schedule cannot be read."
        return {"bulkErrorResults": errors, "bulkSuccessfulResults": done}

    def pause_all(self, names: Sequence[str]) -> JsonObject:
        """Pause each; a BulkResponse."""
        return self._each(names, partial(self.pause, reason=None))

    def resume_all(self, names: Sequence[str]) -> JsonObject:
        """Resume each; a BulkResponse."""
        return self._each(names, self.resume)

    def tag(self, name: str, tags: Tags, *, remove: bool) -> None:
        """Add tags to a schedule, or take them away (``NotFound``)."""

        def tagged(schedule: Schedule, stored: StoredSchedule, now: int) -> tuple[Schedule, int]:
            others = [tag for tag in schedule.tags if tag not in tags]
            kept = others if remove else [*others, *tags]
            return replace(schedule, tags=tuple(kept), updated_time=now), stored.next_ms

        self._change(name, tagged)

    def _change(self, name: str, change: _Change) -> None:
        for _ in range(_CHANGE_TRIES):
            known = self._known(name)
            schedule = load_schedule(known.document)
            changed, next_ms = change(schedule, known, self._clock.now_ms())
            if self._put(changed, known.version, next_ms):
                return
        raise _contended(name)

    def _put(self, schedule: Schedule, version: int, next_ms: int) -> bool:
        document = dump_schedule(schedule)
        if len(document) > _MAX_DOCUMENT_BYTES:
            raise PayloadTooLarge(
                f"A schedule has at most {_MAX_DOCUMENT_BYTES} bytes; put a large input into "
                "payload storage and name its path"
            )
        self._holding.hold(schedule_holder(schedule.name), paths_in(document))
        put = self._store.put(
            schedule.name, document, version=version, next_ms=next_ms, armed=not schedule.paused
        )
        return put is not None

    # -- run ---------------------------------------------------------------------------------------

    def run(self, name: str) -> str:
        """Start what a schedule says now, paused or not, and answer the execution's id.

        The plan of the schedule stays as it is. ``NotFound``, and the errors of a start, which are
        kept as a record too.
        """
        stored, now = self._known(name), self._clock.now_ms()
        schedule = load_schedule(stored.document)
        cause = f"schedule {name} {stored.generation} asked {self._machine.token(16)}"
        try:
            run = self._firing.start(schedule, now, cause=cause)
        except StoreFailure:
            raise
        except ConductorError as error:
            failed = replace(
                planned_run(schedule, now, cause, now),
                state=RunState.FAILED,
                reason=error.message[:999],
            )
            self._firing.settle(stored, failed, fired_ms=0, next_ms=0)
            raise
        self._firing.settle(stored, run, fired_ms=0, next_ms=0)
        return run.workflow_id

    def halt(self, *, halted: bool) -> None:
        """Stop the firing of all schedules, on all servers, or let it go on."""
        self._store.halt(halted=halted)

    def requeue(self) -> JsonObject:
        """Put back what should be due and is not; nothing ever should be."""
        found = [one.name for one in self._store.read(None) if self._store.requeue(one.name)]
        samples: list[JsonValue] = list(found[:_SAMPLES])
        return {"recordIds.size": len(found), "sampleIds": samples}

    # -- read --------------------------------------------------------------------------------------

    def get(self, name: str) -> Schedule:
        """Read a schedule (``NotFound``)."""
        return load_schedule(self._known(name).document)

    def document(self, name: str) -> JsonObject:
        """Read a schedule in wire form (``NotFound``)."""
        known = self._known(name)
        return _shown(load_schedule(known.document), known.next_ms)

    def all(self, workflow_name: str, told: Callable[[JsonObject], _T]) -> tuple[_T, ...]:
        """List what is ``told`` of the schedules of a workflow, or of all without a name, by name:
        one is read after the other.
        """
        wanted = ScheduleFilter(workflow_name=workflow_name)
        return tuple(told(_shown(*found)) for found in self._matching(wanted))

    def starting(self, workflow_name: str) -> tuple[str, ...]:
        """Name the schedules of a workflow that are not paused."""
        wanted = ScheduleFilter(workflow_name=workflow_name)
        return tuple(schedule.name for schedule, _ in self._matching(wanted) if not schedule.paused)

    def of_workflows(self, names: Collection[str]) -> tuple[Schedule, ...]:
        """List the schedules that start one of these workflows, paused or not, by name."""
        every = (schedule for schedule, _ in self._matching(ScheduleFilter()))
        return tuple(schedule for schedule in every if schedule.workflow_name in names)

    def search(
        self, wanted: ScheduleFilter, told: Callable[[JsonObject], _T], *, start: int, size: int
    ) -> tuple[int, tuple[_T, ...]]:
        """Search schedules; a page of what is ``told`` of them, by name."""
        count, page = 0, list[_T]()
        for found in self._matching(wanted):
            if start <= count < start + size:
                page.append(told(_shown(*found)))
            count += 1
        return count, tuple(page)

    def runs(
        self, wanted: RunFilter, *, start: int, size: int, sort: Sequence[tuple[str, bool]]
    ) -> FoundPage:
        """Search the records of firings, those under way among them; newest first unless ``sort``
        (field, ascending) says otherwise.
        """
        names = None if wanted.names is None else sorted(wanted.names)
        stored = self._store.read(names)
        kept = self._store.records([one.name for one in stored], self._history.trim_above)
        records = enumerated(record for each in kept for record in each)
        found = list(readable("run of a schedule", records, load_run))
        known = {run.execution_id for run in found}
        found += [run for run in self._under_way(stored) if run.execution_id not in known]
        documents = _sorted([run_to_json(run) for run in found if wanted.accepts(run)], sort)
        return FoundPage(len(documents), tuple(documents[start : start + size]))

    def counts(self) -> dict[str, int]:
        """Count the schedules: active, late (active and due for a minute), paused, over."""
        found = {"active": 0, "late": 0, "paused": 0, "over": 0}
        late = self._clock.now_ms() - _LATE_MS
        for one in self._store.read(None):
            if not one.armed or not one.next_ms:
                found["over" if one.armed else "paused"] += 1
                continue
            found["active"] += 1
            found["late"] += one.next_ms < late
        return found

    def preview(
        self, cron: CronSchedule, *, start_ms: int | None, end_ms: int | None, count: int
    ) -> tuple[int, ...]:
        """List the next instants of an expression, from now or from a start."""
        asked = Schedule(
            name="",
            start_workflow_request={},
            cron_schedules=(cron,),
            schedule_start_time=start_ms,
            schedule_end_time=end_ms,
        )
        return upcoming(asked, start_ms - 1 if start_ms else self._clock.now_ms(), count)

    def _under_way(self, stored: Iterable[StoredSchedule]) -> list[ScheduleRun]:
        now = self._clock.now_ms()
        running = (one for one in stored if one.armed and one.tries and one.next_ms)
        return [
            planned_run(schedule, one.next_ms, cause_of(one), now)
            for one, schedule in _readable(running)
        ]

    def _matching(self, wanted: ScheduleFilter) -> Iterable[tuple[Schedule, int]]:
        for one, schedule in _readable(self._store.read(None)):
            if wanted.accepts(schedule):
                yield schedule, one.next_ms

    def _stored(self, name: str) -> StoredSchedule | None:
        return next(iter(self._store.read((name,))), None)

    def _known(self, name: str) -> StoredSchedule:
        stored = self._stored(name)
        if stored is None:
            raise NotFound(f"No such schedule found by name: {name}")
        return stored


def _readable(stored: Iterable[StoredSchedule]) -> Iterator[tuple[StoredSchedule, Schedule]]:
    """The schedules that can be read; the others are put aside when they are due."""
    named = ((one.name, one) for one in stored)
    return readable("schedule", named, lambda one: (one, load_schedule(one.document)))


def _shown(schedule: Schedule, next_ms: int) -> JsonObject:
    """Write a schedule with its next run, which a paused or finished one has not."""
    document = schedule_to_json(schedule)
    if next_ms and not schedule.paused:
        document["nextRunTime"] = next_ms
    return document


def _sorted(documents: list[Json], sort: Sequence[tuple[str, bool]]) -> list[Json]:
    found = sorted(documents, key=partial(_value, "scheduleName"))
    for name, ascending in reversed(sort or (("scheduledTime", False),)):
        found.sort(key=partial(_value, name), reverse=not ascending)
    return found


def _value(name: str, document: Json) -> tuple[int, str]:
    value = document.get(name, "")
    return (value, "") if isinstance(value, int) else (0, str(value))


def _contended(name: str) -> StoreUnavailable:
    return StoreUnavailable(f"Schedule '{name}' kept changing; try again.")

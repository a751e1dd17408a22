"""Backfills: one workflow, run for many business times that have passed.

A backfill is an execution like any other. Its definition is a DAG with a sub-workflow for each
business time; a *lane* is a chain of these, and as many lanes as there are run side by side. So
watching, pausing, stopping, retrying and rerunning a backfill are what these are everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final

from conductor_py.model.business_time import business_time
from conductor_py.model.definitions import (
    ORDER,
    Relation,
    SubWorkflowParams,
    WorkflowDef,
    WorkflowTask,
)
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.requests import StartRequest
from conductor_py.model.schedules import Schedule, instants
from conductor_py.records import dataclass

MAX_RUNS: Final = 1_000
"""Runs of one backfill; a longer range takes several."""

MAX_LANES: Final = 100

MAX_MEMBERS: Final = 50_000
"""Runs times members of the input: each run names each member."""

_INPUT: Final = "input"
_INLINE: Final = "workflowDef"
_SCHEDULE: Final = "schedule"


class OnFailure(StrEnum):
    """What follows in the lanes when a run fails."""

    STOP_LANE = "STOP_LANE"
    """Its lane ends there, the others go on."""
    CONTINUE = "CONTINUE"
    """Its lane goes on, too."""
    STOP_ALL = "STOP_ALL"
    """Everything ends, what runs is canceled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRun:
    """One run that is to be: the instant that it is about (epoch ms), the zone by whose calendar,
    and the cron expression that meant it, with its zone; empty: it was named.
    """

    business_at: int
    zone: str
    cron: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """What is to be run. ``request`` is that of each run, ``inline`` its definition as it was sent
    along, ``runs`` stand in the order in which they are dealt to the lanes, ``schedule`` is the
    name of the one that is made up for.
    """

    request: StartRequest
    runs: tuple[BackfillRun, ...]
    inline: JsonObject | None = None
    lanes: int = 1
    on_failure: OnFailure = OnFailure.STOP_LANE
    schedule: str = ""
    idempotency_key: str | None = None

    @property
    def dealt(self) -> tuple[tuple[BackfillRun, ...], ...]:
        """The runs of each lane, dealt round; no lane is empty."""
        count = min(self.lanes, len(self.runs))
        return tuple(self.runs[lane::count] for lane in range(count))


def runs_between(schedule: Schedule, first_ms: int, last_ms: int) -> tuple[BackfillRun, ...]:
    """The instants that a schedule's expressions mean from first to last, both included, whatever
    its own window is; of more than ``MAX_RUNS`` one more than that.
    """
    asked = replace(schedule, schedule_start_time=None, schedule_end_time=last_ms)
    return tuple(
        BackfillRun(business_at=instant, zone=cron.zone_id, cron=cron.text)
        for instant, cron in islice(instants(asked, first_ms - 1), MAX_RUNS + 1)
    )


def lanes_in(definition: WorkflowDef) -> tuple[tuple[int, ...], ...]:
    """The business times of each lane of a backfill's definition, in the order of its runs."""
    times = {
        task.task_reference_name: task.sub_workflow_param.business_time
        for task in definition.tasks
        if task.sub_workflow_param is not None
    }
    after = {each.pre_task: each.post_task for each in definition.relations if each.pre_task}
    lanes: list[tuple[int, ...]] = []
    for root in (each.post_task for each in definition.relations if not each.pre_task):
        at: str | None = root
        lane: list[int] = []
        while at is not None:
            lane.append(int(times[at] or 0))
            at = after.get(at)
        lanes.append(tuple(lane))
    return tuple(lanes)


def start_of(backfill: Backfill, definition: WorkflowDef) -> StartRequest:
    """The request that starts a backfill, of which this is the definition. What each run is started
    with lies in its input, so that it is there once; a repeat with the same idempotency key finds
    the first.
    """
    request = backfill.request
    given: dict[str, JsonValue] = {_INPUT: request.input}
    if backfill.inline is not None:
        given[_INLINE] = backfill.inline
    if backfill.schedule:
        given[_SCHEDULE] = backfill.schedule
    # A key of the workflow's own is another one.
    key = f"backfill {backfill.idempotency_key}" if backfill.idempotency_key else None
    return StartRequest(
        name=definition.name,
        definition=definition,
        input=given,
        correlation_id=request.correlation_id,
        priority=request.priority,
        task_to_domain=request.task_to_domain,
        idempotency_key=key,
        idempotency_strategy="RETURN_EXISTING",
        created_by=request.created_by,
        zone=backfill.runs[0].zone,
    )


def definition_of(backfill: Backfill, masked: tuple[str, ...] = ()) -> WorkflowDef:
    """A chain for each lane. Only where a failure stops the lane does a run depend on the one
    before it, so nothing that has succeeded runs again when a failed one does. ``masked`` are the
    fields that the workflow does not show.
    """
    label = "ok" if backfill.on_failure is OnFailure.STOP_LANE else ORDER
    references = _references(backfill)
    tasks = tuple(_task(backfill, run, references[run]) for run in backfill.runs)
    relations = []
    for lane in backfill.dealt:
        refs = [references[run] for run in lane]
        relations.append(Relation(post_task=refs[0]))
        relations += [
            Relation(pre_task=before, post_task=after, label=label)
            for before, after in pairwise(refs)
        ]
    source = f"schedule {backfill.schedule}" if backfill.schedule else backfill.request.name
    return WorkflowDef(
        name=f"backfill_{backfill.request.name}",
        description=f"Backfill of {source}: {len(tasks)} runs in {len(backfill.dealt)} lanes",
        tasks=tasks,
        relations=tuple(relations),
        failure_strategy="END" if backfill.on_failure is OnFailure.STOP_ALL else "CONTINUE",
        masked_fields=masked,
    )


def _references(backfill: Backfill) -> dict[BackfillRun, str]:
    """A reference for each run: its time by the clock of its zone. The second of two equal ones,
    when clocks were put back or in another zone, has a number.
    """
    found: dict[BackfillRun, str] = {}
    taken: set[str] = set()
    for run in sorted(backfill.runs, key=lambda each: each.business_at):
        clock = f"{business_time(run.business_at, run.zone):%Y%m%dT%H%M%S}"
        ref, number = clock, 1
        while ref in taken:
            number += 1
            ref = f"{clock}_{number}"
        taken.add(ref)
        found[run] = ref
    return found


def _task(backfill: Backfill, run: BackfillRun, reference: str) -> WorkflowTask:
    request = backfill.request
    given: dict[str, JsonValue] = {
        name: f"${{workflow.input.{_INPUT}['{name}']}}" for name in request.input
    }
    if backfill.schedule:
        given["_startedByScheduler"] = f"${{workflow.input.{_SCHEDULE}}}"
        given["_scheduledTime"] = run.business_at
        given["_schedulerCron"] = run.cron
    inline = backfill.inline is not None
    return WorkflowTask(
        name=request.name,
        task_reference_name=reference,
        type="SUB_WORKFLOW",
        input_parameters=given,
        sub_workflow_param=SubWorkflowParams(
            name=request.name,
            version=None if inline else request.version,
            workflow_definition=f"${{workflow.input.{_INLINE}}}" if inline else None,
            priority=request.priority,
            business_time=run.business_at,
            zone_id=run.zone,
        ),
    )

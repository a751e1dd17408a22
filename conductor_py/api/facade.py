"""What the HTTP front needs of the engine: nothing else of it is known here.

The engine offers more; this is the part that has an endpoint. Documents are JSON objects in wire
form. Every method may raise ``StoreUnavailable``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from conductor_py.api.policy_facade import PolicyFacade
from conductor_py.api.recovery_facade import RecoveryFacade
from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.event_handlers import EventHandler
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import (
    ExtendRequest,
    PollRequest,
    StartRequest,
    StateUpdate,
    TaskResult,
    WaitRequest,
)
from conductor_py.model.schedules import CronSchedule, RunFilter, Schedule, ScheduleFilter
from conductor_py.model.status import TaskStatus
from conductor_py.model.trial import Trial


class FoundPage(Protocol):
    """A page of search results."""

    @property
    def total_hits(self) -> int:
        """How many match in all."""

    @property
    def results(self) -> Sequence[JsonObject]:
        """The summaries of this page."""


class Executions(Protocol):
    """Executions: start, read, end, search."""

    def start(self, request: StartRequest, /) -> ExecutionId:
        """Start one; ``NotFound`` for an unknown definition, ``Conflict`` by idempotency key."""

    def document(self, execution: str, /, *, include_tasks: bool = True) -> JsonObject:
        """Read one, live or archived; ``NotFound``."""

    def status(
        self, execution: str, /, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        """Read how one stands; ``NotFound``."""

    def terminate(
        self, execution: str, /, *, reason: str | None, trigger_failure_workflow: bool = False
    ) -> None:
        """End one; ``Conflict`` when it is COMPLETED, nothing happens when it is TERMINATED."""

    def running(self, name: str, /) -> Sequence[str]:
        """List those that have not ended."""

    def search(self, *, query: str, free_text: str, sort: str, start: int, size: int) -> FoundPage:
        """Search executions; ``InvalidInput`` for a query that cannot be read."""

    def search_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search tasks; ``InvalidInput`` for a query that cannot be read."""


class Steering(Protocol):
    """Verbs on executions under way. ``NotFound`` for an unknown one, ``Conflict`` when its state
    does not allow it.
    """

    def pause(self, execution: str, /) -> None:
        """Open nothing new."""

    def resume(self, execution: str, /) -> None:
        """Go on with a paused one."""

    def skip(
        self, execution: str, ref: str, /, *, task_input: JsonObject, task_output: JsonObject
    ) -> None:
        """Pass over a task; ``InvalidInput`` for an unknown reference."""

    def set_variables(self, execution: str, variables: JsonObject, /) -> JsonObject:
        """Merge variables, and answer the execution; ``PayloadTooLarge``."""

    def reset_callbacks(self, execution: str, /) -> None:
        """Offer at once what workers put off."""

    def decide(self, execution: str, /) -> None:
        """Decide now."""

    def remove(self, execution: str, /, *, archive: bool) -> None:
        """Take one away; ``InvalidInput`` when it is to be archived and has not ended."""


class Awaiting(Protocol):
    """Calls that wait for executions; each answers a SignalResponse. ``stop`` ends the wait."""

    def execute(
        self, request: StartRequest, wait: WaitRequest, stop: threading.Event | None, /
    ) -> JsonObject:
        """Start, and wait."""

    def signal(self, execution: str, status: TaskStatus, output: JsonObject, /) -> bool:
        """Report on the first open WAIT; whether there was one. ``NotFound``."""

    def signal_and_wait(
        self,
        execution: str,
        status: TaskStatus,
        output: JsonObject,
        wait: WaitRequest,
        stop: threading.Event | None,
        /,
    ) -> JsonObject:
        """Report on the first open WAIT, and wait; ``NotFound`` when there is none."""

    def update_state(
        self,
        execution: str,
        update: StateUpdate,
        wait: WaitRequest,
        stop: threading.Event | None,
        /,
    ) -> JsonObject:
        """Merge variables, report on a task, and wait; ``NotFound``, ``Conflict``."""


class Tasks(Protocol):
    """Tasks: poll, report, keep."""

    def poll(self, request: PollRequest, /, stop: threading.Event | None) -> Sequence[JsonObject]:
        """Claim tasks, waiting for the first; ``stop`` ends the wait."""

    def update(self, result: TaskResult, /) -> None:
        """Take a result; ``NotFound``, or ``Conflict`` when the claim is another's."""

    def update_by_ref(
        self, workflow_id: str, ref: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> str | None:
        """Report on the first open task of that reference; its id, ``None`` when there is none."""

    def extend(self, request: ExtendRequest, /) -> int:
        """Keep a claim until the returned instant; ``Conflict``, ``NotFound``."""

    def extend_by_result(self, task_id: str, claim: int, worker: str) -> None:
        """Keep a claim without saying for how long; ``Conflict``, ``NotFound``."""

    def document(self, task_id: str, /) -> JsonObject:
        """Read one; ``NotFound``."""

    def log(self, task_id: str, line: str) -> None:
        """Append one line to its log."""

    def logs(self, task_id: str, /) -> Sequence[JsonObject]:
        """Read its log, oldest line first."""

    def queue_sizes(self, types: Sequence[str] | None, /) -> Mapping[str, int]:
        """Count the waiting tasks by queue; ``None``: of all queues."""

    def queue_sizes_by_shard(self) -> Mapping[str, Mapping[str, object]]:
        """Count the waiting tasks by queue and shard."""

    def poll_data(self, task_type: str | None, /) -> Sequence[JsonObject]:
        """List who polled last, and when; ``None``: of all types."""


class Definitions(Protocol):
    """Definitions: they arrive here checked by ``wire``."""

    def register(self, definition: WorkflowDef, /, *, overwrite: bool) -> None:
        """Store one; ``Conflict`` when it exists and may not be overwritten."""

    def update(self, definitions: Sequence[WorkflowDef], /) -> JsonObject:
        """Store all; a BulkResponse."""

    def validate(self, definition: WorkflowDef, /) -> None:
        """Check what needs scripts or other definitions; ``DefinitionError``."""

    def workflow(self, name: str, version: int | None, /) -> bytes:
        """Read one as JSON, the latest without a version; ``NotFound``."""

    def workflows(self) -> Sequence[JsonObject]:
        """List all versions of all."""

    def delete(self, name: str, version: int, /) -> None:
        """Remove one; ``NotFound``."""

    def register_tasks(self, definitions: Sequence[TaskDef], /) -> None:
        """Store task definitions, new or not."""

    def update_task(self, definition: TaskDef, /) -> None:
        """Store a task definition that exists; ``NotFound``."""

    def task(self, name: str, /) -> bytes:
        """Read a task definition as JSON; ``NotFound``."""

    def tasks(self) -> Sequence[JsonObject]:
        """List all task definitions."""

    def delete_task(self, name: str, /) -> None:
        """Remove a task definition; ``NotFound``."""


class Trials(Protocol):
    """Trials of workflows."""

    def run(self, trial: Trial, /) -> JsonObject:
        """Run one, and answer its execution; ``NotFound``, ``LimitExceeded``."""


class Lookups(Protocol):
    """Executions and tasks that share something."""

    def correlated(
        self,
        names: Sequence[str],
        correlation_ids: Sequence[str],
        *,
        include_closed: bool,
        include_tasks: bool,
    ) -> Mapping[str, Sequence[JsonObject]]:
        """List executions of these workflows by correlation id."""

    def by_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search executions by their tasks; ``InvalidInput`` for a query that cannot be read."""

    def pending_tasks(self, task_type: str, *, start: int, count: int) -> Sequence[JsonObject]:
        """List open tasks of a type."""


class Repairs(Protocol):
    """Looking at an execution now."""

    def sweep(self, execution: str, /) -> bool:
        """Decide what is owed to one; false when it has ended. ``NotFound``."""

    def verify(self, execution: str, /) -> bool:
        """Decide what is owed to one; whether anything was. ``NotFound``."""


class Events(Protocol):
    """Event handlers: they arrive here checked by ``wire``."""

    def register(self, handler: EventHandler, /) -> None:
        """Store a new one; ``Conflict``, ``InvalidInput``."""

    def update(self, handler: EventHandler, /) -> None:
        """Replace one; ``NotFound``, ``InvalidInput``."""

    def delete(self, name: str, /) -> None:
        """Remove one; ``NotFound``."""

    def handlers(
        self, event: str | None = None, /, *, active_only: bool = False
    ) -> Sequence[JsonObject]:
        """List them, those of one event or all."""

    def executions(self, *, event: str, name: str, size: int) -> Sequence[JsonObject]:
        """List what they did last, newest first."""


class PayloadLocations(Protocol):
    """Where large payloads go."""

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        """Give a URL to READ or WRITE a payload (``None``: no storage) and its path."""


class Messages(Protocol):
    """Messages sent to executions."""

    def push(self, execution: str, payload: JsonObject, /) -> str:
        """Send one; its id. ``NotFound``, ``Conflict``, ``LimitExceeded``, ``PayloadTooLarge``."""


class Schedules(Protocol):
    """Schedules: they arrive here checked by ``wire``."""

    def save(self, schedule: Schedule, /) -> JsonObject:
        """Store one, new or not, and answer it; ``PayloadTooLarge``."""

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

    def all(self, workflow_name: str, /) -> Sequence[JsonObject]:
        """List those of a workflow, or all."""

    def search(self, wanted: ScheduleFilter, /, *, start: int, size: int) -> FoundPage:
        """Search schedules."""

    def runs(
        self, wanted: RunFilter, /, *, start: int, size: int, sort: Sequence[tuple[str, bool]]
    ) -> FoundPage:
        """Search records, by fields and whether they ascend."""

    def preview(
        self, cron: CronSchedule, /, *, start_ms: int | None, end_ms: int | None, count: int
    ) -> Sequence[int]:
        """List the next instants of an expression."""


class EngineFacade(PolicyFacade, RecoveryFacade, Protocol):
    """The engine, as far as it has endpoints."""

    @property
    def executions(self) -> Executions:
        """Executions."""

    @property
    def steering(self) -> Steering:
        """Verbs on executions under way."""

    @property
    def awaiting(self) -> Awaiting:
        """Calls that wait for executions."""

    @property
    def tasks(self) -> Tasks:
        """Tasks."""

    @property
    def definitions(self) -> Definitions:
        """Definitions."""

    @property
    def trials(self) -> Trials:
        """Trials of workflows."""

    @property
    def lookups(self) -> Lookups:
        """Executions and tasks that share something."""

    @property
    def repairs(self) -> Repairs:
        """Looking at an execution now."""

    @property
    def messages(self) -> Messages:
        """Messages to executions."""

    @property
    def events(self) -> Events:
        """Event handlers."""

    @property
    def schedules(self) -> Schedules:
        """Schedules."""

    @property
    def payloads(self) -> PayloadLocations:
        """Large payloads."""

    @property
    def version(self) -> str:
        """The version of this software."""

    def health(self) -> JsonObject:
        """Say whether the stores answer: at least ``healthy``."""

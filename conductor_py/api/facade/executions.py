"""What the HTTP front needs of executions, and to act on them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from conductor_py.api.facade.pages import FoundPage
from conductor_py.errors import Violation
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import (
    ForceRequest,
    RerunPreview,
    RerunRequest,
    StartRequest,
    StateUpdate,
    UpgradeRequest,
    WaitRequest,
)
from conductor_py.model.status import TaskStatus
from conductor_py.model.trial import Trial


class Executions(Protocol):
    """Executions: start, read, end, search."""

    def start(self, request: StartRequest, /) -> ExecutionId:
        """Start one; ``NotFound`` for an unknown definition, ``Conflict`` by idempotency key."""

    def document(self, execution: str, /, *, include_tasks: bool = True) -> JsonObject:
        """Read one, live or archived; ``NotFound``."""

    def json(self, execution: str, /, *, include_tasks: bool = True, patient: bool = True) -> bytes:
        """Read one as JSON; ``NotFound``. ``Overloaded`` when it is wide and another of those is
        being read: ``patient``, still so after some seconds.
        """

    def tasks(
        self,
        execution: str,
        /,
        *,
        start: int,
        count: int,
        statuses: Collection[str] = (),
        patient: bool = True,
    ) -> FoundPage:
        """Read a page of the tasks of one, of these ``statuses`` if any are named; as ``json``."""

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


class Recovery(Protocol):
    """Verbs that may raise ``NotFound`` for an unknown execution and ``Conflict`` when its state
    does not allow them.
    """

    def retry(self, execution: str, /, *, resume_subworkflows: bool = False) -> None:
        """Try again what failed."""

    def restart(self, execution: str, /, *, use_latest: bool = False) -> None:
        """Begin from the first task."""

    def rerun(self, execution: str, request: RerunRequest, /) -> str:
        """Go on from a task; ``InvalidInput`` for one that is none of its."""

    def preview_rerun(self, execution: str, request: RerunRequest, /) -> RerunPreview:
        """Tell what a rerun of a DAG would do; errors as ``rerun``."""

    def force_success(self, execution: str, ref: str, request: ForceRequest, /) -> None:
        """Count a failed task of a DAG as done; ``InvalidInput`` for what is none of its."""

    def jump(self, execution: str, ref: str, task_input: JsonObject, /) -> None:
        """Go on at a task ahead; ``InvalidInput`` for an unknown reference."""

    def upgrade(self, execution: str, request: UpgradeRequest, /) -> None:
        """Go on under another version; ``InvalidInput`` lists what does not map."""

    def check_upgrade(self, execution: str, request: UpgradeRequest, /) -> Sequence[Violation]:
        """List what does not map."""


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


class Messages(Protocol):
    """Messages sent to executions."""

    def push(self, execution: str, payload: JsonObject, /) -> str:
        """Send one; its id. ``NotFound``, ``Conflict``, ``LimitExceeded``, ``PayloadTooLarge``."""


class Lookups(Protocol):
    """Executions and tasks that share something."""

    def created(self, name: str, version: int, /, *, since_ms: int, until_ms: int) -> Sequence[str]:
        """List those of a version that were created from one instant to another, oldest first."""

    def correlated(
        self,
        names: Sequence[str],
        correlation_ids: Sequence[str],
        *,
        include_closed: bool,
        include_tasks: bool,
    ) -> Iterable[JsonObject]:
        """Read executions of these workflows with one of these correlation ids, oldest first."""

    def by_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search executions by their tasks; ``InvalidInput`` for a query that cannot be read."""


class OpenTasks(Protocol):
    """Tasks of a type in all executions that have not ended."""

    def page(self, task_type: str, *, start: int, count: int) -> Sequence[JsonObject]:
        """List them as they are now."""

    def requeue(self, task: str, /) -> None:
        """Take one from its worker and offer it again; ``Conflict``, ``NotFound``."""

    def requeue_all(self, task_type: str, /) -> int:
        """Do so with all of a type; how many are in their queue then."""


class Repairs(Protocol):
    """Looking at an execution now."""

    def sweep(self, execution: str, /) -> bool:
        """Decide what is owed to one; false when it has ended. ``NotFound``."""

    def verify(self, execution: str, /) -> bool:
        """Decide what is owed to one; whether anything was. ``NotFound``."""


class Trials(Protocol):
    """Trials of workflows."""

    def run(self, trial: Trial, /) -> JsonObject:
        """Run one, and answer its execution; ``NotFound``, ``LimitExceeded``."""

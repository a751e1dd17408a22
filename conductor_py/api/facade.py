"""What the HTTP front needs of the engine: nothing else of it is known here.

The engine offers more; this is the part that has an endpoint. Documents are JSON objects in wire
form. Every method may raise ``StoreUnavailable``.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from conductor_py.model.definitions import TaskDef, WorkflowDef
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import ExtendRequest, PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus


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

    def terminate(self, execution: str, /, *, reason: str | None) -> None:
        """End one; ``Conflict`` when it is COMPLETED, nothing happens when it is TERMINATED."""

    def running(self, name: str, /) -> Sequence[str]:
        """List those that have not ended."""

    def search(self, *, query: str, free_text: str, sort: str, start: int, size: int) -> FoundPage:
        """Search executions; ``InvalidInput`` for a query that cannot be read."""

    def search_tasks(
        self, *, query: str, free_text: str, sort: str, start: int, size: int
    ) -> FoundPage:
        """Search tasks; ``InvalidInput`` for a query that cannot be read."""


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


class PayloadLocations(Protocol):
    """Where large payloads go."""

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        """Give a URL to READ or WRITE a payload (``None``: no storage) and its path."""


class EngineFacade(Protocol):
    """The engine, as far as it has endpoints."""

    @property
    def executions(self) -> Executions:
        """Executions."""

    @property
    def tasks(self) -> Tasks:
        """Tasks."""

    @property
    def definitions(self) -> Definitions:
        """Definitions."""

    @property
    def payloads(self) -> PayloadLocations:
        """Large payloads."""

    @property
    def version(self) -> str:
        """The version of this software."""

    def health(self) -> JsonObject:
        """Say whether the stores answer: at least ``healthy``."""

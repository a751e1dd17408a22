"""What the HTTP front needs of tasks and large payloads."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from conductor_py.model.json import JsonObject
from conductor_py.model.requests import ExtendRequest, PollRequest, TaskResult
from conductor_py.model.status import TaskStatus


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

    def update_merged(
        self, workflow_id: str, task_id: str, status: TaskStatus, output: JsonObject, worker: str
    ) -> None:
        """Report on a task, its output merged with what it has; as ``update``."""

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


class PayloadLocations(Protocol):
    """Where large payloads go."""

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        """Give a URL to READ or WRITE a payload (``None``: no storage) and its path."""

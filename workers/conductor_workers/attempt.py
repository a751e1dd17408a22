"""What a Spark task needs to know about, and to ask of, the attempt that it runs for.

The claim token orders the attempts of an execution: of two holders of the same reference the one
with the larger token is the rightful one. A task that lost its claim reports nothing and publishes
nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from threading import Event
from typing import Protocol

from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who asks to write: the task, its fencing token, and the place in the workflow that it stands
    for.

    ``owner`` is the same for every attempt of one reference of one execution; ``token`` grows from
    each holder to the next.
    """

    task_id: str
    token: int
    owner: str

    @property
    def name(self) -> str:
        """A name for files and job groups: the task and the token, nothing that a path could trip
        over.
        """
        task = self.task_id
        if not _PLAIN_NAME.fullmatch(task):
            task = hashlib.sha256(task.encode()).hexdigest()[:32]
        return f"{task}-{self.token}"


class Attempt(Protocol):
    """The running attempt, as the worker's runner offers it."""

    @property
    def claim(self) -> Claim:
        """The claim that this attempt is held under."""

    @property
    def input(self) -> JsonObject:
        """The task's input."""

    @property
    def cancelled(self) -> Event:
        """Set once the attempt was cancelled or its claim was lost; never cleared."""

    def report_progress(self, progress: JsonObject) -> None:
        """Keep that as the newest progress; it travels with the next extension of the lease."""

    def confirm(self) -> bool:
        """Extend the claim now; False when the engine says that it is no longer ours."""

    def log(self, sentence: str) -> None:
        """Add a line to the task's log in the engine."""


class AttemptEnded(Exception):
    """The attempt was cancelled or superseded; there is nobody to report to."""


def claim_of(task: Mapping[str, object]) -> Claim:
    """Read the claim from a polled task.

    A server that does not speak of claims sends no token; the time of the hand-out, which grows as
    tokens do, stands in for it.
    """
    token = task.get("claimToken") or task.get("updateTime") or task.get("startTime") or 0
    workflow = task.get("workflowInstanceId") or ""
    reference = task.get("referenceTaskName") or ""
    return Claim(
        task_id=str(task.get("taskId") or ""),
        token=int(token) if isinstance(token, int | float | str) else 0,
        owner=f"{workflow}/{reference}",
    )

"""System tasks: what the system-task worker carries out itself, one object a task type."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import MappingProxyType
from typing import Protocol

from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field


def _nothing() -> JsonObject:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCall:
    """One attempt to be carried out. ``input`` is resolved and whole, wherever it was stored.

    ``cancelled`` is set when the claim is lost: whatever comes of the call will not count.
    """

    task_id: str
    workflow_id: str
    ref: str
    task_type: str
    definition: str
    input: JsonObject
    retry_count: int = 0
    async_complete: bool = False
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """What came of it. IN_PROGRESS offers the attempt again after ``callback_after_s``, or, when it
    is completed by somebody else, leaves it open.
    """

    status: TaskStatus = TaskStatus.COMPLETED
    output: JsonObject = field(default_factory=_nothing)
    reason: str | None = None
    callback_after_s: int = 0


class SystemTask(Protocol):
    """A task type. Calls come from several threads at once."""

    @property
    def task_type(self) -> str:
        """The type that it carries out, and so the queue that it is taken from."""

    def execute(self, call: SystemCall) -> SystemResult:
        """Carry out one attempt. It may be asked again for the same attempt after a crash.

        What the task's user can cause is a result with a reason. An exception is a FAILED attempt,
        whose reason names only the kind of the exception.
        """

    def close(self) -> None:
        """Let go of what is kept between calls; no call comes any more."""


SystemTaskFactory = Callable[[], SystemTask]
"""What an entry point of the group ``conductor_py.system_tasks`` names; called once a process."""

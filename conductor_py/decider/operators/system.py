"""HTTP, KAFKA_PUBLISH and their like: tasks that the system-task worker carries out.

They wait in a queue named after their type, with the execution namespace and isolation group of
their definition; one whose definition has a limit waits in a queue of that definition, so that a
limit that is reached holds up no other task of the type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from conductor_py.decider import control, scheduling
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus

TYPES: Final = ("HTTP", "KAFKA_PUBLISH")
"""Types that this file opens."""


def open_(ws: Workspace, spot: Spot) -> None:
    """Offer the task to the system-task worker."""
    task = spot.node.task
    value = resolve_input(ws, spot, ws.next_seq)
    asynchronous = _asynchronous(task, value)
    attempt = control.create(
        ws,
        spot,
        type_=task.type,
        definition=task.name,
        status=TaskStatus.SCHEDULED,
        input_=value,
        started=False,
        delay_s=task.start_delay,
        callback_after_s=task.start_delay,
        async_complete=asynchronous is True,
        **scheduling.policies(task.task_definition, ws.now_ms),
    )
    if asynchronous is None:
        reason = "The input 'asyncComplete' must be true or false"
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        control.finish(ws, spot, attempt, status, reason=reason)
        return
    scheduling.offer(ws, spot, attempt, queue_of(task), task.start_delay * 1000)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Offer a retry whose delay is over, after an attempt that somebody else had to complete."""
    again = replace(attempt, status=TaskStatus.SCHEDULED, started_at=0)
    scheduling.offer(ws, spot, again, queue_of(spot.node.task), 0)


def queue_of(task: WorkflowTask) -> str:
    """Name the queue of a system task."""
    definition = task.task_definition
    name = scheduling.queue_name(task.type, "", definition)
    if definition and (definition.concurrent_exec_limit or definition.rate_limit_per_frequency):
        return scheduling.limited_queue(name, task.name)
    return name


def _asynchronous(task: WorkflowTask, value: JsonObject) -> bool | None:
    """Whether somebody else completes the task; ``None`` when the input says neither."""
    given = value.get("asyncComplete", task.async_complete)
    return given if isinstance(given, bool) else None

"""SIMPLE, and every type that no operator claims: a task that a worker takes from a queue."""

from __future__ import annotations

from conductor_py.decider import caching, control, scheduling
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.definitions import CONTROL_TYPES
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Schedule the task in the queue named after it (SIMPLE) or after its type (any other)."""
    task = spot.node.task
    type_ = task.name if task.type == "SIMPLE" else task.type
    value = resolve_input(ws, spot, ws.next_seq)
    if type_ in CONTROL_TYPES:
        _refuse(ws, spot, type_, value)
        return
    key = caching.key_of(ws, spot, value)
    known = caching.output_for(ws, key)
    if known is not None:
        _complete(ws, spot, type_, value, known)
        return
    domain = scheduling.domain_of(ws, type_)
    attempt = control.create(
        ws,
        spot,
        type_=type_,
        definition=task.name,
        status=TaskStatus.SCHEDULED,
        input_=value,
        started=False,
        domain=domain,
        delay_s=task.start_delay,
        callback_after_s=task.start_delay,
        cache_key=key,
        **scheduling.policies(task.task_definition, ws.now_ms),
    )
    queue = scheduling.queue_name(type_, domain)
    scheduling.offer(ws, spot, attempt, queue, task.start_delay * 1000)


def _refuse(ws: Workspace, spot: Spot, name: str, value: JsonObject) -> None:
    """A fork may bring such a task, and a definition that was stored before they were refused."""
    attempt = control.create(
        ws,
        spot,
        type_="SIMPLE",
        definition=name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
    )
    reason = f"No worker's task can be called {name}, as is a type that leads an execution"
    control.finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=reason)


def _complete(ws: Workspace, spot: Spot, type_: str, value: JsonObject, known: JsonObject) -> None:
    """The output of this input is known: no worker is asked."""
    attempt = control.create(
        ws,
        spot,
        type_=type_,
        definition=spot.node.task.name,
        status=TaskStatus.COMPLETED,
        input_=value,
        output=known,
    )
    control.settle(ws, spot, attempt)

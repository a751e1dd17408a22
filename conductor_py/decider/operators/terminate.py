"""TERMINATE: ends the whole execution with the status, reason and output that its input names."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider import control, ending
from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus, WorkflowStatus

_STATUSES = {
    status.value: status
    for status in (WorkflowStatus.COMPLETED, WorkflowStatus.FAILED, WorkflowStatus.TERMINATED)
}


def open_(ws: Workspace, spot: Spot) -> None:
    """End the execution, which has FAILED if a permissive task has; a status that is not one of the
    three fails the task instead.
    """
    value = resolve_input(ws, spot, ws.next_seq)
    status = _STATUSES.get(str(value.get("terminationStatus")))
    attempt = control.create(
        ws,
        spot,
        type_="TERMINATE",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
    )
    if status is None:
        reason = f"terminationStatus must be one of {', '.join(_STATUSES)}"
        control.finish(ws, spot, attempt, TaskStatus.FAILED, reason=reason)
        return
    output = _output(value.get("workflowOutput"))
    control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)
    why = _reason(spot.node.ref, status, value.get("terminationReason"))
    if ws.permissive_failures and status is not WorkflowStatus.FAILED:
        status, why = WorkflowStatus.FAILED, ending.permissive_reason(ws)
    failed = None if status is WorkflowStatus.COMPLETED else attempt
    ending.end(ws, status, why, failed=failed, output=output)


def _output(value: JsonValue) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    return {} if value is None else {"output": value}


def _reason(ref: str, status: WorkflowStatus, given: JsonValue) -> str | None:
    """Who has ended it, and why."""
    if given is not None:
        return f"TERMINATE task {ref}: {text_of(given)}"
    return None if status is WorkflowStatus.COMPLETED else f"TERMINATE task {ref}: {status.value}"

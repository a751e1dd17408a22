"""Pause: nothing new opens until the execution is resumed; what runs goes on, children too."""

from __future__ import annotations

from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import WorkflowStatus


def pause(ws: Workspace, operation: Operation) -> Answer:
    """Pause; one that is paused already stays so, one that has ended is a conflict."""
    if ws.over:
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message=f"Workflow {ws.id} has ended, status cannot be updated.",
        )
    if ws.status is not WorkflowStatus.PAUSED:
        ws.status = WorkflowStatus.PAUSED
        ws.order("index")
    return Answer(operation=operation.id)

"""Resume: go on with what a pause has postponed, in the order in which it came."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import pausing
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import WorkflowStatus


def resume(ws: Workspace, operation: Operation) -> Answer:
    """Resume; its own timeout begins anew (Conductor), and so do the poll timeouts of its tasks:
    nobody could take them meanwhile.
    """
    if not pausing.is_paused(ws):
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message=f"Workflow {ws.id} is {ws.status.value}, only a PAUSED one can be resumed.",
        )
    ws.status = WorkflowStatus.RUNNING
    ws.header = replace(ws.header, last_retried_at=ws.now_ms)
    timeout_ms = ws.plan.definition.timeout_seconds * 1000
    ws.due_at = ws.now_ms + timeout_ms if timeout_ms > 0 else 0
    pausing.go_on(ws)
    ws.order("index")
    return Answer(operation=operation.id)

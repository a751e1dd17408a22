"""Remove: an execution leaves the store; without archive it leaves no trace at all."""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import ending
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import WorkflowStatus

_REASON = "The workflow was removed"


def remove(ws: Workspace, operation: Operation) -> Answer:
    """With ``archive`` only what has ended goes, into the archive; without it, what has not ended
    is terminated first, its children with it.
    """
    if operation.arguments.get("archive") is True:
        if not ws.over:
            return Answer(
                operation=operation.id,
                error="INVALID_INPUT",
                message=f"Workflow {ws.id} is {ws.status.value}, only one that has ended can be"
                " archived. Terminate it, or remove it with archiveWorkflow=false.",
            )
        if not ws.drain:
            ws.order("index")
            ws.order("remove", due_ms=ws.now_ms)
        return Answer(operation=operation.id)
    ws.header = replace(ws.header, forget=True)
    if not ws.over:
        ending.end(ws, WorkflowStatus.TERMINATED, _REASON, rescue=False)
    elif not ws.drain:
        ending.finalize(ws)
    return Answer(operation=operation.id)

"""Terminate: end an execution from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conductor_py.decider import ending
from conductor_py.decider.generations import generations
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Continue, Operation
from conductor_py.model.execution import Ending
from conductor_py.model.status import WorkflowStatus

EMPTIES_INBOX = "empties_inbox"
"""The argument which says that everything in the inbox goes with this, undecided."""
REVIVED = "revived"
"""The argument that has of the children in that inbox which began anew ``[generation, through]``,
by seq.
"""
_UNGIVEN = "terminated by a request that gave no reason"


def terminate(ws: Workspace, operation: Operation) -> Answer:
    """End the execution as TERMINATED; one that failed or timed out becomes TERMINATED too, and
    keeps its reason when there is no other; a completed one does not. Its failure workflow is
    started only when asked for.
    """
    revived = operation.arguments.get(REVIVED)
    for seq, told in revived.items() if isinstance(revived, Mapping) else ():
        if isinstance(told, Sequence):
            generations.leave_revived(ws, int(seq), int(str(told[0])), through=str(told[1]))
    if ws.over and operation.arguments.get(EMPTIES_INBOX) is True:
        _go_on_with_end(ws)
    reason = operation.arguments.get("reason")
    if ws.status is WorkflowStatus.COMPLETED:
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message="Cannot terminate a COMPLETED workflow.",
        )
    if ws.over:
        if ws.status is not WorkflowStatus.TERMINATED:
            ws.status = WorkflowStatus.TERMINATED
            if reason is not None:
                ws.states["end"] = Ending(reason=str(reason))
            ws.order("index")
        return Answer(operation=operation.id)
    rescue = operation.arguments.get("triggerFailureWorkflow") is True
    text = _UNGIVEN if reason is None else str(reason)
    ending.end(ws, WorkflowStatus.TERMINATED, text, rescue=rescue)
    return Answer(operation=operation.id)


def _go_on_with_end(ws: Workspace) -> None:
    """What has ended may have had its clean-up in the inbox, or a retry that its parent waits
    for.
    """
    if ws.drain:
        ws.continues.append(Continue(generation=ws.header.generation, kind="drain"))
    ending.tell_parent_again(ws)

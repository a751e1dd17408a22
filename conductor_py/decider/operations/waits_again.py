"""Waits again: would a task wait for its sub-workflow if that began anew? Nothing changes."""

from __future__ import annotations

from conductor_py.decider import generations
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import ChildRevived, Operation


def waits_again(ws: Workspace, operation: Operation) -> Answer:
    """Answer for attempt ``seq`` and its sub-workflow ``child``; CONFLICT says why it would not."""
    event = ChildRevived(
        seq=int(str(operation.arguments.get("seq"))),
        child=str(operation.arguments.get("child")),
        child_generation=0,
        through=ws.id,
    )
    parted = generations.parted(ws, event)
    if not parted:
        return Answer(operation=operation.id)
    message = (
        f"Workflow {ws.id} would not wait for its sub-workflow {event.child}: {parted}. Rerun the"
        " task by the id of the sub-workflow, or a task of this workflow."
    )
    return generations.refusal(operation, "CONFLICT", message)

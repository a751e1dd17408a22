"""Take on: an idempotency key has led a sub-workflow task to its execution."""

from __future__ import annotations

from conductor_py.decider.operators import sub_workflow
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation


def take_on(ws: Workspace, operation: Operation) -> Answer:
    """Have the task wait for the execution; CONFLICT when it waits no more."""
    seq, child = operation.arguments.get("seq"), operation.arguments.get("child")
    attempt = ws.attempt(seq) if isinstance(seq, int) and not ws.over else None
    open_ = attempt is not None and attempt.open and attempt.generation == ws.header.generation
    spot = ws.spot_of(attempt) if attempt is not None and open_ else None
    if attempt is None or spot is None or not isinstance(child, str):
        message = "The task does not wait for its sub workflow any more"
        return Answer(operation=operation.id, error="CONFLICT", message=message)
    if attempt.child is None:
        followed = bool(operation.arguments.get("followed"))
        sub_workflow.take_on(ws, spot, attempt, child, followed=followed)
    return Answer(operation=operation.id)

"""Requeue: a task whose worker is dead is taken from it and offered again. No retry is used, and
what the worker may still report is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.decider import operators, scheduling, timeouts
from conductor_py.decider.need import Read
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.ids import task_id


def requeue(ws: Workspace, operation: Operation) -> Answer:
    """Offer the attempts ``seqs`` again as far as a worker has them. With ``strict`` NOT_FOUND or
    CONFLICT say why one is not.
    """
    given = operation.arguments.get("seqs")
    listed = given if isinstance(given, Sequence) and not isinstance(given, str) else ()
    seqs = [seq for seq in listed if isinstance(seq, int)]
    names = [f"{kind}:{seq}" for seq in seqs for kind in "ac"]
    ws.together((name, Read(name)) for name in names)
    for seq in seqs:
        refused = _offer(ws, seq)
        if refused is not None and operation.arguments.get("strict"):
            return Answer(operation=operation.id, error=refused[0], message=refused[1])
    return Answer(operation=operation.id)


def _offer(ws: Workspace, seq: int) -> tuple[str, str] | None:
    """Take one attempt from its worker, or say what keeps from it: error code and sentence."""
    attempt = ws.attempt(seq)
    spot = ws.spot_of(attempt) if attempt is not None else None
    if attempt is None or spot is None:
        return "NOT_FOUND", f"No such task found by id: {task_id(ws.id, seq)}"
    named = f"Task {attempt.ref} ({attempt.type})"
    if not attempt.open or ws.over or attempt.generation != ws.header.generation:
        return "CONFLICT", f"{named} is {attempt.status}; only an open task can be requeued"
    if attempt.type in operators.OPERATORS:
        return (
            "CONFLICT",
            f"{named} has no worker: a server carries it out, and another one when that is dead",
        )
    claim = ws.claim(seq)
    if claim.closed:
        return "CONFLICT", f"{named} has been reported on by its worker just now"
    if not claim.held:
        return "CONFLICT", f"{named} is held by no worker: it is in its queue already"
    timeouts.guard(ws, attempt, claim)
    again = replace(attempt, callback_after_s=0, worker="")
    scheduling.offer(ws, spot, again, attempt.queue, 0, claim.first_at)
    return None

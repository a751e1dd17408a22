"""Requeue: a task whose worker is dead is taken from it and offered again. No retry is used, and
what the worker may still report is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.decider import operators, scheduling, timeouts
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation


def requeue(ws: Workspace, operation: Operation) -> Answer:
    """Offer the attempts ``seqs`` again as far as a worker has them. With ``strict`` CONFLICT says
    why one is not.
    """
    seqs = operation.arguments.get("seqs")
    for seq in seqs if isinstance(seqs, Sequence) and not isinstance(seqs, str) else ():
        refused = _offer(ws, seq) if isinstance(seq, int) else None
        if refused and operation.arguments.get("strict"):
            return Answer(operation=operation.id, error="CONFLICT", message=refused)
    return Answer(operation=operation.id)


def _offer(ws: Workspace, seq: int) -> str | None:
    """Take one attempt from its worker, or say what keeps from it."""
    attempt = ws.attempt(seq)
    spot = ws.spot_of(attempt) if attempt is not None else None
    if attempt is None or spot is None:
        return f"Workflow {ws.id} has no task number {seq}"
    named = f"Task {attempt.ref} ({attempt.type})"
    if not attempt.open or ws.over or attempt.generation != ws.header.generation:
        return f"{named} is {attempt.status}; only an open task can be requeued"
    if attempt.type in operators.OPERATORS:
        return f"{named} has no worker: a server carries it out, and another one when that is dead"
    claim = ws.claim(seq)
    if claim.closed:
        return f"{named} has been reported on by its worker just now"
    if not claim.held:
        return f"{named} is held by no worker: it is in its queue already"
    timeouts.guard(ws, attempt, claim)
    again = replace(attempt, callback_after_s=0, worker="")
    scheduling.offer(ws, spot, again, attempt.queue, 0, claim.first_at)
    return None

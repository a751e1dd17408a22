"""Reset callbacks: tasks that their worker put off are offered at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conductor_py.decider import control, scheduling
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer, ClaimSeen
from conductor_py.model.event import Operation


def reset_callbacks(ws: Workspace, operation: Operation) -> Answer:
    """Offer the attempts ``seqs`` as far as they still wait for their callback. With ``recall``
    they begin with a new input, as a retry does, and one that a worker has is not put off by that
    worker's next result, which may be on its way.
    """
    if ws.over:
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message=f"Workflow {ws.id} has ended, it has no callbacks to reset.",
        )
    seqs = operation.arguments.get("seqs")
    for seq in seqs if isinstance(seqs, Sequence) and not isinstance(seqs, str) else ():
        if isinstance(seq, int):
            _offer(ws, seq, recall=operation.arguments.get("recall") is True)
    return Answer(operation=operation.id)


def _offer(ws: Workspace, seq: int, *, recall: bool) -> None:
    attempt = ws.attempt(seq)
    if attempt is None or not attempt.open or attempt.generation != ws.header.generation:
        return
    claim = ws.claim(seq)
    spot = ws.spot_of(attempt)
    if spot is None or not attempt.queue:
        return
    if claim.held or claim.closed:
        # Who has it says itself when it is to be offered again.
        if recall:
            ws.put(replace(attempt, recalled=claim.claim))
        return
    if not attempt.callback_after_s:
        return
    if recall:
        attempt, _ = scheduling.renew_input(ws, spot, attempt)
    ws.guards.append(ClaimSeen(seq=seq, claim=claim.claim, until=claim.until))
    # Its entry goes first: the new one may stand in the queue of another shard.
    control.close(ws, attempt)
    again = replace(attempt, callback_after_s=0)
    scheduling.offer(ws, spot, again, attempt.queue, 0, claim.first_at)

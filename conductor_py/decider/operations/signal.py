"""Signal: somebody outside reports on a WAIT, once.

The attempt was found outside; here it is still open or it is not. Two signals therefore never take
the same WAIT: the later one is refused and looks for another.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider import control, timeouts
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import TaskStatus


def signal(ws: Workspace, operation: Operation) -> Answer:
    """Report on attempt ``seq``; its output is merged over what it has."""
    seq = operation.arguments.get("seq")
    attempt = ws.attempt(seq) if isinstance(seq, int) and not ws.over else None
    current = attempt is not None and attempt.open and attempt.generation == ws.header.generation
    spot = ws.spot_of(attempt) if attempt is not None and current else None
    claim = ws.claim(attempt.seq) if attempt is not None and spot is not None else None
    if attempt is None or spot is None or claim is None or claim.closed or attempt.type != "WAIT":
        message = f"No WAIT of workflow {ws.id} is open at {seq}"
        return Answer(operation=operation.id, error="CONFLICT", message=message)
    timeouts.guard(ws, attempt, claim)  # a result that comes first counts
    given = operation.arguments.get("output")
    output = {
        **ws.document(f"o:{attempt.seq}"),
        **(given if isinstance(given, Mapping) else {}),
    }
    status = TaskStatus(str(operation.arguments.get("status")))
    if status.terminal:
        control.finish(ws, spot, attempt, status, output=output)
        return Answer(operation=operation.id)
    refused = ws.refused("o", attempt.seq, attempt.ref)
    if refused is not None:
        return Answer(operation=operation.id, error="PAYLOAD_TOO_LARGE", message=refused)
    ws.documents[f"o:{attempt.seq}"] = output
    return Answer(operation=operation.id)

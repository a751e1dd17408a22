"""PULL_WORKFLOW_MESSAGES: takes messages sent to the execution, and waits for the first if there is
none.

Output: ``messages`` and ``count``. A batch is what is there when the first message is: waiting for
a full one might last for ever.
"""

from __future__ import annotations

from conductor_py.decider import control, mailbox, scheduling, timeouts
from conductor_py.decider.operators import simple
from conductor_py.decider.references import resolve_input
from conductor_py.decider.starting import whole_number
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open and pull; where messages are switched off it is a worker task, as in Conductor."""
    if not ws.limits.messages:
        simple.open_(ws, spot)
        return
    attempt = control.create(
        ws,
        spot,
        type_="PULL_WORKFLOW_MESSAGES",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=resolve_input(ws, spot, ws.next_seq),
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    resume(ws, spot, attempt)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Pull, anew after the delay of a retry."""
    value = ws.document(f"i:{attempt.seq}")
    if _pull(ws, spot, attempt, value):
        return
    if str(value.get("blocking")).lower() == "false":
        _complete(ws, spot, attempt, [])
    elif mailbox.wait(ws, attempt.seq):
        ends = timeouts.started_deadline(attempt)
        if ends:
            ws.timers[attempt.seq] = ends
    else:
        reason = f"{mailbox.MAX_WAITING} tasks of this execution wait for messages; more may not"
        control.finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=reason)


def serve(ws: Workspace) -> None:
    """Give what is in the queue to the tasks that wait, the one that waited longest first."""
    queue = mailbox.queue_of(ws)
    while queue.first < queue.next and (seq := mailbox.next_waiting(ws)):
        attempt = ws.attempt(seq)
        spot = ws.spot_of(attempt) if attempt and attempt.open else None
        if attempt is not None and spot is not None:
            _pull(ws, spot, attempt, ws.document(f"i:{seq}"))
        queue = mailbox.queue_of(ws)


def _pull(ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject) -> bool:
    wanted = whole_number(value.get("batchSize"))
    most = min(max(1 if wanted is None else wanted, 1), ws.limits.message_batch)
    messages = mailbox.pull(ws, most)
    if messages:
        _complete(ws, spot, attempt, messages)
    return bool(messages)


def _complete(ws: Workspace, spot: Spot, attempt: Attempt, messages: list[JsonObject]) -> None:
    output: JsonObject = {"messages": list(messages), "count": len(messages)}
    control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)

"""Message: put a message into the queue of an execution, for the tasks that pull them."""

from __future__ import annotations

from datetime import UTC, datetime

from conductor_py.decider import mailbox
from conductor_py.decider.operators import pull_workflow_messages
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.status import WorkflowStatus


def message(ws: Workspace, operation: Operation) -> Answer:
    """Queue the message, and end the task that waits for one; only a RUNNING execution takes any,
    and no more than its queue may hold.
    """
    if not ws.limits.messages:
        return Answer(
            operation=operation.id,
            error="NOT_FOUND",
            message="Messages are switched off: conductor.workflow-message-queue.enabled is false.",
        )
    if ws.status is not WorkflowStatus.RUNNING:
        return Answer(
            operation=operation.id,
            error="CONFLICT",
            message=f"Workflow {ws.id} is {ws.status.value}: only a RUNNING one takes messages.",
        )
    received = {**operation.arguments, "workflowId": ws.id, "receivedAt": _instant(ws.now_ms)}
    if not mailbox.push(ws, received):
        return Answer(
            operation=operation.id,
            error="LIMIT_EXCEEDED",
            message=f"{ws.limits.messages} messages wait for workflow {ws.id} already.",
        )
    pull_workflow_messages.serve(ws)
    return Answer(operation=operation.id)


def _instant(at_ms: int) -> str:
    """Write an instant as Conductor does: ISO-8601 in UTC, to the millisecond."""
    seconds, milliseconds = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"

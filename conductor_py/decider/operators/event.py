"""EVENT: publishes its output as a message, by the outbox of the commit that completes it.

The message goes to event handlers (``conductor``, ``conductor:<queue>``) or to a broker
(``<provider>:…``). Its id is the task's, so that however often it is delivered it is one message.
With ``asyncComplete`` the task stays open for somebody else to complete; it has published once.
"""

from __future__ import annotations

from conductor_py.decider import control, publishing, scheduling, timeouts
from conductor_py.decider.need import Refusal
from conductor_py.decider.references import resolve_input, resolve_value
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open and publish."""
    value = _input(ws, spot, ws.next_seq)
    attempt = control.create(
        ws,
        spot,
        type_="EVENT",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    _publish(ws, spot, attempt, value)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Publish anew, after the delay of a retry: another attempt, another message."""
    value = _input(ws, spot, attempt.seq)
    lacking = ws.unresolved.pop(spot.key, None)
    if lacking is not None:
        control.finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=lacking)
        return
    ws.documents[f"i:{attempt.seq}"] = value
    _publish(ws, spot, attempt, value)


def _input(ws: Workspace, spot: Spot, seq: int) -> JsonObject:
    task = spot.node.task
    value = dict(resolve_input(ws, spot, seq))
    value.setdefault("asyncComplete", task.async_complete)
    return {**value, "sink": resolve_value(ws, task.sink, seq, spot=spot)}


def _publish(ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject) -> None:
    asynchronous = value["asyncComplete"]
    if not isinstance(asynchronous, bool):
        reason = "The input 'asyncComplete' must be true or false"
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        control.finish(ws, spot, attempt, status, reason=reason)
        return
    event = publishing.event_of(ws, value["sink"], spot.node.ref)
    if isinstance(event, Refusal):
        reason = event.reason
        control.finish(ws, spot, attempt, TaskStatus.FAILED, output=value, reason=reason)
        return
    output: dict[str, JsonValue] = {**value, **publishing.origin(ws), "event_produced": event}
    if ws.refused("o", attempt.seq, attempt.ref) is not None:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)
        return
    publishing.publish(ws, f"{attempt.seq}", task_id(ws.id, attempt.seq), event, output)
    if asynchronous:
        ws.documents[f"o:{attempt.seq}"] = output
        ws.timers[attempt.seq] = timeouts.started_deadline(attempt)
    else:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)

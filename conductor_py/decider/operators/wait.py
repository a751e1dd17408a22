"""WAIT: open until a duration or an instant has passed, or, with neither, until somebody completes
it.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import control, scheduling, timeouts
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus
from conductor_py.model.wait_time import parse_duration_ms, parse_until_ms


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the task and arm its timer; an unreadable time fails it at once (A-36)."""
    value = resolve_input(ws, spot, ws.next_seq)
    attempt = control.create(
        ws,
        spot,
        type_="WAIT",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    _arm(ws, spot, attempt, value)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """The instant has come; or the delay of a retry is over, and it waits anew."""
    if attempt.wait_until:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED)
    else:
        _arm(ws, spot, attempt, ws.document(f"i:{attempt.seq}"))


def _arm(ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject) -> None:
    until = _until(ws, value)
    if isinstance(until, str):
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        control.finish(ws, spot, attempt, status, reason=until)
        return
    if until is not None:
        attempt = replace(attempt, wait_until=max(until, 1))
        ws.put(attempt)
    due = min(
        (at for at in (attempt.wait_until, timeouts.started_deadline(attempt)) if at), default=0
    )
    if due:
        ws.timers[attempt.seq] = due


def _until(ws: Workspace, value: JsonObject) -> int | str | None:
    """The end of the wait in epoch ms, ``None`` for no end, or a sentence when it cannot be
    read.
    """
    duration, until = value.get("duration"), value.get("until")
    if duration and until:
        return "WAIT takes 'duration' or 'until', not both"
    if duration:
        length = parse_duration_ms(str(duration))
        if length is None:
            return f"WAIT duration '{duration}' is not of the form '1d 2h 3m 4s'"
        return ws.now_ms + length
    if until:
        try:
            return parse_until_ms(str(until))
        except ValueError as unreadable:
            return f"WAIT until '{until}': {unreadable}"
    return None

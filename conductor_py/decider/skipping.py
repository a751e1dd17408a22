"""Tasks that were skipped before they were reached.

A skip outside loops, or of one iteration, is a SKIPPED attempt that is *ahead*: it counts once the
execution comes to it. A skip of a loop's task in every iteration is a mark; each iteration that
comes to it gets its own SKIPPED attempt. Executions without skips look nothing up.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import control
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt, Skip
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus


def skipped(ws: Workspace, spot: Spot) -> bool:
    """Pass over a task that is to be skipped; whether it was."""
    if not ws.header.skips:
        return False
    attempt = control.newest_at(ws, spot)
    if attempt is not None and attempt.ahead and attempt.vector == spot.vector:
        attempt = replace(attempt, ahead=False)
        ws.put(attempt)
    else:
        mark = mark_of(ws, spot.node.ref) if spot.vector else None
        if mark is None:
            return False
        attempt = record(ws, spot, mark.input, mark.output)
    control.settle(ws, spot, attempt)
    return True


def prohibited(ws: Workspace, spot: Spot) -> bool:
    """Complete a task at once that its definition says is not to be done; whether it was."""
    if not spot.node.task.prohibited:
        return False
    attempt = control.create(
        ws,
        spot,
        type_=spot.node.task.type,
        definition=spot.node.task.name,
        status=TaskStatus.COMPLETED,
        input_={},
        output={"prohibited": True},
    )
    control.settle(ws, spot, attempt)
    return True


def mark_of(ws: Workspace, ref: str) -> Skip | None:
    """The mark of a loop's task that is skipped in every iteration."""
    mark = ws.state(f"s:{ref}", Skip)
    return mark if mark is not None and mark.first_seq == ws.header.first_seq else None


def record(
    ws: Workspace, spot: Spot, input_: JsonObject, output: JsonObject, *, ahead: bool = False
) -> Attempt:
    """Make the SKIPPED attempt; type and definition are the task's name, as in Conductor."""
    return control.create(
        ws,
        spot,
        type_=spot.node.task.name,
        status=TaskStatus.SKIPPED,
        input_=input_,
        output=output,
        ahead=ahead,
    )

"""SET_VARIABLE: every key of its input replaces the workflow variable of that name."""

from __future__ import annotations

from conductor_py.decider import control
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Overwrite the variables; when they grow too large they stay as they were and the task
    fails.

    When several tasks of one decision made them too large together, each gets a decision of its
    own, so that the one that did it is known.
    """
    if "oversize:vars" in ws.known and "vars" in ws.documents:
        ws.agenda.appendleft(Step("open", spot.plan, spot.node.ref, spot.vector))
        ws.cut_here = True
        return
    value = resolve_input(ws, spot, None)
    attempt = control.create(
        ws,
        spot,
        type_="SET_VARIABLE",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
    )
    refused = ws.refused("vars", attempt.seq, attempt.ref)
    if refused is not None:
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        control.finish(ws, spot, attempt, status, reason=refused)
        return
    ws.documents["vars"] = {**ws.document("vars"), **value}
    control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={})

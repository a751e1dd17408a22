"""Pause: while an execution is paused its attempts end, and nothing new opens.

What would follow is kept as steps, one small stored field each, numbered in order; a resume takes
them up in pieces. An attempt that ends while paused is neither counted by a join nor retried before
that: its conclusion is such a step.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider.need import PlanWanted, Read
from conductor_py.decider.workspace import Step, Workspace
from conductor_py.model.event import Continue
from conductor_py.model.execution import Postponed
from conductor_py.model.status import WorkflowStatus

_PIECE = 500


def is_paused(ws: Workspace) -> bool:
    """Whether nothing new may open."""
    return ws.status is WorkflowStatus.PAUSED


def is_behind(ws: Workspace) -> bool:
    """Whether something that was postponed has not gone on yet."""
    return ws.header.taken_up < ws.header.postponed


def postpone_agenda(ws: Workspace) -> None:
    """Keep what is on the agenda until the execution is resumed."""
    number = ws.header.postponed
    for step in ws.agenda:
        number += 1
        ws.states[f"w:{number}"] = Postponed(
            kind=step.kind, plan=step.plan.hash, ref=step.ref, vector=step.vector
        )
    ws.agenda.clear()
    ws.header = replace(ws.header, postponed=number)


def go_on(ws: Workspace) -> None:
    """Go on with what was postponed: by a continuation of the commit that resumes."""
    if is_behind(ws):
        ws.pending += 1
        ws.continues.append(Continue(generation=ws.header.generation, kind="postponed"))


def take_up(ws: Workspace) -> None:
    """Put the next piece of what was postponed on the agenda, unless it is paused again."""
    if ws.over or is_paused(ws):
        return
    for step in forget_piece(ws):
        plan = ws.plan_of(step.plan)
        if plan is not None:
            ws.agenda.append(Step(step.kind, plan, step.ref, step.vector))
    go_on(ws)


def forget_piece(ws: Workspace) -> list[Postponed]:
    """Take the next piece of what was postponed out of the state."""
    first = ws.header.taken_up + 1
    last = min(ws.header.taken_up + _PIECE, ws.header.postponed)
    names = [f"w:{number}" for number in range(first, last + 1)]
    ws.together((name, Read(name)) for name in names if name not in ws.states)
    found = [ws.state(name, Postponed) for name in names]
    ws.together(
        (f"plan:{step.plan}", PlanWanted(step.plan))
        for step in found
        if step is not None and step.plan != ws.plan.hash
    )
    ws.states.update(dict.fromkeys(names))
    ws.header = replace(ws.header, taken_up=last)
    return [step for step in found if step is not None]

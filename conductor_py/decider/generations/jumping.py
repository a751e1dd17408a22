"""Jumps: a running execution goes on at a task that it has not reached yet.

What stands before the target in the same list is passed over: its open attempts are CANCELED, and
each task of the list that has not settled is recorded as SKIPPED. Branches beside the target go on.
"""

from __future__ import annotations

from dataclasses import replace

from conductor_py.decider import control, ending, joins, operators, skipping
from conductor_py.decider.graph import Standing, ancestry, siblings, standing
from conductor_py.decider.need import Read
from conductor_py.decider.plan import CONTAINERS
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.event import RUN, Continue
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState, LoopState, Walk
from conductor_py.model.status import TaskStatus


def begin(ws: Workspace, step: Step) -> None:
    """Begin the walk of a jump once nothing else is under way."""
    found = ws.state("walk", Walk)
    if found is not None and found.kind == "jump" and not ws.header.walk and begins(ws, step):
        walk(ws)


def begins(ws: Workspace, step: Step) -> bool:
    """Whether nothing else is under way; else the step comes again."""
    if any(one.kind != RUN for one in ws.agenda):
        ws.agenda.append(step)
    elif ws.pending:
        ws.pending += 1
        waiting = Continue(generation=ws.header.generation, kind=step.kind, plan=ws.plan.hash)
        ws.continues.append(waiting)
    else:
        return True
    return False


def walk(ws: Workspace) -> None:
    """Begin the walk that was ordered."""
    found = ws.state("walk", Walk)
    if found is not None:
        ws.states["walk"] = replace(found, last=ws.next_seq)
        ws.header = replace(ws.header, walk=ws.header.first_seq)
        ws.agenda.append(Step("walk", ws.plan, "", NO_LOOP))


def cancel_page(ws: Workspace, walk: Walk, page: list[Attempt]) -> None:
    """Cancel what is open before the target."""
    target = _target(ws, walk)
    if target is None:
        return
    around = ancestry(ws, target)
    for attempt in page:
        spot = ws.spot_of(attempt)
        if attempt.open and spot is not None and standing(ws, spot, around) is Standing.BEFORE:
            _cancel(ws, spot, attempt, walk.ref)


def land(ws: Workspace, walk: Walk) -> None:
    """Pass over the tasks before the target and open it."""
    target = _target(ws, walk)
    given = ws.document("redo") if walk.given else None
    ws.documents.pop("redo", None)
    ws.states["redo"] = None
    if target is None or control.in_ended_loop(ws, target):
        return
    reached = control.newest_at(ws, target)
    if reached is not None and not reached.ahead:  # whoever jumps to what is to be skipped wants it
        return
    before = _before(target)
    pointers = ("r:" + spot.key for spot in before)
    ws.together((p, Read(f">a {p}")) for p in pointers if p not in ws.pointers)
    for spot in before:
        found = control.newest_at(ws, spot)
        if found is None or found.superseded or found.ahead:
            joins.tell(ws, spot, skipping.record(ws, spot, {}, {}))
    if given:
        ws.given[target.key] = given
    ws.header = replace(ws.header, revised=True)
    operators.open_(ws, target)
    ws.given.pop(target.key, None)


def is_passed_over(attempt: Attempt) -> bool:
    """Whether an attempt counts no more. One that is the newest of its place yet was canceled by a
    jump, and keeps the place taken.
    """
    return attempt.superseded and not attempt.redo


def comes_again(ws: Workspace, spot: Spot, target: list[Spot]) -> bool:
    """Whether what was passed over beside a task is to be done once that, whose ``ancestry`` this
    is, runs again: so it is where the jump has led past both, as what waits for both comes again.
    Where it has led on within a branch beside the task, that has been done without it.
    """
    around = {(each.plan.hash, each.node.ref) for each in target}
    for each in ancestry(ws, spot):
        if (each.plan.hash, each.node.ref) in around:
            return True
        refs = [task.task_reference_name for task in siblings(each.plan, each.node)]
        behind = refs[refs.index(each.node.ref) + 1 :]
        places = (Spot(each.plan, each.plan.nodes[ref], each.vector) for ref in behind)
        if any(control.arrived(ws, place) for place in places):
            return False
    return True


def _before(target: Spot) -> list[Spot]:
    """The tasks before the target in its list."""
    refs = [task.task_reference_name for task in siblings(target.plan, target.node)]
    passed = refs[: refs.index(target.node.ref)]
    return [Spot(target.plan, target.plan.nodes[ref], target.vector) for ref in passed]


def _target(ws: Workspace, walk: Walk) -> Spot | None:
    node = ws.plan.nodes.get(walk.ref)
    return Spot(ws.plan, node, walk.vector) if node is not None else None


def _cancel(ws: Workspace, spot: Spot, attempt: Attempt, ref: str) -> None:
    reason = f"Skipped by a jump to {ref}"
    ws.count_open(spot.node.loops, spot.vector, -1, container=attempt.type in CONTAINERS)
    canceled = replace(
        attempt,
        status=TaskStatus.CANCELED,
        reason=reason,
        ended_at=ws.now_ms,
        superseded=True,
    )
    ws.put(canceled)
    control.close(ws, attempt)
    ending.leave_child(ws, attempt, reason)
    name = "j:" + spot.key
    if attempt.type == "DO_WHILE":
        loop = ws.state(name, LoopState)
        ws.states[name] = replace(loop, closed=True) if loop is not None else None
    elif attempt.type in CONTAINERS:
        join = ws.state(name, JoinState)
        ws.states[name] = replace(join, closed=True) if join is not None else None

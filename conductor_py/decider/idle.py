"""What is left when nothing follows any more: an end, or joins that wait for what can never come.
Their missing references count as SKIPPED.

Asked only when nothing but containers is open and nothing is to be scheduled. A reference has one
open attempt at most, its newest; so the open joins are found from the plans, however many attempts
the execution has made.
"""

from __future__ import annotations

from collections.abc import Iterator

from conductor_py.decider import ending, gates
from conductor_py.decider.need import Read
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState
from conductor_py.model.status import WorkflowStatus

_JOINS = frozenset({"JOIN", "EXCLUSIVE_JOIN"})
_BRINGERS = frozenset({"DYNAMIC", "FORK_JOIN_DYNAMIC"})


def conclude(ws: Workspace) -> None:
    """Nothing follows any more: is the execution done, waiting, or out of anything to do?"""
    if ws.over or ws.status is WorkflowStatus.PAUSED or ws.pending or ws.open_attempts:
        return
    if ws.header.awaits_admission:
        return
    if ws.containers:
        if not release_join(ws):
            reason = "Nothing left to do: a container waits for nothing"
            ending.end(ws, WorkflowStatus.FAILED, reason)
    elif ws.tail:
        ending.complete(ws)
    elif not (ws.plan.is_dag and gates.conclude(ws)):
        ending.end(ws, WorkflowStatus.FAILED, "Nothing left to do: no task is open or can follow")


def release_join(ws: Workspace) -> bool:
    """Let one join end, an innermost: what follows it may be what an outer one waits for; false
    when no join is open.
    """
    waiting = [
        (-_nesting(ws, spot), attempt.seq, spot)
        for attempt, spot in _opened(ws, ws.plan)
        if _waits(ws, spot)
    ]
    if not waiting:
        return False
    _, _, spot = min(waiting, key=lambda found: found[:2])
    ws.agenda.append(Step("released", spot.plan, "j:" + spot.key, NO_LOOP))
    return True


def _waits(ws: Workspace, spot: Spot) -> bool:
    state = ws.state("j:" + spot.key, JoinState)
    return state is not None and bool(state.seq) and not state.closed


def _opened(ws: Workspace, plan: Plan) -> Iterator[tuple[Attempt, Spot]]:
    """The open joins of a plan and of the fragments that its tasks have brought."""
    plans = [plan]
    while plans:
        plan = plans.pop()
        nodes = [n for n in plan.nodes.values() if n.task.type in _JOINS | _BRINGERS]
        pointers = (f"r:{node.ref}" for node in nodes)
        ws.together((p, Read(f">a {p}")) for p in pointers if p not in ws.pointers)
        for node in nodes:
            attempt = _newest(ws, node)
            if attempt is None:
                continue
            spot = Spot(plan, node, attempt.vector)
            if node.task.type in _JOINS:
                if attempt.open:
                    yield attempt, spot
            else:
                brought = ws.fragment_of(spot)
                # What a DYNAMIC becomes has its reference, and may be a fork that brings nothing.
                if brought is not None and brought.hash != plan.hash:
                    plans.append(brought)


def _newest(ws: Workspace, node: Node) -> Attempt | None:
    seq = ws.newest(node.ref)
    attempt = ws.attempt(seq) if seq else None
    same = attempt is not None and attempt.generation == ws.header.generation
    return attempt if same else None


def _nesting(ws: Workspace, spot: Spot) -> int:
    """How many containers a node stands in."""
    plan: Plan | None = spot.plan
    node: Node | None = spot.node
    depth = 0
    while plan is not None and node is not None:
        if node.container is not None:
            node = plan.nodes.get(node.container)
        elif plan.anchor:
            anchor = plan.anchor
            plan = ws.plan_of(plan.parent)
            node = plan.nodes.get(anchor) if plan else None
        else:
            break
        depth += 1
    return depth

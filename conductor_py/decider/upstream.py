"""What tasks hand on to those behind them (``outParameters``).

Only tasks that lead to the reader count, so that no value depends on which of two tasks beside each
other was quicker. A value that a later one of them has replaced on its way does not count: one task
that leads to another whose value counts is out. Of those that are left the one that ended first
counts, then the one whose reference is first in the alphabet. Nothing is handed on by a task that
failed, also where that is optional, that was passed over, or whose value is null or empty; nor by
what ran in an earlier iteration of a loop around the reader.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from conductor_py.decider.need import Read
from conductor_py.decider.outcomes import OK, outcomes
from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt, vector_prefix
from conductor_py.model.json import JsonValue
from conductor_py.model.status import TaskStatus


def handed_on(ws: Workspace, spot: Spot, name: str) -> JsonValue:
    """The value that reaches the task at ``spot``, ``None`` when none does."""
    for plan, ref in _origins(ws, spot):
        if name not in plan.hands_on:
            continue
        found = _remaining(ws, plan, ref, name, spot)
        if found:
            return min(found, key=lambda one: (one[0].ended_at, one[0].ref))[1]
    return None


def _origins(ws: Workspace, spot: Spot) -> Iterator[tuple[Plan, str]]:
    """The task, and what brought it, and what brought that."""
    plan, ref = spot.plan, spot.node.ref
    yield plan, ref
    while plan.anchor and (parent := ws.plan_of(plan.parent)) is not None:
        plan, ref = parent, plan.anchor
        yield plan, ref


def _remaining(
    ws: Workspace, plan: Plan, ref: str, name: str, spot: Spot
) -> list[tuple[Attempt, JsonValue]]:
    """The values that nothing later has replaced. It goes backwards through the graph, later tasks
    first: when it comes to one, all that it leads to has been looked at.
    """
    givers = plan.hands_on[name]
    found: list[tuple[Attempt, JsonValue]] = []
    replaced: dict[str, bool] = dict.fromkeys(plan.before.get(ref, ()), False)
    waiting = [(-plan.ranks[each], each) for each in replaced]
    heapq.heapify(waiting)
    open_ = len(waiting)
    asked = 0
    while open_ and waiting:
        _, at = heapq.heappop(waiting)
        is_replaced = replaced[at]
        open_ -= not is_replaced
        if at in givers and not is_replaced:
            asked += 1
            if asked == 2:
                _ask_for_all(ws, plan, ref, name)
            given = _given(ws, plan, at, name, spot)
            if given is not None:
                found.append(given)
                is_replaced = True
        for each in plan.before.get(at, ()):
            if each not in replaced:
                replaced[each] = is_replaced
                heapq.heappush(waiting, (-plan.ranks[each], each))
                open_ += not is_replaced
            elif is_replaced and not replaced[each]:
                replaced[each] = True
                open_ -= 1
    return found


def _ask_for_all(ws: Workspace, plan: Plan, ref: str, name: str) -> None:
    """Read what all of them gave at once: the nearest is empty, and so may be many."""
    seen: dict[str, None] = {}
    pending = [ref]
    while pending:
        new = [each for each in plan.before.get(pending.pop(), ()) if each not in seen]
        seen |= dict.fromkeys(new)
        pending += new
    wanted = [each for each in seen if each in plan.hands_on[name]]
    pointers = (f"r:{each}" for each in wanted)
    gates = (f"g:{each}" for each in wanted if plan.nodes[each].gate is not None)
    ws.together(
        [(each, Read(f">ao {each}")) for each in pointers if each not in ws.pointers]
        + [(each, Read(each)) for each in gates if each not in ws.states]
    )


def _given(
    ws: Workspace, plan: Plan, ref: str, name: str, reader: Spot
) -> tuple[Attempt, JsonValue] | None:
    node = plan.nodes.get(ref)
    if node is None:
        return None
    if node.gate is not None and outcomes(ws, (ref,))[ref] != OK:
        return None
    if f"r:{ref}" not in ws.pointers:
        ws.together(((f"r:{ref}", Read(f">ao r:{ref}")),))
    seq = ws.newest(ref)
    attempt = ws.attempt(seq) if seq else None
    if attempt is None or attempt.status is not TaskStatus.COMPLETED:
        return None
    shared = 0
    for own, around in zip(node.loops, reader.node.loops, strict=False):
        if own != around:
            break
        shared += 1
    if vector_prefix(attempt.vector, shared) != vector_prefix(reader.vector, shared):
        return None
    value = ws.document(f"o:{attempt.seq}").get(name)
    return None if value is None or value == "" else (attempt, value)

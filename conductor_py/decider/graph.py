"""The static graph: where tasks stand to each other in their definitions, whatever has run.

A *place* is a reference in an iteration. Two places are compared where the lists that they stand in
part: further along a list, or in a later iteration of a loop around both, is *after*; different
branches are *beside* each other. The tasks that data brought stand below the node that brought
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.definitions import WorkflowDef, WorkflowTask, children_of
from conductor_py.model.execution import Vector, vector_prefix


class Standing(Enum):
    """How a place stands to another, the target."""

    AT = "at"
    """It is the target."""
    INSIDE = "inside"
    """It stands in a body of the target."""
    AROUND = "around"
    """The target stands in one of its bodies."""
    BEFORE = "before"
    """The target follows it, or what it stands in."""
    AFTER = "after"
    """It follows the target, or what that stands in."""
    BESIDE = "beside"
    """Neither follows the other."""


def lifted(ws: Workspace, spot: Spot) -> Spot:
    """The place of a task that a DYNAMIC resolved to is that of the DYNAMIC itself."""
    plan, node = spot.plan, spot.node
    while plan.anchor == node.ref and not plan.branches and node.container is None:
        parent = ws.plan_of(plan.parent)
        if parent is None or node.ref not in parent.nodes:
            break
        plan, node = parent, parent.nodes[node.ref]
    return Spot(plan, node, spot.vector)


def ancestry(ws: Workspace, spot: Spot) -> list[Spot]:
    """A place and what stands around it, innermost first, up to the top of the definition."""
    found = [lifted(ws, spot)]
    while (around := _around(ws, found[-1])) is not None:
        found.append(lifted(ws, around))
    return found


def _around(ws: Workspace, spot: Spot) -> Spot | None:
    plan, node = spot.plan, spot.node
    if node.container is not None:
        holder = plan.nodes[node.container]
    elif plan.anchor:
        parent = ws.plan_of(plan.parent)
        if parent is None or plan.anchor not in parent.nodes:
            return None
        plan, holder = parent, parent.nodes[plan.anchor]
    else:
        return None
    return Spot(plan, holder, vector_prefix(spot.vector, len(holder.loops)))


def standing(ws: Workspace, spot: Spot, target: list[Spot]) -> Standing:
    """How ``spot`` stands to the target, whose ``ancestry`` this is."""
    own = ancestry(ws, spot)
    later = _later_iteration(own[0], target[0])
    if later is not None:
        return Standing.AFTER if later else Standing.BEFORE
    around = {_name(each): n for n, each in enumerate(target)}
    for depth, each in enumerate(own):
        met = around.get(_name(each))
        if met is None:
            continue
        if met == 0:
            return Standing.INSIDE if depth else Standing.AT
        if depth == 0:
            return Standing.AROUND
        return _in_one_body(own[depth - 1], target[met - 1])
    return _in_one_body(own[-1], target[-1])


def _later_iteration(spot: Spot, target: Spot) -> bool | None:
    """Whether it belongs to a later iteration of a loop around both; ``None``: to the same."""
    numbers, wanted = spot.vector.split("."), target.vector.split(".")
    for n, (one, other) in enumerate(zip(spot.node.loops, target.node.loops, strict=False)):
        if one != other:
            return None
        if n < len(numbers) and n < len(wanted) and numbers[n] != wanted[n]:
            return int(numbers[n] or 0) > int(wanted[n] or 0)
    return None


def _in_one_body(one: Spot, other: Spot) -> Standing:
    """Compare two places with the same container."""
    if one.plan.hash != other.plan.hash:
        return Standing.BESIDE
    tasks = siblings(one.plan, one.node)
    refs = [task.task_reference_name for task in tasks]
    if other.node.ref not in refs:
        return Standing.BESIDE
    after = refs.index(one.node.ref) > refs.index(other.node.ref)
    return Standing.AFTER if after else Standing.BEFORE


def siblings(plan: Plan, node: Node) -> tuple[WorkflowTask, ...]:
    """The list of tasks that a node stands in."""
    if node.container is None:
        return (node.task,) if plan.anchor else plan.definition.tasks
    for _, body in children_of(plan.nodes[node.container].task):
        if any(task.task_reference_name == node.ref for task in body):
            return body
    return (node.task,)


def _name(spot: Spot) -> tuple[str, str]:
    return spot.plan.hash, spot.node.ref


def preceding(plan: Plan, ref: str) -> Node | None:
    """The node right before another of the same list."""
    tasks = siblings(plan, plan.nodes[ref])
    refs = [task.task_reference_name for task in tasks]
    at = refs.index(ref)
    return plan.nodes[refs[at - 1]] if at else None


def joining(plan: Plan, fork: Node) -> Node | None:
    """The JOIN of a fork: what comes next to it, also behind the choices, and the branches of
    another fork, that end with it (Conductor); ``None`` when that is no JOIN. To a fork that data
    makes it stands next in the same list.
    """
    node = fork
    while node.following is None:
        holder = plan.nodes.get(node.container or "")
        if holder is None or holder.task.type == "DO_WHILE" or fork.task.type != "FORK_JOIN":
            return None
        node = holder
    found = plan.nodes[node.following]
    return found if found.task.type in {"JOIN", "EXCLUSIVE_JOIN"} else None


def shares_join(plan: Plan, fork: Node) -> bool:
    """Whether a fork around this one has opened the JOIN of both."""
    node = fork
    while node.following is None and node.container is not None:
        node = plan.nodes[node.container]
        if node.task.type == "FORK_JOIN":
            return True
    return False


def follower(ws: Workspace, spot: Spot) -> Spot | None:
    """What opens once the task at ``spot`` has settled; ``None`` at the end of a branch, of the
    body of a loop and of the definition (``at_tail`` tells which).
    """
    end, following = _last(ws, spot)
    if following is None or end is None:
        return None
    return Spot(end.plan, end.plan.nodes[following], spot.vector)


def at_tail(ws: Workspace, spot: Spot) -> Spot | bool | None:
    """What comes to its end with the task at ``spot``: the loop whose body does, ``True`` for the
    whole definition, ``None`` for neither.
    """
    end, following = _last(ws, spot)
    if following is not None or end is None:
        return None
    if end.node.container is None:
        return not end.plan.anchor or None
    holder = end.plan.nodes[end.node.container]
    if holder.task.type != "DO_WHILE":
        return None
    return Spot(end.plan, holder, vector_prefix(spot.vector, len(holder.loops)))


def _last(ws: Workspace, spot: Spot) -> tuple[Spot | None, str | None]:
    """The outermost place that settles with ``spot``, and the reference that follows it."""
    plan, node = spot.plan, spot.node
    while node.following is None:
        if node.container is None:
            parent = ws.plan_of(plan.parent) if plan.anchor and not plan.branches else None
            if parent is None or plan.anchor not in parent.nodes:
                break
            plan, node = parent, parent.nodes[plan.anchor]
            continue
        holder = plan.nodes[node.container]
        if holder.task.type in {"FORK_JOIN", "DO_WHILE"}:
            break
        node = holder
    return Spot(plan, node, spot.vector), node.following


def paths(definition: WorkflowDef) -> Mapping[str, str]:
    """The JSON path of every reference of a definition."""
    return dict(_paths(definition))


def _paths(definition: WorkflowDef) -> Iterator[tuple[str, str]]:
    pending = [(definition.tasks, "$.tasks")]
    while pending:
        tasks, where = pending.pop()
        for index, task in enumerate(tasks):
            here = f"{where}[{index}]"
            yield task.task_reference_name, here
            pending.extend((body, f"{here}{name}") for name, body in children_of(task))


def open_iteration(vector: Vector, depth: int) -> int:
    """The component of an iteration vector that belongs to the loop of this depth."""
    parts = vector.split(".")
    return int(parts[depth]) if depth < len(parts) and parts[depth] else 0

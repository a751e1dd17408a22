"""FORK_JOIN: opens the first task of every branch, and the JOIN that comes next; itself it is done
at once.
"""

from __future__ import annotations

from conductor_py.decider import control, joins
from conductor_py.decider.graph import joining, shares_join
from conductor_py.decider.operators.join import prepare_join
from conductor_py.decider.plan import Node
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.definitions import children_of
from conductor_py.model.json import JsonObject
from conductor_py.model.status import TaskStatus

_TOGETHER = 500


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the fork. The join counts every branch from the first piece on."""
    node = spot.node
    value = resolve_input(ws, spot, None)
    join = joining(spot.plan, node)
    if join is None:
        refuse(ws, spot, value, without_join(node))
        return
    fork = control.create(ws, spot, type_="FORK", status=TaskStatus.COMPLETED, input_=value)
    is_shared = shares_join(spot.plan, node)
    if not is_shared:
        prepare_join(ws, spot, join, frozenset(_inside(spot)))
    joins.tell(ws, spot, fork)
    steps = [
        Step("open", spot.plan, branch[0].task_reference_name, spot.vector)
        for branch in node.task.fork_tasks
        if branch
    ]
    opening = [] if is_shared else [Step("open", spot.plan, join.ref, spot.vector)]
    if len(steps) > _TOGETHER:
        control.open_first(ws, [*opening, *steps])
    else:
        control.open_first(ws, [*steps, *opening])


def without_join(node: Node) -> str:
    """Why a fork fails that no JOIN comes next to."""
    return f"{node.task.type} '{node.ref}' has no JOIN right behind it"


def refuse(ws: Workspace, spot: Spot, value: JsonObject, reason: str) -> None:
    """Let a fork fail that cannot open its branches."""
    attempt = control.create(ws, spot, type_="FORK", status=TaskStatus.IN_PROGRESS, input_=value)
    control.finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=reason)


def _inside(spot: Spot) -> set[str]:
    """The references that stand in the fork's branches, at any depth."""
    inside: set[str] = set()
    pending = list(spot.node.task.fork_tasks)
    while pending:
        for task in pending.pop():
            inside.add(task.task_reference_name)
            pending.extend(body for _, body in children_of(task))
    return inside

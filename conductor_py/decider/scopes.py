"""Scopes: where the tasks of a DAG stand to each other, and which of them a recovery may run.

``TASK_POST`` is a task and all behind it, and what a retry would try again: it holds nothing back.
``TASK_ONLY`` is the task alone, ``TASK_PRE`` it and all before it. What a scope holds back neither
runs nor is forgotten in that generation, whatever becomes of the tasks before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from conductor_py.decider.plan import Plan
from conductor_py.decider.workspace import Workspace
from conductor_py.model.definitions import ORDER, Relation
from conductor_py.model.execution import Attempt, Walk
from conductor_py.model.requests import TASK_ONLY, TASK_PRE
from conductor_py.model.status import TaskStatus


def holds(ws: Workspace, walk: Walk, ref: str) -> bool:
    """Whether a task may not run in the present generation."""
    if walk.scope == TASK_ONLY:
        return ref != walk.ref
    if walk.scope != TASK_PRE:
        return False
    if ws.scope is None:
        ws.scope = frozenset({walk.ref, *before(ws.plan, walk.ref)})
    return ref not in ws.scope


def before(plan: Plan, ref: str) -> set[str]:
    """All that leads to a task, however far."""
    return _reached(leading_to(plan), (ref,))


def behind(plan: Plan, refs: Iterable[str]) -> set[str]:
    """All that tasks lead to, however far."""
    after = {
        name: [edge.post_task for edge in node.gate.after if edge.label != ORDER]
        for name, node in plan.nodes.items()
        if node.gate is not None
    }
    return _reached(after, refs)


def _reached(edges: dict[str, list[str]], refs: Iterable[str]) -> set[str]:
    found: set[str] = set()
    pending = list(refs)
    while pending:
        new = [ref for ref in edges.get(pending.pop(), ()) if ref not in found]
        found.update(new)
        pending += new
    return found


def leading_to(plan: Plan) -> dict[str, list[str]]:
    """The tasks right before each, by reference; what is only waited for is none."""
    found: dict[str, list[str]] = {
        ref: [] for ref, node in plan.nodes.items() if node.gate is not None
    }
    for ref in tuple(found):
        for edge in _after(plan, ref):
            if edge.label != ORDER:
                found[edge.post_task].append(ref)
    return found


def _after(plan: Plan, ref: str) -> tuple[Relation, ...]:
    gate = plan.nodes[ref].gate
    return gate.after if gate is not None else ()


def in_order(plan: Plan) -> list[str]:
    """The tasks of a DAG, each behind all that it waits for."""
    left = {ref: node.gate.before for ref, node in plan.nodes.items() if node.gate is not None}
    order = [ref for ref, befores in left.items() if not befores]
    for ref in order:
        for edge in _after(plan, ref):
            left[edge.post_task] -= 1
            if not left[edge.post_task]:
                order.append(edge.post_task)
    return order


def stale(plan: Plan, attempts: Iterable[Attempt]) -> frozenset[int]:
    """The attempts, by number, that count although something before them has begun to run again
    since. What an operator skipped read nothing, it is never stale.
    """
    nodes = plan.nodes
    present = {
        each.ref: each
        for each in attempts
        if not (each.superseded or each.ahead or each.vector)
        and each.ref in nodes
        and nodes[each.ref].gate is not None
    }
    if len({each.generation for each in present.values()}) < 2:
        return frozenset()
    befores = leading_to(plan)
    latest: dict[str, int] = {}
    found: set[int] = set()
    for ref in in_order(plan):
        newest = max((latest[each] for each in befores[ref]), default=0)
        attempt = present.get(ref)
        if attempt is not None and attempt.status is not TaskStatus.SKIPPED:
            if attempt.generation < newest:
                found.add(attempt.seq)
            newest = max(newest, attempt.generation)
        latest[ref] = newest
    return frozenset(found)

"""What stands right before each task of a definition, whether relations or lists join its tasks.

Behind a SWITCH or a DO_WHILE stands its *end*, which stands behind the ends of what it holds, and
behind a JOIN what it waits for; the first task of a body stands behind what holds it. What a
dynamic fork brings is in no definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from conductor_py.model.definitions import ORDER, WorkflowDef, WorkflowTask, children_of

_OPEN_ENDED = frozenset({"SWITCH", "DECISION", "DO_WHILE"})
_JOINS = frozenset({"JOIN", "EXCLUSIVE_JOIN"})


def end_of(task: WorkflowTask) -> str:
    """What follows a task stands behind this: its reference, or its end. No reference is an end."""
    ref = task.task_reference_name
    return f"\0{ref}" if task.type in _OPEN_ENDED else ref


def leading_to(definition: WorkflowDef, *, apart: bool = False) -> dict[str, tuple[str, ...]]:
    """The references and ends right before each, each once; a relation to or from what is no task
    counts for nothing, one of order neither. ``apart`` says that the tasks on top do not follow
    each other.
    """
    apart = apart or bool(definition.relations)
    tasks: dict[str, WorkflowTask] = {}
    found: dict[str, tuple[str, ...]] = {}
    pending: list[tuple[tuple[WorkflowTask, ...], str | None]] = [(definition.tasks, None)]
    while pending:
        body, container = pending.pop()
        for index, task in enumerate(body):
            ref = task.task_reference_name
            tasks[ref] = task
            if index and not (apart and container is None):
                found[ref] = (end_of(body[index - 1]),)
            else:
                found[ref] = (container,) if container is not None else ()
            bodies = [inner for _, inner in children_of(task) if inner]
            if task.type in _OPEN_ENDED:
                found[end_of(task)] = (ref, *(end_of(inner[-1]) for inner in bodies))
            pending += [(inner, ref) for inner in bodies]
    for ref, task in tasks.items():
        if task.type in _JOINS:
            ends = (end_of(tasks[name]) for name in task.join_on if name in tasks)
            found[ref] = tuple(dict.fromkeys((*found[ref], *ends)))
    if definition.relations:
        _relate(definition, found)
    return found


def ranks_of(before: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Number them so that each comes after all that leads to it; if they form a cycle, which no
    definition may, in the order in which they stand.
    """
    try:
        order = tuple(TopologicalSorter(before).static_order())
    except CycleError:
        order = tuple(before)
    return {ref: rank for rank, ref in enumerate(order)}


def _relate(definition: WorkflowDef, found: dict[str, tuple[str, ...]]) -> None:
    before: dict[str, dict[str, None]] = {}
    ends = {task.task_reference_name: end_of(task) for task in definition.tasks}
    for relation in definition.relations:
        if relation.label == ORDER:
            continue
        if relation.pre_task in ends and relation.post_task in ends:
            before.setdefault(relation.post_task, {})[ends[relation.pre_task]] = None
    found.update({ref: tuple(befores) for ref, befores in before.items()})

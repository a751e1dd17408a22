"""What stands right before each task of a definition, whether relations or lists join its tasks.

Behind a SWITCH or a DO_WHILE stand also the ends of what it holds, behind a JOIN what it waits for;
the first task of a body stands behind what holds it. What a dynamic fork brings is in no
definition.
"""

from __future__ import annotations

from collections.abc import Iterator

from conductor_py.model.definitions import WorkflowDef, WorkflowTask, children_of

_OPEN_ENDED = frozenset({"SWITCH", "DECISION", "DO_WHILE"})
_JOINS = frozenset({"JOIN", "EXCLUSIVE_JOIN"})


def leading_to(definition: WorkflowDef, *, apart: bool = False) -> dict[str, tuple[str, ...]]:
    """The references right before each task, each once; a relation to or from what is no task
    counts for nothing. ``apart`` says that the tasks on top do not follow each other.
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
                found[ref] = tuple(_ends(body[index - 1]))
            else:
                found[ref] = (container,) if container is not None else ()
            pending += [(inner, ref) for _, inner in children_of(task)]
    for ref, task in tasks.items():
        if task.type in _JOINS:
            awaited = (tasks[name] for name in task.join_on if name in tasks)
            ends = (end for each in awaited for end in _ends(each))
            found[ref] = tuple(dict.fromkeys((*found[ref], *ends)))
    if definition.relations:
        _relate(definition, found)
    return found


def _ends(task: WorkflowTask) -> Iterator[str]:
    """A task, and the ends of what it holds when what follows it follows these."""
    pending = [task]
    while pending:
        each = pending.pop()
        yield each.task_reference_name
        if each.type in _OPEN_ENDED:
            pending += [body[-1] for _, body in children_of(each) if body]


def _relate(definition: WorkflowDef, found: dict[str, tuple[str, ...]]) -> None:
    before: dict[str, dict[str, None]] = {}
    top = {task.task_reference_name for task in definition.tasks}
    for relation in definition.relations:
        if relation.pre_task in top and relation.post_task in top:
            before.setdefault(relation.post_task, {})[relation.pre_task] = None
    found.update({ref: tuple(befores) for ref, befores in before.items()})

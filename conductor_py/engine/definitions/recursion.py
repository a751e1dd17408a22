"""Find workflows that would start themselves without end, before they are stored or started.

A sub-workflow task that is always reached (not inside a SWITCH, DECISION or DO_WHILE, whose
conditions may end the recursion) and leads back to a workflow above it never ends. Deeper recursion
is bounded at run time by the nesting limit.
"""

from __future__ import annotations

from collections.abc import Callable

from conductor_py.errors import Violation
from conductor_py.model.definitions import ORDER, WorkflowDef, WorkflowTask

Registered = Callable[[str, int | None], WorkflowDef | None]

_MAX_VISITED = 1_000


def endless_recursion(definition: WorkflowDef, registered: Registered) -> Violation | None:
    """Say where ``definition`` includes itself without bound, ``None`` when it does not."""
    target = definition.name
    seen: set[tuple[str, int | None]] = set()
    for path, task in _always_reached(definition):
        pending = _started_by(task)
        while pending and len(seen) < _MAX_VISITED:
            child = pending.pop()
            if isinstance(child, WorkflowDef):
                included, name = child, child.name
            else:
                name, version = child
                if (name, version) in seen:
                    continue
                seen.add((name, version))
                found = None if name == target else registered(name, version)
                included = found if found is not None else definition
                if name != target and found is None:
                    continue
            if name == target:
                message = (
                    f"Workflow '{target}' includes itself as a sub-workflow on every path, "
                    "so it would never end; put the recursion behind a SWITCH"
                )
                return Violation(path=f"{path}.subWorkflowParam", message=message)
            for _, inner in _always_reached(included):
                pending.extend(_started_by(inner))
    return None


def _started_by(task: WorkflowTask) -> list[tuple[str, int | None] | WorkflowDef]:
    params = task.sub_workflow_param
    if task.type != "SUB_WORKFLOW" or params is None:
        return []
    if isinstance(params.workflow_definition, WorkflowDef):
        return [params.workflow_definition]
    if not params.name or "${" in params.name or params.workflow_definition is not None:
        return []
    version = params.version if isinstance(params.version, int) else None
    return [(params.name, version or None)]


def _always_reached(definition: WorkflowDef) -> list[tuple[str, WorkflowTask]]:
    """Tasks that run whenever their workflow runs to its end, with their JSON paths."""
    if definition.relations:
        chosen = _behind_choices(definition)
        return [
            (f"$.tasks[{index}]", task)
            for index, task in enumerate(definition.tasks)
            if task.task_reference_name not in chosen
        ]
    reached: list[tuple[str, WorkflowTask]] = []
    pending = [(definition.tasks, "$.tasks")]
    while pending:
        siblings, where = pending.pop()
        for index, task in enumerate(siblings):
            here = f"{where}[{index}]"
            reached.append((here, task))
            if task.type == "FORK_JOIN":
                pending.extend(
                    (branch, f"{here}.forkTasks[{i}]") for i, branch in enumerate(task.fork_tasks)
                )
            if task.type == "TERMINATE":
                break
    return reached


def _behind_choices(definition: WorkflowDef) -> set[str]:
    """The tasks of a DAG that may not be chosen."""
    after: dict[str | None, list[str]] = {}
    for relation in definition.relations:
        if relation.label != ORDER:
            after.setdefault(relation.pre_task, []).append(relation.post_task)
    pending = [
        ref
        for task in definition.tasks
        if task.type in {"CONDITIONS", "SWITCH"}
        for ref in after.get(task.task_reference_name, ())
    ]
    found: set[str] = set()
    while pending:
        ref = pending.pop()
        if ref not in found:
            found.add(ref)
            pending.extend(after.get(ref, ()))
    return found

"""Subsets: a DAG of which a start runs a part is another DAG, made before anything begins.

It has the tasks that were named and, by mode, those behind or before them, and the relations
between these. It is what the execution carries: whatever comes later knows no other. What would
lack something that is left out is refused: an input that names it, CONDITIONS that look at it, the
default of a SWITCH that depends on its cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from conductor_py.decider import scopes
from conductor_py.decider.expressions.expressions import compile_template
from conductor_py.decider.graph import paths
from conductor_py.decider.plan import Plan
from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.definitions import Relation, WorkflowDef, WorkflowTask, children_of
from conductor_py.model.json import JsonValue
from conductor_py.model.requests import TASK_POST, TASK_PRE


def subset(plan: Plan, named: Sequence[str], mode: str, *, root: str = "$") -> WorkflowDef:
    """The part of a definition that ``named`` and ``mode`` say. Raises ``InvalidInput`` with all
    that is wrong; ``root`` is the path of the definition.
    """
    wrong = list(_unknown(plan, named))
    if wrong:
        raise InvalidInput(violations=tuple(wrong))
    chosen = set(named)
    if mode == TASK_POST:
        chosen |= scopes.behind(plan, named)
    elif mode == TASK_PRE:
        chosen = chosen.union(*(scopes.before(plan, ref) for ref in named))
    definition = plan.definition
    tasks = tuple(each for each in definition.tasks if each.task_reference_name in chosen)
    inner = [each for each in definition.relations if {each.pre_task, each.post_task} <= chosen]
    led_to = {each.post_task for each in inner}
    # Without a relation it would be no DAG.
    roots = [Relation(post_task=ref) for ref in _refs(tasks) if ref not in led_to]
    part = replace(definition, tasks=tasks, relations=(*roots, *inner))
    wrong = [*_lacking(definition, tasks, root), *_torn(definition, chosen, root)]
    if wrong:
        raise InvalidInput(violations=tuple(wrong))
    return part


def _unknown(plan: Plan, named: Sequence[str]) -> Iterator[Violation]:
    if not plan.is_dag:
        message = f"must be absent: workflow {plan.definition.name} is no DAG"
        yield Violation(path="$.startNodes", message=message)
        return
    for index, ref in enumerate(named):
        node = plan.nodes.get(ref)
        if node is None or node.gate is None:
            message = "must name a task of the workflow"
            if node is not None:
                message = f"stands in a loop, which runs as a whole: name '{node.loops[0]}'"
            yield Violation(path=f"$.startNodes[{index}]", message=message, invalid_value=ref)


def _refs(tasks: Sequence[WorkflowTask]) -> list[str]:
    return [task.task_reference_name for task in tasks]


def _lacking(
    definition: WorkflowDef, tasks: Sequence[WorkflowTask], root: str
) -> Iterator[Violation]:
    """The inputs that name a task that is left out."""
    where = paths(definition)
    inside = dict(_all(tasks))
    left_out = where.keys() - inside.keys()
    for ref, task in inside.items():
        params = task.sub_workflow_param
        values: dict[str, JsonValue] = {"inputParameters": task.input_parameters}
        if params is not None:
            values["subWorkflowParam"] = params.resolved
        at = f"{root}{where[ref].removeprefix('$')}"
        for path, text in _texts(values, at):
            named = {one for one, _ in compile_template(text).roots} & left_out
            for each in sorted(named):
                message = f"must not name {each}, which is not among what is started"
                yield Violation(path=path, message=message, invalid_value=text)


def _all(tasks: Sequence[WorkflowTask]) -> Iterator[tuple[str, WorkflowTask]]:
    pending = list(tasks)
    while pending:
        task = pending.pop(0)
        yield task.task_reference_name, task
        pending += [each for _, body in children_of(task) for each in body]


def _texts(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if "${" in value:
            yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            here = f".{name}" if name.isidentifier() else f"['{name}']"
            yield from _texts(inner, path + here)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{index}]")


def _torn(definition: WorkflowDef, chosen: set[str], root: str) -> Iterator[Violation]:
    """The choices that could not be made as they are meant."""
    defaults = {
        each.pre_task
        for each in definition.relations
        if each.label == "default" and each.post_task in chosen
    }
    for index, each in enumerate(definition.relations):
        path = f"{root}.relations[{index}]"
        if each.label == "test" and each.post_task in chosen and each.pre_task not in chosen:
            message = f"is left out, but {each.post_task} looks at {each.pre_task}"
            yield Violation(path=path, message=message, invalid_value=each.pre_task)
        torn = each.label == "case" and each.post_task not in chosen
        if torn and each.pre_task in chosen & defaults:
            message = f"is left out, but the default of {each.pre_task} depends on its cases"
            yield Violation(path=path, message=message, invalid_value=each.post_task)

"""Whether the relations of a definition make a DAG: what may lead where, under which label.

What the labels and rules mean stands in ``decider.gates``. The tasks of a DAG are joined by its
relations, so a fork and its join have no place among them; they are welcome in a sub-workflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.model.definitions import ORDER, Relation, WorkflowDef, WorkflowTask
from conductor_py.model.json import JsonValue
from conductor_py.records import dataclass
from conductor_py.wire.task_rules import Finding

_FORKS = frozenset({"FORK_JOIN", "FORK_JOIN_DYNAMIC", "JOIN", "EXCLUSIVE_JOIN", "DECISION"})
_LEAVES = {"CONDITIONS": ("success", "failure"), "SWITCH": ("case", "default")}
_OWNER = {label: kind for kind, labels in _LEAVES.items() for label in labels}
_DEEPEST = 20
_SHOWN = 10


def dag_findings(definition: WorkflowDef) -> Iterator[Finding]:
    """List all that is wrong with the relations, and what only a DAG may have."""
    if not definition.relations:
        yield from _strays(definition)
        return
    tasks = {task.task_reference_name: task for task in definition.tasks}
    good: list[Relation] = []
    for index, relation in enumerate(definition.relations):
        found = list(_ends(relation, tasks))
        yield from ((f".relations[{index}]{path}", text, value) for path, text, value in found)
        if not found and relation.pre_task:
            good.append(relation)
    yield from _repeated(definition)
    edges = _Edges(good)
    for index, task in enumerate(definition.tasks):
        path = f".tasks[{index}]"
        yield from ((path + at, text, value) for at, text, value in _node(task, edges))
    for index, relation in enumerate(definition.relations):
        if not relation.pre_task and edges.before.get(relation.post_task):
            message = (
                f"must not be a root: {edges.before[relation.post_task][0].pre_task} leads to it"
            )
            yield f".relations[{index}].postTask", message, relation.post_task
    yield from _cycle(edges, tasks)


@dataclass(slots=True)
class _Edges:
    """Relations by the task that they lead to, and by the one that they leave."""

    before: dict[str, list[Relation]]
    after: dict[str, list[Relation]]

    def __init__(self, relations: list[Relation]) -> None:
        self.before, self.after = {}, {}
        for each in relations:
            self.before.setdefault(each.post_task, []).append(each)
            self.after.setdefault(each.pre_task or "", []).append(each)


def _strays(definition: WorkflowDef) -> Iterator[Finding]:
    for index, task in enumerate(definition.tasks):
        path = f".tasks[{index}]"
        if task.type == "CONDITIONS":
            yield (
                f"{path}.type",
                "must not be CONDITIONS in a workflow without relations",
                task.type,
            )
        if task.trigger_rule != "ALL":
            message = "must be ALL in a workflow without relations"
            yield f"{path}.triggerRule", message, task.trigger_rule
        if task.prohibited:
            yield f"{path}.prohibited", "must not be true in a workflow without relations", "true"


def _ends(relation: Relation, tasks: Mapping[str, WorkflowTask]) -> Iterator[Finding]:
    if relation.post_task not in tasks:
        yield ".postTask", "must name a task of this workflow", relation.post_task
    if not relation.pre_task:
        if relation.label != "ok" or relation.case is not None:
            yield ".label", "must not be given for a root, which nothing leads to", relation.label
        return
    if relation.pre_task not in tasks:
        yield ".preTask", "must name a task of this workflow", relation.pre_task
        return
    if relation.pre_task == relation.post_task:
        yield ".postTask", "must not be the task itself", relation.post_task
    yield from _label(relation, tasks)


def _label(relation: Relation, tasks: Mapping[str, WorkflowTask]) -> Iterator[Finding]:
    leaves = tasks[relation.pre_task or ""].type
    if relation.label == ORDER and relation.case is None:
        return
    allowed = _LEAVES.get(leaves)
    if allowed and relation.label not in allowed:
        message = f"must be {' or '.join(allowed)}: {relation.pre_task} is a {leaves}"
        yield ".label", message, relation.label
    elif not allowed and relation.label in _OWNER:
        message = f"leads away from a {_OWNER[relation.label]} only"
        yield ".label", message, relation.label
    if (relation.label == "case") != (relation.case is not None):
        wanted = "must be given" if relation.label == "case" else "belongs to the label case only"
        yield ".case", wanted, relation.case
    target = tasks.get(relation.post_task)
    if relation.label == "test" and target is not None and target.type != "CONDITIONS":
        yield ".label", "leads to a CONDITIONS task only", relation.label
    if target is not None and target.type == "CONDITIONS" and relation.label in {"ok", "always"}:
        yield ".label", f"must be test: {relation.post_task} is a CONDITIONS", relation.label


def _repeated(definition: WorkflowDef) -> Iterator[Finding]:
    first: dict[Relation, int] = {}
    for index, relation in enumerate(definition.relations):
        if relation in first:
            message = f"must be there once; it is relations[{first[relation]}] already"
            yield f".relations[{index}]", message, relation.post_task
        first.setdefault(relation, index)


def _node(task: WorkflowTask, edges: _Edges) -> Iterator[Finding]:
    if task.type in _FORKS:
        message = (
            f"must not be {task.type}: a DAG forks and joins by its relations; "
            "put it into a sub-workflow"
        )
        yield ".type", message, task.type
    if task.type == "SWITCH" and (task.decision_cases or task.default_case):
        message = "must be empty: the branches of a SWITCH in a DAG are relations labelled case"
        yield ".decisionCases", message, None
    own = task.task_definition.retry_count if task.task_definition is not None else 0
    for path, count in ((".retryCount", task.retry_count), (".taskDefinition.retryCount", own)):
        if task.type in _LEAVES and count:
            message = f"must be 0: a {task.type} is decided at once, and again it would be the same"
            yield path, message, str(count)
    if task.type in _LEAVES and task.prohibited:
        yield ".prohibited", f"must not be true: nothing would be chosen by {task.type}", "true"
    if task.type == "CONDITIONS":
        yield from _conditions(task, edges)


def _conditions(task: WorkflowTask, edges: _Edges) -> Iterator[Finding]:
    ref = task.task_reference_name
    tests = {each.pre_task for each in edges.before.get(ref, ()) if each.label == "test"}
    if not tests:
        yield "", "must have a relation labelled test that leads to it", None
    sides = {each.label for each in edges.after.get(ref, ())}
    for label in ("success", "failure"):
        if label not in sides:
            message = f"must have a relation labelled {label}: else a failure would be forgotten"
            yield "", message, None
    condition = task.input_parameters.get("condition")
    if condition is not None:
        yield from _condition(condition, ".inputParameters.condition", tests, 1)


def _condition(
    condition: JsonValue, path: str, tests: set[str | None], depth: int
) -> Iterator[Finding]:
    if not isinstance(condition, Mapping) or depth > _DEEPEST:
        deep = f", nested at most {_DEEPEST} deep" if depth > _DEEPEST else ""
        yield path, f"must be an object{deep}", None
        return
    items = condition.get("items")
    if isinstance(items, list | tuple):
        relation = condition.get("relation", "AND")
        if relation not in {"AND", "OR"}:
            yield f"{path}.relation", "must be AND or OR", str(relation)
        if not items:
            yield f"{path}.items", "must hold at least one condition", None
        for index, item in enumerate(items):
            yield from _condition(item, f"{path}.items[{index}]", tests, depth + 1)
        return
    if condition.get("task") not in tests:
        message = "must name a task with a relation labelled test that leads here"
        yield f"{path}.task", message, str(condition.get("task"))
    if condition.get("status", "SUCCESS") not in {"SUCCESS", "FAILURE"}:
        yield f"{path}.status", "must be SUCCESS or FAILURE", str(condition.get("status"))


def _cycle(edges: _Edges, tasks: Mapping[str, WorkflowTask]) -> Iterator[Finding]:
    """Take away what nothing leads to, again and again; what is left stands in or behind cycles."""
    waiting = {ref: len(edges.before.get(ref, ())) for ref in tasks}
    free = [ref for ref, count in waiting.items() if not count]
    while free:
        for each in edges.after.get(free.pop(), ()):
            waiting[each.post_task] -= 1
            if not waiting[each.post_task]:
                free.append(each.post_task)
    left = dict.fromkeys(ref for ref, count in waiting.items() if count)
    if not left:
        return
    # Backwards every task that is left has one before it that is left: so a walk comes round.
    walked: dict[str, int] = {}
    at = next(iter(left))
    while at not in walked:
        walked[at] = len(walked)
        at = next(each.pre_task for each in edges.before[at] if each.pre_task in left) or ""
    round_ = [ref for ref, number in walked.items() if number >= walked[at]]
    shown = [at, *reversed(round_)]
    text = " → ".join(shown if len(shown) <= _SHOWN else [*shown[:_SHOWN], "…"])
    yield ".relations", f"must not form a cycle: {text}", None

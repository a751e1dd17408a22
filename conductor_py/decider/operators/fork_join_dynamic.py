"""FORK_JOIN_DYNAMIC: the branches come from the input; they become a fragment, created in bounded
pieces.

Variants, first match wins: a list of inputs for one task or sub-workflow (``forkTaskInputs``), a
list of tasks with a map of inputs, the legacy single parameter. Branch names depend on this fork
only, so they are the same in every iteration (A-50).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conductor_py.decider import control, joins, operators, skipping
from conductor_py.decider.expressions.expressions import verbatim
from conductor_py.decider.graph import joining
from conductor_py.decider.need import FragmentWanted, Read, Refusal, digest
from conductor_py.decider.operators.fork_join import refuse, without_join
from conductor_py.decider.operators.join import open_join
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.references import resolve_input
from conductor_py.decider.starting import whole_number
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import JoinState
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import place_key
from conductor_py.model.status import TaskStatus

_TOGETHER = 500
_SHOWN = 100
_MEMBERS: Mapping[str, type] = MappingProxyType(
    {
        "optional": bool,
        "permissive": bool,
        "asyncComplete": bool,
        "startDelay": int,
        "retryCount": int,
        "description": str,
    }
)
"""What an item of ``forkTaskInputs`` may say of its branch's task."""


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the fork, its JOIN, and as many branches as one decision may create."""
    value = resolve_input(ws, spot, None)
    join = joining(spot.plan, spot.node)
    tasks: tuple[JsonObject, ...] | Refusal
    if join is None:
        tasks, join_ref = Refusal(without_join(spot.node)), ""
    else:
        tasks, join_ref = _branches(spot.node, value), join.ref
    plan: object = tasks
    if isinstance(tasks, tuple):
        tasks = _checked(ws, spot, tasks)
        plan = tasks
    if isinstance(tasks, tuple):
        wanted = FragmentWanted(
            spot.plan.hash, spot.node.ref, spot.node.loops, (join_ref,), True, tasks
        )
        plan = ws.answer(f"fragment:{spot.key}:{digest(tasks)}", wanted)
    if not isinstance(plan, Plan) or join is None or isinstance(tasks, Refusal):
        refuse(ws, spot, value, plan.reason if isinstance(plan, Refusal) else "not resolved")
        return
    _open(ws, spot, join, plan, tasks, value)


def _open(  # noqa: PLR0917 - the fork, its join, its branches
    ws: Workspace,
    spot: Spot,
    join: Node,
    plan: Plan,
    tasks: tuple[JsonObject, ...],
    value: JsonObject,
) -> None:
    ws.plans[plan.hash] = None
    ws.hashes["d:" + spot.key] = plan.hash
    ws.learn(plan)
    shown: dict[str, JsonValue] = {**value, "forkedTasks": list(plan.branches)}
    if len(tasks) <= _SHOWN:
        # Conductor's pages draw the branches from these.
        shown["forkedTaskDefs"] = list(tasks)
    fork = control.create(ws, spot, type_="FORK", status=TaskStatus.COMPLETED, input_=shown)
    joins.tell(ws, spot, fork)
    joining = Spot(spot.plan, join, spot.vector)
    prepared = JoinState(seq=0, expected=len(plan.branches))
    ws.states["j:" + joining.key] = prepared
    if len(plan.branches) > _TOGETHER:
        _open_join(ws, joining, plan)
        ws.agenda.appendleft(Step("branches", plan, "0", spot.vector))
        return
    steps = [Step("open", plan, ref, spot.vector) for ref in plan.branches]
    control.open_first(ws, [*steps, Step("join_of", plan, join.ref, spot.vector)])


def join_of(ws: Workspace, fragment: Plan, ref: str, step: Step) -> None:
    """Open the JOIN of a fragment whose branches were opened before it."""
    parent = ws.plan_of(fragment.parent)
    node = parent.nodes.get(ref) if parent else None
    if parent is None or node is None:
        return
    spot = Spot(parent, node, step.vector)
    if not control.in_ended_loop(ws, spot):
        _open_join(ws, spot, fragment)


def _open_join(ws: Workspace, spot: Spot, fragment: Plan) -> None:
    """Open the JOIN of a fragment, unless it stands already: a fork whose failure was passed over
    is made anew; or was skipped before it was reached.
    """
    if not (control.arrived(ws, spot) or skipping.skipped(ws, spot)):
        open_join(ws, spot, fragment.branches)


def more_branches(ws: Workspace, step: Step) -> None:
    """Open branches from a cursor on, as far as this decision's bound allows."""
    cursor = int(step.ref)
    branches = step.plan.branches
    if control.in_ended_loop(ws, Spot(step.plan, step.plan.nodes[branches[cursor]], step.vector)):
        return
    ws.queued_before = cursor  # the branches of all pieces have one order
    while cursor < len(branches) and not ws.full:
        node = step.plan.nodes[branches[cursor]]
        operators.open_(ws, Spot(step.plan, node, step.vector))
        cursor += 1
    if cursor < len(branches):
        ws.agenda.appendleft(Step("branches", step.plan, str(cursor), step.vector))


def _branches(node: Node, value: JsonObject) -> tuple[JsonObject, ...] | Refusal:
    task = node.task
    if isinstance(value.get("forkTaskInputs"), (list, tuple)):
        return _of_inputs(node, value)
    if task.dynamic_fork_tasks_param:
        return _of_tasks(node, value)
    if task.dynamic_fork_join_tasks_param:
        return _legacy(task.dynamic_fork_join_tasks_param, value)
    if "forkTaskInputs" in value:
        return Refusal("forkTaskInputs of the dynamic fork is no list")
    return Refusal("The dynamic fork names no parameter for its tasks")


def _of_inputs(node: Node, value: JsonObject) -> tuple[JsonObject, ...] | Refusal:
    inputs = _items(value.get("forkTaskInputs"))
    type_ = str(value.get("forkTaskType") or "SIMPLE")
    sub = value.get("forkTaskWorkflow")
    default = type_ if type_ in operators.OPERATORS and not sub else node.ref
    name = str(value.get("forkTaskName") or default)
    branches: list[JsonObject] = []
    for index, item in enumerate(inputs):
        given = dict(item) if isinstance(item, Mapping) else {"input": item}
        branch: dict[str, JsonValue] = {
            **_configured(given),
            "name": name,
            "taskReferenceName": f"_{node.ref}_{name}_{index}",
            "type": "SUB_WORKFLOW" if sub else type_,
            "inputParameters": {**_literal(given), "__index": index},
        }
        if node.task.optional:
            branch["optional"] = True
        if sub:
            branch["subWorkflowParam"] = _sub_workflow(str(sub), value, given)
        branches.append(branch)
    return tuple(branches)


def _configured(item: JsonObject) -> JsonObject:
    """What an item says of its branch's task: members that have their type; all of it is the
    branch's input as well.
    """
    return {
        name: item[name]
        for name, kind in _MEMBERS.items()
        if type(item.get(name)) is kind
        and (kind is not int or whole_number(item[name]) is not None)
    }


def _sub_workflow(name: str, value: JsonObject, item: JsonObject) -> JsonObject:
    params: dict[str, JsonValue] = {"name": verbatim(name)}
    version = whole_number(value.get("forkTaskWorkflowVersion"))
    if version:
        params["version"] = version
    domains = item.get("taskToDomain")
    if isinstance(domains, Mapping):
        params["taskToDomain"] = {key: verbatim(str(domain)) for key, domain in domains.items()}
    return params


def _of_tasks(node: Node, value: JsonObject) -> tuple[JsonObject, ...] | Refusal:
    task = node.task
    tasks = value.get(task.dynamic_fork_tasks_param or "")
    if not isinstance(tasks, (list, tuple)):
        return Refusal(f"Input '{task.dynamic_fork_tasks_param}' is not a list of tasks")
    inputs = value.get(task.dynamic_fork_tasks_input_param_name or "")
    if not isinstance(inputs, Mapping):
        name = task.dynamic_fork_tasks_input_param_name
        return Refusal(f"Input '{name}' is not a map of inputs by reference name")
    branches: list[JsonObject] = []
    for index, item in enumerate(tasks):
        ref = item.get("taskReferenceName") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(ref, str) or not ref:
            return Refusal(f"Dynamic task {index} has no taskReferenceName")
        own = inputs.get(ref)
        branches.append(_with_input(item, own if isinstance(own, Mapping) else {}))
    return tuple(branches)


def _legacy(parameter: str, value: JsonObject) -> tuple[JsonObject, ...] | Refusal:
    given = value.get(parameter)
    tasks = given.get("dynamicTasks") if isinstance(given, Mapping) else None
    if not isinstance(tasks, (list, tuple)):
        return Refusal(f"Input '{parameter}' has no list 'dynamicTasks'")
    branches: list[JsonObject] = []
    for index, item in enumerate(tasks):
        if not isinstance(item, Mapping) or not item.get("referenceName"):
            return Refusal(f"Dynamic task {index} has no referenceName")
        own = item.get("input")
        branch: dict[str, JsonValue] = {
            "name": item.get("taskName"),
            "taskReferenceName": item.get("referenceName"),
            "type": item.get("type") or "SIMPLE",
        }
        branches.append(_with_input(branch, own if isinstance(own, Mapping) else {}))
    return tuple(branches)


def _with_input(task: JsonObject, own: JsonObject) -> JsonObject:
    given = task.get("inputParameters")
    base = given if isinstance(given, Mapping) else {}
    named = task.get("name") or task.get("type") or task.get("taskReferenceName")
    return {**task, "name": named, "inputParameters": {**base, **_literal(own)}}


def _literal(given: JsonObject) -> JsonObject:
    """What data brings in is input of a branch as it is, even where it looks like an expression."""
    found = verbatim(given)
    return found if isinstance(found, Mapping) else {}


def _checked(
    ws: Workspace, spot: Spot, tasks: tuple[JsonObject, ...]
) -> tuple[JsonObject, ...] | Refusal:
    most = ws.limits.branches
    if len(tasks) > most:
        more = f"{len(tasks)} branches are more than the {most} that a fork may have"
        return Refusal(f"Dynamic fork: {more} (conductor.limits.forkBranches)")
    refs = [str(task["taskReferenceName"]) for task in tasks]
    seen = _brought_before(ws, spot, refs) if ws.header.fragments or ws.hashes else set()
    for ref in refs:
        if ref in seen or ref in ws.plan.nodes:
            return Refusal(f"Dynamic fork: reference name '{ref}' is used already")
        seen.add(ref)
    return tasks


def _brought_before(ws: Workspace, spot: Spot, refs: list[str]) -> set[str]:
    """The references that other dynamic tasks have brought, in this iteration and generation."""
    pointers = {ref: "r:" + place_key(ref, spot.vector) for ref in refs}
    ws.together((name, Read(f">a {name}")) for name in pointers.values() if name not in ws.pointers)
    generation = ws.header.generation
    return {
        ref
        for ref in refs
        if (seq := ws.newest(ref, spot.vector))
        and (attempt := ws.attempt(seq)) is not None
        and attempt.generation == generation
    }


def _items(value: JsonValue) -> list[JsonValue]:
    return list(value) if isinstance(value, (list, tuple)) else []

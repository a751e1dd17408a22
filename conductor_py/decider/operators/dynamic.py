"""DYNAMIC: the name of the task comes from its input; the resolved task has its own definition
(A-49).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conductor_py.decider import control, operators
from conductor_py.decider.expressions.expressions import verbatim
from conductor_py.decider.need import FragmentWanted, Refusal, digest
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_input
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus

_SUB_WORKFLOW: Mapping[str, str] = MappingProxyType(
    {
        "subWorkflowName": "name",
        "subWorkflowVersion": "version",
        "subWorkflowTaskToDomain": "taskToDomain",
        "subWorkflowDefinition": "workflowDefinition",
        "priority": "priority",
        "idempotencyKey": "idempotencyKey",
        "idempotencyStrategy": "idempotencyStrategy",
    }
)


def open_(ws: Workspace, spot: Spot) -> None:
    """Resolve the name, bring the task as a fragment below this node and open it in its place."""
    task = spot.node.task
    value = resolve_input(ws, spot, ws.next_seq)
    name = value.get(task.dynamic_task_name_param or "")
    if name is None or name == "":
        reason = f"Input '{task.dynamic_task_name_param}' does not name a task"
        _refuse(ws, spot, value, reason)
        return
    wanted = FragmentWanted(
        spot.plan.hash,
        spot.node.ref,
        spot.node.loops,
        spot.node.joins,
        False,
        (_resolved(spot, str(name), value),),
    )
    plan = ws.answer(f"fragment:{spot.key}:{digest(wanted.tasks)}", wanted)
    if not isinstance(plan, Plan):
        _refuse(ws, spot, value, plan.reason if isinstance(plan, Refusal) else "not resolved")
        return
    ws.plans[plan.hash] = None
    ws.hashes["d:" + spot.key] = plan.hash
    ws.learn(plan)
    operators.open_(ws, Spot(plan, plan.nodes[spot.node.ref], spot.vector))


def _resolved(spot: Spot, name: str, value: JsonObject) -> JsonObject:
    """The task as if the definition had named it: a system type by its type, anything else a worker
    task. What else the node says holds for whatever it becomes.
    """
    task = spot.node.task
    resolved: dict[str, JsonValue] = {
        "name": name,
        "taskReferenceName": task.task_reference_name,
        "type": name if name in operators.OPERATORS else "SIMPLE",
        "inputParameters": task.input_parameters,
        "optional": task.optional,
        "permissive": task.permissive,
        "startDelay": task.start_delay,
        "asyncComplete": task.async_complete,
    }
    if task.parameters:
        resolved["parameters"] = task.parameters
    if task.out_parameters:
        resolved["outParameters"] = list(task.out_parameters)
    told = {
        "retryCount": task.retry_count,
        "sink": task.sink,
        "evaluatorType": task.evaluator_type,
        "expression": task.expression,
        "scriptExpression": task.script_expression,
        "caseExpression": task.case_expression,
        "caseValueParam": task.case_value_param,
        "cacheConfig": task.cache_config,
        "onStateChange": task.on_state_change or None,
    }
    resolved |= {key: given for key, given in told.items() if given is not None}
    if name == "SUB_WORKFLOW":
        resolved |= _child(task, value)
    return resolved


def _child(task: WorkflowTask, value: JsonObject) -> JsonObject:
    """Which workflow a dynamic SUB_WORKFLOW starts: what its input says, in Conductor's words."""
    given = task.input_parameters.get("workflowInput")
    found = value.get("workflowInput")
    if not isinstance(given, Mapping):
        given = verbatim(found) if isinstance(found, Mapping) else {}
    params: dict[str, JsonValue] = {
        # An inline definition is taken as it is, everything else is resolved once more.
        name: value[key] if name == "workflowDefinition" else verbatim(value[key])
        for key, name in _SUB_WORKFLOW.items()
        if value.get(key) is not None
    }
    return {"inputParameters": given, "subWorkflowParam": params}


def _refuse(ws: Workspace, spot: Spot, value: JsonObject, reason: str) -> None:
    attempt = control.create(
        ws,
        spot,
        type_="DYNAMIC",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
    )
    status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
    control.finish(ws, spot, attempt, status, reason=reason)

"""SUB_WORKFLOW: starts a child with the same commit and waits for the event of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.decider import admission, control, scheduling, timeouts
from conductor_py.decider.need import ChildWanted, PayloadWanted, Refusal, digest
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_input, resolve_value
from conductor_py.decider.starting import new_header, whole_number, with_input_template
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.decision import NewChild
from conductor_py.model.definitions import SubWorkflowParams
from conductor_py.model.event import ChildEnded
from conductor_py.model.execution import Attempt, External, Meta, wire_ref
from conductor_py.model.ids import derived_execution_id, partition_of, task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus, WorkflowStatus

_STATUS_OF = {
    WorkflowStatus.COMPLETED: TaskStatus.COMPLETED,
    WorkflowStatus.FAILED: TaskStatus.FAILED,
    WorkflowStatus.TIMED_OUT: TaskStatus.TIMED_OUT,
    WorkflowStatus.TERMINATED: TaskStatus.CANCELED,
}


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the task and start the child, after the start delay when there is one."""
    task = spot.node.task
    value = resolve_input(ws, spot, None)
    attempt = control.create(
        ws,
        spot,
        type_="SUB_WORKFLOW",
        definition=task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.policies(spot.node.task.task_definition, ws.now_ms),
    )
    if task.start_delay:
        scheduling.hold(ws, attempt, task.start_delay * 1000)
        return
    resume(ws, spot, attempt)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Start the child now."""
    params = spot.node.task.sub_workflow_param
    value = ws.document(f"i:{attempt.seq}")
    value = _context(value)
    if params is None:
        _refuse(ws, spot, attempt, "SUB_WORKFLOW needs 'subWorkflowParam'")
        return
    if ws.header.depth + 1 > ws.limits.depth:
        _refuse(ws, spot, attempt, f"Sub-workflows are nested deeper than {ws.limits.depth}")
        return
    wanted = _wanted(ws, params)
    if isinstance(wanted, Refusal):
        _refuse(ws, spot, attempt, wanted.reason)
        return
    plan = ws.answer(_key(spot, attempt, wanted), wanted)
    if not isinstance(plan, Plan):
        reason = plan.reason if isinstance(plan, Refusal) else "The sub-workflow cannot be found"
        _refuse(ws, spot, attempt, reason)
        return
    child = derived_execution_id(task_id(ws.id, attempt.seq), partition_of(ws.id))
    oversize = ws.known.get(f"oversize:child:{child}") or ws.refused("i", attempt.seq, attempt.ref)
    if isinstance(oversize, str):
        ws.documents[f"i:{attempt.seq}"] = {}
        _refuse(ws, spot, attempt, oversize)
        return
    _start(ws, attempt, params, plan, value)


def ended(ws: Workspace, spot: Spot, attempt: Attempt, event: ChildEnded) -> None:
    """The child has ended: its status and output become the task's."""
    output = event.output
    if isinstance(output, External):
        stored = ws.answer(f"payload:{output.path}", PayloadWanted(output.path))
        if not isinstance(stored, Mapping):
            lost = f"The output of sub workflow {event.child} cannot be read: {output.path}"
            _refuse(ws, spot, attempt, lost)
            return
        output = stored
    output = {"subWorkflowId": event.child, **output}
    status = _STATUS_OF.get(event.status, TaskStatus.FAILED)
    reason = None
    if not status.successful:
        name = f"Sub workflow {event.child} {event.status.value}"
        reason = f"{name}: {event.reason}" if event.reason else name
    control.finish(ws, spot, attempt, status, output=output, reason=reason)


def _start(
    ws: Workspace, attempt: Attempt, params: SubWorkflowParams, plan: Plan, value: JsonObject
) -> None:
    definition = plan.definition
    child = derived_execution_id(task_id(ws.id, attempt.seq), partition_of(ws.id))
    domains = _domains(ws, params)
    header = new_header(
        plan.hash,
        definition,
        home=ws.header.home,
        now_ms=ws.now_ms,
        priority=_priority(ws, params.priority),
        correlation_id=ws.header.correlation_id,
        has_domains=bool(domains),
        parent=(ws.id, attempt.seq, ws.header.depth),
        admitted_under=admission.held_by(ws.header),
    )
    ws.plans[plan.hash] = None
    ws.children.append(
        NewChild(
            id=child,
            header=header,
            input=with_input_template(definition, value),
            variables=definition.variables,
            domains={key: str(value) for key, value in domains.items()},
            meta=Meta(parent_task_ref=wire_ref(attempt.ref, attempt.vector)),
        )
    )
    started = replace(
        attempt, status=TaskStatus.IN_PROGRESS, child=child, start_at=0, started_at=ws.now_ms
    )
    ws.put(started)
    ends = timeouts.started_deadline(started)
    if ends:
        ws.timers[attempt.seq] = ends
    ws.documents[f"i:{attempt.seq}"] = {
        "subWorkflowName": definition.name,
        "subWorkflowVersion": definition.version,
        "subWorkflowTaskToDomain": dict(domains) or None,
        "workflowInput": value,
    }
    ws.documents[f"o:{attempt.seq}"] = {"subWorkflowId": child}


def _domains(ws: Workspace, params: SubWorkflowParams) -> JsonObject:
    """The task-to-domain map of the child: its own, else the parent's."""
    given = resolve_value(ws, params.task_to_domain) if params.task_to_domain else None
    if isinstance(given, Mapping) and given:
        return given
    return ws.document("domains") if ws.header.has_domains else {}


def _wanted(ws: Workspace, params: SubWorkflowParams) -> ChildWanted | Refusal:
    inline: object = params.workflow_definition
    if isinstance(inline, str):
        inline = resolve_value(ws, inline)
        if not isinstance(inline, Mapping):
            return Refusal(f"'{params.workflow_definition}' does not yield a workflow definition")
    if inline is not None:
        return ChildWanted(params.name or "", None, inline)  # type: ignore[arg-type]
    name = resolve_value(ws, params.name)
    version = resolve_value(ws, params.version)
    if not isinstance(name, str) or not name:
        return Refusal("subWorkflowParam.name does not yield a name")
    number = whole_number(version)
    if version is not None and number is None:
        return Refusal(f"subWorkflowParam.version '{version}' is not a number")
    return ChildWanted(name, number or None)


def _key(spot: Spot, attempt: Attempt, wanted: ChildWanted) -> str:
    """The latest version is asked for by each attempt, a definition that is data by its content."""
    if isinstance(wanted.inline, Mapping):
        return f"child:{digest(wanted.inline)}"
    if wanted.inline is not None:
        return f"child:{spot.plan.hash}:{spot.node.ref}"
    return f"child:{wanted.name}:{wanted.version}:{attempt.seq if wanted.version is None else ''}"


def _context(value: JsonObject) -> JsonObject:
    """A retry finds the input as it was shown; what the child gets is inside."""
    inner = value.get("workflowInput")
    return inner if "subWorkflowName" in value and isinstance(inner, Mapping) else value


def _priority(ws: Workspace, given: JsonValue) -> int:
    number = whole_number(resolve_value(ws, given))
    return number if number is not None and 0 <= number <= 99 else 0


def _refuse(ws: Workspace, spot: Spot, attempt: Attempt, reason: str) -> None:
    status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
    control.finish(ws, spot, attempt, status, reason=reason)

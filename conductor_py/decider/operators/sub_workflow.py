"""SUB_WORKFLOW: starts a child with the same commit and waits for the event of its end.

An idempotency key decides which partition its child belongs to: such a child is started by an
effect, which then tells the task (``take_on``) which execution the key led to. One that somebody
else has started is followed: it is looked at again and again, and never ended or retried from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from conductor_py.decider import admission, control, scheduling, timeouts
from conductor_py.decider.chains import home_of, lacks_room, nested_in_chain
from conductor_py.decider.need import (
    ChildState,
    ChildStateWanted,
    ChildWanted,
    PayloadWanted,
    Refusal,
    digest,
)
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_input, resolve_value
from conductor_py.decider.starting import (
    business_of,
    new_header,
    priority_number,
    whole_number,
    with_input_template,
)
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.business_time import WrongBusinessTime, requested
from conductor_py.model.decision import NewChild, Order
from conductor_py.model.definitions import SubWorkflowParams
from conductor_py.model.event import ChildEnded
from conductor_py.model.execution import Attempt, External, Meta
from conductor_py.model.ids import ExecutionId, child_id, partition_of, task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.records import dataclass

_LONGEST_REASON = 500
_FIRST_LOOK_MS = 1_000
_LAST_LOOK_MS = 60_000
_LOOKS = 8
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
    if attempt.child is not None:
        look(ws, spot, attempt, attempt.child)
        return
    params = spot.node.task.sub_workflow_param
    value = _context(ws.document(f"i:{attempt.seq}"))
    if params is None:
        _refuse(ws, spot, attempt, "SUB_WORKFLOW needs 'subWorkflowParam'")
        return
    too_many = _too_many(ws)
    if too_many is not None:
        _refuse(ws, spot, attempt, too_many)
        return
    wanted = _wanted(ws, spot, attempt, params)
    told = _told(ws, spot, attempt, params)
    lacking = ws.unresolved.pop(spot.key, None)
    if lacking is not None or isinstance(wanted, Refusal) or isinstance(told, Refusal):
        reasons = (each.reason for each in (wanted, told) if isinstance(each, Refusal))
        _refuse(ws, spot, attempt, lacking or next(reasons, ""))
        return
    plan = ws.answer(_key(spot, attempt, wanted), wanted)
    if not isinstance(plan, Plan):
        refusal = plan if isinstance(plan, Refusal) else Refusal("The sub-workflow cannot be found")
        _refuse(ws, spot, attempt, refusal.reason, terminal=refusal.terminal)
        return
    child = child_id(ws.id, attempt.seq)
    oversize = ws.known.get(f"oversize:child:{child}") or ws.refused("i", attempt.seq, attempt.ref)
    if isinstance(oversize, str):
        ws.documents[f"i:{attempt.seq}"] = {}
        _refuse(ws, spot, attempt, oversize)
        return
    key = told.key
    if isinstance(wanted.inline, Mapping):
        told = replace(told, definition=wanted.inline)
    if key is None or key == "":
        _start(ws, attempt, plan, value, told)
    elif isinstance(key, (Mapping, Sequence)) and not isinstance(key, str):
        _refuse(ws, spot, attempt, "subWorkflowParam.idempotencyKey does not yield a text")
    else:
        _order(ws, attempt, plan, value, told)


def _too_many(ws: Workspace) -> str | None:
    """Say why no child may be started here: the tree is too deep, or too wide."""
    most = ws.limits.depth
    if ws.header.depth + 1 > most:
        return f"Sub-workflows are nested deeper than {most} (conductor.limits.subWorkflowDepth)"
    return lacks_room(ws, nested_in_chain(ws), ws.id)


def take_on(ws: Workspace, spot: Spot, attempt: Attempt, child: str, *, followed: bool) -> None:
    """The key has led to ``child``: wait for it, if it has not ended by now."""
    taken = replace(attempt, child=child, followed=followed)
    ws.put(taken)
    ws.documents[f"o:{attempt.seq}"] = {"subWorkflowId": child}
    look(ws, spot, taken, child)


def look(ws: Workspace, spot: Spot, attempt: Attempt, child: str) -> None:
    """Ask how a child stands, and end with it. One that is followed is looked at again; its waits
    grow with its age.
    """
    state = ws.answer(f"childstate:{child}:{attempt.seq}", ChildStateWanted(child))
    if not isinstance(state, ChildState):
        _refuse(ws, spot, attempt, f"Sub workflow {child} cannot be found any more")
    elif state.status.terminal:
        ended(ws, spot, attempt, child, state)
    elif attempt.followed:
        waited = ws.now_ms - attempt.started_at
        again = ws.now_ms + min(max(waited // _LOOKS, _FIRST_LOOK_MS), _LAST_LOOK_MS)
        ws.put(replace(attempt, wait_until=again))
        ends = timeouts.started_deadline(attempt)
        ws.timers[attempt.seq] = min(again, ends or again)


def heard(ws: Workspace, spot: Spot, attempt: Attempt, event: ChildEnded) -> None:
    """The child says that it has ended. From another partition that may come late and twice, and
    without reason and output: it is asked. Who says why was dropped, and cannot be asked.
    """
    if attempt.child != event.child:
        return
    is_abroad = partition_of(ExecutionId(event.child)) != partition_of(ws.id)
    if is_abroad and event.reason is None:
        look(ws, spot, attempt, event.child)
        return
    state = ChildState(
        status=event.status,
        generation=event.child_generation,
        reason=event.reason,
        output=event.output,
    )
    ended(ws, spot, attempt, event.child, state)


def ended(ws: Workspace, spot: Spot, attempt: Attempt, child: str, state: ChildState) -> None:
    """The child has ended: its status and output become the task's."""
    output = state.output
    if isinstance(output, External):
        stored = ws.answer(f"payload:{output.path}", PayloadWanted(output.path))
        if not isinstance(stored, Mapping):
            lost = f"The output of sub workflow {child} cannot be read: {output.path}"
            _refuse(ws, spot, attempt, lost)
            return
        output = stored
    # It stands first, as in Conductor, and is this child's whatever the child says.
    own = {"subWorkflowId": child}
    output = {**own, **output, **own}
    status = _STATUS_OF.get(state.status, TaskStatus.FAILED)
    reason = None
    if not status.successful:
        reason = _because(f"Sub workflow {child} {state.status.value}", state.reason)
    control.finish(ws, spot, attempt, status, output=output, reason=reason)


def _because(name: str, reason: str | None) -> str:
    """Of a long reason the end is kept: it says what happened where all this began."""
    if not reason:
        return name
    room = _LONGEST_REASON - len(name) - len(": … ")
    return f"{name}: {reason}" if len(reason) <= room else f"{name}: … {reason[-room:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What a child is told beside its input. ``definition`` is the one that data brought."""

    key: JsonValue
    strategy: str
    domains: JsonObject
    priority: int
    business: tuple[int, str]
    definition: JsonObject | None = None


def _told(
    ws: Workspace, spot: Spot, attempt: Attempt, params: SubWorkflowParams
) -> _Told | Refusal:
    def resolved(value: JsonValue) -> JsonValue:
        return resolve_value(ws, value, attempt.seq, spot=spot)

    given = resolved(params.task_to_domain) if params.task_to_domain else None
    if not isinstance(given, Mapping) or not given:
        given = ws.document("domains") if ws.header.has_domains else {}
    business = _business(ws, params, resolved)
    if isinstance(business, Refusal):
        return business
    return _Told(
        key=resolved(params.idempotency_key),
        strategy=params.idempotency_strategy or "FAIL",
        domains=given,
        priority=priority_number(resolved(params.priority)) or 0,
        business=business,
    )


def _business(
    ws: Workspace, params: SubWorkflowParams, resolved: Callable[[JsonValue], JsonValue]
) -> tuple[int, str] | Refusal:
    """What the child is about: what the task says, and for the rest what its parent is about."""
    said = {"businessTime": params.business_time, "zoneId": params.zone_id}
    found = {name: resolved(value) for name, value in said.items() if value is not None}
    for name, value in found.items():
        if value is None or (name == "zoneId" and not isinstance(value, str)):
            return Refusal(f"subWorkflowParam.{name} does not yield a value: {said[name]}")
    own_at, own_zone = business_of(ws.header)
    try:
        at, zone = requested(found.get("businessTime"), found.get("zoneId"), own_zone)
    except WrongBusinessTime as wrong:
        return Refusal(f"subWorkflowParam.{wrong}")
    return at or own_at, zone


def _order(ws: Workspace, attempt: Attempt, plan: Plan, value: JsonObject, told: _Told) -> None:
    at, zone = told.business
    arguments: JsonObject = {
        "task": task_id(ws.id, attempt.seq),
        "plan": plan.hash,
        "name": plan.definition.name,
        "key": str(told.key),
        "strategy": told.strategy,
        "priority": told.priority,
        "correlationId": ws.header.correlation_id,
        "depth": ws.header.depth,
        **nested_in_chain(ws).members(),
        "ref": wire_ref(attempt.ref, attempt.vector),
        "admittedUnder": admission.held_by(ws.header),
        "business": [at, zone or "UTC"],
    }
    effect = f"{ws.id}:start:{attempt.seq}"
    ws.effects[effect] = Order(id=effect, kind="start", arguments=arguments)
    ws.plans[plan.hash] = None
    ws.put(replace(attempt, status=TaskStatus.IN_PROGRESS, start_at=0, started_at=ws.now_ms))
    _show(ws, attempt, plan, value, told)


def _start(ws: Workspace, attempt: Attempt, plan: Plan, value: JsonObject, told: _Told) -> None:
    definition = plan.definition
    child = child_id(ws.id, attempt.seq)
    header = new_header(
        plan.hash,
        definition,
        home=home_of(ws.header.home, nested_in_chain(ws), ws.id),
        now_ms=ws.now_ms,
        priority=told.priority,
        correlation_id=ws.header.correlation_id,
        has_domains=bool(told.domains),
        parent=(ws.id, attempt.seq, ws.header.depth),
        chain=nested_in_chain(ws),
        admitted_under=admission.held_by(ws.header),
        business=told.business,
    )
    ws.plans[plan.hash] = None
    ws.children.append(
        NewChild(
            id=child,
            header=header,
            input=with_input_template(definition, value),
            variables=definition.variables,
            domains={key: str(value) for key, value in told.domains.items()},
            meta=Meta(parent_task_ref=wire_ref(attempt.ref, attempt.vector)),
        )
    )
    started = replace(
        attempt, status=TaskStatus.IN_PROGRESS, child=child, start_at=0, started_at=ws.now_ms
    )
    ws.put(started)
    _show(ws, started, plan, value, told)
    ws.documents[f"o:{attempt.seq}"] = {"subWorkflowId": child}


def _show(ws: Workspace, attempt: Attempt, plan: Plan, value: JsonObject, told: _Told) -> None:
    """Keep what the child gets as the task's input, and time the task."""
    ends = timeouts.started_deadline(ws.attempts[attempt.seq])
    if ends:
        ws.timers[attempt.seq] = ends
    shown: dict[str, JsonValue] = {
        "subWorkflowName": plan.definition.name,
        "subWorkflowVersion": plan.definition.version,
        "subWorkflowTaskToDomain": dict(told.domains) or None,
        "workflowInput": value,
        "priority": told.priority,
    }
    if told.key is not None and told.key != "":
        shown |= {"idempotencyKey": told.key, "idempotencyStrategy": told.strategy}
    if told.definition is not None:
        shown["subWorkflowDefinition"] = told.definition
    ws.documents[f"i:{attempt.seq}"] = shown


def _wanted(
    ws: Workspace, spot: Spot, attempt: Attempt, params: SubWorkflowParams
) -> ChildWanted | Refusal:
    inline: object = params.workflow_definition
    if isinstance(inline, str):
        inline = resolve_value(ws, inline, attempt.seq, spot=spot)
        if not isinstance(inline, Mapping):
            return Refusal(f"'{params.workflow_definition}' does not yield a workflow definition")
    if inline is not None:
        return ChildWanted(params.name or "", None, inline)  # type: ignore[arg-type]
    name = resolve_value(ws, params.name, attempt.seq, spot=spot)
    version = resolve_value(ws, params.version, attempt.seq, spot=spot)
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


def _refuse(
    ws: Workspace, spot: Spot, attempt: Attempt, reason: str, *, terminal: bool = True
) -> None:
    """Fail the task; ``terminal``: another try would end in the same way."""
    status = TaskStatus.FAILED_WITH_TERMINAL_ERROR if terminal else TaskStatus.FAILED
    control.finish(ws, spot, attempt, status, reason=reason)

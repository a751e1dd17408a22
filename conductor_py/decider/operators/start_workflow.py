"""START_WORKFLOW: starts another execution with the same commit and does not wait for it.

The other's id is derived from the task's, so that a repeat finds it (A-47). It has no parent: what
becomes of one does not touch the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider import control, scheduling, timeouts
from conductor_py.decider.chains import chain_ends, home_of, lacks_room, next_in_chain
from conductor_py.decider.need import ChildWanted, PayloadWanted, Refusal, digest
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_input
from conductor_py.decider.starting import (
    new_header,
    priority_number,
    start_nodes,
    whole_number,
    with_input_template,
)
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.business_time import requested
from conductor_py.model.decision import NewChild, Order
from conductor_py.model.execution import Attempt, Document, External, Meta
from conductor_py.model.ids import child_id, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.priorities import MOST_URGENT, NAMES
from conductor_py.model.requests import TASK_ONLY, TASK_POST, TASK_PRE
from conductor_py.model.status import TaskStatus
from conductor_py.model.text_bounds import too_long

_REQUEST = "startWorkflow"
_MAPS = ("input", "taskToDomain", "workflowDef")
_TEXTS = (
    "correlationId",
    "createdBy",
    "externalInputPayloadStoragePath",
    "idempotencyKey",
    "zoneId",
)
_MODES = (TASK_POST, TASK_ONLY, TASK_PRE)
_STRATEGIES = ("FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING")


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the task and start the execution, after the start delay when there is one."""
    task = spot.node.task
    attempt = control.create(
        ws,
        spot,
        type_="START_WORKFLOW",
        definition=task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=resolve_input(ws, spot, None),
        delay_s=task.start_delay,
        **scheduling.policies(task.task_definition, ws.now_ms),
    )
    if task.start_delay > 0:
        scheduling.hold(ws, attempt, task.start_delay * 1000)
        return
    resume(ws, spot, attempt)


def resume(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Start it now."""
    request = ws.document(f"i:{attempt.seq}").get(_REQUEST)
    complaints = _complaints(request)
    chain, most = next_in_chain(ws), ws.limits.chain
    full = chain_ends(most) if chain.number > most else lacks_room(ws, chain)
    if full is not None:
        complaints.append(full)
    if not isinstance(request, Mapping) or complaints:
        _refuse(ws, spot, attempt, "; ".join(complaints))
        return
    if request.get("idempotencyKey"):
        _order(ws, attempt, request)
        return
    wanted = _wanted(request)
    path = request.get("externalInputPayloadStoragePath")
    if path and not request.get("input"):
        stored = ws.answer(f"payload:{path}", PayloadWanted(str(path)))
        if not isinstance(stored, Mapping):
            why = f": {stored.reason}" if isinstance(stored, Refusal) and stored.large else ""
            _refuse(ws, spot, attempt, f"The input '{path}' cannot be read{why}")
            return
    plan = ws.answer(_key(attempt, wanted), wanted)
    if not isinstance(plan, Plan):
        reason = plan.reason if isinstance(plan, Refusal) else "The workflow cannot be found"
        _refuse(ws, spot, attempt, reason)
        return
    child = child_id(ws.id, attempt.seq)
    oversize = ws.known.get(f"oversize:child:{child}")
    if isinstance(oversize, str):
        _refuse(ws, spot, attempt, oversize)
        return
    ws.plans[plan.hash] = None
    ws.children.append(_newborn(ws, child, plan, request))
    control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={"workflowId": child})


def _order(ws: Workspace, attempt: Attempt, request: JsonObject) -> None:
    """Its key says which partition the other belongs to: it is started by an effect, which also
    ends the task.
    """
    task = task_id(ws.id, attempt.seq)
    at, zone = _business(ws, request)
    effect = f"{ws.id}:start:{attempt.seq}"
    arguments: JsonObject = {
        "task": task,
        "version": whole_number(request.get("version")),
        **next_in_chain(ws).members(),
        "priority": priority_number(request.get("priority")) or 0,
        "correlationId": ws.header.correlation_id,
        "taskToDomain": ws.document("domains") if ws.header.has_domains else {},
        "business": [at, zone or "UTC"],
    }
    ws.effects[effect] = Order(id=effect, kind="start", arguments=arguments)
    ends = timeouts.started_deadline(attempt)
    if ends:
        ws.timers[attempt.seq] = ends


def _newborn(ws: Workspace, child: str, plan: Plan, request: JsonObject) -> NewChild:
    definition = plan.definition
    given = request.get("input")
    path = request.get("externalInputPayloadStoragePath")
    domains = request.get("taskToDomain")
    if not isinstance(domains, Mapping) or not domains:
        domains = ws.document("domains") if ws.header.has_domains else {}
    document: Document = with_input_template(
        definition, given if isinstance(given, Mapping) else {}
    )
    if not given and isinstance(path, str) and path:
        document = External(path)
    created_by = request.get("createdBy")
    return NewChild(
        id=child,
        header=new_header(
            plan.hash,
            definition,
            home=home_of(ws.header.home, next_in_chain(ws)),
            now_ms=ws.now_ms,
            priority=priority_number(request.get("priority")) or 0,
            correlation_id=str(request.get("correlationId") or "") or ws.header.correlation_id,
            has_domains=bool(domains),
            chain=next_in_chain(ws),
            business=_business(ws, request),
        ),
        input=document,
        variables=definition.variables,
        domains={key: str(value) for key, value in domains.items()},
        meta=Meta(created_by=created_by if isinstance(created_by, str) else None),
    )


def _business(ws: Workspace, request: JsonObject) -> tuple[int, str]:
    """The business time that the request names, or that of its own start; the zone of this one."""
    return requested(request.get("businessTime"), request.get("zoneId"), ws.header.zone)


def _complaints(request: object) -> list[str]:
    """What is wrong with the request, all of it."""
    if not isinstance(request, Mapping):
        return [f"START_WORKFLOW needs an input '{_REQUEST}' that is a start request"]
    found: list[str] = []
    if not (isinstance(request.get("name"), str) and str(request["name"]).strip()):
        found.append("name must be a non-empty text")
    blank = {name for name in ("version", "priority") if request.get(name) == ""}
    present = {n: value for n, value in request.items() if value is not None and n not in blank}
    if "version" in present and whole_number(present["version"]) is None:
        found.append("version must be a whole number")
    if priority_number(present.get("priority", 0)) is None:
        names = ", ".join(NAMES)
        found.append(f"priority must be between 0 and {MOST_URGENT}, or one of {names}")
    found += [
        f"{name} must be an object"
        for name in _MAPS
        if not isinstance(present.get(name, {}), Mapping)
    ]
    found += [
        f"{name} must be a text" for name in _TEXTS if not isinstance(present.get(name, ""), str)
    ]
    nodes = present.get("startNodes", ())
    if not isinstance(nodes, list | tuple) or not all(isinstance(each, str) for each in nodes):
        found.append("startNodes must be a list of references")
    if present.get("dependMode", TASK_POST) not in _MODES:
        found.append(f"dependMode must be one of {', '.join(_MODES)}")
    try:
        requested(present.get("businessTime"), present.get("zoneId"), "")
    except ValueError as wrong:
        found.append(str(wrong))
    found += [
        f"{name} {sentence}"
        for name in ("name", *_TEXTS)
        if (sentence := too_long(str(present.get(name, "")))) is not None
    ]
    if present.get("idempotencyStrategy", "FAIL") not in _STRATEGIES:
        found.append(f"idempotencyStrategy must be one of {', '.join(_STRATEGIES)}")
    return [f"{_REQUEST}.{sentence}" for sentence in found]


def _wanted(request: JsonObject) -> ChildWanted:
    name, inline = str(request["name"]), request.get("workflowDef")
    part = (start_nodes(request), str(request.get("dependMode") or TASK_POST))
    if isinstance(inline, Mapping):
        return ChildWanted(name, None, inline, *part)
    return ChildWanted(name, whole_number(request.get("version")) or None, None, *part)


def _key(attempt: Attempt, wanted: ChildWanted) -> str:
    """The latest version is asked for by each attempt, a definition that is data by its content.
    A part is nobody else's.
    """
    if wanted.nodes:
        return f"child:part:{attempt.seq}"
    if wanted.inline is not None:
        return f"child:{digest(wanted.inline)}"
    return f"child:{wanted.name}:{wanted.version}:{attempt.seq if wanted.version is None else ''}"


def _refuse(ws: Workspace, spot: Spot, attempt: Attempt, reason: str) -> None:
    control.finish(ws, spot, attempt, TaskStatus.FAILED, reason=reason)

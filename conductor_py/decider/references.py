"""Resolve the input of tasks and the output of workflows against the execution.

The document that ``${…}`` reads is never built: each reference is looked up by itself, so that a
decide reads only what the text names. What is not known becomes a Need, all of one template
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conductor_py.decider.compile import WITHOUT_TEMPLATE, input_template
from conductor_py.decider.expressions.expressions import (
    MISSING,
    Lookup,
    Template,
    TooLarge,
    compile_template,
    resolve,
)
from conductor_py.decider.need import Read, Request
from conductor_py.decider.parameters import Reader, Unknown, is_parameter, value_of
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt, ClaimSide
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus
from conductor_py.model.view import worker_of

_DOCUMENTS = {"input": "input", "output": "output", "variables": "vars"}


def resolve_input(ws: Workspace, spot: Spot, seq: int | None) -> JsonObject:
    """Resolve the input of the task at ``spot``; ``seq`` lets it name its own task id. An input
    that an operation has given stands in its place. What cannot be had, or is
    larger than it may be, is noted in ``ws.unresolved``: the task cannot begin.
    """
    if spot.key in ws.given:
        return ws.given[spot.key]
    template = spot.node.inputs
    if template is None:
        template = compile_template(input_template(spot.node.task))
    value = resolve_template(ws, template, Reader(spot=spot, seq=seq))
    return _with_defaults(spot, value) if isinstance(value, Mapping) else {}


def resolve_value(
    ws: Workspace, value: JsonValue, seq: int | None = None, *, spot: Spot | None = None
) -> JsonValue:
    """Resolve a value that is not part of a task's input (sub-workflow parameters, an items
    expression); ``spot`` is where the task stands that it belongs to. One that is larger than it
    may be and belongs to no task (a name, a key) is null.
    """
    try:
        return resolve_template(ws, compile_template(value), Reader(spot=spot, seq=seq))
    except TooLarge:
        return None


def resolve_template(ws: Workspace, template: Template, reader: Reader) -> JsonValue:
    """Resolve a compiled template. What is larger than it may be is null, and noted for the task
    that reads it; without one, and inside a parameter, ``TooLarge`` is raised.
    """
    if len(template.roots) > 1:
        ws.together(_reads(ws, template, reader.spot))
    task = task_id(ws.id, reader.seq) if reader.seq is not None else None
    most = ws.limits.output_bytes if reader.spot is None else ws.limits.input_bytes
    try:
        return resolve(template, lookup_in(ws, reader), task_id=task, most=most)
    except TooLarge as refused:
        if reader.spot is None or reader.inside:
            raise
        ws.unresolved.setdefault(reader.spot.key, f"Task input {refused}")
        return None


def lookup_in(ws: Workspace, reader: Reader) -> Lookup:
    """Make the lookup of (root, member) pairs in the execution."""

    def lookup(root: str, member: str) -> JsonValue:
        if root == "workflow" and "workflow" not in ws.plan.nodes:
            return _workflow_member(ws, member, reader.ending)
        if is_parameter(ws, root, reader.spot):
            return _parameter(ws, member, reader)
        seq = ws.newest(root)
        attempt = ws.attempt(seq) if seq else None
        if attempt is None:
            return MISSING  # type: ignore[return-value]
        if not member:
            return {name: read(ws, attempt) for name, read in _TASK_MEMBERS.items()}
        read = _TASK_MEMBERS.get(member)
        return read(ws, attempt) if read else MISSING  # type: ignore[return-value]

    return lookup


def _parameter(ws: Workspace, name: str, reader: Reader) -> JsonValue:
    """The value of a parameter; one that cannot be had is noted for the task that reads it, and
    nothing that was to be made of it is.
    """

    def resolved(value: JsonValue, inside: Reader) -> JsonValue:
        return resolve_template(ws, compile_template(value), inside)

    try:
        return value_of(ws, name, reader, resolved)
    except Unknown as unknown:
        if reader.inside:
            raise
        if reader.spot is not None:
            ws.unresolved.setdefault(reader.spot.key, str(unknown))
        return None


def reads_parameters(ws: Workspace, spot: Spot) -> bool:
    """Whether the input of the task at ``spot`` names parameters."""
    template = spot.node.inputs
    roots = template.roots if template is not None else ()
    return any(is_parameter(ws, root, spot) for root, _ in roots)


def _reads(ws: Workspace, template: Template, spot: Spot | None) -> list[tuple[str, Request]]:
    wanted: list[tuple[str, Request]] = []
    for root, member in template.roots:
        if root == "workflow":
            name = _DOCUMENTS.get(member)
            if name and name not in ws.documents:
                wanted.append((name, Read(name)))
        elif is_parameter(ws, root, spot):
            if "input" not in ws.documents:
                wanted.append(("input", Read("input")))
        elif f"r:{root}" not in ws.pointers:
            kinds = "ai" if member == "input" else "aco"
            wanted.append((f"r:{root}", Read(f">{kinds} r:{root}")))
    return wanted


def _with_defaults(spot: Spot, value: JsonObject) -> JsonObject:
    """A key that resolved to null takes the definition template's own value."""
    definition = spot.node.task.task_definition
    template = definition.input_template if definition else None
    if not template or spot.node.task.type in WITHOUT_TEMPLATE:
        return value
    nulls = {
        key: template[key] for key, found in value.items() if found is None and key in template
    }
    return {**value, **nulls} if nulls else value


def _workflow_member(ws: Workspace, member: str, ending: Mapping[str, JsonValue]) -> JsonValue:
    if not member:
        return {**{name: read(ws) for name, read in _WORKFLOW_MEMBERS.items()}, **ending}
    if member in ending:
        return ending[member]
    reader = _WORKFLOW_MEMBERS.get(member)
    return reader(ws) if reader else None


def _parent_task(ws: Workspace) -> JsonValue:
    parent = ws.header.parent
    return task_id(ExecutionId(parent), ws.header.parent_seq) if parent else None


_WORKFLOW_MEMBERS: dict[str, Callable[[Workspace], JsonValue]] = {
    "input": lambda ws: ws.document("input"),
    "output": lambda ws: ws.document("output"),
    "variables": lambda ws: ws.document("vars"),
    "status": lambda ws: ws.status.value,
    "workflowId": lambda ws: ws.id,
    "workflowType": lambda ws: ws.header.name,
    "version": lambda ws: ws.header.version,
    "correlationId": lambda ws: ws.header.correlation_id,
    "schemaVersion": lambda ws: ws.plan.definition.schema_version,
    "parentWorkflowId": lambda ws: ws.header.parent,
    "parentWorkflowTaskId": _parent_task,
    "businessTime": lambda ws: ws.header.business_at or ws.header.created_at,
    "zoneId": lambda ws: ws.header.zone or "UTC",
    "reasonForIncompletion": lambda _: None,
}

_Reader = Callable[[Workspace, Attempt], JsonValue]


def _claim(ws: Workspace, attempt: Attempt) -> ClaimSide:
    return ws.claim(attempt.seq) if attempt.queue else ClaimSide()


def _status(ws: Workspace, attempt: Attempt) -> JsonValue:
    if attempt.status is TaskStatus.SCHEDULED and _claim(ws, attempt).held:
        return TaskStatus.IN_PROGRESS.value
    return attempt.status.value


_TASK_MEMBERS: dict[str, _Reader] = {
    "input": lambda ws, a: ws.document(f"i:{a.seq}"),
    "output": lambda ws, a: ws.document(f"o:{a.seq}"),
    "taskType": lambda _, a: a.type,
    "status": _status,
    "referenceTaskName": lambda _, a: wire_ref(a.ref, a.vector),
    "retryCount": lambda _, a: a.retry_count,
    "correlationId": lambda ws, _: ws.header.correlation_id,
    "pollCount": lambda ws, a: _claim(ws, a).polls,
    "taskDefName": lambda _, a: a.definition or a.type,
    "scheduledTime": lambda _, a: a.scheduled_at,
    "startTime": lambda ws, a: a.started_at or _claim(ws, a).first_at,
    "endTime": lambda _, a: a.ended_at,
    "workflowInstanceId": lambda ws, _: ws.id,
    "taskId": lambda ws, a: task_id(ws.id, a.seq),
    "reasonForIncompletion": lambda _, a: a.reason,
    "callbackAfterSeconds": lambda _, a: a.callback_after_s,
    "workerId": lambda ws, a: worker_of(a, _claim(ws, a)) or None,
    "iteration": lambda _, a: int(a.vector.rsplit(".", 1)[-1]) if a.vector else 0,
}

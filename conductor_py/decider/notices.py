"""What the world is told of changes of state: status listeners, and ``onStateChange`` of tasks.

Looked at once, when a decision is complete, by comparing what changed with what was: so every way
to change a state is seen, and an execution that nobody wants to hear of pays for one look. Notices
are ordered by the commit that makes the change. Those of one execution are numbered and delivered
in that order; they hold all they say, so they outlive what they speak of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar

from conductor_py.decider import publishing
from conductor_py.decider.need import Refusal
from conductor_py.decider.plan import Plan
from conductor_py.decider.references import resolve_value
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Order
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.event import Claimed, Event, Operation, Started
from conductor_py.model.execution import Attempt, Ending, Header
from conductor_py.model.ids import task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus, WorkflowStatus

_ENDS: Final = {
    TaskStatus.COMPLETED: ("onSuccess", "onCompleted"),
    TaskStatus.COMPLETED_WITH_ERRORS: ("onSuccess", "onCompleted_with_errors", "onCompleted"),
    TaskStatus.FAILED: ("onFailed",),
    TaskStatus.FAILED_WITH_TERMINAL_ERROR: ("onFailed", "onFailed_with_terminal_error"),
    TaskStatus.TIMED_OUT: ("onFailed", "onTimed_out"),
    TaskStatus.CANCELED: ("onCancelled", "onCanceled"),
    TaskStatus.SKIPPED: ("onSkipped",),
    TaskStatus.SCHEDULED: ("onScheduled",),
    TaskStatus.IN_PROGRESS: ("onStart", "onIn_progress"),
}
"""The keys of ``onStateChange`` that a status answers to, in lower case when compared."""

_K = TypeVar("_K")
_V = TypeVar("_V")
_BEGINNINGS: Final = {"restart": "RESTARTED", "retry": "RETRIED", "rerun": "RERAN"}
_BEGINS: Final = frozenset({"STARTED", *_BEGINNINGS.values()})


def collect(ws: Workspace, before: Header, events: Sequence[Event]) -> None:
    """Order what is to be told of this decision; ``before`` is the header as it was."""
    definition = ws.plan.definition
    told = definition.workflow_status_listener_enabled and (
        ws.limits.workflow_notices or definition.workflow_status_listener_sink
    )
    if not (told or ws.limits.task_notices or ws.plan.tells or _brought(ws, before, events)):
        return
    notices = [_of_task(ws, *change) for change in _changes(ws, events) if _tell(ws, *change)]
    if told:
        notices += _own(ws, before, events)
    _order(ws, notices)


def _brought(ws: Workspace, before: Header, events: Sequence[Event]) -> bool:
    """Whether what dynamic tasks have brought may have something to tell of this decision."""
    if not (before.fragments or ws.hashes):
        return False
    if any(isinstance(event, Claimed) for event in events):
        return True
    for plan_hash in {attempt.plan for attempt in ws.attempts.values()}:
        plan = ws.plan if plan_hash == ws.plan.hash else ws.known.get(f"plan:{plan_hash}")
        if not isinstance(plan, Plan) or plan.tells:
            return True
    return False


def collect_own(ws: Workspace, before: Header, events: Sequence[Event]) -> None:
    """Order what is to be told of the execution itself, and nothing of its tasks."""
    if ws.plan.definition.workflow_status_listener_enabled:
        _order(ws, _own(ws, before, events))


def _own(ws: Workspace, before: Header, events: Sequence[Event]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for kind in _workflow_events(ws, before, events):
        notice = _of_workflow(ws, kind)
        _to_sink(ws, kind, notice)
        told.append(notice)
    return told if ws.limits.workflow_notices else []


def _order(ws: Workspace, notices: Sequence[JsonObject]) -> None:
    if notices:
        number = ws.header.notices
        ws.header = replace(ws.header, notices=number + 1)
        effect = f"{ws.id}:notify:{number}"
        arguments: JsonObject = {"number": number, "at": ws.now_ms, "payload": notices}
        ws.effects[effect] = Order(id=effect, kind="notify", arguments=arguments)


# -- tasks -----------------------------------------------------------------------------------------


def _changes(
    ws: Workspace, events: Sequence[Event]
) -> Iterator[tuple[Attempt, WorkflowTask, TaskStatus]]:
    """The new states of attempts that somebody may want to hear of, in order."""
    plans: dict[str, Plan | None] = {}
    claimed = [event.seq for event in events if isinstance(event, Claimed)]
    for seq in sorted({*ws.attempts, *claimed}):
        attempt = ws.attempt(seq)
        if attempt is None:
            continue
        if attempt.plan not in plans:
            found = ws.plan_of(attempt.plan)
            heard = found is not None and (found.tells or ws.limits.task_notices)
            plans[attempt.plan] = found if heard else None
        plan = plans[attempt.plan]
        node = plan.nodes.get(attempt.ref) if plan is not None else None
        if node is not None:
            for status in _statuses(ws, attempt, claimed=seq in claimed):
                yield attempt, node.task, status


def _statuses(ws: Workspace, attempt: Attempt, *, claimed: bool) -> Iterator[TaskStatus]:
    seq = attempt.seq
    old = ws.known.get(f"a:{seq}") if seq in ws.attempts and seq < ws.born else None
    present = attempt if seq in ws.attempts else None
    if claimed:
        yield TaskStatus.IN_PROGRESS
    if present is None:
        return
    if isinstance(old, Attempt):
        if old.status.terminal:
            return
        opened = old.status is TaskStatus.SCHEDULED and attempt.status is TaskStatus.IN_PROGRESS
        if opened and not old.tells_start:
            yield TaskStatus.IN_PROGRESS
    elif attempt.queue or attempt.status is TaskStatus.SCHEDULED:
        yield TaskStatus.SCHEDULED
    elif attempt.status is not TaskStatus.SKIPPED:
        yield TaskStatus.IN_PROGRESS
    if attempt.status.terminal:
        yield attempt.status


def _tell(ws: Workspace, attempt: Attempt, task: WorkflowTask, status: TaskStatus) -> bool:
    """Publish what ``onStateChange`` asks for; whether the listener of tasks is told as well."""
    for at, (sink, payload) in enumerate(_wanted(task, status)):
        event = publishing.notice_event(ws, sink, attempt.ref)
        if not isinstance(event, Refusal):
            _publish(ws, attempt, status, f"{status.value}:{at}", event, payload)
    definition = task.task_definition
    enabled = definition is None or definition.task_status_listener_enabled
    if attempt.queue and status is TaskStatus.SCHEDULED:
        wants = (enabled and ws.limits.task_notices) or any(_wanted(task, TaskStatus.IN_PROGRESS))
        if wants:
            ws.put(replace(ws.attempts[attempt.seq], tells_start=True))
    return enabled and ws.limits.task_notices


def _wanted(task: WorkflowTask, status: TaskStatus) -> Iterator[tuple[str, JsonObject]]:
    """The sinks and payloads of a task for a status."""
    if not task.on_state_change:
        return
    names = {name.lower() for name in _ENDS.get(status, ())}
    for keys, _, sink, payload in publishing.changes_told(task):
        if names & {key.strip().lower() for key in keys.split(",")}:
            yield sink, payload


def _publish(  # noqa: PLR0917 - one message
    ws: Workspace,
    attempt: Attempt,
    status: TaskStatus,
    name: str,
    event: str,
    payload: JsonObject,
) -> None:
    spot = ws.spot_of(attempt)
    with _as_it_was(ws, attempt, status):
        resolved = resolve_value(ws, payload, attempt.seq, spot=spot)
    lacking = ws.unresolved.pop(spot.key, None) if spot is not None else None
    body: dict[str, JsonValue] = {
        **(resolved if isinstance(resolved, Mapping) else {"error": lacking} if lacking else {}),
        **publishing.origin(ws),
        "taskId": task_id(ws.id, attempt.seq),
        "referenceTaskName": wire_ref(attempt.ref, attempt.vector),
        "taskStatus": status.value,
    }
    identity = f"{task_id(ws.id, attempt.seq)}:{name}"
    publishing.publish(ws, f"{attempt.seq}:{name}", identity, event, body)


@contextmanager
def _as_it_was(ws: Workspace, attempt: Attempt, status: TaskStatus) -> Iterator[None]:
    """Let the payload of a change see its task as that change left it, not as the decision does:
    one may take a task from its beginning to its end.
    """
    if attempt.status is status:
        yield
        return
    seq, output = attempt.seq, f"o:{attempt.seq}"
    became, made = ws.attempts.get(seq), ws.documents.get(output)
    ws.attempts[seq] = replace(attempt, status=status, ended_at=0, reason=None)
    if attempt.status.terminal:
        # A worker's result stands in the store already; what was there before it is not known.
        ws.documents[output] = {}
    try:
        yield
    finally:
        _put_back(ws.attempts, seq, became)
        _put_back(ws.documents, output, made)


def _put_back(changes: dict[_K, _V], key: _K, value: _V | None) -> None:
    if value is None:
        changes.pop(key, None)
    else:
        changes[key] = value


def _of_task(
    ws: Workspace, attempt: Attempt, _task: WorkflowTask, status: TaskStatus
) -> dict[str, Any]:
    started = attempt.started_at
    ended = attempt.ended_at if status.terminal else 0
    if attempt.queue and status is not TaskStatus.SCHEDULED:
        claim = ws.claim(attempt.seq)
        started = started or claim.first_at
    return {
        "t": "task",
        "taskId": task_id(ws.id, attempt.seq),
        "workflowId": ws.id,
        "workflowType": ws.header.name,
        "correlationId": ws.header.correlation_id,
        "status": status.value,
        "taskType": attempt.type,
        "taskDefName": attempt.definition,
        "referenceTaskName": wire_ref(attempt.ref, attempt.vector),
        "scheduled": attempt.scheduled_at,
        "started": 0 if status is TaskStatus.SCHEDULED else started,
        "ended": ended,
        "at": ws.now_ms,
        "reasonForIncompletion": attempt.reason if status.terminal else None,
        "workflowPriority": ws.header.priority,
        "domain": attempt.domain or None,
    }


# -- workflows -------------------------------------------------------------------------------------


def _workflow_events(ws: Workspace, before: Header, events: Sequence[Event]) -> Iterator[str]:
    """What happened to the execution itself, in Conductor's words, each once."""
    revived = ws.header.generation != before.generation
    if any(isinstance(event, Started) for event in events):
        yield "STARTED"
    elif revived:
        verbs = [_BEGINNINGS.get(e.name) for e in events if isinstance(e, Operation)]
        yield next((verb for verb in verbs if verb), "RETRIED")
    elif before.status is WorkflowStatus.RUNNING and ws.status is WorkflowStatus.PAUSED:
        yield "PAUSED"
    elif before.status is WorkflowStatus.PAUSED and ws.status is WorkflowStatus.RUNNING:
        yield "RESUMED"
    was_over = before.status.terminal and not revived
    if ws.status.terminal and not was_over:
        yield "COMPLETED" if ws.status is WorkflowStatus.COMPLETED else "TERMINATED"
    if ws.status.terminal and not ws.drain and (not was_over or before.drain):
        yield "FINALIZED"


def _of_workflow(ws: Workspace, kind: str) -> dict[str, Any]:
    # What a decision begins may have ended in it; each is told by itself.
    status = WorkflowStatus.RUNNING if kind in _BEGINS else ws.status
    ending = ws.state("end", Ending) if status.terminal else None
    header = ws.header
    return {
        "t": "workflow",
        "event": kind,
        "workflowId": ws.id,
        "workflowType": header.name,
        "version": header.version,
        "correlationId": header.correlation_id,
        "status": status.value,
        "created": header.created_at,
        "ended": ws.ended_at if status.terminal else 0,
        "at": ws.now_ms,
        "reasonForIncompletion": ending.reason if ending else None,
        "priority": header.priority,
        "parentWorkflowId": header.parent,
    }


def _to_sink(ws: Workspace, kind: str, notice: JsonObject) -> None:
    """Publish a change of the execution to the sink that its definition names."""
    sink = ws.plan.definition.workflow_status_listener_sink
    if not sink:
        return
    event = publishing.notice_event(ws, sink, "status")
    if not isinstance(event, Refusal):
        name = f"workflow:{ws.header.generation}:{kind}:{ws.now_ms}"
        body = {key: value for key, value in notice.items() if key not in {"t", "event"}}
        publishing.publish(ws, name, f"{ws.id}:{name}", event, {**body, "eventType": kind})

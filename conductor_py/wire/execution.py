"""Executions and tasks as Conductor's JSON: written by hand, every read and poll comes here.

What Conductor always emits is always there, what it leaves out when unset is left out. Beyond
Conductor: ``claimToken`` and ``leaseUntil`` of a claim that is held, ``progress``, ``stale``, and
``idempotencyKey``. The JSON of definitions is made once for each definition and shared: what is
returned here must not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from conductor_py.model.definition_form import task_to_json as task_definition_part
from conductor_py.model.definition_form import workflow_to_json as definition_to_json
from conductor_py.model.definitions import WorkflowDef, WorkflowTask
from conductor_py.model.execution import Attempt, Document, External
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.status import TaskStatus
from conductor_py.model.view import ExecutionView, TaskView, worker_of
from conductor_py.wire.fields import FOR_EVER_S
from conductor_py.wire.masking import hidden_execution, hidden_task

Json = dict[str, Any]

MAX_REASON = 500
"""Characters of a task's reason that are shown."""

_NAMED_TYPES = frozenset({"SIMPLE", "USER_DEFINED"})
_WIRE_TYPES: Mapping[str, str] = {"FORK_JOIN": "FORK", "FORK_JOIN_DYNAMIC": "FORK"}
_NO_METADATA: Json = {"additionalContext": {}, "empty": True, "additionalContextMap": {}}

_T = TypeVar("_T")


class _Shared(Generic[_T]):
    """Remembers the JSON of values that live long (parts of cached plans), by identity.

    The value is kept beside its JSON, so that an identity cannot come to mean another value. What
    was not used while ``_MOST`` others came is forgotten.
    """

    _MOST = 1_024

    def __init__(self, write: Callable[[_T], Json]) -> None:
        self._write = write
        self._young: dict[int, tuple[_T, Json]] = {}
        self._old: dict[int, tuple[_T, Json]] = {}

    def __call__(self, value: _T) -> Json:
        name = id(value)
        found = self._young.get(name)
        if found is None:
            found = self._old.get(name) or (value, self._write(value))
            if len(self._young) >= self._MOST:
                self._old, self._young = self._young, {}
            self._young[name] = found
        return found[1]


_part: _Shared[WorkflowTask] = _Shared(task_definition_part)
_definition: _Shared[WorkflowDef] = _Shared(definition_to_json)


def workflow_to_json(view: ExecutionView, tasks: object = None) -> Json:
    """Write an execution; its tasks are those of the view. What its definition says is masked.
    ``tasks`` are those, if they are written already.
    """
    view = hidden_execution(view)
    header, meta = view.header, view.meta
    references, definitions = failed_names(view)
    written: Json = {
        "workflowId": view.execution,
        "status": str(header.status),
        "workflowName": header.name,
        "workflowVersion": header.version,
        "workflowDefinition": _definition(view.definition),
        "ownerApp": "",
        "createTime": header.created_at,
        "startTime": header.created_at,
        "updateTime": header.updated_at,
        "endTime": header.ended_at,
        "lastRetriedTime": header.last_retried_at,
        "input": inline(view.input),
        "output": inline(view.output),
        "variables": view.variables,
        "tasks": list(map(task_to_json, view.tasks)) if tasks is None else tasks,
        "taskToDomain": view.task_to_domain,
        "priority": header.priority,
        "failedReferenceTaskNames": list(references),
        "failedTaskNames": list(definitions),
        "history": [],
        "rateLimited": header.awaits_admission,
    }
    _put(written, "reasonForIncompletion", view.ending.reason)
    _put(written, "failedTaskId", view.ending.failed_task)
    _put(written, "correlationId", header.correlation_id)
    _put(written, "parentWorkflowId", header.parent)
    if header.parent and header.parent_seq:
        parent = task_id(ExecutionId(header.parent), header.parent_seq)
        written["parentWorkflowTaskId"] = parent
    _put(written, "rateLimitKey", header.admission_key.removeprefix(f"{header.name}:"))
    _put(written, "businessTime", header.business_at or None)
    _put(written, "zoneId", header.zone)
    _put(written, "event", meta.event)
    _put(written, "createdBy", meta.created_by)
    _put(written, "idempotencyKey", meta.idempotency_key)
    _put(written, "externalInputPayloadStoragePath", external(view.input))
    _put(written, "externalOutputPayloadStoragePath", external(view.output))
    return written


def status_to_json(
    view: ExecutionView, *, include_output: bool = False, include_variables: bool = False
) -> Json:
    """Write how an execution stands."""
    view = hidden_execution(view)
    written: Json = {"workflowId": view.execution, "status": str(view.header.status)}
    _put(written, "correlationId", view.header.correlation_id)
    if include_output:
        written["output"] = inline(view.output)
    if include_variables:
        written["variables"] = view.variables
    return written


def task_to_json(view: TaskView) -> Json:
    """Write a task, as readers and pollers get it; what the view says is masked."""
    view = hidden_task(view)
    attempt, claim, header, task = view.attempt, view.claim, view.header, view.task
    status = wire_status(view)
    started, scheduled = started_at(view), attempt.scheduled_at
    held = claim.held and status == TaskStatus.IN_PROGRESS
    iteration = _iteration(view)
    inline_definition = _part(task).get("taskDefinition")
    written: Json = {
        "taskId": task_id(ExecutionId(view.execution), attempt.seq),
        "taskType": wire_type(view),
        "taskDefName": wire_definition_name(view),
        "referenceTaskName": wire_ref(attempt.ref, attempt.vector),
        "status": str(status),
        "workflowInstanceId": view.execution,
        "workflowType": header.name,
        "seq": attempt.seq,
        "retryCount": attempt.retry_count,
        "retried": attempt.superseded,
        "executed": attempt.status.terminal,
        "pollCount": claim.polls,
        "iteration": iteration,
        "loopOverTask": iteration > 0,
        "scheduledTime": scheduled,
        "startTime": started,
        "endTime": ended_at(view, status),
        "updateTime": max(scheduled, started, attempt.ended_at, claim.updated_at),
        "firstStartTime": 0,
        "queueWaitTime": max(0, started - scheduled) if started else 0,
        "inputData": _input(view),
        "outputData": inline(view.output),
        "callbackAfterSeconds": 0 if held else _callback_after_s(attempt),
        "callbackFromWorker": True,
        "responseTimeoutSeconds": attempt.response_timeout_ms // 1000,
        "startDelayInSeconds": attempt.delay_s,
        "workflowPriority": header.priority,
        "rateLimitPerFrequency": attempt.rate,
        "rateLimitFrequencyInSeconds": attempt.rate_window_ms // 1000 or 1,
        "subworkflowChanged": False,
        "workflowTask": _part(task),
        "taskDefinition": inline_definition,
        "executionMetadata": _NO_METADATA,
    }
    if held:
        written["claimToken"] = claim.claim
        if claim.leased:
            written["leaseUntil"] = claim.until
    _put_optional(written, view)
    return written


def _input(view: TaskView) -> JsonObject:
    """The input; that of a sub-workflow with its definition, which is not stored once more."""
    given = inline(view.input)
    params = view.task.sub_workflow_param
    if params is None or not isinstance(params.workflow_definition, WorkflowDef) or not given:
        return given
    return {
        **given,
        "subWorkflowDefinition": _part(view.task)["subWorkflowParam"]["workflowDefinition"],
    }


def _callback_after_s(attempt: Attempt) -> int:
    """For how long it was put off; a WAIT puts itself off until its end, or as good as for ever,
    unless it has failed for good, as one does whose end cannot be read.
    """
    if attempt.type != "WAIT" or attempt.callback_after_s:
        return attempt.callback_after_s
    if not attempt.wait_until:
        unread = attempt.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
        return 0 if unread else FOR_EVER_S
    return max(0, -((attempt.started_at - attempt.wait_until) // 1000))


def _iteration(view: TaskView) -> int:
    """The iteration that a task belongs to; of a loop itself, the one it is in."""
    if view.attempt.type == "DO_WHILE" and isinstance(view.output, Mapping):
        found = view.output.get("iteration")
        return found if isinstance(found, int) else 0
    return int(view.attempt.vector.rpartition(".")[2] or 0)


def _put_optional(written: Json, view: TaskView) -> None:
    attempt, definition = view.attempt, view.task.task_definition
    if attempt.retried_seq:
        before = task_id(ExecutionId(view.execution), attempt.retried_seq)
        written["retriedTaskId"] = before
    _put(written, "reasonForIncompletion", attempt.reason and attempt.reason[:MAX_REASON])
    _put(written, "workerId", worker_of(attempt, view.claim))
    _put(written, "domain", attempt.domain)
    _put(written, "correlationId", view.header.correlation_id)
    _put(written, "subWorkflowId", attempt.child)
    _put(written, "externalInputPayloadStoragePath", external(view.input))
    _put(written, "externalOutputPayloadStoragePath", external(view.output))
    if definition is not None:
        _put(written, "isolationGroupId", definition.isolation_group_id)
        _put(written, "executionNameSpace", definition.execution_name_space)
    if view.progress is not None:
        written["progress"] = view.progress
    if view.stale:
        written["stale"] = True


# ------------------------------------------------------------------------------ derived values


def wire_status(view: TaskView) -> TaskStatus:
    """Derive the status that clients see, as ``model.view`` says."""
    attempt, header = view.attempt, view.header
    if not attempt.open:
        return attempt.status
    if header.status.terminal or attempt.generation != header.generation:
        return TaskStatus.CANCELED
    at_work = view.claim.held or (view.claim.closed and view.claim.polls > 0)
    return TaskStatus.IN_PROGRESS if at_work else attempt.status


def wire_type(view: TaskView) -> str:
    """Name the type as Conductor's tasks do: that of a worker's task is its name."""
    attempt = view.attempt
    if attempt.type in _NAMED_TYPES:
        return attempt.definition or view.task.name
    return _WIRE_TYPES.get(attempt.type, attempt.type)


def wire_definition_name(view: TaskView) -> str:
    """Name the task definition; a fork has none, and shows its type."""
    kind = wire_type(view)
    return kind if view.attempt.type in _WIRE_TYPES else view.attempt.definition or kind


def started_at(view: TaskView) -> int:
    """Give the first hand-out to a worker, or the start by the engine; 0: not yet."""
    return view.claim.first_at or view.attempt.started_at


def ended_at(view: TaskView, status: TaskStatus) -> int:
    """Give the end; what was cut off ended when its execution or generation did."""
    if view.attempt.ended_at or not status.terminal:
        return view.attempt.ended_at
    return view.header.ended_at or view.header.last_retried_at


def failed_names(view: ExecutionView) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """List references and definitions of what failed of the view, once the execution has ended."""
    if not view.header.status.terminal:
        return (), ()
    failed = [  # names alone: tasks may be read one by one, and be many
        (wire_ref(task.attempt.ref, task.attempt.vector), wire_definition_name(task))
        for task in view.tasks
        if task.attempt.status.failed and not task.attempt.superseded
    ]
    references = dict.fromkeys(reference for reference, _ in failed)
    return tuple(references), tuple(dict.fromkeys(definition for _, definition in failed))


def inline(document: Document) -> JsonObject:
    """Give a document, or nothing when it is in payload storage."""
    return {} if isinstance(document, External) else document


def external(document: Document) -> str | None:
    """Give the path of a document that is in payload storage."""
    return document.path if isinstance(document, External) else None


def _put(written: Json, name: str, value: object) -> None:
    if value is not None and value != "":
        written[name] = value

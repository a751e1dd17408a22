"""Summaries and search results: what the index knows of an execution, and how it is shown.

``input`` and ``output`` are JSON text of bounded length (Conductor's default is the text form of a
Java map); the sizes are those of the whole text.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.search import ExecutionSummary, TaskSummary
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.wire.execution import (
    ended_at,
    external,
    failed_names,
    inline,
    started_at,
    wire_definition_name,
    wire_status,
    wire_type,
)
from conductor_py.wire.masking import hidden_execution, hidden_task

Json = dict[str, Any]

MAX_TEXT = 32_768
"""Characters of an input or output that a summary shows."""


def execution_summary(view: ExecutionView) -> ExecutionSummary:
    """Sum up an execution for the index."""
    view = hidden_execution(view)
    header, definition = view.header, view.definition
    references, definitions = failed_names(view)
    input_text = json_text(inline(view.input))
    output_text = json_text(inline(view.output))
    return ExecutionSummary(
        execution_id=view.execution,
        workflow_type=header.name,
        workflow_version=header.version,
        status=str(header.status),
        start_ms=header.created_at,
        correlation_id=header.correlation_id,
        update_ms=header.updated_at or None,
        end_ms=header.ended_at or None,
        execution_ms=max(0, header.ended_at - header.created_at) if header.ended_at else 0,
        priority=header.priority,
        parent_id=header.parent,
        reason=view.ending.reason,
        input=input_text[:MAX_TEXT],
        output=output_text[:MAX_TEXT],
        input_size=len(input_text),
        output_size=len(output_text),
        failed_references=references,
        failed_tasks=definitions,
        event=view.meta.event,
        created_by=view.meta.created_by,
        classifier=classifier_of(definition.metadata),
        idempotency_key=view.meta.idempotency_key,
        external_input_path=external(view.input),
        external_output_path=external(view.output),
        task_to_domain=tuple(view.task_to_domain.items()),
    )


def task_summary(view: TaskView) -> TaskSummary:
    """Sum up a task for the index."""
    view = hidden_task(view)
    attempt, header = view.attempt, view.header
    status = wire_status(view)
    started, ended = started_at(view), ended_at(view, status)
    return TaskSummary(
        task_id=task_id(ExecutionId(view.execution), attempt.seq),
        execution_id=view.execution,
        workflow_type=header.name,
        task_type=wire_type(view),
        status=str(status),
        scheduled_ms=attempt.scheduled_at,
        task_definition=wire_definition_name(view),
        reference=wire_ref(attempt.ref, attempt.vector),
        correlation_id=header.correlation_id,
        start_ms=started or None,
        update_ms=max(attempt.scheduled_at, started, ended, view.claim.updated_at) or None,
        end_ms=ended or None,
        execution_ms=max(0, ended - started) if started and ended else 0,
        queue_wait_ms=max(0, started - attempt.scheduled_at) if started else 0,
        reason=attempt.reason,
        input=json_text(inline(view.input))[:MAX_TEXT],
        output=json_text(inline(view.output))[:MAX_TEXT],
        workflow_priority=header.priority,
        domain=attempt.domain or None,
        external_input_path=external(view.input),
        external_output_path=external(view.output),
        claims=view.claim.polls,
    )


def summary_to_json(summary: ExecutionSummary) -> Json:
    """Write Conductor's WorkflowSummary."""
    return _without_none(
        {
            "workflowType": summary.workflow_type,
            "version": summary.workflow_version,
            "workflowId": summary.execution_id,
            "correlationId": summary.correlation_id,
            "startTime": timestamp(summary.start_ms),
            "updateTime": timestamp(summary.update_ms or 0),
            "endTime": timestamp(summary.end_ms) if summary.end_ms else None,
            "status": summary.status,
            "input": summary.input,
            "output": summary.output,
            "inputSize": summary.input_size,
            "outputSize": summary.output_size,
            "executionTime": summary.execution_ms,
            "reasonForIncompletion": summary.reason,
            "failedReferenceTaskNames": ",".join(summary.failed_references),
            "failedTaskNames": list(summary.failed_tasks),
            "externalInputPayloadStoragePath": summary.external_input_path,
            "externalOutputPayloadStoragePath": summary.external_output_path,
            "priority": summary.priority,
            "taskToDomain": dict(summary.task_to_domain),
            "parentWorkflowId": summary.parent_id or "",
            "classifier": summary.classifier,
            "event": summary.event,
            "createdBy": summary.created_by,
            "idempotencyKey": summary.idempotency_key,
        }
    )


def task_summary_to_json(summary: TaskSummary) -> Json:
    """Write Conductor's TaskSummary, with the reference, which Conductor leaves out."""
    return _without_none(
        {
            "workflowId": summary.execution_id,
            "workflowType": summary.workflow_type,
            "correlationId": summary.correlation_id,
            "scheduledTime": timestamp(summary.scheduled_ms),
            "startTime": timestamp(summary.start_ms or 0),
            "updateTime": timestamp(summary.update_ms or 0),
            "endTime": timestamp(summary.end_ms or 0),
            "status": summary.status,
            "reasonForIncompletion": summary.reason,
            "executionTime": summary.execution_ms,
            "queueWaitTime": summary.queue_wait_ms,
            "taskDefName": summary.task_definition,
            "taskType": summary.task_type,
            "referenceTaskName": summary.reference,
            "input": summary.input,
            "output": summary.output,
            "taskId": summary.task_id,
            "externalInputPayloadStoragePath": summary.external_input_path,
            "externalOutputPayloadStoragePath": summary.external_output_path,
            "workflowPriority": summary.workflow_priority,
            "domain": summary.domain,
        }
    )


def summary_of(view: ExecutionView) -> Json:
    """Write the WorkflowSummary of an execution."""
    return summary_to_json(execution_summary(view))


def task_summary_of(view: TaskView) -> Json:
    """Write the TaskSummary of a task."""
    return task_summary_to_json(task_summary(view))


def search_result(total_hits: int, results: Iterable[object]) -> Json:
    """Write a page of results, each JSON or written already."""
    return {"totalHits": total_hits, "results": list(results)}


def classifier_of(metadata: JsonObject) -> str:
    """Sort a definition by what its metadata says: ``workflow``, ``agent`` or its own word."""
    own = metadata.get("classifier")
    if isinstance(own, str) and own.strip():
        return own
    is_agent = metadata.get("agent_sdk") or metadata.get("agentDef")
    return "agent" if is_agent else "workflow"


def timestamp(instant_ms: int) -> str:
    """Write an instant in UTC as ISO 8601 with milliseconds."""
    seconds, milliseconds = divmod(instant_ms, 1000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def json_text(document: JsonObject) -> str:
    """Write a document as JSON text."""
    return orjson.dumps(document, default=dict).decode()


def _without_none(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}

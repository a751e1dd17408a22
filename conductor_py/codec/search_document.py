"""Summaries in the form the indexes store: one flat JSON object under Conductor's field names.

Absent and empty values are left out, instants are milliseconds since the epoch, lists stay lists.
A reader ignores fields it does not know, so that an older process can read what a newer one wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from conductor_py.model.search import (
    ExecutionSummary,
    FieldKind,
    TaskSummary,
    words_of,
)

StoredSummary: TypeAlias = dict[str, Any]
"""A summary as a flat JSON object."""

MAX_WORDS = 2_000
"""Distinct words that are indexed of one field; the rest of a longer text is stored but not found.
"""

MAX_TEXT = 65_536
"""Characters of one field that are looked at for words."""

_EXECUTION_NAMES: Mapping[str, str] = {
    "workflowId": "execution_id",
    "workflowType": "workflow_type",
    "version": "workflow_version",
    "status": "status",
    "correlationId": "correlation_id",
    "startTime": "start_ms",
    "updateTime": "update_ms",
    "endTime": "end_ms",
    "executionTime": "execution_ms",
    "priority": "priority",
    "parentWorkflowId": "parent_id",
    "reasonForIncompletion": "reason",
    "input": "input",
    "output": "output",
    "inputSize": "input_size",
    "outputSize": "output_size",
    "failedReferenceTaskNames": "failed_references",
    "failedTaskNames": "failed_tasks",
    "event": "event",
    "createdBy": "created_by",
    "classifier": "classifier",
    "idempotencyKey": "idempotency_key",
    "externalInputPayloadStoragePath": "external_input_path",
    "externalOutputPayloadStoragePath": "external_output_path",
}

_TASK_NAMES: Mapping[str, str] = {
    "taskId": "task_id",
    "workflowId": "execution_id",
    "workflowType": "workflow_type",
    "correlationId": "correlation_id",
    "taskType": "task_type",
    "taskDefName": "task_definition",
    "referenceTaskName": "reference",
    "status": "status",
    "scheduledTime": "scheduled_ms",
    "startTime": "start_ms",
    "updateTime": "update_ms",
    "endTime": "end_ms",
    "executionTime": "execution_ms",
    "queueWaitTime": "queue_wait_ms",
    "reasonForIncompletion": "reason",
    "input": "input",
    "output": "output",
    "workflowPriority": "workflow_priority",
    "domain": "domain",
    "externalInputPayloadStoragePath": "external_input_path",
    "externalOutputPayloadStoragePath": "external_output_path",
}

LIST_FIELDS = frozenset({"failedReferenceTaskNames", "failedTaskNames"})
"""The fields that hold several values."""


def encode_execution(summary: ExecutionSummary) -> StoredSummary:
    """Write a summary down."""
    stored = _encode(summary, _EXECUTION_NAMES)
    if summary.task_to_domain:
        stored["taskToDomain"] = dict(summary.task_to_domain)
    return stored


def decode_execution(stored: StoredSummary) -> ExecutionSummary:
    """Read a summary that ``encode_execution`` wrote."""
    fields = _decode(stored, _EXECUTION_NAMES)
    for name in LIST_FIELDS & stored.keys():
        fields[_EXECUTION_NAMES[name]] = tuple(stored[name])
    fields["task_to_domain"] = tuple(stored.get("taskToDomain", {}).items())
    return ExecutionSummary(**fields)


def encode_task(summary: TaskSummary) -> StoredSummary:
    """Write a summary down."""
    return _encode(summary, _TASK_NAMES)


def decode_task(stored: StoredSummary) -> TaskSummary:
    """Read a summary that ``encode_task`` wrote."""
    return TaskSummary(**_decode(stored, _TASK_NAMES))


def text_words(stored: StoredSummary, field: str) -> tuple[str, ...]:
    """List the distinct words of one text field, in order of appearance, at most ``MAX_WORDS``."""
    return _distinct(words_of(stored.get(field, "")[:MAX_TEXT]))


def keyword_words(stored: StoredSummary, fields: Mapping[str, FieldKind]) -> tuple[str, ...]:
    """List the distinct words of all keyword fields: with those of the text fields, what free text
    finds.
    """
    values: list[str] = []
    for name in stored:
        if fields.get(name) is FieldKind.KEYWORD:
            values += field_values(stored, name)
    return _distinct(words_of(" ".join(values)))


def field_values(stored: StoredSummary, field: str) -> tuple[Any, ...]:
    """List what a field holds: nothing, one value or several."""
    value = stored.get(field)
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _encode(summary: ExecutionSummary | TaskSummary, names: Mapping[str, str]) -> StoredSummary:
    # A zero is a value; what is empty is absent, so that `= ""` and `IS NULL` mean the same
    # everywhere.
    return {
        name: value
        for name, attribute in names.items()
        if (value := getattr(summary, attribute)) is not None and value not in ("", ())
    }


def _decode(stored: StoredSummary, names: Mapping[str, str]) -> dict[str, Any]:
    return {attribute: stored[name] for name, attribute in names.items() if name in stored}


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:MAX_WORDS]

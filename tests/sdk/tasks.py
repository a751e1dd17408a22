"""Short literals for polled tasks."""

from __future__ import annotations

from conductor_py.model.json import JsonValue
from conductor_py.sdk import Task


def polled(**changes) -> dict[str, JsonValue]:
    """Return a task as the server hands it out."""
    task: dict[str, JsonValue] = {
        "taskId": "t-1",
        "workflowInstanceId": "w-1",
        "taskType": "greet",
        "taskDefName": "greet",
        "referenceTaskName": "greet_ref",
        "workflowType": "greeting",
        "status": "IN_PROGRESS",
        "inputData": {},
        "outputData": {},
        "responseTimeoutSeconds": 3600,
        "retryCount": 0,
        "seq": 1,
        "claimToken": 17,
    }
    return task | changes


def task(**changes) -> Task:
    return Task.from_json(polled(**changes))

"""Examples of bodies and answers, published with their schemas; a test holds them to both."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_WORKFLOW_ID = "0002a1b2-6c1d-4e7f-9a0b-3c5d7e9f1a2b"
_TASK_ID = f"{_WORKFLOW_ID}-1"
_CREATED = 1_767_225_600_900

_RESIZE: dict[str, Any] = {
    "name": "resize",
    "taskReferenceName": "resize_1",
    "type": "SIMPLE",
    "inputParameters": {"url": "${workflow.input.url}"},
}

EXAMPLES: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "WorkflowDef": {
            "name": "thumbs",
            "version": 1,
            "description": "Makes a thumbnail of each picture",
            "tasks": [_RESIZE],
            "outputParameters": {"size": "${resize_1.output.size}"},
            "timeoutPolicy": "TIME_OUT_WF",
            "timeoutSeconds": 600,
        },
        "WorkflowTask": _RESIZE,
        "TaskDef": {
            "name": "resize",
            "retryCount": 3,
            "retryLogic": "EXPONENTIAL_BACKOFF",
            "retryDelaySeconds": 5,
            "responseTimeoutSeconds": 60,
        },
        "StartWorkflowRequest": {
            "name": "thumbs",
            "version": 1,
            "correlationId": "order-17",
            "input": {"url": "s3://in/1.png"},
            "idempotencyKey": "order-17-thumbs",
            "idempotencyStrategy": "RETURN_EXISTING",
        },
        "WorkflowTestRequest": {
            "name": "thumbs",
            "input": {"url": "s3://in/1.png"},
            "taskRefToMockOutput": {
                "resize_1": [
                    {"status": "FAILED", "executionTime": 1_000},
                    {"status": "COMPLETED", "output": {"size": 7}},
                ]
            },
        },
        "CorrelationIdsSearchRequest": {
            "correlationIds": ["order-17"],
            "workflowNames": ["thumbs"],
        },
        "TaskResult": {
            "workflowInstanceId": _WORKFLOW_ID,
            "taskId": _TASK_ID,
            "workerId": "host-1",
            "status": "COMPLETED",
            "outputData": {"size": 7},
        },
        "ExtendTaskRequest": {"claimToken": _CREATED, "leaseSeconds": 60, "workerId": "host-1"},
        "Task": {
            "taskId": _TASK_ID,
            "taskType": "resize",
            "taskDefName": "resize",
            "referenceTaskName": "resize_1",
            "status": "IN_PROGRESS",
            "workflowInstanceId": _WORKFLOW_ID,
            "workflowType": "thumbs",
            "seq": 1,
            "retryCount": 0,
            "scheduledTime": _CREATED,
            "startTime": _CREATED + 250,
            "inputData": {"url": "s3://in/1.png"},
            "outputData": {},
            "responseTimeoutSeconds": 60,
            "claimToken": _CREATED + 250,
            "taskDefinition": None,
        },
        "Workflow": {
            "workflowId": _WORKFLOW_ID,
            "status": "RUNNING",
            "workflowName": "thumbs",
            "workflowVersion": 1,
            "createTime": _CREATED,
            "startTime": _CREATED,
            "endTime": 0,
            "input": {"url": "s3://in/1.png"},
            "output": {},
            "tasks": [],
        },
        "BulkResponse": {
            "bulkErrorResults": {"id-2": "No such workflow found by id: id-2"},
            "bulkSuccessfulResults": ["id-1"],
        },
        "ErrorResponse": {
            "status": 404,
            "message": f"No such workflow found by id: {_WORKFLOW_ID}",
            "instance": "server-1",
            "retryable": False,
            "code": "NOT_FOUND",
        },
    }
)
"""One example a schema, by the schema's name."""

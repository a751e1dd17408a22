"""SignalResponse: what those get who wait for an execution to block or to end.

A ``WorkflowRun`` of an execution, or a ``TaskRun`` of the task that blocks it, written out of their
documents. ``responseType`` says which of the two it is.
"""

from __future__ import annotations

from typing import Any, Final

from conductor_py.model.json import JsonObject

Json = dict[str, Any]

TARGET_WORKFLOW: Final = "TARGET_WORKFLOW"
BLOCKING_WORKFLOW: Final = "BLOCKING_WORKFLOW"
BLOCKING_TASK: Final = "BLOCKING_TASK"
BLOCKING_TASK_INPUT: Final = "BLOCKING_TASK_INPUT"
STRATEGIES: Final = (TARGET_WORKFLOW, BLOCKING_WORKFLOW, BLOCKING_TASK, BLOCKING_TASK_INPUT)

_RUN: Final = ("correlationId", "input", "output", "status", "priority", "variables", "tasks")
_RUN_TIMES: Final = ("createdBy", "createTime", "updateTime")
_TASK: Final = (
    "taskType",
    "taskId",
    "referenceTaskName",
    "retryCount",
    "taskDefName",
    "retriedTaskId",
    "workflowType",
    "reasonForIncompletion",
    "correlationId",
    "status",
    "updateTime",
)


def workflow_run(
    strategy: str, target: JsonObject, shown: JsonObject, *, request_id: str, timed_out: bool
) -> Json:
    """Write a run of the execution ``shown``."""
    written = _head(strategy, target, request_id, timed_out=timed_out)
    written["workflowId"] = shown["workflowId"]
    written |= {name: shown[name] for name in (*_RUN, *_RUN_TIMES) if name in shown}
    return written


def task_run(
    strategy: str,
    target: JsonObject,
    task: JsonObject,
    *,
    request_id: str,
    timed_out: bool,
) -> Json:
    """Write a run of the task that blocks."""
    written = _head(strategy, target, request_id, timed_out=timed_out)
    written["workflowId"] = task["workflowInstanceId"]
    written |= {name: task[name] for name in _TASK if name in task}
    written |= {
        "input": task["inputData"],
        "output": task["outputData"],
        "priority": task["workflowPriority"],
        "createTime": task["startTime"],
    }
    if "workerId" in task:
        written["createdBy"] = task["workerId"]
    return written


def _head(strategy: str, target: JsonObject, request_id: str, *, timed_out: bool) -> Json:
    return {
        "responseType": strategy,
        "targetWorkflowId": target["workflowId"],
        "targetWorkflowStatus": target["status"],
        "requestId": request_id,
        "signalTimeout": timed_out,
    }

"""The endpoints of what long tasks keep."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    Operation,
    delete,
    get,
    post,
    put,
)

_OF_TASK = "/api/tasks/{task_id}/checkpoints"
_OF_WORKFLOW = "/api/workflow/{workflow_id}/checkpoints"

OPERATIONS: tuple[Operation, ...] = (
    post(
        _OF_TASK,
        "Take hold of what a task keeps: all lower claim tokens are refused from now on",
        "Kept",
        "AcquireCheckpointsRequest",
    ),
    get(_OF_TASK, "Read what a task keeps", "Kept"),
    post(
        f"{_OF_TASK}/{{part}}/notes",
        "Append to the write-ahead log of a part; answers how many notes there are",
        "NotesKept",
        "AppendNotesRequest",
    ),
    put(
        f"{_OF_TASK}/{{part}}",
        "Replace the newest record of a part, if it is the one expected",
        "Checkpoint",
        "PutCheckpointRequest",
    ),
    get(
        f"{_OF_TASK}/{{part}}",
        "Read a part, or with an epoch or savepoint that record of it",
        "KeptPart|KeptEpoch|KeptSavepoint",
        "epoch:integer savepoint:string",
    ),
    get(_OF_WORKFLOW, "Read what the tasks of an execution keep, by reference", "Kept{}"),
    post(
        f"{_OF_WORKFLOW}/{{ref}}/stop",
        "Ask a task to stop where it can go on later, with a savepoint perhaps",
        "Requested",
        "StopTaskRequest",
    ),
    post(f"{_OF_WORKFLOW}/{{ref}}/pause", "Ask a task to wait", "Requested", ""),
    post(f"{_OF_WORKFLOW}/{{ref}}/cancel", "Ask a task to end for good", "Requested", ""),
    post(
        f"{_OF_WORKFLOW}/{{ref}}/resume",
        "Let a task run on, from an older record perhaps",
        "Requested",
        "ResumeTaskRequest",
    ),
    post(
        f"{_OF_WORKFLOW}/{{ref}}/savepoint",
        "Keep the newest records of a task under a name",
        "Requested",
        "SavepointRequest",
    ),
    delete(f"{_OF_WORKFLOW}/{{ref}}/savepoints/{{name}}", "Forget a savepoint"),
)

"""The endpoints of tasks."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    NOTHING,
    OBJECT,
    PAYLOAD_LOCATED,
    PAYLOAD_LOCATION,
    SEARCH,
    SIGNAL_STRATEGY,
    TEXT,
    Operation,
    get,
    post,
)

_POLLER = "workerid:string domain:string leaseSeconds:integer"
_RESULT_PATH = "/api/tasks/{workflow_id}/{ref}/{status}"

OPERATIONS: tuple[Operation, ...] = (
    post(
        "/api/tasks/{workflow_id}/{status}/signal",
        "Report on the first open WAIT of an execution or its sub-workflows",
        NOTHING,
        OBJECT,
    ),
    post(
        "/api/tasks/{workflow_id}/{status}/signal/sync",
        "Report on the first open WAIT, and wait until the execution blocks again or ends",
        "SignalResponse",
        OBJECT,
        f"returnStrategy:{SIGNAL_STRATEGY} timeoutMillis:integer",
    ),
    post(
        "/api/tasks/queue/requeue/{task_type}",
        "Take all tasks of a type from the workers that have them, and offer them again; answers"
        " how many are in their queue",
        TEXT,
        "",
    ),
    post(
        "/api/tasks/{task_id}/requeue",
        "Take a task from the worker that has it, and offer it again: no retry is used, and what"
        " the worker still reports under its claim or its own id is refused",
        NOTHING,
        "",
    ),
    get(
        "/api/tasks/poll/{task_type}",
        "Claim a task",
        "Task",
        _POLLER,
        no_content="nothing to do",
    ),
    get(
        "/api/tasks/poll/batch/{task_type}",
        "Claim tasks, waiting for the first",
        "Task[]",
        f"{_POLLER} count:integer timeout:integer",
    ),
    post("/api/tasks", "Report a result; answers the task's id", TEXT, "TaskResult"),
    post(
        "/api/tasks/update-v2",
        "Report a result, and claim the next task of the same type",
        "Task",
        "TaskResult",
        "leaseSeconds:integer",
        no_content="no next task, or the task has not ended",
    ),
    post(
        _RESULT_PATH,
        "Report on the first open task of a reference; answers its id, nothing when there is none",
        TEXT,
        OBJECT,
        "workerid:string",
    ),
    post(
        f"{_RESULT_PATH}/sync",
        "Report on the first open task of a reference; answers the execution",
        "Workflow",
        OBJECT,
        "workerid:string",
    ),
    post(
        "/api/tasks/{task_id}/extend",
        "Keep a claim, and say how far the work is",
        "Lease",
        "ExtendTaskRequest",
    ),
    post("/api/tasks/{task_id}/log", "Append a line to a task's log", NOTHING, TEXT),
    get(
        "/api/tasks/{task_id}/log",
        "Read a task's log",
        "TaskExecLog[]",
        no_content="no lines",
    ),
    get("/api/tasks/{task_id}", "Read a task", "Task"),
    get("/api/tasks/search", "Search tasks", "SearchResult:TaskSummary", SEARCH),
    get("/api/tasks/search-v2", "Search tasks, and read them whole", "SearchResult:Task", SEARCH),
    get(
        "/api/tasks/externalstoragelocation",
        PAYLOAD_LOCATED,
        "ExternalStorageLocation",
        PAYLOAD_LOCATION,
    ),
    get(
        "/api/tasks/external-storage-location",
        PAYLOAD_LOCATED,
        "ExternalStorageLocation",
        PAYLOAD_LOCATION,
    ),
    get(
        "/api/tasks/queue/sizes", "Count the waiting tasks by type", "integer{}", "taskType:string"
    ),
    get(
        "/api/tasks/queue/size",
        "Count the waiting tasks of a queue",
        "integer",
        "taskType!:string domain:string isolationGroupId:string executionNamespace:string",
    ),
    get("/api/tasks/queue/all", "Count the waiting tasks of every queue", "integer{}"),
    get(
        "/api/tasks/queue/all/verbose",
        "Count the waiting tasks by queue and shard",
        "QueueShard{}{}",
    ),
    get(
        "/api/tasks/queue/polldata", "Who polled last, of a type", "PollData[]", "taskType!:string"
    ),
    get("/api/tasks/queue/polldata/all", "Who polled last, of all types", "PollData[]"),
)

"""The table of endpoints: what the published interface says of each.

A test compares it with the routes that are really served, both ways.
"""

from __future__ import annotations

from dataclasses import dataclass

TEXT = "text"
NOTHING = "nothing"
OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint. ``query`` holds words ``name:type``, or ``name!:type`` when it must be given.

    ``body`` and ``answer`` name a schema, ``Name[]`` a list of it, ``SearchResult:Name`` a page of
    it; else ``text``, ``nothing``, ``object`` or a JSON type. An empty ``body``: there is none.
    """

    method: str
    path: str
    summary: str
    answer: str
    body: str = ""
    query: str = ""
    no_content: str = ""
    """When the answer is 204 instead."""

    @property
    def tag(self) -> str:
        """Group by noun."""
        parts = self.path.split("/")
        return parts[2] if len(parts) > 3 and parts[1] == "api" else "system"


def _get(path: str, summary: str, answer: str, query: str = "", no_content: str = "") -> Operation:
    return Operation(
        method="GET", path=path, summary=summary, answer=answer, query=query, no_content=no_content
    )


def _post(  # noqa: PLR0917 - a row of the table
    path: str, summary: str, answer: str, body: str, query: str = "", no_content: str = ""
) -> Operation:
    return Operation(
        method="POST",
        path=path,
        summary=summary,
        answer=answer,
        body=body,
        query=query,
        no_content=no_content,
    )


def _put(path: str, summary: str, answer: str, body: str) -> Operation:
    return Operation(method="PUT", path=path, summary=summary, answer=answer, body=body)


def _delete(path: str, summary: str, query: str = "") -> Operation:
    return Operation(method="DELETE", path=path, summary=summary, answer=NOTHING, query=query)


_SEARCH = "start:integer size:integer sort:string freeText:string query:string"
_WORKFLOW_SEARCH = f"{_SEARCH} classifier:string topLevelOnly:boolean"
_POLLER = "workerid:string domain:string leaseSeconds:integer"
_LOCATION = "operation!:string payloadType!:string path:string"
_LOCATED = "Where to send or fetch a large payload, by a signed URL"
_RESULT_PATH = "/api/tasks/{workflow_id}/{ref}/{status}"

OPERATIONS: tuple[Operation, ...] = (
    _post("/api/workflow", "Start a workflow; answers its id", TEXT, "StartWorkflowRequest"),
    _post(
        "/api/workflow/{name}",
        "Start a registered workflow with this input; answers its id",
        TEXT,
        OBJECT,
        "version:integer correlationId:string priority:integer",
    ),
    _get(
        "/api/workflow/{workflow_id}",
        "Read an execution, live or archived",
        "Workflow",
        "includeTasks:boolean",
    ),
    _get(
        "/api/workflow/{workflow_id}/status",
        "Read how an execution stands",
        "WorkflowStatus",
        "includeOutput:boolean includeVariables:boolean",
    ),
    _get(
        "/api/workflow/{workflow_id}/tasks",
        "Read the tasks of an execution, page by page",
        "SearchResult:Task",
        "start:integer count:integer status:string",
    ),
    _get(
        "/api/workflow/running/{name}",
        "List the ids that have not ended; with both times those created in between",
        "string[]",
        "version:integer startTime:integer endTime:integer",
    ),
    _delete("/api/workflow/{workflow_id}", "Terminate an execution", "reason:string"),
    _get(
        "/api/workflow/search",
        "Search executions",
        "SearchResult:WorkflowSummary",
        _WORKFLOW_SEARCH,
    ),
    _get(
        "/api/workflow/search-v2",
        "Search executions, and read them whole but for their tasks",
        "SearchResult:Workflow",
        _WORKFLOW_SEARCH,
    ),
    _get("/api/workflow/externalstoragelocation", _LOCATED, "ExternalStorageLocation", _LOCATION),
    _get("/api/workflow/external-storage-location", _LOCATED, "ExternalStorageLocation", _LOCATION),
    _get(
        "/api/tasks/poll/{task_type}",
        "Claim a task",
        "Task",
        _POLLER,
        no_content="nothing to do",
    ),
    _get(
        "/api/tasks/poll/batch/{task_type}",
        "Claim tasks, waiting for the first",
        "Task[]",
        f"{_POLLER} count:integer timeout:integer",
    ),
    _post("/api/tasks", "Report a result; answers the task's id", TEXT, "TaskResult"),
    _post(
        "/api/tasks/update-v2",
        "Report a result, and claim the next task of the same type",
        "Task",
        "TaskResult",
        "leaseSeconds:integer",
        no_content="no next task, or the task has not ended",
    ),
    _post(
        _RESULT_PATH,
        "Report on the first open task of a reference; answers its id, nothing when there is none",
        TEXT,
        OBJECT,
        "workerid:string",
    ),
    _post(
        f"{_RESULT_PATH}/sync",
        "Report on the first open task of a reference; answers the execution",
        "Workflow",
        OBJECT,
        "workerid:string",
    ),
    _post(
        "/api/tasks/{task_id}/extend",
        "Keep a claim, and say how far the work is",
        "Lease",
        "ExtendTaskRequest",
    ),
    _post("/api/tasks/{task_id}/log", "Append a line to a task's log", NOTHING, TEXT),
    _get(
        "/api/tasks/{task_id}/log",
        "Read a task's log",
        "TaskExecLog[]",
        no_content="no lines",
    ),
    _get("/api/tasks/{task_id}", "Read a task", "Task"),
    _get("/api/tasks/search", "Search tasks", "SearchResult:TaskSummary", _SEARCH),
    _get("/api/tasks/search-v2", "Search tasks, and read them whole", "SearchResult:Task", _SEARCH),
    _get("/api/tasks/externalstoragelocation", _LOCATED, "ExternalStorageLocation", _LOCATION),
    _get("/api/tasks/external-storage-location", _LOCATED, "ExternalStorageLocation", _LOCATION),
    _get("/api/tasks/queue/sizes", "Count the waiting tasks by type", OBJECT, "taskType:string"),
    _get(
        "/api/tasks/queue/size",
        "Count the waiting tasks of a queue",
        "integer",
        "taskType!:string domain:string isolationGroupId:string executionNamespace:string",
    ),
    _get("/api/tasks/queue/all", "Count the waiting tasks of every queue", OBJECT),
    _get("/api/tasks/queue/all/verbose", "Count the waiting tasks by queue and shard", OBJECT),
    _get(
        "/api/tasks/queue/polldata", "Who polled last, of a type", "PollData[]", "taskType!:string"
    ),
    _get("/api/tasks/queue/polldata/all", "Who polled last, of all types", "PollData[]"),
    _post(
        "/api/metadata/workflow",
        "Register a workflow definition",
        NOTHING,
        "WorkflowDef",
        "overwrite:boolean",
    ),
    _put(
        "/api/metadata/workflow",
        "Register workflow definitions, new or not",
        "BulkResponse",
        "WorkflowDef[]",
    ),
    _post("/api/metadata/workflow/validate", "Check a workflow definition", NOTHING, "WorkflowDef"),
    _get(
        "/api/metadata/workflow",
        "List all versions of all workflow definitions",
        "WorkflowDef[]",
        "classifier:string",
    ),
    _get("/api/metadata/workflow/names", "List the names of workflow definitions", "string[]"),
    _get("/api/metadata/workflow/names-and-versions", "List versions by name", OBJECT),
    _get(
        "/api/metadata/workflow/latest-versions",
        "List the latest version of each workflow definition",
        "WorkflowDef[]",
    ),
    _get(
        "/api/metadata/workflow/{name}",
        "Read a workflow definition, the latest without a version",
        "WorkflowDef",
        "version:integer",
    ),
    _get(
        "/api/metadata/workflow/{name}/versions",
        "List the versions of a workflow definition",
        "WorkflowDefSummary[]",
    ),
    _delete("/api/metadata/workflow/{name}/{version}", "Remove a workflow definition"),
    _post("/api/metadata/taskdefs", "Register task definitions, new or not", NOTHING, "TaskDef[]"),
    _put("/api/metadata/taskdefs", "Replace a task definition", NOTHING, "TaskDef"),
    _get("/api/metadata/taskdefs", "List all task definitions", "TaskDef[]"),
    _get("/api/metadata/taskdefs/{name}", "Read a task definition", "TaskDef"),
    _delete("/api/metadata/taskdefs/{name}", "Remove a task definition"),
    _put(
        "/api/payloads/{token}", "Send a payload, by a URL that this server signed", NOTHING, OBJECT
    ),
    _get("/api/payloads/{token}", "Fetch a payload, by a URL that this server signed", OBJECT),
    _get("/health", "Whether the server can work", OBJECT),
    _get("/api/health", "Whether the server can work", OBJECT),
    _get("/api/version", "The version of this software", TEXT),
    _get("/actuator/health", "Whether the server can work, in Spring's words", OBJECT),
    _get("/actuator/info", "What this software is", OBJECT),
    _get("/actuator/prometheus", "Metrics, in Prometheus's format", TEXT),
    _get("/api-docs", "This document", OBJECT),
    _get("/swagger-ui/index.html", "This document, to read", TEXT),
)
"""Every endpoint."""

"""The table of endpoints: what the published interface says of each.

A test compares it with the routes that are really served, both ways.
"""

from __future__ import annotations

# long: one table of all endpoints
from dataclasses import dataclass

TEXT = "text"
HTML = "html"
NOTHING = "nothing"
OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint. ``query`` holds words ``name:type``, or ``name!:type`` when it must be given;
    ``name:ONE|OTHER`` has one of these values.

    ``body`` and ``answer`` name a schema, ``Name[]`` a list of it, ``Name{}`` an object of it,
    ``SearchResult:Name`` a page of it; else ``text``, ``nothing``, ``object`` or a JSON type. An
    empty ``body``: there is none.
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

    @property
    def errors(self) -> tuple[int, ...]:
        """Statuses of the errors that it may answer."""
        changes = self.method != "GET"
        found = {
            400: bool(self.query or self.body or "{" in self.path),
            403: self.path.startswith(("/api/payloads/", "/api/secrets/")),
            404: bool(self.query or self.body or "{" in self.path),
            409: changes,
            410: self.path == "/api/tasks/update-v2",
            413: changes,
            429: changes,
            503: True,
        }
        return tuple(status for status, may in found.items() if may)


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


def _put(path: str, summary: str, answer: str, body: str, query: str = "") -> Operation:
    return Operation(
        method="PUT", path=path, summary=summary, answer=answer, body=body, query=query
    )


def _delete(path: str, summary: str, query: str = "", body: str = "") -> Operation:
    return Operation(
        method="DELETE", path=path, summary=summary, answer=NOTHING, query=query, body=body
    )


def _bulk_delete(path: str, summary: str, query: str) -> Operation:
    return Operation(
        method="DELETE",
        path=path,
        summary=summary,
        answer="BulkResponse",
        body="string[]",
        query=query,
    )


_SEARCH = "start:integer size:integer sort:string freeText:string query:string"
_WORKFLOW_SEARCH = f"{_SEARCH} classifier:string topLevelOnly:boolean"
_POLLER = "workerid:string domain:string leaseSeconds:integer"
_PAYLOAD_TYPES = "WORKFLOW_INPUT|WORKFLOW_OUTPUT|TASK_INPUT|TASK_OUTPUT"
_LOCATION = f"operation!:READ|WRITE payloadType!:{_PAYLOAD_TYPES} path:string"
_CORRELATED = "includeClosed:boolean includeTasks:boolean"
_LOCATED = "Where to send or fetch a large payload, by a signed URL"
_WAITING = "requestId:string waitUntilTaskRef:string waitForSeconds:integer"
_STRATEGY = "TARGET_WORKFLOW|BLOCKING_WORKFLOW|BLOCKING_TASK|BLOCKING_TASK_INPUT"
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
    _post(
        "/api/workflow/{workflow_id}/messages",
        "Send a message to a running execution; answers the message's id",
        TEXT,
        OBJECT,
    ),
    _delete(
        "/api/workflow/{workflow_id}",
        "Terminate an execution",
        "reason:string triggerFailureWorkflow:boolean",
    ),
    _put("/api/workflow/{workflow_id}/pause", "Pause: nothing new opens", NOTHING, ""),
    _put("/api/workflow/{workflow_id}/resume", "Go on with a paused execution", NOTHING, ""),
    _put(
        "/api/workflow/{workflow_id}/skiptask/{ref}",
        "Pass over a task that has not been scheduled",
        NOTHING,
        "SkipTaskRequest",
    ),
    _post(
        "/api/workflow/{workflow_id}/resetcallbacks",
        "Offer at once what workers put off",
        NOTHING,
        "",
        no_content="always",
    ),
    _put("/api/workflow/decide/{workflow_id}", "Decide now on an execution", NOTHING, ""),
    _delete(
        "/api/workflow/{workflow_id}/remove",
        "Take an execution out of the store, into the archive or for good",
        "archiveWorkflow:boolean",
    ),
    _delete(
        "/api/workflow/{workflow_id}/terminate-remove",
        "Terminate an execution, then remove it",
        "reason:string archiveWorkflow:boolean",
    ),
    _post(
        "/api/workflow/{workflow_id}/variables",
        "Merge workflow variables; answers the execution",
        "Workflow",
        OBJECT,
    ),
    _post(
        "/api/workflow/{workflow_id}/state",
        "Merge variables, report on an open task, and wait",
        "SignalResponse",
        "WorkflowStateUpdate",
        _WAITING,
    ),
    _post(
        "/api/workflow/execute/{name}/{version}",
        "Start, and wait until the execution blocks or ends; version 0 is the latest",
        "SignalResponse",
        "StartWorkflowRequest",
        f"{_WAITING} consistency:string returnStrategy:{_STRATEGY}",
    ),
    _post(
        "/api/workflow/execute/{name}",
        "Start with this input, wait, and answer the output",
        OBJECT,
        OBJECT,
        f"version:integer {_WAITING}",
    ),
    _get(
        "/api/workflow/execute/{name}",
        "Start with the other parameters as input, wait, and answer the output",
        OBJECT,
        f"version:integer {_WAITING}",
    ),
    _post(
        "/api/workflow/{workflow_id}/retry",
        "Try again what failed in an execution that has ended",
        NOTHING,
        "",
        "resumeSubworkflowTasks:boolean",
        no_content="done",
    ),
    _post(
        "/api/workflow/{workflow_id}/restart",
        "Begin an execution that has ended from its first task",
        NOTHING,
        "",
        "useLatestDefinitions:boolean",
        no_content="done",
    ),
    _post(
        "/api/workflow/{workflow_id}/rerun",
        "Go on from a task of an execution that has ended; answers its id",
        TEXT,
        "RerunWorkflowRequest",
    ),
    _post(
        "/api/workflow/{workflow_id}/jump/{ref}",
        "Go on at a task that has not been reached, with this input",
        NOTHING,
        OBJECT,
    ),
    _post(
        "/api/workflow/{workflow_id}/upgrade",
        "Go on under another version of the definition; a dry run answers what does not map",
        NOTHING,
        "UpgradeWorkflowRequest",
        "dryRun:boolean",
    ),
    _put("/api/workflow/bulk/pause", "Pause executions", "BulkResponse", "string[]"),
    _put("/api/workflow/bulk/resume", "Resume executions", "BulkResponse", "string[]"),
    _post(
        "/api/workflow/bulk/restart",
        "Restart executions",
        "BulkResponse",
        "string[]",
        "useLatestDefinitions:boolean",
    ),
    _post("/api/workflow/bulk/retry", "Retry executions", "BulkResponse", "string[]"),
    _post(
        "/api/workflow/bulk/terminate",
        "Terminate executions",
        "BulkResponse",
        "string[]",
        "reason:string triggerFailureWorkflow:boolean",
    ),
    _bulk_delete("/api/workflow/bulk/remove", "Remove executions", "archiveWorkflow:boolean"),
    _bulk_delete(
        "/api/workflow/bulk/terminate-remove",
        "Terminate executions, then remove them",
        "reason:string archiveWorkflow:boolean",
    ),
    _post(
        "/api/workflow/bulk/search",
        "Read executions by their ids",
        "BulkWorkflows",
        "string[]",
        "includeTasks:boolean",
    ),
    _post(
        "/api/tasks/{workflow_id}/{status}/signal",
        "Report on the first open WAIT of an execution or its sub-workflows",
        NOTHING,
        OBJECT,
    ),
    _post(
        "/api/tasks/{workflow_id}/{status}/signal/sync",
        "Report on the first open WAIT, and wait until the execution blocks again or ends",
        "SignalResponse",
        OBJECT,
        f"returnStrategy:{_STRATEGY} timeoutMillis:integer",
    ),
    _post(
        "/api/tasks/queue/requeue/{task_type}",
        "Count the waiting tasks of a type; none can be out of its queue",
        TEXT,
        "",
    ),
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
    _get(
        "/api/workflow/search-by-tasks",
        "Search executions by what their tasks are",
        "SearchResult:WorkflowSummary",
        _SEARCH,
    ),
    _get(
        "/api/workflow/search-by-tasks-v2",
        "Search executions by what their tasks are, and read them whole but for their tasks",
        "SearchResult:Workflow",
        _SEARCH,
    ),
    _get(
        "/api/workflow/{name}/correlated/{correlation_id}",
        "List the executions of a workflow that carry a correlation id",
        "Workflow[]",
        _CORRELATED,
    ),
    _post(
        "/api/workflow/{name}/correlated",
        "List the executions of a workflow by correlation id",
        "Workflow[]{}",
        "string[]",
        _CORRELATED,
    ),
    _post(
        "/api/workflow/correlated/batch",
        "List the executions of several workflows by correlation id",
        "Workflow[]{}",
        "CorrelationIdsSearchRequest",
        _CORRELATED,
    ),
    _post(
        "/api/workflow/test",
        "Run a workflow apart from all others, its tasks answered by mocks",
        "Workflow",
        "WorkflowTestRequest",
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
    _get("/api/queue/size", "Count the results that wait, by queue", "integer{}"),
    _get("/api/queue/", "List the statuses that a result can be sent with", "string{}"),
    _post(
        "/api/queue/update/{workflow_id}/{ref}/{status}",
        "Complete or fail the first open task of a reference",
        NOTHING,
        OBJECT,
    ),
    _post(
        "/api/queue/update/{workflow_id}/task/{task_id}/{status}",
        "Complete or fail a task",
        NOTHING,
        OBJECT,
    ),
    _get("/api/admin/config", "The settings in effect; secrets are masked", "string{}"),
    _get(
        "/api/admin/queues",
        "List the queues of events that somebody handles",
        OBJECT,
        "verbose:boolean",
    ),
    _get(
        "/api/admin/task/{task_type}",
        "List open tasks of a type",
        "Task[]",
        "start:integer count:integer",
    ),
    _post(
        "/api/admin/sweep/requeue/{workflow_id}",
        "Decide now what is owed to an execution; answers whether it is open",
        TEXT,
        "",
    ),
    _post(
        "/api/admin/consistency/verifyAndRepair/{workflow_id}",
        "Decide now what is owed to an execution; answers whether anything was",
        TEXT,
        "",
    ),
    _post("/api/event", "Register an event handler", NOTHING, "EventHandler"),
    _put("/api/event", "Replace an event handler", NOTHING, "EventHandler"),
    _get("/api/event", "List all event handlers", "EventHandler[]"),
    _get(
        "/api/event/executions",
        "List what event handlers did last, newest first",
        "EventExecution[]",
        "event:string name:string size:integer",
    ),
    _get(
        "/api/event/{event}",
        "List the handlers of an event, the active ones unless told otherwise",
        "EventHandler[]",
        "activeOnly:boolean",
    ),
    _delete("/api/event/{name}", "Remove an event handler"),
    _post(
        "/api/scheduler/schedules",
        "Store a schedule, new or not; answers it with its next run",
        "WorkflowSchedule",
        "WorkflowSchedule",
    ),
    _get(
        "/api/scheduler/schedules",
        "List the schedules, of one workflow or all",
        "WorkflowSchedule[]",
        "workflowName:string",
    ),
    _get(
        "/api/scheduler/schedules/search",
        "Search schedules",
        "SearchResult:WorkflowSchedule",
        "workflowName:string scheduleName:string paused:boolean freeText:string start:integer"
        " size:integer sort:string",
    ),
    _get("/api/scheduler/schedules/{name}", "Read a schedule", "WorkflowSchedule"),
    _delete("/api/scheduler/schedules/{name}", "Remove a schedule and its records"),
    _put(
        "/api/scheduler/schedules/{name}/pause", "Pause a schedule", NOTHING, "", "reason:string"
    ),
    _put(
        "/api/scheduler/schedules/{name}/resume",
        "Resume a schedule, from now or from where it was paused",
        NOTHING,
        "",
        "catchup:boolean",
    ),
    _post(
        "/api/scheduler/schedules/{name}/run",
        "Start what a schedule says now; answers the execution's id",
        TEXT,
        "",
    ),
    _get("/api/scheduler/schedules/{name}/tags", "Read the tags of a schedule", "Tag[]"),
    _put("/api/scheduler/schedules/{name}/tags", "Add tags to a schedule", NOTHING, "Tag[]"),
    _delete(
        "/api/scheduler/schedules/{name}/tags", "Take tags away from a schedule", body="Tag[]"
    ),
    _get(
        "/api/scheduler/nextFewSchedules",
        "The next instants of a cron expression, at most five",
        "integer[]",
        "cronExpression!:string zoneId:string scheduleStartTime:integer scheduleEndTime:integer"
        " limit:integer",
    ),
    _get(
        "/api/scheduler/search/executions",
        "Search the records of what schedules started",
        "SearchResult:WorkflowScheduleExecution",
        _SEARCH,
    ),
    _get("/api/scheduler/admin/requeue", "Put back schedules that should be due", OBJECT),
    _get("/api/scheduler/admin/pause", "Stop all schedules, on all servers", OBJECT),
    _get("/api/scheduler/admin/resume", "Let all schedules go on", OBJECT),
    _put("/api/scheduler/bulk/pause", "Pause schedules", "BulkResponse", "string[]"),
    _put("/api/scheduler/bulk/resume", "Resume schedules", "BulkResponse", "string[]"),
    _post("/api/schema", "Store a schema, or a list", NOTHING, "SchemaDef", "newVersion:boolean"),
    _get("/api/schema", "List all versions of all schemas", "SchemaDef[]"),
    _get("/api/schema/{name}", "Read the latest version of a schema", "SchemaDef"),
    _get("/api/schema/{name}/{version}", "Read a schema", "SchemaDef"),
    _delete("/api/schema/{name}", "Remove all versions of a schema"),
    _delete("/api/schema/{name}/{version}", "Remove a version of a schema"),
    _get("/api/metadata/tags", "List the tags of all definitions", "Tag[]"),
    _get("/api/metadata/workflow/{name}/tags", "Read the tags of a workflow definition", "Tag[]"),
    _post("/api/metadata/workflow/{name}/tags", "Add tags, one or a list", NOTHING, "Tag[]"),
    _put("/api/metadata/workflow/{name}/tags", "Replace all tags", NOTHING, "Tag[]"),
    _delete("/api/metadata/workflow/{name}/tags", "Take tags away, one or a list", body="Tag[]"),
    _get("/api/metadata/task/{name}/tags", "Read the tags of a task definition", "Tag[]"),
    _post("/api/metadata/task/{name}/tags", "Add tags, one or a list", NOTHING, "Tag[]"),
    _put("/api/metadata/task/{name}/tags", "Replace all tags", NOTHING, "Tag[]"),
    _delete("/api/metadata/task/{name}/tags", "Take tags away, one or a list", body="Tag[]"),
    _get("/api/metadata/tags/workflow/{name}", "Read the tags of a workflow definition", "Tag[]"),
    _post("/api/metadata/tags/workflow/{name}", "Add tags, one or a list", NOTHING, "Tag[]"),
    _put("/api/metadata/tags/workflow/{name}", "Replace all tags", NOTHING, "Tag[]"),
    _delete("/api/metadata/tags/workflow/{name}", "Take tags away, one or a list", body="Tag[]"),
    _get("/api/secrets", "List the names of secrets", "string[]"),
    _post("/api/secrets", "List the names of secrets", "string[]", ""),
    _get("/api/secrets/v2", "List secrets, without their values", "Secret[]"),
    _get("/api/secrets/{key}", "Refused: values are handed to tasks only", TEXT),
    _get("/api/secrets/{key}/exists", "Whether there is a secret of that name", "boolean"),
    _put("/api/secrets/{key}", "Refused: secrets are read-only", NOTHING, TEXT),
    _delete("/api/secrets/{key}", "Refused: secrets are read-only"),
    _get("/api/environment", "List what definitions may read", "EnvironmentVariable[]"),
    _get("/api/environment/{key}", "Read a value that definitions may read", TEXT),
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
    _get("/swagger-ui/index.html", "This document, to read", HTML),
)
"""Every endpoint."""

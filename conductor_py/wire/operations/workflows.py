"""The endpoints of executions of workflows."""

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
    delete,
    get,
    post,
    put,
)

_WORKFLOW_SEARCH = f"{SEARCH} classifier:string topLevelOnly:boolean"
_CORRELATED = "includeClosed:boolean includeTasks:boolean"
_WAITING = "requestId:string waitUntilTaskRef:string waitForSeconds:integer"

OPERATIONS: tuple[Operation, ...] = (
    post("/api/workflow", "Start a workflow; answers its id", TEXT, "StartWorkflowRequest"),
    post(
        "/api/workflow/{name}",
        "Start a registered workflow with this input; answers its id",
        TEXT,
        OBJECT,
        "version:integer correlationId:string priority:integer",
    ),
    get(
        "/api/workflow/{workflow_id}",
        "Read an execution, live or archived",
        "Workflow",
        "includeTasks:boolean",
    ),
    get(
        "/api/workflow/{workflow_id}/status",
        "Read how an execution stands",
        "WorkflowStatus",
        "includeOutput:boolean includeVariables:boolean",
    ),
    get(
        "/api/workflow/{workflow_id}/tasks",
        "Read the tasks of an execution, page by page",
        "SearchResult:Task",
        "start:integer count:integer status:string",
    ),
    get(
        "/api/workflow/running/{name}",
        "List the ids that have not ended; with both times those created in between",
        "string[]",
        "version:integer startTime:integer endTime:integer",
    ),
    post(
        "/api/workflow/{workflow_id}/messages",
        "Send a message to a running execution; answers the message's id",
        TEXT,
        OBJECT,
    ),
    delete(
        "/api/workflow/{workflow_id}",
        "Terminate an execution",
        "reason:string triggerFailureWorkflow:boolean",
    ),
    put("/api/workflow/{workflow_id}/pause", "Pause: nothing new opens", NOTHING, ""),
    put("/api/workflow/{workflow_id}/resume", "Go on with a paused execution", NOTHING, ""),
    put(
        "/api/workflow/{workflow_id}/skiptask/{ref}",
        "Pass over a task that has not been scheduled",
        NOTHING,
        "SkipTaskRequest",
    ),
    post(
        "/api/workflow/{workflow_id}/resetcallbacks",
        "Offer at once what workers put off",
        NOTHING,
        "",
        no_content="always",
    ),
    put("/api/workflow/decide/{workflow_id}", "Decide now on an execution", NOTHING, ""),
    delete(
        "/api/workflow/{workflow_id}/remove",
        "Take an execution out of the store, into the archive or for good",
        "archiveWorkflow:boolean",
    ),
    delete(
        "/api/workflow/{workflow_id}/terminate-remove",
        "Terminate an execution, then remove it",
        "reason:string archiveWorkflow:boolean",
    ),
    post(
        "/api/workflow/{workflow_id}/variables",
        "Merge workflow variables; answers the execution",
        "Workflow",
        OBJECT,
    ),
    post(
        "/api/workflow/{workflow_id}/state",
        "Merge variables, report on an open task, and wait",
        "SignalResponse",
        "WorkflowStateUpdate",
        _WAITING,
    ),
    post(
        "/api/workflow/execute/{name}/{version}",
        "Start, and wait until the execution blocks or ends; version 0 is the latest",
        "SignalResponse",
        "StartWorkflowRequest",
        f"{_WAITING} consistency:string returnStrategy:{SIGNAL_STRATEGY}",
    ),
    post(
        "/api/workflow/execute/{name}",
        "Start with this input, wait, and answer the output",
        OBJECT,
        OBJECT,
        f"version:integer {_WAITING}",
    ),
    get(
        "/api/workflow/execute/{name}",
        "Start with the other parameters as input, wait, and answer the output",
        OBJECT,
        f"version:integer {_WAITING}",
    ),
    post(
        "/api/workflow/{workflow_id}/retry",
        "Try again what failed in an execution that has ended",
        NOTHING,
        "",
        "resumeSubworkflowTasks:boolean",
        no_content="done",
    ),
    post(
        "/api/workflow/{workflow_id}/restart",
        "Begin an execution that has ended from its first task",
        NOTHING,
        "",
        "useLatestDefinitions:boolean",
        no_content="done",
    ),
    post(
        "/api/workflow/{workflow_id}/rerun",
        "Go on from a task of an execution that has ended; answers its id",
        TEXT,
        "RerunWorkflowRequest",
    ),
    post(
        "/api/workflow/{workflow_id}/jump/{ref}",
        "Go on at a task that has not been reached, with this input",
        NOTHING,
        OBJECT,
    ),
    post(
        "/api/workflow/{workflow_id}/upgrade",
        "Go on under another version of the definition; a dry run answers what does not map",
        NOTHING,
        "UpgradeWorkflowRequest",
        "dryRun:boolean",
    ),
    get(
        "/api/workflow/search",
        "Search executions",
        "SearchResult:WorkflowSummary",
        _WORKFLOW_SEARCH,
    ),
    get(
        "/api/workflow/search-v2",
        "Search executions, and read them whole but for their tasks",
        "SearchResult:Workflow",
        _WORKFLOW_SEARCH,
    ),
    get(
        "/api/workflow/search-by-tasks",
        "Search executions by what their tasks are",
        "SearchResult:WorkflowSummary",
        SEARCH,
    ),
    get(
        "/api/workflow/search-by-tasks-v2",
        "Search executions by what their tasks are, and read them whole but for their tasks",
        "SearchResult:Workflow",
        SEARCH,
    ),
    get(
        "/api/workflow/{name}/correlated/{correlation_id}",
        "List the executions of a workflow that carry a correlation id",
        "Workflow[]",
        _CORRELATED,
    ),
    post(
        "/api/workflow/{name}/correlated",
        "List the executions of a workflow by correlation id",
        "Workflow[]{}",
        "string[]",
        _CORRELATED,
    ),
    post(
        "/api/workflow/correlated/batch",
        "List the executions of several workflows by correlation id",
        "Workflow[]{}",
        "CorrelationIdsSearchRequest",
        _CORRELATED,
    ),
    post(
        "/api/workflow/test",
        "Run a workflow apart from all others, its tasks answered by mocks",
        "Workflow",
        "WorkflowTestRequest",
    ),
    get(
        "/api/workflow/externalstoragelocation",
        PAYLOAD_LOCATED,
        "ExternalStorageLocation",
        PAYLOAD_LOCATION,
    ),
    get(
        "/api/workflow/external-storage-location",
        PAYLOAD_LOCATED,
        "ExternalStorageLocation",
        PAYLOAD_LOCATION,
    ),
)

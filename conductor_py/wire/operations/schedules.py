"""The endpoints of schedules."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    NOTHING,
    SEARCH,
    TEXT,
    Operation,
    delete,
    get,
    post,
    put,
)

OPERATIONS: tuple[Operation, ...] = (
    post(
        "/api/scheduler/schedules",
        "Store a schedule, new or not; answers it with its next run",
        "WorkflowSchedule",
        "WorkflowSchedule",
    ),
    get(
        "/api/scheduler/schedules",
        "List the schedules, of one workflow or all",
        "WorkflowSchedule[]",
        "workflowName:string",
    ),
    get(
        "/api/scheduler/schedules/search",
        "Search schedules",
        "SearchResult:WorkflowSchedule",
        "workflowName:string scheduleName:string paused:boolean freeText:string start:integer"
        " size:integer sort:string",
    ),
    get("/api/scheduler/schedules/{name}", "Read a schedule", "WorkflowSchedule"),
    delete("/api/scheduler/schedules/{name}", "Remove a schedule and its records"),
    put("/api/scheduler/schedules/{name}/pause", "Pause a schedule", NOTHING, "", "reason:string"),
    put(
        "/api/scheduler/schedules/{name}/resume",
        "Resume a schedule, from now or from where it was paused",
        NOTHING,
        "",
        "catchup:boolean",
    ),
    get(
        "/api/scheduler/schedules/{name}/pause",
        "Pause a schedule, as older clients ask",
        NOTHING,
        "reason:string",
    ),
    get(
        "/api/scheduler/schedules/{name}/resume",
        "Resume a schedule, as older clients ask",
        NOTHING,
        "catchup:boolean",
    ),
    post(
        "/api/scheduler/schedules/{name}/run",
        "Start what a schedule says now; answers the execution's id",
        TEXT,
        "",
    ),
    get("/api/scheduler/schedules/{name}/tags", "Read the tags of a schedule", "Tag[]"),
    put("/api/scheduler/schedules/{name}/tags", "Add tags to a schedule", NOTHING, "Tag[]"),
    delete("/api/scheduler/schedules/{name}/tags", "Take tags away from a schedule", body="Tag[]"),
    post(
        "/api/scheduler/backfills",
        "Run a workflow for business times that have passed; `dryRun` tells which",
        "BackfillStarted",
        "Backfill",
        "dryRun:boolean",
    ),
    get(
        "/api/scheduler/nextFewSchedules",
        "The next instants of a cron expression, at most five",
        "integer[]",
        "cronExpression!:string zoneId:string scheduleStartTime:integer scheduleEndTime:integer"
        " limit:integer",
    ),
    get(
        "/api/scheduler/search/executions",
        "Search the records of what schedules started",
        "SearchResult:WorkflowScheduleExecution",
        SEARCH,
    ),
    get(
        "/api/scheduler/admin/requeue", "Put back schedules that should be due", "RequeuedSchedules"
    ),
    get("/api/scheduler/admin/pause", "Stop all schedules, on all servers", "Done"),
    get("/api/scheduler/admin/resume", "Let all schedules go on", "Done"),
    put("/api/scheduler/bulk/pause", "Pause schedules", "BulkResponse", "string[]"),
    put("/api/scheduler/bulk/resume", "Resume schedules", "BulkResponse", "string[]"),
)

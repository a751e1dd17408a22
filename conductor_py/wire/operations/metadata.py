"""The endpoints of definitions."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    NOTHING,
    Operation,
    delete,
    get,
    post,
    put,
)

OPERATIONS: tuple[Operation, ...] = (
    post(
        "/api/metadata/workflow",
        "Register a workflow definition",
        NOTHING,
        "WorkflowDef",
        "overwrite:boolean",
    ),
    put(
        "/api/metadata/workflow",
        "Register workflow definitions, new or not",
        "BulkResponse",
        "WorkflowDef[]",
    ),
    post("/api/metadata/workflow/validate", "Check a workflow definition", "Advice", "WorkflowDef"),
    get(
        "/api/metadata/workflow",
        "List all versions of all workflow definitions",
        "WorkflowDef[]",
        "classifier:string",
    ),
    get("/api/metadata/workflow/names", "List the names of workflow definitions", "string[]"),
    get(
        "/api/metadata/workflow/names-and-versions",
        "List versions by name",
        "WorkflowDefSummary[]{}",
    ),
    get(
        "/api/metadata/workflow/latest-versions",
        "List the latest version of each workflow definition",
        "WorkflowDef[]",
    ),
    get(
        "/api/metadata/workflow/{name}",
        "Read a workflow definition, the latest without a version",
        "WorkflowDef",
        "version:integer metadata:boolean",
    ),
    get(
        "/api/metadata/workflow/{name}/versions",
        "List the versions of a workflow definition",
        "WorkflowDefSummary[]",
    ),
    delete("/api/metadata/workflow/{name}/{version}", "Remove a workflow definition"),
    post("/api/metadata/taskdefs", "Register task definitions, new or not", NOTHING, "TaskDef[]"),
    post("/api/metadata/taskdefs/validate", "Check a task definition", "Advice", "TaskDef"),
    put("/api/metadata/taskdefs", "Replace a task definition", NOTHING, "TaskDef"),
    get("/api/metadata/taskdefs", "List all task definitions", "TaskDef[]"),
    get("/api/metadata/taskdefs/{name}", "Read a task definition", "TaskDef", "metadata:boolean"),
    delete("/api/metadata/taskdefs/{name}", "Remove a task definition"),
)

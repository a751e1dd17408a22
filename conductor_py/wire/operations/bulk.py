"""The endpoints of many executions at once."""

from __future__ import annotations

from conductor_py.wire.operations.operation import Operation, post, put


def _bulk_delete(path: str, summary: str, query: str) -> Operation:
    return Operation(
        method="DELETE",
        path=path,
        summary=summary,
        answer="BulkResponse",
        body="string[]",
        query=query,
    )


OPERATIONS: tuple[Operation, ...] = (
    put("/api/workflow/bulk/pause", "Pause executions", "BulkResponse", "string[]"),
    put("/api/workflow/bulk/resume", "Resume executions", "BulkResponse", "string[]"),
    post(
        "/api/workflow/bulk/restart",
        "Restart executions",
        "BulkResponse",
        "string[]",
        "useLatestDefinitions:boolean",
    ),
    post("/api/workflow/bulk/retry", "Retry executions", "BulkResponse", "string[]"),
    post(
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
    post(
        "/api/workflow/bulk/search",
        "Read executions by their ids",
        "BulkWorkflows",
        "string[]",
        "includeTasks:boolean",
    ),
)

"""The endpoints of results sent by queue."""

from __future__ import annotations

from conductor_py.wire.operations.operation import NOTHING, OBJECT, Operation, get, post

OPERATIONS: tuple[Operation, ...] = (
    get("/api/queue/size", "Count the results that wait, by queue", "integer{}"),
    get("/api/queue/", "List the statuses that a result can be sent with", "string{}"),
    post(
        "/api/queue/update/{workflow_id}/{ref}/{status}",
        "Complete or fail the first open task of a reference",
        NOTHING,
        OBJECT,
    ),
    post(
        "/api/queue/update/{workflow_id}/task/{task_id}/{status}",
        "Complete or fail a task",
        NOTHING,
        OBJECT,
    ),
)

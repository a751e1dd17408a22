"""The endpoints of administration."""

from __future__ import annotations

from conductor_py.wire.operations.operation import TEXT, Operation, get, post

OPERATIONS: tuple[Operation, ...] = (
    get("/api/admin/config", "The settings in effect; secrets are masked", "string{}"),
    get(
        "/api/admin/queues",
        "List the queues of events that somebody handles",
        "string{}|integer{}{}",
        "verbose:boolean",
    ),
    get(
        "/api/admin/task/{task_type}",
        "List open tasks of a type",
        "Task[]",
        "start:integer count:integer",
    ),
    get(
        "/api/admin/servers",
        "List the servers that are there, with their shards and terms",
        "LiveServer[]",
    ),
    post(
        "/api/admin/sweep/requeue/{workflow_id}",
        "Decide now what is owed to an execution; answers whether it is open",
        TEXT,
        "",
    ),
    post(
        "/api/admin/consistency/verifyAndRepair/{workflow_id}",
        "Decide now what is owed to an execution; answers whether anything was",
        TEXT,
        "",
    ),
)

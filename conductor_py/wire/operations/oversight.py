"""The endpoints that watch over executions."""

from __future__ import annotations

from conductor_py.wire.operations.operation import Operation, get, post

OPERATIONS: tuple[Operation, ...] = (
    get(
        "/api/workflow/{workflow_id}/why",
        "Say why an execution is not moving, and what to do about it",
        "Explanation",
    ),
    get(
        "/api/admin/audit",
        "Audit a page of the store: violations of the invariants, with ids",
        "Audit",
        "cursor:string size:integer",
    ),
    get("/api/admin/audit/{workflow_id}", "Audit one execution", "Audit"),
    get(
        "/api/admin/quarantine",
        "List the executions that cannot be decided, and under `damaged` what cannot be read, "
        "with the reasons",
        "Quarantine",
        "start:integer size:integer",
    ),
    post(
        "/api/admin/quarantine/retry",
        "Try all executions in quarantine again, for some seconds; answers how many were decided, "
        "and how many are `left`: go on at its `cursor` until that is empty",
        "QuarantineRetries",
        "",
        "cursor:string",
    ),
    post(
        "/api/admin/quarantine/{workflow_id}/retry",
        "Try an execution in quarantine again; answers whether it was decided",
        "QuarantineRetry",
        "",
    ),
    post(
        "/api/admin/quarantine/{workflow_id}/drop",
        "Terminate an execution in quarantine",
        "QuarantineDrop",
        "",
        "reason:string",
    ),
    post(
        "/api/admin/quarantine/damaged/retry",
        "Look again at what could not be read",
        "DamagedEntry",
        "",
        "entry:string",
    ),
    post(
        "/api/admin/quarantine/damaged/drop",
        "Delete what cannot be read, for ever",
        "DamagedEntry",
        "",
        "entry:string",
    ),
)

"""The endpoints of workers that are there."""

from __future__ import annotations

from conductor_py.wire.operations.operation import Operation, delete, get, post

OPERATIONS: tuple[Operation, ...] = (
    get(
        "/api/workers",
        "List the workers that are there, with what they take and how busy they are",
        "Worker[]",
        "taskType:string",
    ),
    post("/api/workers", "Tell that a worker is there", "WorkerLease", "WorkerSign"),
    delete("/api/workers", "Tell that a worker stops", "workerId!:string"),
)

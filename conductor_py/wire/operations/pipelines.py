"""The endpoints of data pipelines."""

from __future__ import annotations

from conductor_py.wire.operations.operation import OBJECT, Operation, post

OPERATIONS: tuple[Operation, ...] = (
    post(
        "/api/pipelines/plan",
        "Check the job of a data pipeline, and say how it is cut and what its sinks promise",
        "JobPlan",
        OBJECT,
    ),
)

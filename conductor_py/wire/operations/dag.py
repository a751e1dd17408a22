"""The endpoints of DAGs."""

from __future__ import annotations

from conductor_py.wire.operations.operation import Operation, get, post

OPERATIONS: tuple[Operation, ...] = (
    post("/api/dag/codes", "Mint codes for what is new", "string[]", "", "count:integer"),
    get("/api/dag/codes/{code}", "Say when and by which worker a code was minted", "Code"),
)

"""The endpoints of secrets and the environment of definitions."""

from __future__ import annotations

from conductor_py.wire.operations.operation import NOTHING, TEXT, Operation, delete, get, post, put

OPERATIONS: tuple[Operation, ...] = (
    get("/api/secrets", "List the names of secrets", "string[]"),
    post("/api/secrets", "List the names of secrets", "string[]", ""),
    get("/api/secrets/v2", "List secrets, without their values", "Secret[]"),
    get("/api/secrets/{key}", "Refused (403): values are handed to tasks only", TEXT),
    get("/api/secrets/{key}/exists", "Whether there is a secret of that name", "boolean"),
    put("/api/secrets/{key}", "Refused (501): secrets are read-only", NOTHING, TEXT),
    delete("/api/secrets/{key}", "Refused (501): secrets are read-only"),
    get("/api/environment", "List what definitions may read", "EnvironmentVariable[]"),
    get("/api/environment/{key}", "Read a value that definitions may read", TEXT),
)

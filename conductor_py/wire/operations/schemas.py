"""The endpoints of schemas."""

from __future__ import annotations

from conductor_py.wire.operations.operation import NOTHING, Operation, delete, get, post

OPERATIONS: tuple[Operation, ...] = (
    post("/api/schema", "Store a schema, or a list", NOTHING, "SchemaDef", "newVersion:boolean"),
    get("/api/schema", "List all versions of all schemas", "SchemaDef[]", "short:boolean"),
    get("/api/schema/{name}", "Read the latest version of a schema", "SchemaDef"),
    get("/api/schema/{name}/{version}", "Read a schema", "SchemaDef"),
    delete("/api/schema/{name}", "Remove all versions of a schema"),
    delete("/api/schema/{name}/{version}", "Remove a version of a schema"),
)

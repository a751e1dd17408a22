"""The endpoints of tags of definitions."""

from __future__ import annotations

from conductor_py.wire.operations.operation import NOTHING, Operation, delete, get, post, put

OPERATIONS: tuple[Operation, ...] = (
    get("/api/metadata/tags", "List the tags of all definitions", "Tag[]"),
    get("/api/metadata/workflow/{name}/tags", "Read the tags of a workflow definition", "Tag[]"),
    post("/api/metadata/workflow/{name}/tags", "Add tags, one or a list", NOTHING, "Tag[]"),
    put("/api/metadata/workflow/{name}/tags", "Replace all tags", NOTHING, "Tag[]"),
    delete("/api/metadata/workflow/{name}/tags", "Take tags away, one or a list", body="Tag[]"),
    get("/api/metadata/task/{name}/tags", "Read the tags of a task definition", "Tag[]"),
    post("/api/metadata/task/{name}/tags", "Add tags, one or a list", NOTHING, "Tag[]"),
    put("/api/metadata/task/{name}/tags", "Replace all tags", NOTHING, "Tag[]"),
    delete("/api/metadata/task/{name}/tags", "Take tags away, one or a list", body="Tag[]"),
    get("/api/metadata/tags/workflow/{name}", "Read the tags of a workflow definition", "Tag[]"),
    post("/api/metadata/tags/workflow/{name}", "Add tags, one or a list", NOTHING, "Tag[]"),
    put("/api/metadata/tags/workflow/{name}", "Replace all tags", NOTHING, "Tag[]"),
    delete("/api/metadata/tags/workflow/{name}", "Take tags away, one or a list", body="Tag[]"),
)

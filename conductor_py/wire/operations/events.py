"""The endpoints of event handlers."""

from __future__ import annotations

from conductor_py.wire.operations.operation import NOTHING, Operation, delete, get, post, put

OPERATIONS: tuple[Operation, ...] = (
    post("/api/event", "Register an event handler", NOTHING, "EventHandler"),
    post("/api/event/validate", "Check an event handler", "Advice", "EventHandler"),
    put("/api/event", "Replace an event handler", NOTHING, "EventHandler"),
    get("/api/event", "List all event handlers", "EventHandler[]"),
    get(
        "/api/event/executions",
        "List what event handlers did last, newest first",
        "EventExecution[]",
        "event:string name:string size:integer",
    ),
    get(
        "/api/event/{event}",
        "List the handlers of an event, the active ones unless told otherwise",
        "EventHandler[]",
        "activeOnly:boolean",
    ),
    delete("/api/event/{name}", "Remove an event handler"),
)

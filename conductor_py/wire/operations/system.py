"""The endpoints of payloads, health and the interface itself."""

from __future__ import annotations

from conductor_py.wire.operations.operation import (
    HTML,
    NOTHING,
    OBJECT,
    SCRIPT,
    TEXT,
    Operation,
    get,
    put,
)

OPERATIONS: tuple[Operation, ...] = (
    put(
        "/api/payloads/{token}", "Send a payload, by a URL that this server signed", NOTHING, OBJECT
    ),
    get("/api/payloads/{token}", "Fetch a payload, by a URL that this server signed", OBJECT),
    get("/health", "Whether the server can work", "Health"),
    get("/api/health", "Whether the server can work", "Health"),
    get("/api/version", "The version of this software", TEXT),
    get("/actuator/health", "Whether the server can work, in Spring's words", "ActuatorHealth"),
    get("/actuator/info", "What this software is", "ActuatorInfo"),
    get("/actuator/prometheus", "Metrics, in Prometheus's format", TEXT),
    get("/api-docs", "This document", OBJECT),
    get("/swagger-ui/index.html", "This document, to read", HTML),
    get("/context.js", "What Conductor's pages ask: flags of this server, as a script", SCRIPT),
)

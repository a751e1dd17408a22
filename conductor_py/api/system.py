"""The server about itself: health, version, the interface."""

from __future__ import annotations

from collections.abc import Callable

import orjson
from flask import Blueprint

from conductor_py.api.answers import Answer, json_answer, json_bytes, text
from conductor_py.api.front import Front, blueprint
from conductor_py.api.interface_page import page
from conductor_py.api.scrapes import Scrapes
from conductor_py.model.json import JsonObject, JsonValue

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SCRIPT_TYPE = "application/javascript; charset=utf-8"
_PAGE_TYPE = "text/html; charset=utf-8"


def system(front: Front, metrics: Callable[[], bytes] | None = None) -> Blueprint:
    """Make the endpoints about the server; ``metrics`` writes them in Prometheus's format."""
    views = _System(front, metrics)
    routes = [
        ("GET", "/health", views.health),
        ("GET", "/api/health", views.health),
        ("GET", "/api/version", views.version),
        ("GET", "/actuator/health", views.actuator_health),
        ("GET", "/actuator/info", views.actuator_info),
        ("GET", "/api-docs", views.api_docs),
        ("GET", "/swagger-ui/index.html", views.interface),
        ("GET", "/context.js", views.context),
    ]
    if metrics is not None:
        routes.append(("GET", "/actuator/prometheus", views.prometheus))
    return blueprint("system", "", routes)


class _System:
    def __init__(self, front: Front, metrics: Callable[[], bytes] | None) -> None:
        self._engine = front.engine
        self._scrapes = None if metrics is None else Scrapes(metrics)

    def health(self) -> Answer:
        found = {"healthResults": [], "suppressedHealthResults": [], "healthy": True}
        found |= dict(self._engine.health())
        return json_answer(found, status=200 if found["healthy"] else 503)

    def actuator_health(self) -> Answer:
        found = self._engine.health()
        healthy = bool(found.get("healthy", True))
        shown: dict[str, JsonValue] = {"status": "UP" if healthy else "DOWN"}
        if components := _components(found):
            shown["components"] = components
        return json_answer(shown, status=200 if healthy else 503)

    def actuator_info(self) -> Answer:
        return json_answer({"build": {"name": "conductor-py", "version": self._engine.version}})

    def version(self) -> Answer:
        return text(self._engine.version)

    def prometheus(self) -> Answer:
        assert self._scrapes is not None
        return Answer(self._scrapes.text(), headers={"Content-Type": _METRICS_TYPE})

    def api_docs(self) -> Answer:
        from conductor_py.wire.openapi import document_bytes  # noqa: PLC0415 - forty ms of a start, and few need it

        return json_bytes(document_bytes(self._engine.version))

    def context(self) -> Answer:
        # Read by Conductor's pages, which show what is on: no agents here.
        flags = orjson.dumps({"AGENTSPAN_ENABLED": False, "VERSION": self._engine.version}).decode()
        told = f"window.conductor = {flags};\n".encode()
        return Answer(told, headers={"Content-Type": _SCRIPT_TYPE})

    def interface(self) -> Answer:
        from conductor_py.wire.openapi import document  # noqa: PLC0415 - forty ms of a start, and few need it

        policy = "default-src 'none'; style-src 'unsafe-inline'"
        headers = {"Content-Type": _PAGE_TYPE, "Content-Security-Policy": policy}
        return Answer(page(document(self._engine.version)).encode(), headers=headers)


def _components(found: JsonObject) -> dict[str, JsonValue]:
    """The results of a check by their names, as Spring lists them."""
    results = found.get("healthResults")
    components: dict[str, JsonValue] = {}
    for each in results if isinstance(results, list) else ():
        if isinstance(each, dict):
            wrong = {"details": {"message": each["message"]}} if "message" in each else {}
            components[str(each.get("name"))] = {"status": each.get("status"), **wrong}
    return components

"""Secrets by name, and the part of the environment that definitions may read."""

from __future__ import annotations

from flask import Blueprint

from conductor_py.api.answers import Answer, json_answer, text
from conductor_py.api.front import Front, blueprint
from conductor_py.errors import Forbidden, NotFound, ReadOnly
from conductor_py.ports.named_values import NAME
from conductor_py.wire.parameters import wrong_segment


def secrets(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/secrets``: names only."""
    kept = front.engine.secrets

    def names() -> Answer:
        return json_answer(list(kept.names()))

    def details() -> Answer:
        return json_answer([{"name": name} for name in kept.names()])

    def exists(key: str) -> Answer:
        return json_answer(kept.value(key) is not None)

    def read(key: str) -> Answer:
        if kept.value(key) is None:
            raise NotFound(f"No such secret found by name: {key}")
        raise Forbidden("The values of secrets are handed to tasks and to nobody else.")

    def write(key: str) -> Answer:
        if not NAME.fullmatch(key):
            raise wrong_segment("key", "must be made of letters, digits, _ and -", key)
        raise ReadOnly(f"Secrets are read-only: set {key} where the server has them.")

    routes = (
        ("GET", "", names),
        ("POST", "", names),
        ("GET", "/v2", details),
        ("GET", "/<key>", read),
        ("GET", "/<key>/exists", exists),
        ("PUT", "/<key>", write),
        ("DELETE", "/<key>", write),
    )
    return blueprint("secrets", "/api/secrets", routes)


def environment(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/environment``."""
    kept = front.engine.environment

    def every() -> Answer:
        return json_answer([{"name": name, "value": kept.value(name)} for name in kept.names()])

    def one(key: str) -> Answer:
        return text(kept.value(key) or "")

    return blueprint(
        "environment", "/api/environment", (("GET", "", every), ("GET", "/<key>", one))
    )

"""Schemas: the registry that definitions name."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.documents import Documents
from conductor_py.api.front import Front, blueprint
from conductor_py.model.json import JsonObject
from conductor_py.wire.parameters import flag, number_segment
from conductor_py.wire.policies import read_schemas


def schemas(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/schema``."""
    registry = front.engine.schemas

    def save() -> Answer:
        found = read_schemas(front.body())
        registry.save(found, new_version=flag(request.args, "newVersion"))
        return empty()

    def every() -> Answer:
        told = _without_content if flag(request.args, "short") else Documents().add
        return json_answer(list(registry.all(told, front.be_heavy)))

    def latest(name: str) -> Answer:
        return json_answer(registry.one(name, None))

    def one(name: str, version: str) -> Answer:
        return json_answer(registry.one(name, number_segment("version", version)))

    def delete_all(name: str) -> Answer:
        registry.delete(name, None)
        return empty()

    def delete(name: str, version: str) -> Answer:
        registry.delete(name, number_segment("version", version))
        return empty()

    routes = (
        ("POST", "", save),
        ("GET", "", every),
        ("GET", "/<name>", latest),
        ("GET", "/<name>/<version>", one),
        ("DELETE", "/<name>", delete_all),
        ("DELETE", "/<name>/<version>", delete),
    )
    return blueprint("schema", "/api/schema", routes)


def _without_content(schema: JsonObject) -> JsonObject:
    return {name: value for name, value in schema.items() if name != "data"}

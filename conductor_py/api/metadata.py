"""Metadata: workflow and task definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, json_bytes
from conductor_py.api.front import Front, blueprint
from conductor_py.model.json import JsonObject
from conductor_py.wire.advice import advice
from conductor_py.wire.parameters import flag, number, number_segment, text
from conductor_py.wire.summaries import classifier_of


def metadata(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/metadata``."""
    workflows, tasks = _Workflows(front), _Tasks(front)
    return blueprint(
        "metadata",
        "/api/metadata",
        (
            ("POST", "/workflow", workflows.register),
            ("PUT", "/workflow", workflows.update),
            ("POST", "/workflow/validate", workflows.validate),
            ("GET", "/workflow", workflows.all),
            ("GET", "/workflow/names", workflows.names),
            ("GET", "/workflow/names-and-versions", workflows.names_and_versions),
            ("GET", "/workflow/latest-versions", workflows.latest_versions),
            ("GET", "/workflow/<name>", workflows.read),
            ("GET", "/workflow/<name>/versions", workflows.versions),
            ("DELETE", "/workflow/<name>/<version>", workflows.delete),
            ("POST", "/taskdefs", tasks.register),
            ("PUT", "/taskdefs", tasks.update),
            ("GET", "/taskdefs", tasks.all),
            ("GET", "/taskdefs/<name>", tasks.read),
            ("DELETE", "/taskdefs/<name>", tasks.delete),
        ),
    )


class _Workflows:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._definitions = front.engine.definitions

    def register(self) -> Answer:
        definition = self._front.definitions.workflow(self._front.body())
        overwrite = flag(request.args, "overwrite")
        self._definitions.register(definition, overwrite=overwrite)
        return empty()

    def update(self) -> Answer:
        definitions = self._front.definitions.workflows(self._front.body())
        return json_answer(self._definitions.update(definitions))

    def validate(self) -> Answer:
        body = self._front.body()
        definition = self._front.definitions.workflow(body)
        unusable = self._definitions.validate(definition)
        found = (*advice(definition, body), *unusable)
        return json_answer({"warnings": [{"path": e.path, "message": e.message} for e in found]})

    def read(self, name: str) -> Answer:
        version = number(request.args, "version") if text(request.args, "version") else None
        return json_bytes(self._definitions.workflow(name, version))

    def all(self) -> Answer:
        listed = self._definitions.workflows()
        wanted = text(request.args, "classifier").lower()
        if wanted:
            listed = [one for one in listed if _classifier(one).lower() == wanted]
        return json_answer(list(listed))

    def names(self) -> Answer:
        return json_answer(sorted(_by_name(self._definitions.workflows())))

    def names_and_versions(self) -> Answer:
        listed = _by_name(self._definitions.workflows())
        return json_answer({name: [_summary(one) for one in listed[name]] for name in listed})

    def versions(self, name: str) -> Answer:
        found = _by_name(self._definitions.workflows()).get(name, [])
        return json_answer([_summary(one) for one in found])

    def latest_versions(self) -> Answer:
        listed = _by_name(self._definitions.latest())
        return json_answer([versions[-1] for versions in listed.values()])

    def delete(self, name: str, version: str) -> Answer:
        self._definitions.delete(name, number_segment("version", version, signed=True))
        return empty()


class _Tasks:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._definitions = front.engine.definitions

    def register(self) -> Answer:
        self._definitions.register_tasks(self._front.definitions.task_defs(self._front.body()))
        return empty()

    def update(self) -> Answer:
        self._definitions.update_task(self._front.definitions.task_def(self._front.body()))
        return empty()

    def all(self) -> Answer:
        return json_answer(list(self._definitions.tasks()))

    def read(self, name: str) -> Answer:
        return json_bytes(self._definitions.task(name))

    def delete(self, name: str) -> Answer:
        self._definitions.delete_task(name)
        return empty()


def _by_name(listed: Sequence[JsonObject]) -> dict[str, list[Mapping[str, Any]]]:
    """Group definitions by name, versions ascending."""
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for one in sorted(listed, key=lambda one: (str(one["name"]), _version(one))):
        grouped.setdefault(str(one["name"]), []).append(one)
    return grouped


def _version(definition: Mapping[str, Any]) -> int:
    return int(definition.get("version", 1))


def _summary(definition: Mapping[str, Any]) -> dict[str, Any]:
    summary = {
        "name": definition["name"],
        "version": _version(definition),
        "createTime": definition.get("createTime", 0),
    }
    updated = definition.get("updateTime")
    return summary | {"updateTime": updated} if updated else summary


def _classifier(definition: JsonObject) -> str:
    found = definition.get("metadata")
    return classifier_of(found if isinstance(found, Mapping) else {})

"""Metadata: workflow and task definitions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import orjson
from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, json_bytes
from conductor_py.api.documents import Documents
from conductor_py.api.front import Front, blueprint
from conductor_py.api.warned import warned
from conductor_py.model.json import JsonObject
from conductor_py.wire.advice import advice, task_advice
from conductor_py.wire.parameters import flag, number, number_segment, text
from conductor_py.wire.policies import CarriedTags, carried_tags
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
            ("POST", "/taskdefs/validate", tasks.validate),
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
        body = self._front.body()
        definition, tags = self._front.definitions.workflow(body), carried_tags(body)
        overwrite = flag(request.args, "overwrite")
        self._definitions.register(definition, overwrite=overwrite)
        _tag(self._front, "workflow", tags)
        return empty()

    def update(self) -> Answer:
        body = self._front.body()
        definitions, tags = self._front.definitions.workflows(body), carried_tags(body)
        done = self._definitions.update(definitions)
        _tag(self._front, "workflow", tags)
        return json_answer(done)

    def validate(self) -> Answer:
        body = self._front.body()
        definition = self._front.definitions.workflow(body)
        unusable = self._definitions.validate(definition)
        return warned(chain(advice(definition, body), unusable))

    def read(self, name: str) -> Answer:
        version = number(request.args, "version") if text(request.args, "version") else None
        return _told(self._front, "workflow", name, self._definitions.workflow(name, version))

    def all(self) -> Answer:
        wanted, documents = text(request.args, "classifier").lower(), Documents()

        def told(one: JsonObject) -> orjson.Fragment | None:
            is_wanted = not wanted or _classifier(one).lower() == wanted
            return documents.add(one) if is_wanted else None

        listed = self._definitions.workflows(told, self._front.be_heavy)
        return json_answer([one for one in listed if one is not None])

    def names(self) -> Answer:
        return json_answer(sorted(self._by_name()))

    def names_and_versions(self) -> Answer:
        return json_answer(self._by_name())

    def versions(self, name: str) -> Answer:
        return json_answer(self._by_name().get(name, []))

    def latest_versions(self) -> Answer:
        documents = Documents()
        listed = self._definitions.latest(
            lambda one: (str(one["name"]), documents.add(one)), self._front.be_heavy
        )
        newest = dict(listed)
        return json_answer([newest[name] for name in sorted(newest)])

    def _by_name(self) -> dict[str, list[dict[str, Any]]]:
        """Summaries by name, versions ascending."""
        listed = self._definitions.workflows(_summary, self._front.be_heavy)
        grouped: dict[str, list[dict[str, Any]]] = {}
        for one in sorted(listed, key=lambda one: (str(one["name"]), one["version"])):
            grouped.setdefault(str(one["name"]), []).append(one)
        return grouped

    def delete(self, name: str, version: str) -> Answer:
        self._definitions.delete(name, number_segment("version", version, signed=True))
        return empty()


class _Tasks:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._definitions = front.engine.definitions

    def register(self) -> Answer:
        body = self._front.body()
        definitions, tags = self._front.definitions.task_defs(body), carried_tags(body)
        self._definitions.register_tasks(definitions)
        _tag(self._front, "task", tags)
        return empty()

    def update(self) -> Answer:
        body = self._front.body()
        definition, tags = self._front.definitions.task_def(body), carried_tags(body)
        self._definitions.update_task(definition)
        _tag(self._front, "task", tags)
        return empty()

    def validate(self) -> Answer:
        body = self._front.body()
        self._front.definitions.task_def(body)
        return warned(task_advice(body))

    def all(self) -> Answer:
        return json_answer(list(self._definitions.tasks(Documents().add, self._front.be_heavy)))

    def read(self, name: str) -> Answer:
        return _told(self._front, "task", name, self._definitions.task(name))

    def delete(self, name: str) -> Answer:
        self._definitions.delete_task(name)
        return empty()


def _tag(front: Front, noun: str, carried: tuple[CarriedTags, ...]) -> None:
    """Give definitions that are stored now the tags that they brought along."""
    kept = front.engine.tags
    for one in carried:
        (kept.set if one.replaces else kept.add)(noun, one.name, one.tags)


def _told(front: Front, noun: str, name: str, definition: bytes) -> Answer:
    """Answer a definition, with its tags when ``metadata`` is asked for."""
    if not flag(request.args, "metadata"):
        return json_bytes(definition)
    return json_answer(orjson.loads(definition) | {"tags": list(front.engine.tags.of(noun, name))})


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

"""What long tasks keep: for who works on a task, and for who operates it."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, Route, blueprint
from conductor_py.api.held import little, work
from conductor_py.model.json import JsonObject
from conductor_py.wire.checkpoints import (
    MOST_EPOCH,
    Asked,
    name_of,
    part_to_json,
    place_to_json,
    read_acquire,
    read_append,
    read_put,
    read_resume,
    read_savepoint,
    read_stop,
)
from conductor_py.wire.parameters import number, text

_OF_WORKFLOW = "/<workflow_id>/checkpoints"


def checkpoints(front: Front) -> Blueprint:
    """Make the endpoints of who works on a task."""
    views = _Held(front)
    return blueprint(
        "checkpoints",
        "/api/tasks/<task_id>/checkpoints",
        (
            ("POST", "", work(views.acquire)),
            ("GET", "", work(views.read)),
            ("POST", "/<part>/notes", little(views.append)),
            ("PUT", "/<part>", little(views.put)),
            ("GET", "/<part>", work(views.part)),
        ),
    )


def long_tasks(front: Front) -> Blueprint:
    """Make the endpoints of who operates long tasks."""
    views = _Operated(front)
    verbs: tuple[Route, ...] = (
        ("POST", f"{_OF_WORKFLOW}/<ref>/stop", views.asking("STOP", read_stop)),
        ("POST", f"{_OF_WORKFLOW}/<ref>/pause", views.asking("PAUSE", _nothing)),
        ("POST", f"{_OF_WORKFLOW}/<ref>/cancel", views.asking("CANCEL", _nothing)),
        ("POST", f"{_OF_WORKFLOW}/<ref>/resume", views.asking("RUN", read_resume)),
        ("POST", f"{_OF_WORKFLOW}/<ref>/savepoint", views.asking("SAVEPOINT", read_savepoint)),
    )
    return blueprint(
        "long_tasks",
        "/api/workflow",
        (
            ("GET", _OF_WORKFLOW, views.listed),
            *verbs,
            ("DELETE", f"{_OF_WORKFLOW}/<ref>/savepoints/<name>", views.drop_savepoint),
        ),
    )


class _Held:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._checkpoints = front.engine.checkpoints

    def acquire(self, task_id: str) -> Answer:
        token = read_acquire(self._front.body())
        return json_answer(place_to_json(self._checkpoints.acquire(task_id, token)))

    def read(self, task_id: str) -> Answer:
        return json_answer(place_to_json(self._checkpoints.read(task_id)))

    def append(self, task_id: str, part: str) -> Answer:
        name, given = name_of(part, "part"), read_append(self._front.body())
        notes = self._checkpoints.append(
            task_id, given.token, name, given.notes, epoch=given.epoch, position=given.position
        )
        return json_answer({"notes": notes})

    def put(self, task_id: str, part: str) -> Answer:
        name, given = name_of(part, "part"), read_put(self._front.body())
        digest = self._checkpoints.put(
            task_id,
            given.token,
            name,
            given.record,
            expected=given.expected,
            epoch=given.epoch,
            retain=given.retain,
        )
        return json_answer({"epoch": given.epoch, "hash": digest})

    def part(self, task_id: str, part: str) -> Answer:
        name = name_of(part, "part")
        epoch = number(request.args, "epoch", -1, least=0, most=MOST_EPOCH)
        savepoint = text(request.args, "savepoint")
        if epoch >= 0:
            record = self._checkpoints.record(task_id, name, epoch)
            return json_answer({"epoch": epoch, "record": record})
        if savepoint:
            found = self._checkpoints.record(task_id, name, name_of(savepoint, "savepoint"))
            return json_answer({"savepoint": savepoint, "record": found})
        return json_answer(part_to_json(self._checkpoints.part(task_id, name)))


class _Operated:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._checkpoints = front.engine.checkpoints

    def listed(self, workflow_id: str) -> Answer:
        found = self._checkpoints.listed(workflow_id)
        return json_answer({ref: place_to_json(place) for ref, place in found.items()})

    def asking(
        self, action: str, read: Callable[[JsonObject], Asked]
    ) -> Callable[[str, str], Answer]:
        """Make the view of one verb."""

        def ask(workflow_id: str, ref: str) -> Answer:
            asked = read(self._front.body_object())
            number = self._checkpoints.ask(
                workflow_id,
                ref,
                action,
                savepoint=asked.savepoint,
                at_once=asked.now,
                part=asked.part,
                epoch=asked.epoch,
                rewind=asked.rewind,
            )
            return json_answer({"number": number})

        return ask

    def drop_savepoint(self, workflow_id: str, ref: str, name: str) -> Answer:
        self._checkpoints.drop_savepoint(workflow_id, ref, name_of(name, "name"))
        return empty()


def _nothing(_: JsonObject) -> Asked:
    return Asked()

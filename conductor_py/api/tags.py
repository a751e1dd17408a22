"""Tags of workflow and task definitions."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, Route, blueprint
from conductor_py.wire.policies import read_tags

_PLACES = (
    ("workflow", "/workflow/<name>/tags"),
    ("task", "/task/<name>/tags"),
    ("workflow", "/tags/workflow/<name>"),
)


def tags(front: Front) -> Blueprint:
    """Make the endpoints of tags below ``/api/metadata``."""
    kept = front.engine.tags

    def every() -> Answer:
        return json_answer(list(kept.all()))

    def reading(noun: str) -> Callable[..., Answer]:
        return lambda name: json_answer(list(kept.of(noun, name)))

    def changing(noun: str, change: Callable[..., None]) -> Callable[..., Answer]:
        def view(name: str) -> Answer:
            change(noun, name, read_tags(front.body()))
            return empty()

        return view

    routes: list[Route] = [("GET", "/tags", every)]
    for noun, path in _PLACES:
        routes += [
            ("GET", path, reading(noun)),
            ("POST", path, changing(noun, kept.add)),
            ("PUT", path, changing(noun, kept.set)),
            ("DELETE", path, changing(noun, kept.remove)),
        ]
    return blueprint("tags", "/api/metadata", routes)

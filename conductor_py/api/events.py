"""Event handlers: registered, listed; and what they did."""

from __future__ import annotations

from itertools import chain

from flask import Blueprint, abort, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.documents import Documents
from conductor_py.api.front import Front, blueprint
from conductor_py.api.warned import warned
from conductor_py.errors import Conflict
from conductor_py.wire.advice import handler_advice
from conductor_py.wire.event_handlers import read_event_handler, read_event_handlers
from conductor_py.wire.parameters import flag, number, text

_MAX_RECORDS = 1_000


def events(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/event``."""
    views = _Events(front)
    return blueprint(
        "events",
        "/api/event",
        (
            ("POST", "", views.register),
            ("POST", "/validate", views.validate),
            ("PUT", "", views.update),
            ("GET", "", views.all),
            ("GET", "/executions", views.executions),
            ("GET", "/<path:event>", views.of_event),
            ("DELETE", "/<path:name>", views.delete),
        ),
    )


class _Events:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._events = front.engine.events

    def register(self) -> Answer:
        handlers = read_event_handlers(self._front.body())
        known = set(self._events.handlers(lambda handler: str(handler["name"])))
        for handler in handlers:
            if handler.name in known:
                raise Conflict(f"EventHandler with name {handler.name} already exists!")
        for handler in handlers:
            self._events.register(handler)
        return empty()

    def validate(self) -> Answer:
        body = self._front.body()
        unusable = self._events.validate(read_event_handler(body))
        return warned(chain(handler_advice(body), unusable))

    def update(self) -> Answer:
        self._events.update(read_event_handler(self._front.body()))
        return empty()

    def delete(self, name: str) -> Answer:
        self._events.delete(name)
        return empty()

    def all(self) -> Answer:
        return json_answer(self._events.handlers(Documents().add))

    def of_event(self, event: str) -> Answer:
        if "/" in event and ":" not in event:
            abort(404)  # what is no event is a path that is not served
        active_only = flag(request.args, "activeOnly", default=True)
        told = Documents().add
        return json_answer(self._events.handlers(told, event, active_only=active_only))

    def executions(self) -> Answer:
        found = self._events.executions(
            event=text(request.args, "event"),
            name=text(request.args, "name"),
            size=number(request.args, "size", default=100, least=1, most=_MAX_RECORDS),
        )
        return json_answer(list(found))

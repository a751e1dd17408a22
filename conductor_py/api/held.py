"""How much of an answer may be held until its client has read it: stands at its route.

While too much is unread the gate asks: what holds little is done anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from flask import Flask
from werkzeug.exceptions import HTTPException


class Held(Enum):
    """Bytes of an answer."""

    LITTLE = auto()
    """An id, a number, nothing at all; or piece by piece, as fast as it is read."""
    WORK = auto()
    """What workers need to go on: a few megabytes at most, or one task."""
    MUCH = auto()
    """Anything."""


class Holding:
    """A view whose answer holds this."""

    __slots__ = ("_view", "held")

    def __init__(self, view: Callable[..., Any], held: Held) -> None:
        """``view`` answers one of Flask's requests."""
        self._view = view
        self.held = held

    def __call__(self, **segments: str) -> Any:  # noqa: ANN401 - whatever the view answers
        """Answer."""
        return self._view(**segments)


def little(view: Callable[..., Any]) -> Holding:
    """Say of a view that its answers are small, or go out in pieces."""
    return Holding(view, Held.LITTLE)


def work(view: Callable[..., Any]) -> Holding:
    """Say of a view that workers need its answers."""
    return Holding(view, Held.WORK)


def held_by(app: Flask) -> Callable[[str, str], Held]:
    """Make what tells by method and path, as the application finds its routes."""
    routes = app.url_map.bind("localhost")

    def held(method: str, path: str) -> Held:
        try:
            endpoint, _ = routes.match(path, method=method)
        except HTTPException:
            return Held.MUCH
        found: Held = getattr(app.view_functions[endpoint], "held", Held.MUCH)
        return found

    return held

"""What the HTTP front needs of event handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from conductor_py.api.facade.definitions import Told
from conductor_py.errors import Violation
from conductor_py.model.event_handlers import EventHandler
from conductor_py.model.json import JsonObject

_T = TypeVar("_T")


class Events(Protocol):
    """Event handlers: they arrive here checked by ``wire``."""

    def register(self, handler: EventHandler, /) -> None:
        """Store a new one; ``Conflict``, ``InvalidInput``."""

    def validate(self, handler: EventHandler, /) -> Sequence[Violation]:
        """Check one (``InvalidInput``), and list what will come to nothing."""

    def update(self, handler: EventHandler, /) -> None:
        """Replace one; ``NotFound``, ``InvalidInput``."""

    def delete(self, name: str, /) -> None:
        """Remove one; ``NotFound``."""

    def handlers(
        self, told: Told[_T], event: str | None = None, /, *, active_only: bool = False
    ) -> Sequence[_T]:
        """List what is told of them, of those of one event or of all."""

    def executions(self, *, event: str, name: str, size: int) -> Sequence[JsonObject]:
        """List what they did last, newest first."""

"""The client's calls about event handlers: register, list, remove, see what they did.

Handlers travel as the JSON objects that the server documents; nothing here knows their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.errors import Conflict
from conductor_py.sdk.document import encode
from conductor_py.sdk.server import objects_of, warnings_of

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class EventCalls:
    """Calls below ``/event``."""

    _server: Server

    def register_event_handler(self, handler: JsonObject, *, overwrite: bool = False) -> None:
        """Register a handler; raises ``Conflict`` when its name is taken and ``overwrite`` is
        false, ``InvalidInput``.
        """
        body = encode(handler)
        try:
            self._server.call("POST", "event", body=body, resend=False)
        except Conflict:
            if not overwrite:
                raise
            self._server.call("PUT", "event", body=body, resend=True)

    def validate_event_handler(self, handler: JsonObject) -> list[JsonObject]:
        """Check a handler, as ``validate_workflow`` does a workflow; raises ``InvalidInput``."""
        answer = self._server.call("POST", "event", "validate", body=encode(handler), resend=True)
        return warnings_of(answer)

    def list_event_handlers(
        self, event: str | None = None, *, active_only: bool = False
    ) -> list[JsonObject]:
        """Return the handlers of an event, or all."""
        if event is None:
            found = objects_of(self._server.call("GET", "event", resend=True))
            return [each for each in found if each.get("active") or not active_only]
        query = {"activeOnly": active_only}
        return objects_of(self._server.call("GET", "event", event, query=query, resend=True))

    def delete_event_handler(self, name: str) -> None:
        """Remove a handler; raises ``NotFound``."""
        self._server.call("DELETE", "event", name, resend=False)

    def list_event_executions(
        self, *, event: str | None = None, name: str | None = None, size: int = 100
    ) -> list[JsonObject]:
        """Return what handlers did last, newest first, those of an event or handler alone if
        given.
        """
        query = {"event": event, "name": name, "size": size}
        answer = self._server.call("GET", "event", "executions", query=query, resend=True)
        return objects_of(answer)

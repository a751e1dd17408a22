"""The client's calls that watch over executions: why one stands still, audits, quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.sdk.server import object_of

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class OversightCalls:
    """Calls of operators."""

    _server: Server

    def explain_workflow(self, workflow_id: str) -> JsonObject:
        """Return why an execution is not moving, and what to do about it; raises ``NotFound``."""
        return object_of(self._server.call("GET", "workflow", workflow_id, "why", resend=True))

    def audit_page(self, cursor: str = "", *, size: int | None = None) -> JsonObject:
        """Audit a page of the store; the next one begins at the ``cursor`` of the answer, until
        that is empty.
        """
        query = {"cursor": cursor or None, "size": size}
        return object_of(self._server.call("GET", "admin", "audit", query=query, resend=True))

    def audit_workflow(self, workflow_id: str) -> JsonObject:
        """Audit one execution; raises ``NotFound``."""
        return object_of(self._server.call("GET", "admin", "audit", workflow_id, resend=True))

    def list_quarantine(self, *, start: int = 0, size: int = 100) -> JsonObject:
        """List the executions in quarantine, longest failing first."""
        query = {"start": start, "size": size}
        return object_of(self._server.call("GET", "admin", "quarantine", query=query, resend=True))

    def retry_damaged(self, entry: str) -> JsonObject:
        """Let what could not be read be looked at now; raises ``NotFound``."""
        path = ("admin", "quarantine", "damaged", "retry")
        return object_of(self._server.call("POST", *path, query={"entry": entry}, resend=False))

    def drop_quarantined(self, name: str) -> JsonObject:
        """Terminate an execution in quarantine, or delete a damaged entry for ever; raises
        ``NotFound``.
        """
        if " " in name:
            path, query = ("admin", "quarantine", "damaged", "drop"), {"entry": name}
        else:
            path, query = ("admin", "quarantine", name, "drop"), {}
        return object_of(self._server.call("POST", *path, query=query, resend=False))

    def retry_quarantined(self, workflow_id: str | None = None, *, cursor: str = "") -> JsonObject:
        """Try an execution in quarantine again, or all of them; raises ``NotFound``. All of them
        for some seconds: go on at the ``cursor`` of the answer, until that is empty.
        """
        path = ("retry",) if workflow_id is None else (workflow_id, "retry")
        query = {"cursor": cursor or None}
        return object_of(
            self._server.call("POST", "admin", "quarantine", *path, query=query, resend=False)
        )

"""The client's calls about who is there: workers, and the servers with their shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.sdk.document import encode
from conductor_py.sdk.server import object_of, objects_of

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class WorkerCalls:
    """Calls of ``/workers`` and ``/admin/servers``."""

    _server: Server

    def list_workers(self, task_type: str | None = None) -> list[JsonObject]:
        """Return the workers that are there, of one task type or all: what they take, how busy they
        are, when they were last seen.
        """
        query = {"taskType": task_type}
        return objects_of(self._server.call("GET", "workers", query=query, resend=True))

    def report_worker(self, sign: JsonObject, *, timeout_s: float | None = None) -> JsonObject:
        """Tell that a worker is there; returns ``leaseSeconds``, for how long that counts. Sent
        once.
        """
        answer = self._server.call(
            "POST", "workers", body=encode(sign), resend=False, timeout_s=timeout_s
        )
        return object_of(answer)

    def worker_leaves(self, worker_id: str, *, timeout_s: float | None = None) -> None:
        """Tell that a worker stops. Sent once."""
        query = {"workerId": worker_id}
        self._server.call("DELETE", "workers", query=query, resend=False, timeout_s=timeout_s)

    def list_servers(self) -> list[JsonObject]:
        """Return the servers that are there, each with its shards and their terms."""
        return objects_of(self._server.call("GET", "admin", "servers", resend=True))

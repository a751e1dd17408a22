"""Tells the server that this worker is there: what it takes, how busy it is, where it runs.

A small call each third of the time for which the server lists a worker, from a thread of its own,
so that a worker all of whose slots are busy stays listed and no poll carries more. A server that
does not know the call, such as Conductor's own, is not asked again. Nothing else depends on it.
"""

from __future__ import annotations

import logging
import threading
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Protocol

from conductor_py.errors import ConductorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.clock import Clock

_log = logging.getLogger(__name__)

_AGAIN_MS = 10_000
_SHORTEST_MS = 1_000
_PATIENCE_S = 2.0
_FAREWELL_S = 1.0


class PresenceServer(Protocol):
    """The part of the client that tells."""

    def report_worker(self, sign: JsonObject, *, timeout_s: float | None = None) -> JsonObject:
        """As ``Client.report_worker``."""
        ...

    def worker_leaves(self, worker_id: str, *, timeout_s: float | None = None) -> None:
        """As ``Client.worker_leaves``."""
        ...


class Presence:
    """The signs of life of one worker."""

    def __init__(
        self,
        server: PresenceServer,
        worker_id: str,
        describe: Callable[[], JsonObject],
        clock: Clock,
    ) -> None:
        """``describe`` gives the sign, without the worker's id."""
        self._server = server
        self._worker_id = worker_id
        self._describe = describe
        self._clock = clock
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._listed = False

    def start(self) -> None:
        """Tell it now and again, in a thread."""
        self._thread = threading.Thread(target=self._run, name="conductor-presence", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Tell it no more, and say farewell; a server that is away is not waited for."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_FAREWELL_S)
        if not self._listed:
            return
        try:
            self._server.worker_leaves(self._worker_id, timeout_s=_FAREWELL_S)
        except ConductorError as error:
            extra = {"action": "farewell_failed", "error": error.message}
            _log.info("the server lists this worker a little longer", extra=extra)

    def tell(self) -> int:
        """Tell it once; returns in how many ms to tell it again, 0: not to this server."""
        try:
            sign = {**self._describe(), "workerId": self._worker_id}
            answer = self._server.report_worker(sign, timeout_s=_PATIENCE_S)
        except ConductorError as error:
            extra = {"action": "presence_not_told", "error": error.message}
            _log.debug("the server was not told of this worker", extra=extra)
            return _AGAIN_MS if error.retryable or self._listed else 0
        lease_s = answer.get("leaseSeconds")
        if not isinstance(lease_s, int):
            return 0
        self._listed = True
        return max(_SHORTEST_MS, lease_s * 1000 // 3)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pause_ms = self.tell()
            except Exception:  # noqa: BLE001 - a worker works, told or not
                _log.exception("telling of this worker failed", extra={"action": "presence_failed"})
                pause_ms = _AGAIN_MS
            if not pause_ms:
                return
            self._clock.wait(self._stopping, pause_ms)


@cache
def sdk_name() -> str:
    """Name this SDK and its version."""
    try:
        return f"conductor-py/{installed_version('conductor-py')}"
    except PackageNotFoundError:
        return "conductor-py"

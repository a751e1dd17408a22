"""The client: one method per endpoint of the server, JSON objects in and out, typed errors.

It holds connections and settings and nothing else; threads may share one client.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, Self

from conductor_py.sdk.catalog_calls import CatalogCalls
from conductor_py.sdk.checkpoint_calls import CheckpointCalls
from conductor_py.sdk.clock import SystemClock
from conductor_py.sdk.definition_calls import DefinitionCalls
from conductor_py.sdk.event_calls import EventCalls
from conductor_py.sdk.operation_calls import OperationCalls
from conductor_py.sdk.oversight_calls import OversightCalls
from conductor_py.sdk.payloads import PayloadKind, PayloadTransfer
from conductor_py.sdk.schedule_calls import ScheduleCalls
from conductor_py.sdk.server import Server, object_of, text_of
from conductor_py.sdk.task_calls import TaskCalls
from conductor_py.sdk.transport import ANSWER_S, MOST_BYTES
from conductor_py.sdk.waiting_calls import WaitingCalls
from conductor_py.sdk.worker_calls import WorkerCalls

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.backoff import Backoff
    from conductor_py.sdk.clock import Clock

_DEFAULT_URL = "http://127.0.0.1:8080/api"
_URL_VARIABLE = "CONDUCTOR_SERVER_URL"
_BYTES_PER_KB = 1024


_UNWELL = 503


class Client(
    WaitingCalls,
    OperationCalls,
    TaskCalls,
    CheckpointCalls,
    WorkerCalls,
    DefinitionCalls,
    CatalogCalls,
    ScheduleCalls,
    EventCalls,
    OversightCalls,
):
    """A Conductor server, as methods.

    A server that is away raises ``StoreUnavailable``; calls whose repeat is harmless are tried
    again first.
    """

    def __init__(
        self,
        server_url: str | None = None,
        *,
        timeout_s: float = 30.0,
        answer_timeout_s: float = ANSWER_S,
        answer_limit_kb: int = MOST_BYTES // _BYTES_PER_KB,
        headers: Mapping[str, str] | None = None,
        workflow_input_threshold_kb: int = 5120,
        task_output_threshold_kb: int = 3072,
        backoff: Backoff | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Remember the settings; the first call connects.

        ``server_url`` ends in ``/api``; without it $CONDUCTOR_SERVER_URL counts, else the local
        default. ``timeout_s`` bounds each wait for the server, ``answer_timeout_s`` all of an
        answer or a download from its head to its end. One above ``answer_limit_kb`` is not read,
        and raises ``AnswerTooLarge``. ``headers`` go with every request to the server (such as
        the token of a gateway), never to payload storage. A payload above its threshold is
        uploaded instead of sent.
        """
        url = server_url or os.environ.get(_URL_VARIABLE) or _DEFAULT_URL
        self._timeout_s = timeout_s
        self._workflow_input_threshold_bytes = workflow_input_threshold_kb * _BYTES_PER_KB
        self._task_output_threshold_bytes = task_output_threshold_kb * _BYTES_PER_KB
        self._clock = clock or SystemClock()
        self._server = Server(
            url,
            timeout_s=timeout_s,
            headers=headers or {},
            clock=self._clock,
            backoff=backoff,
            answer_timeout_s=answer_timeout_s,
            most_bytes=answer_limit_kb * _BYTES_PER_KB,
        )
        self._payloads = PayloadTransfer(
            self._server, timeout_s=timeout_s, answer_timeout_s=answer_timeout_s
        )

    @property
    def timeout_s(self) -> float:
        """How long each wait for the server may take, in seconds."""
        return self._timeout_s

    @property
    def server_url(self) -> str:
        """The server's base URL, without a slash at its end."""
        return self._server.url

    def external_storage_location(
        self, kind: PayloadKind | str, operation: Literal["READ", "WRITE"], path: str = ""
    ) -> JsonObject:
        """Return a signed ``uri`` and the ``path`` of a payload; the server chooses the path of a
        WRITE.
        """
        return self._payloads.location(PayloadKind(kind), operation, path)

    def download_payload(self, kind: PayloadKind | str, path: str) -> JsonObject:
        """Return a payload that an execution or task names by its external storage path."""
        return self._payloads.download(PayloadKind(kind), path)

    def health(self) -> JsonObject:
        """Return the server's own account of its health, also when it is not well: ``healthy``, and
        for each store one of ``healthResults``.
        """
        return object_of(self._server.call("GET", "health", resend=True, accept=_UNWELL))

    def version(self) -> str:
        """Return the server's version."""
        return text_of(self._server.call("GET", "version", resend=True))

    def close(self) -> None:
        """Close the idle connections; a later call connects again."""
        self._server.transport.close()

    def __enter__(self) -> Self:
        """Close the connections at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

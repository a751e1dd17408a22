"""HTTP: one request, its answer the output of the task."""

from __future__ import annotations

import socket
import ssl
import threading
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Final, Self
from urllib.parse import urljoin

from urllib3.connection import HTTPConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.response import HTTPResponse

from conductor_py.model.status import TaskStatus
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.systemtasks.addresses import AddressRefused, AddressRules
from conductor_py.systemtasks.connection import abort, connect
from conductor_py.systemtasks.http_request import (
    HttpRequest,
    UnusableRequest,
    read_request,
    read_url,
)
from conductor_py.systemtasks.http_response import HttpResponse

_PIECE: Final = 64 * 1024
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS: Final = 10
_OF_A_HOST: Final = frozenset({"authorization", "cookie", "host", "proxy-authorization"})
_OF_A_BODY: Final = frozenset({"content-type", "content-encoding", "content-language"})
_FAILURES: Final = (AddressRefused, UnusableRequest, HTTPError, HTTPException, OSError, ValueError)


class _TooLarge(Exception):
    """The answer is larger than allowed."""


class _Late(Exception):
    """The whole call takes longer than allowed, or does not count any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """``connect_ms`` and ``read_ms`` hold where the input says nothing; ``total_ms`` bounds a call
    with all its redirects, ``response_bytes`` an unpacked body.
    """

    connect_ms: int = 3_000
    read_ms: int = 3_000
    total_ms: int = 300_000
    response_bytes: int = 10 * 1024 * 1024


class HttpTask:
    """``SystemTask`` HTTP."""

    task_type = "HTTP"

    def __init__(self, rules: AddressRules, limits: HttpLimits | None = None) -> None:
        """Go where ``rules`` allow."""
        self._rules = rules
        self._limits = limits or HttpLimits()

    def execute(self, call: SystemCall) -> SystemResult:
        limits = self._limits
        try:
            request = read_request(call.input, connect_ms=limits.connect_ms, read_ms=limits.read_ms)
        except UnusableRequest as error:
            return _failed(str(error))
        exchange = _Exchange(request, self._rules, limits, call.cancelled)
        try:
            with exchange:
                response = exchange.run()
        except _TooLarge:
            reason = f"The answer is larger than the limit of {limits.response_bytes} bytes"
            return _failed(reason, TaskStatus.FAILED_WITH_TERMINAL_ERROR)
        except AddressRefused as refused:
            return _failed(str(refused), TaskStatus.FAILED_WITH_TERMINAL_ERROR)
        except _Late:
            return _failed(f"The whole call took longer than {limits.total_ms} ms")
        except _FAILURES as error:
            return _failed(_sentence(exchange.request, error))
        return _result(response, call)

    def close(self) -> None:
        """Nothing is kept between calls."""


def _result(response: HttpResponse, call: SystemCall) -> SystemResult:
    if response.successful:
        status = TaskStatus.IN_PROGRESS if call.async_complete else TaskStatus.COMPLETED
        return SystemResult(status=status, output=response.to_json())
    if response.status >= 400:
        return _failed(response.to_sentence())
    reason = f"The answer is no success: {response.to_sentence()}"
    return SystemResult(status=TaskStatus.FAILED, output=response.to_json(), reason=reason)


def _failed(reason: str, status: TaskStatus = TaskStatus.FAILED) -> SystemResult:
    return SystemResult(status=status, output={"response": reason}, reason=reason)


@dataclass(slots=True)
class _Exchange:
    """One call: the request, what it is redirected to, and the watch over its time."""

    request: HttpRequest
    rules: AddressRules
    limits: HttpLimits
    cancelled: threading.Event
    connection: HTTPConnection | None = None
    wire: socket.socket | None = None
    late: threading.Event = field(default_factory=threading.Event)
    timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        self.timer = threading.Timer(self.limits.total_ms / 1000, self._end)
        self.timer.daemon = True
        self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self._close()

    def run(self) -> HttpResponse:
        """Send, and follow where it is sent to."""
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                response = self._ask()
                following = _redirected(self.request, response)
                if following is None:
                    return response
                self.request = following
        except Exception:
            # An aborted connection fails in its own way, whatever that is.
            self._check()
            raise
        raise HTTPException(f"more than {_MAX_REDIRECTS} redirects")

    def _ask(self) -> HttpResponse:
        request, url = self.request, self.request.url
        self._check()
        self._close()
        connection = self.connection = connect(
            url.scheme or "http",
            (url.host or "").strip("[]"),
            url.port,
            rules=self.rules,
            connect_s=request.connect_s,
        )
        # The connection lets go of it when the answer begins.
        self.wire = connection.sock
        self._check()
        connection.timeout = request.read_s
        connection.request(
            request.method,
            url.request_uri,
            body=request.body,
            headers=request.headers,
            preload_content=False,
        )
        response = connection.getresponse()
        body = self._read(response)
        names = response.headers
        return HttpResponse(
            status=response.status,
            reason=response.reason or "",
            headers={name: list(names.getlist(name)) for name in names},
            body=body,
        )

    def _read(self, response: HTTPResponse) -> bytes:
        pieces, size = [], 0
        while piece := response.read(_PIECE, decode_content=True):
            self._check()
            pieces.append(piece)
            size += len(piece)
            if size > self.limits.response_bytes:
                raise _TooLarge
        self._check()
        return b"".join(pieces)

    def _check(self) -> None:
        if self.late.is_set() or self.cancelled.is_set():
            raise _Late

    def _end(self) -> None:
        self.late.set()
        if self.wire is not None:
            abort(self.wire)

    def _close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _redirected(request: HttpRequest, response: HttpResponse) -> HttpRequest | None:
    """The request to follow a redirect with; ``None`` when the answer is none that is followed."""
    target = response.header("location")
    if response.status not in _REDIRECTS or not target:
        return None
    try:
        url = read_url(urljoin(request.url.url, target))
    except (UnusableRequest, ValueError):
        return None
    dropped: frozenset[str] = frozenset()
    if _origin(url) != _origin(request.url):
        dropped |= _OF_A_HOST
    method, body = request.method, request.body
    is_changed = response.status in {301, 302} and method == "POST"
    if is_changed or (response.status == 303 and method != "HEAD"):
        method, body = "GET", None
        dropped |= _OF_A_BODY
    headers = {name: v for name, v in request.headers.items() if name.lower() not in dropped}
    return replace(request, method=method, url=url, headers=headers, body=body)


def _origin(url: object) -> tuple[object, ...]:
    scheme, host = getattr(url, "scheme", None), getattr(url, "host", None)
    return scheme, host, getattr(url, "port", None) or {"http": 80, "https": 443}.get(str(scheme))


def _sentence(request: HttpRequest, error: Exception) -> str:
    """Say what went wrong, and nothing of the request but its host."""
    where = request.where
    match error:
        case NameResolutionError():
            return f"The host {where} is not known"
        case NewConnectionError():
            return f"No connection to {where}: {_cause(error)}"
        case ConnectTimeoutError():
            return f"No connection to {where} within {request.connect_s * 1000:.0f} ms"
        case ssl.SSLError() | SSLError():
            return f"No TLS connection to {where}: {_cause(error)}"
        case ReadTimeoutError() | TimeoutError():
            return f"No answer from {where} within {request.read_s * 1000:.0f} ms"
        case HTTPException() if "redirects" in str(error):
            return f"The answer of {where} is no success: {error}"
        case _:
            return f"The connection to {where} broke: {type(error).__name__}"


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    verified = getattr(cause, "verify_message", None)
    return str(verified or getattr(cause, "strerror", None) or type(cause).__name__)

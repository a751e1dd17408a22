"""HTTP: one request, its answer the output of the task."""

from __future__ import annotations

import contextlib
import ssl
from dataclasses import replace
from http.client import HTTPException
from typing import Final
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

from conductor_py.errors import Overloaded, PayloadTooLarge
from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRefused, AddressRules
from conductor_py.outbound.connection import connect
from conductor_py.outbound.deadline import Deadline, Late
from conductor_py.outbound.lookup import LookupLate
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.records import dataclass
from conductor_py.systemtasks.http_request import (
    HttpRequest,
    UnusableRequest,
    read_request,
    read_url,
)
from conductor_py.systemtasks.http_response import HttpResponse
from conductor_py.wire.outside import OutsideJson

_PIECE: Final = 64 * 1024
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS: Final = 10
#: All that another origin is told of the request that led to it.
_FOR_ANYBODY: Final = frozenset({"accept", "accept-language", "user-agent"})
_OF_A_BODY: Final = frozenset({"content-type", "content-encoding", "content-language"})
_FAILURES: Final = (AddressRefused, UnusableRequest, HTTPError, HTTPException, OSError, ValueError)


class _TooLarge(Exception):
    """The answer is larger than allowed."""


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

    def __init__(
        self,
        rules: AddressRules,
        limits: HttpLimits | None = None,
        outside: OutsideJson | None = None,
    ) -> None:
        """Go where ``rules`` allow, and read answers by ``outside``."""
        self._rules = rules
        self._outside = outside or OutsideJson()
        self._limits = limits or HttpLimits()

    def execute(self, call: SystemCall) -> SystemResult:
        limits = self._limits
        try:
            request = read_request(call.input, connect_ms=limits.connect_ms, read_ms=limits.read_ms)
        except UnusableRequest as error:
            return _failed(str(error))
        deadline = Deadline(limits.total_ms, call.cancelled)
        exchange = _Exchange(request, self._rules, limits, deadline)
        try:
            with deadline:
                response = exchange.run()
        except _TooLarge:
            reason = f"The answer is larger than the limit of {limits.response_bytes} bytes"
            return _failed(reason, TaskStatus.FAILED_WITH_TERMINAL_ERROR)
        except AddressRefused as refused:
            return _failed(str(refused), TaskStatus.FAILED_WITH_TERMINAL_ERROR)
        except Late:
            return _failed(f"The whole call took longer than {limits.total_ms} ms")
        except _FAILURES as error:
            return _failed(_sentence(exchange.request, error))
        try:
            return _result(response, call, self._outside)
        except PayloadTooLarge as refused:
            return _failed(refused.message, TaskStatus.FAILED_WITH_TERMINAL_ERROR)
        except Overloaded:
            return _failed("The answer is large, and others were dealt with for too long")

    def close(self) -> None:
        """Nothing is kept between calls."""


def _result(response: HttpResponse, call: SystemCall, outside: OutsideJson) -> SystemResult:
    if response.successful:
        status = TaskStatus.IN_PROGRESS if call.async_complete else TaskStatus.COMPLETED
        return SystemResult(status=status, output=response.to_json(outside))
    if response.status >= 400:
        return _failed(response.to_sentence())
    reason = f"The answer is no success: {response.to_sentence()}"
    return SystemResult(status=TaskStatus.FAILED, output=response.to_json(outside), reason=reason)


def _failed(reason: str, status: TaskStatus = TaskStatus.FAILED) -> SystemResult:
    return SystemResult(status=status, output={"response": reason}, reason=reason)


@dataclass(slots=True)
class _Exchange:
    """One call: the request, and what it is redirected to."""

    request: HttpRequest
    rules: AddressRules
    limits: HttpLimits
    deadline: Deadline

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
            self.deadline.check()
            raise
        raise HTTPException(f"more than {_MAX_REDIRECTS} redirects")

    def _ask(self) -> HttpResponse:
        connection = connect(
            self.request.url,
            rules=self.rules,
            deadline=self.deadline,
            connect_s=self.request.connect_s,
        )
        with contextlib.closing(connection):
            return self._answer(connection)

    def _answer(self, connection: HTTPConnection) -> HttpResponse:
        request, url = self.request, self.request.url
        self.deadline.check()
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
            self.deadline.check()
            pieces.append(piece)
            size += len(piece)
            if size > self.limits.response_bytes:
                raise _TooLarge
        self.deadline.check()
        return b"".join(pieces)


def _redirected(request: HttpRequest, response: HttpResponse) -> HttpRequest | None:
    """The request to follow a redirect with; ``None`` when the answer is none that is followed."""
    target = response.header("location")
    if response.status not in _REDIRECTS or not target:
        return None
    try:
        url = read_url(urljoin(request.url.url, target))
    except (UnusableRequest, ValueError):
        return None
    method, body = request.method, request.body
    headers = request.headers
    is_changed = response.status in {301, 302} and method == "POST"
    if is_changed or (response.status == 303 and method != "HEAD"):
        method, body = "GET", None
        headers = {name: v for name, v in headers.items() if name.lower() not in _OF_A_BODY}
    if _origin(url) != _origin(request.url):
        if body is not None:
            # Half a request would be none that anybody wanted, and the whole is not for others.
            return None
        headers = {name: v for name, v in headers.items() if name.lower() in _FOR_ANYBODY}
    return replace(request, method=method, url=url, headers=headers, body=body)


def _origin(url: object) -> tuple[object, ...]:
    scheme, host = getattr(url, "scheme", None), getattr(url, "host", None)
    return scheme, host, getattr(url, "port", None) or {"http": 80, "https": 443}.get(str(scheme))


def _sentence(request: HttpRequest, error: Exception) -> str:
    """Say what went wrong, and nothing of the request but its host."""
    where = request.where
    match error:
        case LookupLate():
            return f"The host {where} was not found within {request.connect_s * 1000:.0f} ms"
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

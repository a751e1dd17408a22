"""HTTP on the standard library: a pool of kept-alive connections, one exchange at a time on each.

It sends a request exactly once. Whether a request may be sent again is the caller's knowledge, not
ours. A pooled connection that the server has closed meanwhile is recognised before use, so that a
request which must not be repeated is not lost to it. Errors name the server, never a URL with its
query.
"""

from __future__ import annotations

import os
import selectors
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import gaierror
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.records import dataclass
from conductor_py.sdk.clock import SystemClock
from conductor_py.sdk.reading import Patience, body_of, patient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conductor_py.sdk.clock import Clock

MOST_BYTES = 256 << 20
"""Bytes of an answer that are taken, unless somebody says otherwise."""

ANSWER_S = 300.0
"""Seconds that an answer that has begun may take to its end."""

_IDLE_PER_ORIGIN = 32
_OK = 200
_REDIRECTION = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return _OK <= self.status < _REDIRECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    scheme: str
    host: str
    port: int | None

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    def connection(self, timeout_s: float) -> HTTPConnection:
        kind = HTTPSConnection if self.scheme == "https" else HTTPConnection
        return kind(self.host, self.port, timeout=timeout_s)


class Transport:
    """Kept-alive connections to any number of servers; safe to use from many threads."""

    def __init__(self, *, most_bytes: int = MOST_BYTES, clock: Clock | None = None) -> None:
        """Open nothing yet. An answer has at most ``most_bytes``."""
        self._most_bytes = most_bytes
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._idle: dict[_Origin, list[HTTPConnection]] = {}
        self._pid = os.getpid()

    def exchange(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout_s: float,
        answer_s: float = ANSWER_S,
    ) -> Answer:
        """Send the request once and return the whole answer, whatever its status.

        ``timeout_s`` bounds the connecting, the wait for the answer's head and each for more of it,
        ``answer_s`` all of its body. Raises ``StoreUnavailable`` when no complete answer came, and
        ``AnswerTooLarge``; the request may then have been carried out or not.
        """
        origin, target = _split(url)
        connection = self._take(origin, timeout_s)
        patience = Patience(self._clock, timeout_s)
        connection.response_class = patient(patience)  # type: ignore[assignment]  # it is called
        reusable = False
        try:
            whole = _send(connection, method, target, body, headers)
            patience.begin(timeout_s)
            response = connection.getresponse()
            patience.begin(answer_s)
            content = body_of(response, self._most_bytes, origin)
            named = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(status=response.status, headers=named, body=content)
            reusable = whole and not response.will_close
        except ConnectionRefusedError as error:
            message = f"nothing listens at {origin}"
            raise StoreUnavailable(message) from error
        except TimeoutError as error:
            limits = f"{timeout_s:g} s, to the end within {answer_s:g} s"
            message = f"{origin} did not answer within {limits}"
            raise StoreUnavailable(message) from error
        except gaierror as error:
            message = f"the name in {origin} is not known: {error.strerror}"
            raise StoreUnavailable(message) from error
        except (OSError, HTTPException) as error:
            message = f"{origin} did not answer: {_said(error)}"
            raise StoreUnavailable(message) from error
        finally:
            if reusable:
                self._give_back(origin, connection)
            else:
                connection.close()
        return answer

    def close(self) -> None:
        """Close the idle connections; the transport stays usable."""
        with self._lock:
            idle = [connection for pooled in self._idle.values() for connection in pooled]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _take(self, origin: _Origin, timeout_s: float) -> HTTPConnection:
        while (connection := self._pop(origin)) is not None:
            if connection.sock is not None and not _is_readable(connection):
                connection.timeout = timeout_s
                connection.sock.settimeout(timeout_s)
                return connection
            connection.close()
        return origin.connection(timeout_s)

    def _pop(self, origin: _Origin) -> HTTPConnection | None:
        with self._lock:
            if self._pid != os.getpid():  # a forked child must not talk on its parent's sockets
                self._idle = {}
                self._pid = os.getpid()
            pooled = self._idle.get(origin)
            return pooled.pop() if pooled else None

    def _give_back(self, origin: _Origin, connection: HTTPConnection) -> None:
        with self._lock:
            pooled = self._idle.setdefault(origin, [])
            if len(pooled) < _IDLE_PER_ORIGIN:
                pooled.append(connection)
                return
        connection.close()


def _said(error: OSError | HTTPException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _split(url: str) -> tuple[_Origin, str]:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = "a server URL must begin with http:// or https:// and name a host"
        raise ConfigurationError(message)
    target = parts.path or "/"
    if parts.query:
        target = f"{target}?{parts.query}"
    return _Origin(scheme=parts.scheme, host=parts.hostname, port=parts.port), target


def _send(
    connection: HTTPConnection,
    method: str,
    target: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> bool:
    """Tell whether all was sent: a server may answer (too large) before it has read the whole."""
    try:
        connection.request(method, target, body=body, headers=dict(headers))
    except BrokenPipeError:
        return False
    return True


def _is_readable(connection: HTTPConnection) -> bool:
    """An idle connection with something to read was closed by the server, or is out of step."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(timeout=0))

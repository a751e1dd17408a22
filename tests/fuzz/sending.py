"""Sends bytes to the server and reads what comes back, over one connection that is kept."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from typing import Final

from tests.fuzz.findings import LONGEST_S, Answer
from tests.fuzz.framing import Raw
from tests.fuzz.requests import Request

_PATIENCE_S: Final = LONGEST_S + 5
_RAW_S: Final = 0.5
_MOST_HELD: Final = 8
_RAW_READ: Final = 65_536


class Line:
    """A client's way to a server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._held: list[socket.socket] = []

    @property
    def host(self) -> str:
        """As it stands in `Host`."""
        return f"127.0.0.1:{self._port}"

    def close(self) -> None:
        """Let go of all connections."""
        self._drop()
        for each in self._held:
            each.close()

    def send(self, request: Request) -> Answer:
        """Exchange one request; on a kept connection that was closed meanwhile once more."""
        began, wire = time.monotonic(), request.bytes(self.host)
        kept = self._socket is not None
        answer = self._exchange(request.method, wire, began)
        if kept and not answer.status and time.monotonic() - began < 1:
            answer = self._exchange(request.method, wire, began)
        return answer

    def _exchange(self, method: str, wire: bytes, began: float) -> Answer:
        if self._socket is None:
            try:
                self._socket = socket.create_connection(("127.0.0.1", self._port), _PATIENCE_S)
            except OSError:
                return _answer(began)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # who refuses a body may answer before its end
            self._socket.sendall(wire)
        response = http.client.HTTPResponse(self._socket, method=method)
        try:
            response.begin()
            body = response.read()
        except (OSError, http.client.HTTPException, ValueError):
            self._drop()
            return _answer(began)
        headers = {name.lower(): value for name, value in response.getheaders()}
        status, closes = response.status, response.will_close
        response.close()
        if closes:
            self._drop()
        return _answer(began, status, headers, body)

    def send_raw(self, raw: Raw) -> Answer:
        """Send bytes on a connection of their own, and look for an answer for a moment."""
        began, found = time.monotonic(), b""
        made = socket.create_connection(("127.0.0.1", self._port), _PATIENCE_S)
        with contextlib.suppress(OSError):
            made.sendall(raw.sent)
        if raw.held:
            self._held.append(made)
            for each in self._held[:-_MOST_HELD]:
                each.close()
            del self._held[:-_MOST_HELD]
            return _answer(began)
        made.settimeout(_RAW_S)
        with contextlib.suppress(OSError):
            while len(found) < _RAW_READ and (part := made.recv(_RAW_READ)):
                found += part
        made.close()
        return _parsed(began, found)

    def leave(self, request: Request) -> Answer:
        """Send a request and be gone before its answer."""
        began = time.monotonic()
        with contextlib.suppress(OSError):
            made = socket.create_connection(("127.0.0.1", self._port), _PATIENCE_S)
            made.sendall(request.bytes(self.host))
            made.close()
        return _answer(began)

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _parsed(began: float, found: bytes) -> Answer:
    """The worst of all answers in the bytes."""
    worst = _answer(began)
    for part in found.split(b"HTTP/1.")[1:]:
        head, _, body = part.partition(b"\r\n\r\n")
        words = head.split(b" ", 2)
        status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        if status >= worst.status:
            lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            worst = _answer(began, status, headers, body)
    return worst


def _answer(
    began: float, status: int = 0, headers: dict[str, str] | None = None, body: bytes = b""
) -> Answer:
    seconds = time.monotonic() - began
    return Answer(status=status, headers=headers or {}, body=body, seconds=seconds)

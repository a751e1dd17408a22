"""Reading an answer whose sender may mean harm: so many bytes, for so long, and no more.

A socket's timeout bounds each wait, so that one byte a wait goes on for ever; and an answer is held
whole. So each wait ends at the deadline of all, too, and what is larger than allowed is not read.
"""

from __future__ import annotations

import io
from http.client import HTTPResponse
from typing import TYPE_CHECKING, cast

from conductor_py.records import dataclass
from conductor_py.sdk.errors import AnswerTooLarge

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

    from conductor_py.sdk.clock import Clock

_PIECE = 1 << 20


@dataclass(slots=True)
class Patience:
    """How long to wait: for the next bytes ``timeout_s``, for all of them until an instant."""

    clock: Clock
    timeout_s: float
    until_ms: float = 0.0

    def begin(self, all_s: float) -> None:
        """Wait ``all_s`` from now on."""
        self.until_ms = self.clock.monotonic_ms() + 1000 * all_s

    def left_s(self) -> float:
        """How long the next wait may be; ``TimeoutError``: the time of all is over."""
        left_ms = self.until_ms - self.clock.monotonic_ms()
        if left_ms <= 0:
            raise TimeoutError
        return min(self.timeout_s, left_ms / 1000)


def patient(patience: Patience) -> Callable[..., HTTPResponse]:
    """Make what a connection makes its responses with, so that they wait no longer than this."""

    def response(sock: socket.socket, **given: object) -> HTTPResponse:
        opener = cast("socket.socket", _Opener(sock, patience))
        return HTTPResponse(opener, **given)  # type: ignore[arg-type]  # as http.client has it

    return response


def body_of(response: HTTPResponse, most: int, origin: object) -> bytes:
    """Read the body; ``AnswerTooLarge`` when it has more than ``most`` bytes."""
    size = response.length
    if size is None:
        pieces = []
        size = 0
        while size <= most and (piece := response.read(min(_PIECE, most - size + 1))):
            pieces.append(piece)
            size += len(piece)
        body = b"".join(pieces) if size <= most else b""
    else:
        body = response.read() if size <= most else b""
    if size > most:
        message = f"{origin} answered with more than {most} bytes, which this client takes at most"
        raise AnswerTooLarge(message, status=response.status)
    return body


class _Opener:
    """What a response needs of a socket: a file to read."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        self._sock = sock
        self._patience = patience

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_Patient(self._sock, self._patience))


class _Patient(io.RawIOBase):
    """A socket as a file whose reads end in time."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)  # keeps the connection open, as its files do
        self._patience = patience

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        self._sock.settimeout(self._patience.left_s())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()

"""Bodies on their way in: their places, their bytes, and how long each has made no progress.

The web server hands a request over when it has its head, and reading the body blocks the thread
until its client has sent it. So bodies have places of their own, with a thread each, beside those
of requests that have arrived; what they announce in bytes is bounded, too. A body is read piece by
piece, and each piece has the same time: what is late stands in ``late`` until somebody cuts its
connection, which ends the read. When half of the places or bytes are taken the time is short.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

PIECE: Final = 64 * 1024
"""Bytes that must arrive within the time that a piece has, or the rest of a body that has less."""

HURRIED_S: Final = 2.0
"""The time of a piece while places or bytes are scarce."""


def has_body(environ: Mapping[str, Any]) -> bool:
    """Whether a WSGI request announces a body."""
    return (
        environ.get("CONTENT_LENGTH", "0") not in {"", "0"} or "HTTP_TRANSFER_ENCODING" in environ
    )


class Bodies:
    """The bodies of one process that are being read. Safe for threads."""

    def __init__(
        self,
        *,
        places: int,
        most_bytes: int,
        piece_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``places`` bodies may be read at once, of ``most_bytes`` together as they announce."""
        self._places = places
        self._most_bytes = most_bytes
        self._piece_s = piece_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._taken = self._bytes = 0
        self._pieces: dict[int, tuple[float, str]] = {}
        self._answered: dict[int, float] = {}

    def take(self, announced: int) -> bool:
        """Have a place for a body of so many bytes; whether there was one."""
        with self._lock:
            if self._taken >= self._places or self._bytes + announced > self._most_bytes:
                return False
            self._taken += 1
            self._bytes += announced
            return True

    def give_back(self, announced: int) -> None:
        """Leave the place again."""
        with self._lock:
            self._taken -= 1
            self._bytes -= announced

    @contextmanager
    def piece(self, request: int, client: str) -> Iterator[None]:
        """Wait for a piece of a request from this address."""
        self.answered(request)
        self._pieces[request] = self._monotonic(), client
        try:
            yield
        finally:
            del self._pieces[request]
            self.answer(request)

    def answer(self, request: int) -> None:
        """Begin to answer what has arrived of a request: it is not late meanwhile."""
        self._answered[request] = self._monotonic()

    def answered(self, request: int) -> None:
        """Be done with it."""
        self._answered.pop(request, None)

    @property
    def piece_s(self) -> float:
        """How long a piece may take now."""
        is_crowded = 2 * self._taken > self._places or 2 * self._bytes > self._most_bytes
        return min(self._piece_s, HURRIED_S) if is_crowded else self._piece_s

    def late(self) -> frozenset[str]:
        """The addresses whose pieces are late."""
        since = self._monotonic() - self.piece_s
        return frozenset(one for begun, one in self._pieces.copy().values() if begun <= since)

    def answering(self) -> tuple[float, ...]:
        """When those arrived that are being answered, in seconds of the monotonic clock."""
        return tuple(self._answered.copy().values())

    def counts(self) -> Mapping[str, int]:
        """How many are being read, and the bytes that they announce."""
        with self._lock:
            return {"reading": self._taken, "bytes": self._bytes}

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is waited for."""
        return not self._pieces


class Arriving:
    """A body that is read piece by piece, as a file."""

    __slots__ = ("_bodies", "_client", "_first", "_request", "_stream")

    def __init__(self, environ: Mapping[str, Any], bodies: Bodies, request: int) -> None:
        """Read the body of this WSGI request, which has that number."""
        self._stream = environ["wsgi.input"]
        self._bodies = bodies
        self._request = request
        self._client: str = environ.get("REMOTE_ADDR", "")
        self._first = io.BytesIO()

    def put_back(self, body: bytes) -> None:
        """Have what was read first read again."""
        self._first = io.BytesIO(body)

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or all; fewer when the client sends no more."""
        pieces = [first] if (first := self._first.read(size)) else []
        left = size if size < 0 else size - len(first)
        while left:
            wanted = PIECE if left < 0 else min(PIECE, left)
            with self._bodies.piece(self._request, self._client):
                piece = self._stream.read(wanted)
            pieces.append(piece)
            if len(piece) < wanted:
                break
            left = left if left < 0 else left - wanted
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def readline(self, size: int = -1) -> bytes:
        """Read a line, as WSGI has it."""
        first = self._first.readline(size)
        if first.endswith(b"\n") or len(first) == size:
            return first
        with self._bodies.piece(self._request, self._client):
            rest: bytes = self._stream.readline(size if size < 0 else size - len(first))
        return first + rest

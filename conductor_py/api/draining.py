"""Bodies that no view reads: taken off the connection before the answer goes out.

A web server that still has bytes of a request when its answer is written closes the connection, and
the client, which keeps it for its next request, sees that one fail. So what is left is read and
dropped, up to a bound; above it the answer says that the connection ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from conductor_py.api.bodies import has_body

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_CHUNK: Final = 64 * 1024


def drained(application: WSGIApplication, *, limit: int, most: int) -> WSGIApplication:
    """Wrap an application; ``most`` bounds in bytes what is read for nobody.

    What is announced above ``limit`` is answered first and read afterwards.
    """

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not has_body(environ):
            return application(environ, start_response)
        counted = _Counted(environ["wsgi.input"])
        environ["wsgi.input"] = counted
        begun: list[tuple[Any, ...]] = []

        def begin(*status: Any) -> Callable[[bytes], object]:  # noqa: ANN401 - as WSGI has it
            begun.append(status)
            return _no_writing

        answer = application(environ, begin)
        status, headers, *error = begun[-1]
        announced = _announced(environ)
        if announced is not None and limit < announced <= most:
            # Its sender may wait for the answer before it sends anything.
            start_response(status, headers, *error)
            return _then(answer, lambda: counted.drain(announced, most))
        if not counted.drain(announced, most):
            headers = [*headers, ("Connection", "close")]
        start_response(status, headers, *error)
        return answer

    return served


def _then(answer: Iterable[bytes], follow: Callable[[], object]) -> Iterator[bytes]:
    try:
        yield from answer
        follow()
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _announced(environ: WSGIEnvironment) -> int | None:
    try:
        return int(environ.get("CONTENT_LENGTH", ""))
    except ValueError:
        return None


def _no_writing(_: bytes) -> None:
    raise RuntimeError("WSGI's write callable is not offered: answers are iterables")


class _Counted:
    """A body that knows how much of it was read."""

    __slots__ = ("_stream", "_taken")

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - whatever the web server offers
        self._stream = stream
        self._taken = 0

    def read(self, size: int = -1) -> bytes:
        return self._count(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        return self._count(self._stream.readline(size))

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def drain(self, announced: int | None, most: int) -> bool:
        """Read what is left; tell whether that was all."""
        if announced is not None and announced - self._taken > most:
            return False
        left = most
        while left > 0 and self._taken != announced:
            size = _CHUNK if announced is None else min(_CHUNK, announced - self._taken)
            chunk = self.read(size)
            if not chunk:
                return True
            left -= len(chunk)
        return self._taken == announced

    def _count(self, chunk: bytes) -> bytes:
        self._taken += len(chunk)
        return chunk

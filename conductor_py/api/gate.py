"""The gate in front of the application: it lets requests in, has them wait, and refuses.

Bodies are read before there is a turn; what is large takes as long as its client does, and has a
few places of its own. Nothing that may have a large answer is begun while there is no room for it,
and what has waited for its turn is asked again.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from conductor_py.api.admission import Admission
from conductor_py.api.bodies import Arriving, has_body
from conductor_py.api.errors import UNANSWERED
from conductor_py.api.held import Held
from conductor_py.api.refusals import Refusal, refusal_of, said
from conductor_py.errors import InvalidInput, Overloaded, StoreUnavailable

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_POLLS: Final = "/api/tasks/poll/"
_ALWAYS: Final = ("/health", "/api/health", "/actuator/")
_STREAMED: Final = ("/api/payloads/", "/api/files/")
_READ_FIRST: Final = 1 << 20
_DIGITS: Final = 10


def admitted(
    application: WSGIApplication,
    admission: Admission,
    *,
    instance: str,
    held: Callable[[str, str], Held] = lambda *_: Held.MUCH,
) -> WSGIApplication:
    """Wrap an application. Health and metrics are always answered. ``held`` tells by method and
    path how much an answer may hold.
    """
    return _Gate(application, admission, instance, held).serve


class _Gate:
    """In front of an application: it lets in, has wait, and refuses."""

    def __init__(
        self,
        application: WSGIApplication,
        admission: Admission,
        instance: str,
        held: Callable[[str, str], Held],
    ) -> None:
        self._application = application
        self._held = held
        self._admission = admission
        self._busy = refusal_of(Overloaded(), instance)
        self._away = refusal_of(StoreUnavailable("Redis does not answer."), instance)
        self._short = refusal_of(InvalidInput("The body ended before its length."), instance)
        self._numbers = itertools.count()

    def serve(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith(_ALWAYS):
            return self._always(environ, start_response)
        bodies, number = self._admission.bodies, next(self._numbers)
        if has_body(environ):
            environ["wsgi.input"] = Arriving(environ, bodies, number)
        if not path.startswith(_STREAMED):  # these wait in pieces, not whole
            start_response = self._counted(start_response)
        if not self._has_room(environ):
            self._admission.refuse()
            return self._refused(start_response, read=not has_body(environ))
        size = _size_of(environ)
        if path.startswith(_STREAMED) or (size or 0) > _READ_FIRST:
            return self._alone(environ, start_response, number)
        if has_body(environ):
            if refusal := self._read_first(environ, size):
                bodies.answered(number)
                return said(refusal, start_response, read=False)
            if _size_of(environ) is None:
                return self._alone(environ, start_response, number)
        poll = path.startswith(_POLLS)
        if not self._admission.come_in(poll=poll):
            bodies.answered(number)
            return self._refused(start_response, read=False)
        bodies.answer(number)
        try:
            return self._worked(environ, start_response, poll=poll)
        finally:
            self._admission.go()
            bodies.answered(number)

    def _has_room(self, environ: WSGIEnvironment) -> bool:
        """Whether there is room for its answer to stay unread."""
        unread = self._admission.unread
        if not unread.is_full:
            return True
        held = self._held(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        return held is Held.LITTLE or (held is Held.WORK and not unread.is_over)

    def _counted(self, start_response: StartResponse) -> StartResponse:
        """Count the bytes of the answer, which may stay unread."""

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[..., Any]:  # noqa: ANN401 - as WSGI has it
            for name, value in headers:
                if name == "Content-Length":
                    self._admission.unread.given(int(value))
            return start_response(status, headers, *error)

        return begin

    def _always(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer about health without waiting for anything: nobody reads a body."""
        if not has_body(environ):
            return self._application(environ, start_response)
        environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(), "0"
        environ.pop("HTTP_TRANSFER_ENCODING", None)

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[..., Any]:  # noqa: ANN401 - as WSGI has it
            return start_response(status, [*headers, ("Connection", "close")], *error)

        return self._application(environ, begin)

    def _read_first(self, environ: WSGIEnvironment, size: int | None) -> Refusal | None:
        """Take the body off its client, who may be slow, before there is a turn.

        Nobody knows the ``size`` of one in chunks. Found to be large, it is left as it came.
        """
        bodies, wanted = self._admission.bodies, _READ_FIRST + 1 if size is None else size
        if not bodies.take(wanted):
            self._admission.refuse()
            return self._busy
        arriving = environ["wsgi.input"]
        try:
            body = arriving.read(wanted)
        finally:
            bodies.give_back(wanted)
        if size is None and len(body) == wanted:
            arriving.put_back(body)
            return None
        if size is not None and len(body) < size:
            return self._short
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = io.BytesIO(body)
        return None

    def _worked(
        self, environ: WSGIEnvironment, start_response: StartResponse, *, poll: bool
    ) -> Iterable[bytes]:
        if not self._admission.begin(poll=poll):
            return self._refused(start_response, read=True)
        try:
            if not self._has_room(environ):  # others have answered meanwhile
                self._admission.refuse()
                return self._refused(start_response, read=True)
            return self._application(environ, start_response)
        finally:
            self._admission.be_light()
            self._admission.end(failed=environ.get(UNANSWERED, False))

    def _alone(
        self, environ: WSGIEnvironment, start_response: StartResponse, number: int
    ) -> Iterable[bytes]:
        """Serve what is large, and takes as long as its client does: a few at once, no turn."""
        admission, bodies = self._admission, self._admission.bodies
        if not admission.be_large():
            admission.refuse()
            return self._refused(start_response, read=False)

        def over() -> None:
            admission.be_small()
            bodies.answered(number)

        bodies.answer(number)
        try:
            answer = self._application(environ, start_response)
        except BaseException:
            over()
            raise
        finally:
            self._admission.be_light()
        return _Lasting(answer, over)

    def _refused(self, start_response: StartResponse, *, read: bool) -> Iterable[bytes]:
        refusal = self._away if self._admission.is_away else self._busy
        return said(refusal, start_response, read=read)


class _Lasting:
    """An answer that is not over before it has gone out."""

    def __init__(self, answer: Iterable[bytes], over: Callable[[], object]) -> None:
        self._answer = answer
        self._chunks = iter(answer)
        self._over = over

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._chunks)

    def close(self) -> None:
        over, self._over = self._over, lambda: None
        over()
        close = getattr(self._answer, "close", None)
        if close is not None:
            close()


def _size_of(environ: WSGIEnvironment) -> int | None:
    """The bytes of a body, as announced; ``None`` when it comes in chunks."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        return None
    size = environ.get("CONTENT_LENGTH") or "0"
    return int(size) if size.isdecimal() and len(size) < _DIGITS else _READ_FIRST + 1

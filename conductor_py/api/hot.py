"""Hot requests: starts, polls, results and reads are answered in front of Flask.

They are most of what a server is asked, and finding a route, making a request and a response of the
framework cost more than a third of their time here. The table of routes is Flask's: a view that
takes what is asked as its argument can be called by either, and whatever is unusual in a request
goes to Flask, so that there is one meaning of each. A test sends the requests of clients both ways.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from flask import Flask, request
from werkzeug.http import HTTP_STATUS_CODES

from conductor_py.api.answers import Answer
from conductor_py.api.errors import UNANSWERED, Errors, is_unanswered
from conductor_py.api.held import Held

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_MOST_BYTES: Final = 1 << 20
_DIGITS: Final = 10
"""More of them are no length that is answered here."""
_LINES: Final = {code: f"{code} {said.upper()}" for code, said in HTTP_STATUS_CODES.items()}
_NO_CONTENT: Final = 204
_FRAMEWORK_S: Final = {"HEAD", "OPTIONS"}
"""Methods that Flask answers by itself."""
_NOTHING: Final = (None, "")

Timed = Callable[[str, str, int, float], object]
"""Told of each request: method, rule, status, seconds."""


class HotView:
    """A view that needs no more of a request than ``Asked``; Flask calls it with its own."""

    __slots__ = ("held", "view")

    def __init__(self, view: Callable[..., Answer], held: Held = Held.MUCH) -> None:
        """``view`` takes what is asked and the variable part of the path; its answer holds this."""
        self.view = view
        self.held = held

    def __call__(self, **segments: str) -> Answer:
        """Answer one of Flask's requests."""
        return self.view(request, *segments.values())


class _Query:
    """The parameters of a query, as Flask's request reads them."""

    __slots__ = ("_values",)

    def __init__(self, query: str) -> None:
        self._values: dict[str, list[str]] = {}
        if query:
            pairs = parse_qsl(query, keep_blank_values=True, errors="werkzeug.url_quote")
            for name, value in pairs:
                self._values.setdefault(name, []).append(value)

    def get(self, key: str, /) -> str | None:
        found = self._values.get(key)
        return found[0] if found else None

    def getlist(self, key: str, /) -> list[str]:
        return self._values.get(key, [])


class _Plain:
    """What is asked, off the WSGI environment."""

    __slots__ = ("_body", "args")

    def __init__(self, query: str, body: bytes) -> None:
        self.args = _Query(query)
        self._body = body

    def get_data(self, *, cache: bool = True) -> bytes:
        return self._body


class _Table:
    """Which view answers, by method and path: the hot ones, and where they end."""

    def __init__(self, app: Flask) -> None:
        self._fixed: dict[tuple[str, str], tuple[HotView | None, str]] = {}
        self._open: dict[tuple[str, str, str], tuple[HotView | None, str]] = {}
        for rule in app.url_map.iter_rules():
            view: object = app.view_functions[rule.endpoint]
            place = view if isinstance(view, HotView) else None, rule.rule
            before, variable, after = _parts(rule.rule)
            for method in (rule.methods or set()) - _FRAMEWORK_S:
                if variable:
                    self._open[method, before, after] = place
                else:
                    self._fixed[method, rule.rule] = place

    def find(self, method: str, path: str) -> tuple[HotView | None, str, tuple[str, ...]]:
        found = self._fixed.get((method, path))
        if found is not None:
            return *found, ()
        before, _, last = path.rpartition("/")
        if not last:
            return None, "", ()
        found, segment = self._open.get((method, before, "")), last
        if found is None:
            before, _, segment = before.rpartition("/")
            found = self._open.get((method, before, last), _NOTHING)
        view, rule = found
        return view if segment else None, rule, (segment,)


def _parts(rule: str) -> tuple[str, str, str]:
    """Take a rule apart: what stands before its one variable segment, that, and the one after it.
    What has more than one variable segment is named as no path is, and has more of them than
    hot ones, or other words at their place.
    """
    before, _, last = rule.rpartition("/")
    if last.startswith("<"):
        return before, last, ""
    before, _, variable = before.rpartition("/")
    return (before, variable, last) if variable.startswith("<") else (rule, "", "")


class HotPath:
    """In front of an application of Flask."""

    def __init__(self, app: Flask, errors: Errors, *, limit: int, timed: Timed | None) -> None:
        """Take the routes as they are now. ``limit`` bounds bodies, ``errors`` makes answers,
        ``timed`` is told how long each took.
        """
        self._table = _Table(app)
        self._errors = errors
        self._limit = min(limit, _MOST_BYTES)
        self._timed = timed

    def find(self, method: str, path: str) -> tuple[HotView | None, str, tuple[str, ...]]:
        """Tell the view of a request, its rule, and the variable part; ``None``: it is not hot."""
        return self._table.find(method, path)

    def before(self, further: WSGIApplication) -> WSGIApplication:
        """Wrap an application: what is hot is answered here, and nothing else."""

        def serve(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            view, rule, segments = self.find(environ["REQUEST_METHOD"], environ["PATH_INFO"])
            if view is None or (body := self._body(environ)) is None:
                return further(environ, start_response)
            began = time.perf_counter()
            answer = self._answer(view, rule, segments, body, environ)
            if self._timed is not None:
                seconds = time.perf_counter() - began
                self._timed(environ["REQUEST_METHOD"], rule, answer.status, seconds)
            headers = list(answer.headers.items())
            if answer.status != _NO_CONTENT:
                headers.append(("Content-Length", str(len(answer.body))))
            start_response(_LINES[answer.status], headers)
            return [answer.body]

        return serve

    def _body(self, environ: WSGIEnvironment) -> bytes | None:
        """Read the body of a request that has nothing unusual; ``None``: Flask knows better."""
        path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
        length = environ.get("CONTENT_LENGTH") or "0"
        if (
            environ.get("SCRIPT_NAME")
            or "HTTP_TRANSFER_ENCODING" in environ
            or "HTTP_UPGRADE" in environ
            or not (path.isascii() and path.isprintable())
            or not (query.isascii() and query.isprintable())
            or not (length.isascii() and length.isdecimal() and len(length) < _DIGITS)
            or int(length) > self._limit
        ):
            return None
        if length == "0":
            return b""
        if environ["REQUEST_METHOD"] == "GET":
            return None
        body: bytes = environ["wsgi.input"].read(int(length))
        if len(body) == int(length):
            return body
        environ["wsgi.input"] = io.BytesIO(body)
        return None

    def _answer(
        self,
        view: HotView,
        rule: str,
        segments: tuple[str, ...],
        body: bytes,
        environ: WSGIEnvironment,
    ) -> Answer:
        try:
            return view.view(_Plain(environ.get("QUERY_STRING", ""), body), *segments)
        except Exception as error:  # noqa: BLE001 - every error is an answer
            if is_unanswered(error):
                environ[UNANSWERED] = True
            return self._errors.answer(error, f"{environ['REQUEST_METHOD']} {rule}")

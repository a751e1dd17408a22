"""Answers: JSON, text, nothing."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from flask import Response

_JSON = "application/json"


def json_answer(value: object, *, status: int = 200) -> Response:
    """Answer with JSON."""
    return Response(written(value), status=status, content_type=_JSON)


def written(value: object) -> bytes:
    """Write JSON."""
    return orjson.dumps(value, default=_plain)


def json_bytes(body: bytes) -> Response:
    """Answer with JSON that is written already."""
    return Response(body, content_type=_JSON)


def text(value: str) -> Response:
    """Answer with plain text, without quotes or a newline."""
    return Response(value, mimetype="text/plain")


def empty() -> Response:
    """Answer 200 with nothing, not even a content type."""
    answer = Response(b"")
    del answer.headers["Content-Type"]
    return answer


def no_content() -> Response:
    """Answer 204."""
    answer = Response(status=204)
    del answer.headers["Content-Type"]
    return answer


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError

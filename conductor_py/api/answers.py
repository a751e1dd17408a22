"""Answers: JSON, text, nothing. They know no framework: not only Flask sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson
from flask import Response

from conductor_py.records import dataclass, field

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_TYPE: Final = "Content-Type"


@dataclass(slots=True)
class Answer:
    """What a view answers; its length is told by whoever sends it."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def json_answer(value: object, *, status: int = 200) -> Answer:
    """Answer with JSON."""
    return Answer(written(value), status, {_TYPE: _JSON})


def written(value: object) -> bytes:
    """Write JSON."""
    return orjson.dumps(value, default=_plain)


def json_bytes(body: bytes) -> Answer:
    """Answer with JSON that is written already."""
    return Answer(body, headers={_TYPE: _JSON})


def text(value: str) -> Answer:
    """Answer with plain text, without quotes or a newline."""
    return Answer(value.encode(), headers={_TYPE: _TEXT})


def empty() -> Answer:
    """Answer 200 with nothing, not even a content type."""
    return Answer(b"")


def no_content() -> Answer:
    """Answer 204."""
    return Answer(b"", 204)


def response_of(answer: Answer) -> Response:
    """Make Flask's of it."""
    response = Response(answer.body, answer.status, answer.headers)
    if _TYPE not in answer.headers:
        del response.headers[_TYPE]
    return response


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError

"""Request bodies: bytes to JSON values, bounded in depth and number, never more than a 400.

What is parsed is bounded by how many values there can be, counted before any of them is made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.json_bounds import MAX_VALUES, has_more

MAX_DEPTH = 200
"""Objects and lists within each other."""

# What the parser says at its own limit, the second when the nesting is never closed either.
_TOO_DEEP = ("depth limit exceeded", "failed to allocate memory")


def parse(body: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:  # noqa: ANN401 - any JSON value
    """Read a JSON document; ``InvalidInput`` when it is none, nested more than ``max_depth``, or
    of more than ``max_values``.
    """
    if not body:
        raise InvalidInput("The request needs a JSON body.")
    if has_more(body, max_values):
        raise InvalidInput(
            f"The body has more than {max_values} values; send less, or what is large by the "
            "external payload storage."
        )
    try:
        value = _loaded(body)
    except orjson.JSONDecodeError as error:
        if any(sign in str(error) for sign in _TOO_DEEP):
            raise _nested(max_depth) from error
        raise InvalidInput(f"The body is not JSON: {error}") from error
    # Counting bytes is a hundred times cheaper than walking, and enough for all but huge bodies.
    if body.count(b"{") + body.count(b"[") > max_depth:
        _check_depth(value, max_depth)
    return value


def _loaded(body: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Read UTF-8, or what a byte order mark or the first bytes show to be something else."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        encoding = json.detect_encoding(body)
        if encoding == "utf-8":
            raise
        return orjson.loads(body.decode(encoding, "replace"))


def parse_object(
    body: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
) -> dict[str, Any]:
    """Read a body that is one JSON object; no body at all is an empty one."""
    value = parse(body, max_depth=max_depth, max_values=max_values) if body else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(violations=(Violation(path="$", message="must be an object"),))
    return value


def _check_depth(value: object, max_depth: int) -> None:
    level = _inner([value])
    for _ in range(max_depth):
        level = _inner(outer for found in level for outer in _elements(found))
        if not level:
            return
    raise _nested(max_depth)


def _nested(max_depth: int) -> InvalidInput:
    return InvalidInput(f"The body is nested more than {max_depth} levels deep.")


def _inner(values: Iterable[object]) -> list[dict[str, Any] | list[Any]]:
    return [value for value in values if isinstance(value, dict | list)]


def _elements(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value

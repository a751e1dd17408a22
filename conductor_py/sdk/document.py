"""JSON documents as bytes: the SDK's only encoder and decoder.

What cannot be said in JSON is refused with ``InvalidInput``, never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from conductor_py.errors import InvalidInput
from conductor_py.sdk import scalars
from conductor_py.sdk.finite import members, stranger

_LONGEST_PATH = 1_000


def encode(value: object) -> bytes:
    """Return the value as UTF-8 JSON; dataclasses become objects, tuples arrays, moments and days
    ISO 8601 text, UUIDs and decimals text. Raises ``InvalidInput``, also for NaN and the
    infinities.
    """
    try:
        encoded = orjson.dumps(value, default=_as_plain)
    except (TypeError, RecursionError) as error:
        message = f"the value cannot be written as JSON: {_where(value, error)}"
        raise InvalidInput(message) from error
    # They are written as null: what has no null need not be looked through.
    if b"null" in encoded and (found := stranger(value)) is not None:
        raise InvalidInput(f"the value cannot be written as JSON: {found}, which JSON has not")
    return encoded


def embed(encoded: bytes) -> object:
    """Return a stand-in that ``encode`` writes verbatim, so that a large part is encoded once."""
    return orjson.Fragment(encoded)


def decode(body: bytes) -> object:
    """Return the JSON value in the bytes; raises ``ValueError`` when they are not JSON."""
    return orjson.loads(body)


def _where(value: object, error: Exception) -> str:
    """Say what of a value cannot be written, and where it stands: ``$.a[2]: set is …``. What holds
    itself, or is too deep, is not gone through.
    """
    path = ""
    while len(path) < _LONGEST_PATH:
        for step, inner in members(value):
            problem = _problem(inner)
            if problem is not None:
                value, error, path = inner, problem, path + step
                break
        else:
            return f"${path}: {error.__cause__ or error}"
    return str(error)


def _problem(value: object) -> Exception | None:
    try:
        orjson.dumps(value, default=_as_plain)
    except (TypeError, RecursionError) as error:
        return error
    return None


def _as_plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    text = scalars.written(value)
    if text is not None:
        return text
    message = f"{type(value).__name__} is not a JSON type"
    raise TypeError(message)

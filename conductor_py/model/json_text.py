"""JSON that stands in a text, as values bring it along.

Python reads more than JSON is: ``NaN``, numbers that are infinite, and half of a surrogate pair,
which no text of UTF-8 can hold and nothing can be stored with. What cannot be written again is not
read; a whole number beyond 64 bits is a fraction, as in the body of a request.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import NoReturn

from conductor_py.model.json import JsonValue

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")
"""What may be half of a pair, as it stands or escaped."""


def read_json(text: str) -> JsonValue:
    """Read a text as JSON; ``ValueError`` when it is none, or could not be written again."""
    try:
        found: JsonValue = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole
        )
        if _HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode()
    except RecursionError:
        message = "it is nested too deeply"
        raise ValueError(message) from None
    return found


def whole(text: str) -> str:
    """Join halves of surrogate pairs that follow each other; ``ValueError`` for one by itself."""
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else _refuse(text)


def _whole(text: str) -> int | float:
    value = int(text)
    return value if -(2**63) <= value < 2**64 else _finite(text)

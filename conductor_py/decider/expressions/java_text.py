"""The text of a value inside a longer text, as Java's ``toString`` writes it.

Definitions written for a Java engine depend on it: ``null``, ``true``, ``1.0``, ``1.0E7``,
``{k=v, k2=v2}``, ``[a, b]``. It is not JSON and cannot be read back. Never throws: nesting of any
depth and integers of any size have a text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from conductor_py.model.json import JsonScalar, JsonValue

# Finished text, or a value still to be written (in a tuple, for it may be a text too).
_Piece: TypeAlias = "str | tuple[JsonValue]"


def text_of(value: JsonValue) -> str:
    """Write a value as Java does."""
    out: list[str] = []
    pending: list[_Piece] = [(value,)]
    while pending:
        piece = pending.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        (item,) = piece
        if item is None or isinstance(item, str | int | float):
            out.append(_scalar_text(item))
        elif isinstance(item, Mapping):
            pending.extend(_map_pieces(item))
        else:
            pending.extend(_list_pieces(item))
    return "".join(out)


def _map_pieces(value: Mapping[str, JsonValue]) -> list[_Piece]:
    """Take a map apart, last piece first."""
    pieces: list[_Piece] = ["{"]
    for key, item in value.items():
        pieces += (f"{key}=" if len(pieces) == 1 else f", {key}=", (item,))
    pieces.append("}")
    return pieces[::-1]


def _list_pieces(value: Sequence[JsonValue]) -> list[_Piece]:
    """Take a list apart, last piece first."""
    pieces: list[_Piece] = ["["]
    for item in value:
        if len(pieces) > 1:
            pieces.append(", ")
        pieces.append((item,))
    pieces.append("]")
    return pieces[::-1]


def _scalar_text(value: JsonScalar) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double_text(value)
    # str() refuses integers of more than 4,300 digits; Decimal does not.
    return str(value) if -(2**64) < value < 2**64 else f"{Decimal(value):f}"


def _double_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    if 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"

"""The text of a value inside a longer text, as Java's ``toString`` writes it.

Definitions written for a Java engine depend on it: ``null``, ``true``, ``1.0``, ``1.0E7``,
``{k=v, k2=v2}``, ``[a, b]``. It is not JSON and cannot be read back. What an indefinite path has
found is a list of another kind there, whose text is JSON without blanks. Never throws: nesting of
any depth and integers of any size have a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeAlias

from conductor_py.model.json import JsonScalar, JsonValue
from conductor_py.records import dataclass

# Finished text, or a value still to be written (in a tuple, for it may be a text too).
_Piece: TypeAlias = "str | tuple[JsonValue]"


def text_of(value: JsonValue) -> str:
    """Write a value as Java does."""
    return _written(value, _PLAIN)


def found_text_of(found: JsonValue) -> str:
    """Write what an indefinite path has found as the library does that looks for it there."""
    return _written(found, _QUOTED)


@dataclass(frozen=True, slots=True)
class _Style:
    comma: str
    equals: str
    quoted: bool

    def text(self, value: str) -> str:
        return f'"{_ESCAPED.sub(_escaped, value)}"' if self.quoted else value


_PLAIN: Final = _Style(", ", "=", quoted=False)
_QUOTED: Final = _Style(",", ":", quoted=True)
_ESCAPED: Final = re.compile(r'["\\/\x00-\x1f\x7f-\x9f\u2000-\u20ff]')
_SHORT: Final = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    return _SHORT.get(sign) or (f"\\{sign}" if sign in '"\\/' else f"\\u{ord(sign):04X}")


def _written(value: JsonValue, style: _Style) -> str:
    out: list[str] = []
    pending: list[_Piece] = [(value,)]
    while pending:
        piece = pending.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        (item,) = piece
        if item is None or isinstance(item, str | int | float):
            out.append(_scalar_text(item, style))
        elif isinstance(item, Mapping):
            pending.extend(_map_pieces(item, style))
        else:
            pending.extend(_list_pieces(item, style))
    return "".join(out)


def _map_pieces(value: Mapping[str, JsonValue], style: _Style) -> list[_Piece]:
    """Take a map apart, last piece first."""
    pieces: list[_Piece] = ["{"]
    for key, item in value.items():
        comma = style.comma if len(pieces) > 1 else ""
        pieces += (f"{comma}{style.text(key)}{style.equals}", (item,))
    pieces.append("}")
    return pieces[::-1]


def _list_pieces(value: Sequence[JsonValue], style: _Style) -> list[_Piece]:
    """Take a list apart, last piece first."""
    pieces: list[_Piece] = ["["]
    for item in value:
        if len(pieces) > 1:
            pieces.append(style.comma)
        pieces.append((item,))
    pieces.append("]")
    return pieces[::-1]


def _scalar_text(value: JsonScalar, style: _Style) -> str:
    if isinstance(value, str):
        return style.text(value)
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

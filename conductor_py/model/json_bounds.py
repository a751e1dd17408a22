"""How many values a JSON document may have, counted before any of them is made.

A list of nothing takes three bytes of a text and seventy of memory, an object of nothing more: what
is parsed is bounded by how many values there can be, wherever it comes from.
"""

from __future__ import annotations

import re
from typing import Final

MAX_VALUES: Final = 2_000_000
"""Values of a document: its commas and brackets outside of strings."""

VALUE_BYTES: Final = 120
"""Of memory that a value takes."""

HEAVY_VALUES: Final = 100_000
"""Of values from so many on a document is heavy: 12 MB of memory."""

# Never fails and never goes back: linear, whatever the text is.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_COUNTED = (b",", b"[", b"{")


def values_of(document: bytes) -> int:
    """Count what may be values of a document: its commas and brackets, those in strings too."""
    return sum(document.count(sign) for sign in _COUNTED)


def values_in(document: bytes) -> int:
    """Count the values of a document: its commas and brackets outside of strings."""
    return values_of(_STRING.sub(b"", document))


def has_more(document: bytes, most: int) -> bool:
    """Whether a document has more than so many values."""
    # Those in strings count for nothing, but few documents have so many that they have to be left
    # out.
    return len(document) > most and values_of(document) > most and values_in(document) > most


def is_heavy(document: bytes) -> bool:
    """Whether a document may hold so many values; those that stand in its strings count, too."""
    return len(document) > HEAVY_VALUES and values_of(document) > HEAVY_VALUES


def too_many(what: str, most: int) -> str:
    """Say that ``what`` has more values than it may, and which setting bounds them."""
    return (
        f"{what} has more than {most} JSON values, the limit (conductor.limits.jsonValues); its "
        "commas and brackets outside of strings count"
    )

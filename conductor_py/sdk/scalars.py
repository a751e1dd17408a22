"""Values that JSON has no type for, as the text that stands for them: moments, days, ids, decimals.

The text is that of ISO 8601 for moments and days, RFC 9562 for ids. Nothing is guessed: a moment
without an offset stays without one, and a day is no moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final
from uuid import UUID

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: Python reads any character between day and time, and a day alone as its midnight.
_DAY_AND_TIME: Final = re.compile(r"[\dW-]+[T ]\d")


def _moment(value: object) -> datetime:
    if type(value) is int:
        return _EPOCH + timedelta(milliseconds=value)
    if not isinstance(value, str) or not _DAY_AND_TIME.match(value):
        raise ValueError
    return datetime.fromisoformat(value)


def _day(value: object) -> date:
    if not isinstance(value, str):
        raise TypeError
    return date.fromisoformat(value)


def _id(value: object) -> UUID:
    if not isinstance(value, str):
        raise TypeError
    found = UUID(value)
    if value.lower() not in {str(found), found.hex}:  # braces and prefixes are not of the RFC
        raise ValueError
    return found


def _decimal(value: object) -> Decimal:
    if type(value) is not int and not isinstance(value, str):  # a float has lost its digits
        raise TypeError
    found = Decimal(value)
    if not found.is_finite():
        raise ValueError
    return found


_READ: Final[Mapping[type, tuple[Callable[[object], object], str]]] = {
    datetime: (
        _moment,
        "a date and time in ISO 8601, such as 2030-01-31T08:00:00Z, or milliseconds since 1970",
    ),
    date: (_day, "a date in ISO 8601, such as 2030-01-31"),
    UUID: (_id, "a UUID, such as 0189f7a4-5b1c-7c3e-9f00-3c1f2a9d4e11"),
    Decimal: (_decimal, "a decimal number as text, such as 12.50, or an integer"),
}

KINDS: Final = frozenset(_READ)
"""The classes that ``read`` takes."""


def read(kind: type, value: object) -> object:
    """Read a JSON value as one of ``KINDS``; raises ``ValueError`` with what is expected."""
    reader, expected = _READ[kind]
    try:
        return reader(value)
    except (ValueError, TypeError, OverflowError, InvalidOperation):
        raise ValueError(expected) from None


def written(value: object) -> str | None:
    """Return the text of a value of these classes, None for any other."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    return None

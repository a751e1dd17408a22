"""The literal times of a WAIT: whether they can be read at all."""

from __future__ import annotations

import re
from datetime import datetime

_DURATION = re.compile(
    r"\s*(?:\d+\s*d(?:ays?)?)?"
    r"\s*(?:\d+\s*(?:hours?|hrs?|h))?"
    r"\s*(?:\d+\s*(?:minutes?|mins?|m))?"
    r"\s*(?:\d+\s*(?:seconds?|secs?|s))?\s*",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?: (\d{2}:\d{2})(?: (?:[A-Za-z][A-Za-z0-9_+/-]*|[+-]\d{2}:?\d{2}))?)?"
)


def is_duration(text: str) -> bool:
    """Tell whether this is a duration: days, hours, minutes and seconds, in this order."""
    return bool(text.strip()) and _DURATION.fullmatch(text) is not None


def is_instant(text: str) -> bool:
    """Tell whether this is ``yyyy-MM-dd``, ``yyyy-MM-dd HH:mm`` or that with a time zone."""
    match = _UNTIL.fullmatch(text.strip())
    if match is None:
        return False
    try:
        datetime.fromisoformat(f"{match[1]}T{match[2] or '00:00'}:00+00:00")
    except ValueError:
        return False
    return True

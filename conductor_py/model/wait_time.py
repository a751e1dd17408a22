"""The times that a WAIT task is given, as they are read when it is registered and when it runs.

``duration`` is ``1d 2h 30m 10s`` in that order, any of them left out, blanks optional, upper or
lower case. ``until`` is ``yyyy-MM-dd HH:mm``, ``yyyy-MM-dd HH:mm <zone>`` or ``yyyy-MM-dd``. A
zone is an offset (``+02:00``, ``GMT+2:00``), a name that a Java server knows (``CEST``, ``Pacific
Standard Time``), or one of the database of time zones (``Europe/Berlin``); without one UTC counts.
Dates that do not exist are refused, not rolled over. No clock is read here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from conductor_py.model.zone_names import MINUTES_AHEAD
from conductor_py.model.zoned_time import zone_of

_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60 * _SECOND_MS
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MAX_COUNT: Final = 2**31 - 1

_UNITS: Final[dict[str, int]] = {
    **dict.fromkeys(("d", "day", "days"), _DAY_MS),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), _HOUR_MS),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), _MINUTE_MS),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), _SECOND_MS),
}
_TERM: Final = re.compile(r"([0-9]{1,10})[ \t]*([a-z]+)[ \t]*")
_UNTIL: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[ \t]+([0-9]{1,2}):([0-9]{1,2})(?:[ \t]+(\S.*))?)?"
)


def parse_duration_ms(text: str) -> int | None:
    """Parse a duration into milliseconds; None when it is not one (an empty text is not)."""
    rest = text.strip().lower()
    if not rest or len(rest) > 100:
        return None
    total, smallest, at = 0, _DAY_MS + 1, 0
    while at < len(rest):
        term = _TERM.match(rest, at)
        unit = _UNITS.get(term[2]) if term else None
        if term is None or unit is None or unit >= smallest or int(term[1]) > _MAX_COUNT:
            return None
        total += int(term[1]) * unit
        smallest, at = unit, term.end()
    return total


def parse_until_ms(text: str) -> int:
    """Parse an instant into epoch milliseconds; ``ValueError`` says why it is none."""
    found = _UNTIL.fullmatch(text.strip()) if len(text) <= 100 else None
    if found is None:
        message = (
            "it is not of the form 'yyyy-MM-dd', 'yyyy-MM-dd HH:mm' or 'yyyy-MM-dd HH:mm zone'"
        )
        raise ValueError(message)
    zone = _zone(found[6]) if found[6] else UTC
    year, month, day, hour, minute = (int(part or 0) for part in found.groups()[:5])
    try:
        local = datetime(year, month, day, hour, minute, tzinfo=zone)
    except ValueError:
        message = "it is no date or time that exists"
        raise ValueError(message) from None
    return (local - _EPOCH) // _MILLISECOND


def _zone(name: str) -> tzinfo:
    minutes = MINUTES_AHEAD.get(name.lower())
    if minutes is not None:
        return timezone(timedelta(minutes=minutes))
    return zone_of(name.upper() if name.lower().startswith(("gmt", "utc")) else name)

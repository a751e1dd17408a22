"""The times that a WAIT task is given, parsed without a clock and without a time-zone database.

``duration`` is ``1d 2h 30m 10s`` in that order, any of them left out, blanks optional, upper or
lower case. ``until`` is ``yyyy-MM-dd HH:mm``, ``yyyy-MM-dd HH:mm <zone>`` or ``yyyy-MM-dd``. A
zone that is not a fixed offset comes back by name, for the shell to look up. Dates that do not
exist are refused, not rolled over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

_SECOND_MS: Final = 1_000
_MINUTE_MS: Final = 60 * _SECOND_MS
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_MAX_COUNT: Final = 2**31 - 1

_UNITS: Final[dict[str, int]] = {
    **dict.fromkeys(("d", "day", "days"), _DAY_MS),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), _HOUR_MS),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), _MINUTE_MS),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), _SECOND_MS),
}
_TERM: Final = re.compile(r"([0-9]{1,10})[ \t]*([a-z]+)[ \t]*")
_UNTIL: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[ \t]+([0-9]{1,2}):([0-9]{1,2})(?:[ \t]+(\S+))?)?"
)
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])([0-9]{1,2}):?([0-5][0-9])", re.IGNORECASE)
_ZONE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z][A-Za-z0-9_+-]*)*")
_FIXED_HOURS: Final[dict[str, int]] = {
    **dict.fromkeys(("UTC", "GMT", "UT", "Z"), 0),
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}


@dataclass(frozen=True, slots=True)
class Zone:
    """A local time in a zone that only a time-zone database knows.

    ``local_ms`` counts milliseconds since 1970-01-01 00:00 on that zone's own clocks.
    """

    name: str
    local_ms: int


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


def parse_until_ms(text: str, default_offset_ms: int = 0) -> int | Zone | None:
    """Parse an instant into epoch milliseconds; None when it is not one.

    ``default_offset_ms`` is what local time is ahead of UTC when the text names no zone.
    """
    found = _UNTIL.fullmatch(text.strip()) if len(text) <= 100 else None
    if found is None:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in found.groups()[:5])
    if hour > 23 or minute > 59:
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    local_ms = days * _DAY_MS + hour * _HOUR_MS + minute * _MINUTE_MS
    if found[6] is None:
        return local_ms - default_offset_ms
    return _in_zone(local_ms, found[6])


def _in_zone(local_ms: int, zone: str) -> int | Zone | None:
    hours = _FIXED_HOURS.get(zone.upper())
    if hours is not None:
        return local_ms - hours * _HOUR_MS
    offset = _OFFSET.fullmatch(zone)
    if offset is not None:
        if int(offset[2]) > 18:
            return None
        ahead_ms = int(offset[2]) * _HOUR_MS + int(offset[3]) * _MINUTE_MS
        return local_ms + ahead_ms if offset[1] == "-" else local_ms - ahead_ms
    return Zone(zone, local_ms) if _ZONE_NAME.fullmatch(zone) else None

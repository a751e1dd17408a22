"""Cron on the clock of a zone: which instant a wall time is, where clocks are put forward and back.

A wall time that is left out when clocks go forward counts as the first instant after the gap, so
that a daily run is never lost; one that comes twice counts once, the first time. An expression that
leaves out no hour counts elapsed time instead: nothing is made up for in a gap, and the repeated
hour has its runs as any other. Zone data is a table; no clock is read here.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from conductor_py.model.cron import Cron

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_LAST_S: Final = 221_845_392_000
"""The year 9000: nothing is planned beyond."""
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII)
_MAX_OFFSET_HOURS: Final = 18


@lru_cache(maxsize=1024)
def zone_of(name: str) -> tzinfo:
    """Find a zone by its name (``Europe/Berlin``) or offset (``+02:00``, ``UTC-3``, ``Z``);
    ``ValueError`` for an unknown one.
    """
    if name in {"Z", "UTC", "GMT", "UT"}:
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None and int(offset[2]) <= _MAX_OFFSET_HOURS:
        away = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(away if offset[1] == "+" else -away)
    if name not in _zones():
        message = f"there is no time zone '{name[:100]}'; one is Europe/Berlin"
        raise ValueError(message)
    return ZoneInfo(name)


def next_instant(cron: Cron, after_ms: int, zone: tzinfo) -> int | None:
    """Find the first instant (epoch ms, whole seconds) after ``after_ms`` at which ``cron`` fires
    by the clock of ``zone``; ``None`` when there is none before the year 9000.
    """
    after = max(after_ms // 1000, -1)
    if after > _LAST_S:
        return None
    local = datetime.fromtimestamp(after, zone)
    wall = local.replace(tzinfo=None, fold=0)
    found = _first_time(cron, wall, after, zone)
    if cron.every_hour and _comes_twice(wall, zone):
        again = _second_time(cron, wall, after, zone, is_second=bool(local.fold))
        found = min((one for one in (found, again) if one is not None), default=None)
    return None if found is None else found * 1000


def _first_time(cron: Cron, wall: datetime, after: int, zone: tzinfo) -> int | None:
    while True:
        found = cron.next_after(wall)
        if found is None:
            return None
        instant = _instant(found, zone)
        if _wall(instant, zone) == found:
            if instant > after:
                return instant
            wall = found
            continue
        end = _change(_instant(found, zone, fold=1), instant, zone)
        if not cron.every_hour and end > after:
            return end
        wall = _wall(end, zone) - _SECOND


def _second_time(
    cron: Cron, wall: datetime, after: int, zone: tzinfo, *, is_second: bool
) -> int | None:
    """Find the next match in the second pass of an hour that comes twice."""
    if not is_second:
        change = _change(after, _instant(wall, zone, fold=1), zone)
        wall = _wall(change, zone) - _SECOND
    found = cron.next_after(wall)
    if found is None or not _comes_twice(found, zone):
        return None
    return _instant(found, zone, fold=1)


def _comes_twice(wall: datetime, zone: tzinfo) -> bool:
    first, second = _instant(wall, zone), _instant(wall, zone, fold=1)
    return first < second


def _instant(wall: datetime, zone: tzinfo, *, fold: int = 0) -> int:
    return (wall.replace(tzinfo=zone, fold=fold) - _EPOCH) // _SECOND


def _wall(instant: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def _change(low: int, high: int, zone: tzinfo) -> int:
    """Find the instant in (low, high] at which the clock is changed, when there is one such."""
    before = datetime.fromtimestamp(low, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())

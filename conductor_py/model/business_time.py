"""Business time: the instant that a run is about, whenever it runs; and the dates that are made of
it: ``$[yyyyMMdd-1]`` in a text becomes the day before.

The notation is DolphinScheduler's. A placeholder is a format with shifts behind it, in days
(``-1``, ``-7*2``), hours (``-3/24``) or minutes (``-5/24/60``); or a function of a format and a
number; or ``timestamp(…)`` of either, in seconds since 1970. Days, weeks and months go by the
calendar of the zone, hours and minutes by the time that passes. What is not understood is an error,
never a text that is left as it is.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from conductor_py.model.zoned_time import zone_of
from conductor_py.records import dataclass

_LONGEST: Final = 200
_PLACEHOLDER: Final = re.compile(r"(?<!\$)\$\[([^\]]{0,200})(\]?)")
_CALL: Final = re.compile(r"([a-z_]+)\(([^,()]*)(?:,([^,()]*))?\)")
_NUMBER: Final = re.compile(r"[+-]?\d{1,6}(?:\*\d{1,6})?")
_STAMP: Final = re.compile(r"timestamp\((.*)\)")
_INSTANT: Final = re.compile(r"\d{14}", re.ASCII)
_TERM: Final = re.compile(r"[+-]\d{1,6}(?:\*\d{1,6})?(?:/24(?:/60)?)?")
_ONE_TERM: Final = re.compile(r"([+-]\d+)(?:\*(\d+))?(/24)?(/60)?")
_TOKEN: Final = re.compile(r"'([^']*)'|([A-Za-z])\2*|[^A-Za-z0-9']", re.DOTALL)
_FIELDS: Final[Mapping[str, Callable[[datetime], str]]] = MappingProxyType(
    {
        "yyyy": lambda at: f"{at.year:04d}",
        "yy": lambda at: f"{at.year % 100:02d}",
        "MM": lambda at: f"{at.month:02d}",
        "M": lambda at: str(at.month),
        "dd": lambda at: f"{at.day:02d}",
        "d": lambda at: str(at.day),
        "HH": lambda at: f"{at.hour:02d}",
        "H": lambda at: str(at.hour),
        "mm": lambda at: f"{at.minute:02d}",
        "m": lambda at: str(at.minute),
        "ss": lambda at: f"{at.second:02d}",
        "s": lambda at: str(at.second),
        "SSS": lambda at: f"{at.microsecond // 1000:03d}",
    }
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_FIRST_MS: Final = 100_000_000_000
"""In 1973: what is less is no number of milliseconds that anybody means."""
_LAST_MS: Final = 221_845_392_000_000
"""The year 9000, as for schedules."""
_Moved = Callable[[datetime], datetime]
_Written = Callable[[datetime], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expression:
    """What a placeholder does with the business time, and how it is written."""

    moved: _Moved
    written: _Written


def business_time(at_ms: int, zone: str) -> datetime:
    """The instant by the clock of its zone (empty: UTC)."""
    return (_EPOCH + at_ms * _MS).astimezone(zone_of(zone or "UTC"))


class WrongBusinessTime(ValueError):
    """What a start says of its business time is wrong; ``member`` is ``businessTime`` or
    ``zoneId``.
    """

    def __init__(self, member: str, message: str) -> None:
        super().__init__(f"{member} {message}")
        self.member, self.message = member, message


def instant_of(given: str | int, zone: str) -> int:
    """Read a business time: epoch ms, or an ISO 8601 date or time (``20260301``, too), by the clock
    of ``zone`` where it names no offset. Returns epoch ms; ``ValueError`` says what is wrong.
    """
    text = str(given).strip()
    is_number = isinstance(given, int) or (text.isascii() and text.isdigit() and len(text) != 8)
    if is_number:
        found = int(text) if len(text) <= len(str(_LAST_MS)) else 0
    else:
        try:
            read = datetime.fromisoformat(text)
        except ValueError:
            message = "must be epoch ms, or an ISO 8601 date or time such as 2026-11-24T02:00"
            raise ValueError(message) from None
        found = (read.replace(tzinfo=read.tzinfo or zone_of(zone or "UTC")) - _EPOCH) // _MS
    least = _FIRST_MS if is_number else 1
    if not least <= found <= _LAST_MS:
        message = "must lie between the years 1970 and 9000; a number is epoch ms, from 1973 on"
        raise ValueError(message)
    return found


def requested(given: object, zone: object, default_zone: str) -> tuple[int, str]:
    """Read what a start request says: the instant (0: none is named) and the zone. Raises
    ``WrongBusinessTime``.
    """
    name = zone if isinstance(zone, str) and zone else default_zone
    try:
        zone_of(name or "UTC")
    except ValueError as wrong:
        raise WrongBusinessTime("zoneId", f"is wrong: {wrong}") from None
    if given is None or given == "":
        return 0, name
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise WrongBusinessTime("businessTime", "must be epoch ms or a text")
    try:
        return instant_of(given, name), name
    except ValueError as wrong:
        raise WrongBusinessTime("businessTime", str(wrong)) from None


def expanded(text: str, business: datetime) -> str:
    """Replace the placeholders of a text by the business time, which has its zone; ``$$[`` is an
    escaped ``$[``. ``ValueError`` says which one is wrong, and why.
    """
    if "$[" not in text:
        return text
    return "".join(
        part if isinstance(part, str) else _told(part, business) for part in _parts(text)
    )


def has_placeholders(text: str) -> bool:
    """Whether the text has any; ``ValueError`` when one of them is wrong."""
    return "$[" in text and any(not isinstance(part, str) for part in _parts(text))


def _told(expression: _Expression, business: datetime) -> str:
    try:
        return expression.written(expression.moved(business))
    except OverflowError:
        message = "a placeholder leads beyond the years 1 to 9999"
        raise ValueError(message) from None


def _parts(text: str) -> list[str | _Expression]:
    parts: list[str | _Expression] = []
    end = 0
    for found in _PLACEHOLDER.finditer(text):
        if not found[2]:
            message = f"'{found[0][:40]}' has no closing bracket within {_LONGEST} characters"
            raise ValueError(message)
        parts += (text[end : found.start()].replace("$$[", "$["), _expression(found[1].strip()))
        end = found.end()
    return [*parts, text[end:].replace("$$[", "$[")]


@lru_cache(maxsize=4096)
def _expression(source: str) -> _Expression:
    stamp = _STAMP.fullmatch(source)
    if stamp is None:
        return _date(source, source)
    inner = _date(stamp[1].strip(), source)
    if not _INSTANT.fullmatch(inner.written(_EPOCH)):
        message = f"'$[{source}]' needs a format of all of a time: timestamp(yyyyMMddHHmmss)"
        raise ValueError(message)
    return _Expression(moved=inner.moved, written=lambda at: _stamp(inner.written(at), at))


def _date(inner: str, source: str) -> _Expression:
    called = _CALL.fullmatch(inner)
    if called is not None:
        form, number = called[2].strip(), called[3]
        if number is not None and not _NUMBER.fullmatch(number.strip()):
            message = f"'$[{source}]' has '{number.strip()}' where a number is wanted"
            raise ValueError(message)
        return _call(source, called[1], form, number.strip() if number is not None else None)
    begin = _begin_of_shifts(inner)
    form = inner[:begin].rstrip()
    if form.endswith(("+", "-")):
        message = f"'$[{source}]' has two signs in a row"
        raise ValueError(message)
    return _Expression(moved=_shifts(inner[begin:]), written=_format(form, source))


def _begin_of_shifts(inner: str) -> int:
    """Where the terms begin that a format ends with."""
    begin = end = 0
    for term in _TERM.finditer(inner):
        if term.start() != end:
            begin = term.start()
        end = term.end()
    return begin if end == len(inner) else len(inner)


def _stamp(written: str, at: datetime) -> str:
    """The seconds since 1970 of what the format left of the time."""
    read = datetime.strptime(written, "%Y%m%d%H%M%S")  # noqa: DTZ007 - its zone follows
    return str(int(read.replace(tzinfo=at.tzinfo, fold=at.fold).timestamp()))


def _call(source: str, name: str, form: str, number: str | None) -> _Expression:
    if name == "year_week":
        first = _product(number or "1")
        if not 1 <= first <= 7:
            message = f"'$[{source}]' must name a first day from 1, Monday, to 7, Sunday"
            raise ValueError(message)
        _format(form, source)
        dash = "-" if "-" in form else ""
        return _Expression(moved=_same, written=lambda at: _year_week(at, first, dash))
    if name in _DAYS:
        if number is not None:
            message = f"'$[{source}]' takes a format only"
            raise ValueError(message)
        days = _DAYS[name]
        return _Expression(moved=lambda at: _days(at, days), written=_format(form, source))
    move = _MOVES.get(name)
    if move is None:
        known = ", ".join((*_DAYS, *_MOVES, "year_week", "timestamp"))
        message = f"'$[{source}]' names no function; there are {known}"
        raise ValueError(message)
    if number is None:
        message = f"'$[{source}]' needs a number: {name}(yyyyMMdd,-1)"
        raise ValueError(message)
    by = _product(number)
    return _Expression(moved=lambda at: move(at, by), written=_format(form, source))


def _format(form: str, source: str) -> _Written:
    pieces: list[str | _Written] = []
    end = 0
    for token in _TOKEN.finditer(form):
        if token.start() != end:
            break
        end = token.end()
        if token[1] is not None:
            pieces.append(token[1] or "'")
        elif token[2] is None:
            pieces.append(token[0])
        elif token[0] in _FIELDS:
            pieces.append(_FIELDS[token[0]])
        else:
            known = ", ".join(_FIELDS)
            message = f"'$[{source}]' has '{token[0]}', which is no part of a date: {known}"
            raise ValueError(message)
    if not form or end != len(form):
        message = f"'$[{source}]' has no format that can be read; one is yyyyMMdd"
        raise ValueError(message)
    return lambda at: "".join(p if isinstance(p, str) else p(at) for p in pieces)


def _shifts(terms: str) -> _Moved:
    days, minutes = 0, 0
    for found in _ONE_TERM.finditer(terms):
        by = int(found[1]) * int(found[2] or 1)
        if found[4]:
            minutes += by
        elif found[3]:
            minutes += by * 60
        else:
            days += by
    return lambda at: _passed(_days(at, days), minutes)


def _product(number: str) -> int:
    factor, _, other = number.partition("*")
    return int(factor) * int(other or 1)


def _same(at: datetime) -> datetime:
    return at


def _days(at: datetime, days: int) -> datetime:
    """By the calendar: yesterday at the same time by the clock of the zone."""
    return at + timedelta(days=days) if days else at


def _passed(at: datetime, minutes: int) -> datetime:
    if not minutes:
        return at
    return (at.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(at.tzinfo)


def _months(at: datetime, months: int) -> datetime:
    """The same day of another month, or its last one where it has not so many."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    day = min(at.day, calendar.monthrange(year, month + 1)[1])
    return at.replace(year=year, month=month + 1, day=day)


def _month_first(at: datetime, months: int) -> datetime:
    return _months(at.replace(day=1), months)


def _month_last(at: datetime, months: int) -> datetime:
    first = _month_first(at, months)
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _monday(at: datetime, days: int) -> datetime:
    return _days(at, days - at.weekday())


_DAYS: Final[Mapping[str, int]] = MappingProxyType({"this_day": 0, "last_day": -1})
_MOVES: Final[Mapping[str, Callable[[datetime, int], datetime]]] = MappingProxyType(
    {
        "add_months": _months,
        "month_first_day": _month_first,
        "month_last_day": _month_last,
        "week_first_day": lambda at, weeks: _monday(at, 7 * weeks),
        "week_last_day": lambda at, weeks: _monday(at, 7 * weeks + 6),
        "month_begin": lambda at, days: _days(_month_first(at, 0), days),
        "month_end": lambda at, days: _days(_month_last(at, 0), days),
        "week_begin": _monday,
        "week_end": lambda at, days: _monday(at, days + 6),
    }
)


def _year_week(at: datetime, first: int, dash: str) -> str:
    """The week that the day lies in, which belongs to the year that has its fourth day; weeks begin
    with the day ``first``, 1 for Monday.
    """
    begins = _days(at, -((at.isoweekday() - first) % 7))
    fourth = _days(begins, 3)
    week = (fourth.timetuple().tm_yday - 1) // 7 + 1
    return f"{fourth.year:04d}{dash}{week:02d}"

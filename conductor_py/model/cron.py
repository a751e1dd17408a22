"""Cron expressions in Spring's dialect: six fields, seconds first, and the wall times they match.

A field is ``*``, a number, a range, either with a step, or a list of these; months and weekdays
have names; ``?`` is ``*`` for both kinds of day. The day of the month also takes ``L`` (last day),
``L-3`` (that many days before it), ``LW`` (last weekday of the month) and ``15W`` (the weekday
nearest to the 15th, never in another month); the day of the week takes ``5L`` (last Friday) and
``5#2`` (second Friday). 0 and 7 are Sunday. A day must match both fields of days. ``@hourly`` and
its like stand for whole expressions. Zones are in ``zoned_time``.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Final

from conductor_py.records import dataclass

MAX_LENGTH: Final = 500
"""Characters of an expression that are read."""

_MACROS: Final = MappingProxyType(
    {
        "@yearly": "0 0 0 1 1 *",
        "@annually": "0 0 0 1 1 *",
        "@monthly": "0 0 0 1 * *",
        "@weekly": "0 0 0 * * 0",
        "@daily": "0 0 0 * * *",
        "@midnight": "0 0 0 * * *",
        "@hourly": "0 0 * * * *",
    }
)
_MONTHS: Final = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_WEEKDAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_SUNDAY: Final = 7
_CYCLE_MONTHS: Final = 400 * 12
"""The calendar repeats itself after 400 years, weekdays included."""
_LAST_YEAR: Final = 9_000
_LENGTHS: Final = (
    (31,),
    (28, 29),
    (31,),
    (30,),
    (31,),
    (30,),
    (31,),
    (31,),
    (30,),
    (31,),
    (30,),
    (31,),
)
"""How many days the months may have; with each length each begins with every weekday some year."""
_Calendar = Mapping[tuple[int, int], tuple[int, ...]]


class CronError(ValueError):
    """An expression that cannot be read, or never matches; ``position`` counts from 1."""

    def __init__(self, message: str, position: int) -> None:
        """Say what is wrong, and where."""
        self.position = position
        super().__init__(f"not a cron expression, at position {position}: {message}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Days:
    """Numbers of days, of the month or of the week."""

    numbers: frozenset[int]

    def of(self, first: int, length: int, *, weekly: bool) -> Iterator[int]:
        """List the days of a month that begins with weekday ``first`` (1: Monday)."""
        for day in range(1, length + 1):
            if (_weekday(first, day) if weekly else day) in self.numbers:
                yield day


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    """The last day of the month, ``before`` days before it, or the last that is no weekend."""

    before: int = 0
    working: bool = False

    def of(self, first: int, length: int, *, weekly: bool) -> Iterator[int]:
        """List the day."""
        day = length - self.before
        if self.working:
            day -= max(0, _weekday(first, day) - 5)
        if day > 0:
            yield day


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nearest:
    """The day from Monday to Friday nearest to a day, in the same month."""

    day: int

    def of(self, first: int, length: int, *, weekly: bool) -> Iterator[int]:
        """List the day, unless the month is too short."""
        if self.day > length:
            return
        match _weekday(first, self.day):
            case 6:
                yield self.day - 1 if self.day > 1 else 3
            case 7:
                yield self.day + 1 if self.day < length else self.day - 2
            case _:
                yield self.day


@dataclass(frozen=True, slots=True, kw_only=True)
class _Occurrence:
    """The first, second … weekday of its kind in the month; 0: the last."""

    weekday: int
    ordinal: int

    def of(self, first: int, length: int, *, weekly: bool) -> Iterator[int]:
        """List the day, if the month has it."""
        days = range(1 + (self.weekday - first) % 7, length + 1, 7)
        if self.ordinal <= len(days):
            yield days[self.ordinal - 1]


_Rule = _Days | _Last | _Nearest | _Occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A readable expression that matches at some time."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    calendar: _Calendar
    """The days that match in a month, by the weekday (0: Monday) that it begins with and by its
    length: worked out once, so that what fires seldom is found without asking each rule each month.
    """

    @property
    def fires(self) -> bool:
        """Whether there is a month that has such a day."""
        return any(
            self.calendar[first, length]
            for month in self.months
            for length in _LENGTHS[month - 1]
            for first in range(7)
        )

    @property
    def every_hour(self) -> bool:
        """Whether no hour is left out: such an expression counts elapsed time, not the clock."""
        return len(self.hours) == 24

    def next_after(self, wall: datetime) -> datetime | None:
        """Find the first wall time (naive, whole seconds) that matches after ``wall``."""
        begin = wall.replace(microsecond=0) + timedelta(seconds=1)
        year, month = begin.year, begin.month
        for _ in range(_CYCLE_MONTHS + 1):
            if year > _LAST_YEAR:
                return None
            if month in self.months:
                for day in self.calendar[monthrange(year, month)]:
                    found = self._on(begin, datetime(year, month, day))  # noqa: DTZ001 - wall time
                    if found is not None:
                        return found
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return None

    def _on(self, begin: datetime, midnight: datetime) -> datetime | None:
        """Find the first match of a day, not before ``begin``."""
        if midnight.date() < begin.date():
            return None
        since = begin.time() if midnight.date() == begin.date() else midnight.time()
        for hour in self.hours:
            if hour < since.hour:
                continue
            for minute in self.minutes:
                if (hour, minute) < (since.hour, since.minute):
                    continue
                for second in self.seconds:
                    if (hour, minute, second) >= (since.hour, since.minute, since.second):
                        return midnight.replace(hour=hour, minute=minute, second=second)
        return None


@lru_cache(maxsize=1024)
def parse(text: str) -> Cron:
    """Read an expression; ``CronError`` says what is wrong where, or that it never matches."""
    if len(text) > MAX_LENGTH:
        raise CronError(f"it is longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    word = text.strip().lower()
    if word.startswith("@") and word not in _MACROS:
        raise CronError(f"the macros are {', '.join(_MACROS)}", text.index("@") + 1)
    tokens = [
        _Token(text=found[0].upper(), at=found.start() + 1)
        for found in re.finditer(r"\S+", _MACROS.get(word, text))
    ]
    if len(tokens) != 6:
        hint = "; begin with the second, for example 0" if len(tokens) == 5 else ""
        position = tokens[6].at if len(tokens) > 6 else len(text) + 1
        raise CronError(
            "the six fields are second, minute, hour, day of the month, month and day of the week,"
            f" not {len(tokens)}{hint}",
            position,
        )
    cron = Cron(
        seconds=tuple(sorted(_numbers(tokens[0], _SECOND))),
        minutes=tuple(sorted(_numbers(tokens[1], _MINUTE))),
        hours=tuple(sorted(_numbers(tokens[2], _HOUR))),
        months=frozenset(_numbers(tokens[4], _MONTH)),
        calendar=_calendar(_rules(tokens[3], _DAY), _rules(tokens[5], _WEEKDAY)),
    )
    if not cron.fires:
        raise CronError("it never fires: no month has such a day", tokens[3].at)
    return cron


# --------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    text: str
    at: int

    def items(self) -> Iterator[_Token]:
        """Take a list apart."""
        at = self.at
        for item in self.text.split(","):
            yield _Token(text=item, at=at)
            at += len(item) + 1

    def wrong(self, message: str) -> CronError:
        """Make the error of this piece."""
        return CronError(f"{message}, not '{self.text}'", self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    least: int | None = None
    """The lowest number that may be written, when ``*`` begins higher."""


_SECOND: Final = _Field(name="second", low=0, high=59)
_MINUTE: Final = _Field(name="minute", low=0, high=59)
_HOUR: Final = _Field(name="hour", low=0, high=23)
_DAY: Final = _Field(name="day of the month", low=1, high=31)
_MONTH: Final = _Field(name="month", low=1, high=12, names=_MONTHS)
_WEEKDAY: Final = _Field(name="day of the week", low=1, high=7, names=_WEEKDAYS, least=0)


def _numbers(token: _Token, field: _Field) -> set[int]:
    found: set[int] = set()
    for item in token.items():
        found.update(_range(item, field))
    return found


def _range(item: _Token, field: _Field) -> range:
    body, slash, step = item.text.partition("/")
    if slash and not (step.isascii() and step.isdigit() and 0 < len(step) < 5 and int(step)):
        raise item.wrong(f"the step of the {field.name} must be a number above 0")
    low, dash, high = body.partition("-")
    if body == "*":
        first, last = field.low, field.high
    elif dash:
        first, last = _number(item, low, field), _number(item, high, field)
        if field is _WEEKDAY and first == _SUNDAY and last != _SUNDAY:
            first = 0
        if first > last:
            raise item.wrong(f"the range of the {field.name} must not run backwards")
    else:
        first = _number(item, body, field)
        last = field.high if slash else first
    return range(first, last + 1, int(step) if slash else 1)


def _number(item: _Token, text: str, field: _Field) -> int:
    if text in field.names:
        return field.names.index(text) + 1
    least = field.low if field.least is None else field.least
    if text.isascii() and text.isdigit() and len(text) < 5 and least <= int(text) <= field.high:
        return int(text)
    named = f" or {field.names[0]}-{field.names[-1]}" if field.names else ""
    raise item.wrong(f"the {field.name} must be {least}-{field.high}{named}")


def _rules(token: _Token, field: _Field) -> tuple[_Rule, ...]:
    if token.text == "?":
        return (_Days(numbers=frozenset(range(field.low, field.high + 1))),)
    special = _special_day if field is _DAY else _special_weekday
    rules: list[_Rule] = []
    numbers: set[int] = set()
    for item in token.items():
        rule = special(item)
        if rule is None:
            numbers.update(_range(item, field))
        else:
            rules.append(rule)
    if field is _WEEKDAY and 0 in numbers:
        numbers.add(_SUNDAY)
    return (*rules, _Days(numbers=frozenset(numbers))) if numbers else tuple(rules)


def _calendar(days: tuple[_Rule, ...], weekdays: tuple[_Rule, ...]) -> _Calendar:
    """Which days match both, in each month that there can be."""
    both = ((dict.fromkeys(days), False), (dict.fromkeys(weekdays), True))
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for first, length in product(range(7), (28, 29, 30, 31)):
        of_month, of_week = (
            {day for rule in rules for day in rule.of(first + 1, length, weekly=weekly)}
            for rules, weekly in both
        )
        found[first, length] = tuple(sorted(of_month & of_week))
    return MappingProxyType(found)


def _special_day(item: _Token) -> _Rule | None:
    if item.text == "LW":
        return _Last(working=True)
    found = re.fullmatch(r"L(?:-(\d{1,2}))?|(\d{1,2})W", item.text, re.ASCII)
    if found is None:
        if re.search("[LW]", item.text):
            raise item.wrong("the last day is L, L-3 or LW, the nearest weekday 15W")
        return None
    if found[2]:
        return _Nearest(day=_number(item, found[2], _DAY))
    before = int(found[1]) if found[1] else 0
    if before > 30:
        raise item.wrong("a month has at most 30 days before its last")
    return _Last(before=before)


def _special_weekday(item: _Token) -> _Rule | None:
    found = re.fullmatch(r"([0-7]|[A-Z]{3})(?:(L)|#(\d+))", item.text, re.ASCII)
    if found is None:
        if "#" in item.text or item.text.endswith("L"):
            raise item.wrong("the last Friday is 5L or FRIL, the second 5#2 or FRI#2")
        return None
    weekday = _number(item, found[1], _WEEKDAY) or _SUNDAY
    if found[2]:
        return _Occurrence(weekday=weekday, ordinal=0)
    if found[3] not in {"1", "2", "3", "4", "5"}:
        raise item.wrong("a month has at most five of a weekday: #1 to #5")
    return _Occurrence(weekday=weekday, ordinal=int(found[3]))


def _weekday(first: int, day: int) -> int:
    """Tell the weekday (1: Monday) of a day of a month that begins with weekday ``first``."""
    return (first + day - 2) % 7 + 1

"""Cron expressions: what is read, what is refused, and which wall times match."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor_py.model import cron
from conductor_py.model.cron import CronError, parse


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def following(expression: str, after: str, count: int = 3) -> list[str]:
    """The next matches, as text without seconds where they are zero."""
    cron, wall, found = parse(expression), at(after), []
    for _ in range(count):
        next_wall = cron.next_after(wall)
        assert next_wall is not None
        wall = next_wall
        found.append(wall.isoformat(" "))
    return [text.removesuffix(":00") for text in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 * * * *", ["2026-01-01 01:00", "2026-01-01 02:00", "2026-01-01 03:00"]),
        ("*/10 * * * * *", ["2026-01-01 00:00:10", "2026-01-01 00:00:20", "2026-01-01 00:00:30"]),
        ("0 0 8-10 * * *", ["2026-01-01 08:00", "2026-01-01 09:00", "2026-01-01 10:00"]),
        ("0 0 6,19 * * *", ["2026-01-01 06:00", "2026-01-01 19:00", "2026-01-02 06:00"]),
        ("0 0/30 8-9 * * *", ["2026-01-01 08:00", "2026-01-01 08:30", "2026-01-01 09:00"]),
        ("0 0 9 * * MON-FRI", ["2026-01-01 09:00", "2026-01-02 09:00", "2026-01-05 09:00"]),
        ("0 0 0 25 12 ?", ["2026-12-25 00:00", "2027-12-25 00:00", "2028-12-25 00:00"]),
        ("0 0 0 25 dec ?", ["2026-12-25 00:00", "2027-12-25 00:00", "2028-12-25 00:00"]),
        ("0 0 0 L * *", ["2026-01-31 00:00", "2026-02-28 00:00", "2026-03-31 00:00"]),
        ("0 0 0 L-3 * *", ["2026-01-28 00:00", "2026-02-25 00:00", "2026-03-28 00:00"]),
        ("0 0 0 1W * *", ["2026-02-02 00:00", "2026-03-02 00:00", "2026-04-01 00:00"]),
        ("0 0 0 LW * *", ["2026-01-30 00:00", "2026-02-27 00:00", "2026-03-31 00:00"]),
        ("0 0 0 15W * *", ["2026-01-15 00:00", "2026-02-16 00:00", "2026-03-16 00:00"]),
        ("0 0 0 28W 2 *", ["2026-02-27 00:00", "2027-02-26 00:00", "2028-02-28 00:00"]),
        ("0 0 0 * * 5L", ["2026-01-30 00:00", "2026-02-27 00:00", "2026-03-27 00:00"]),
        ("0 0 0 * * THUL", ["2026-01-29 00:00", "2026-02-26 00:00", "2026-03-26 00:00"]),
        ("0 0 0 ? * 5#2", ["2026-01-09 00:00", "2026-02-13 00:00", "2026-03-13 00:00"]),
        ("0 0 0 ? * MON#1", ["2026-01-05 00:00", "2026-02-02 00:00", "2026-03-02 00:00"]),
        ("0 0 0 ? * FRI#5", ["2026-01-30 00:00", "2026-05-29 00:00", "2026-07-31 00:00"]),
        ("0 0 0 ? * 0", ["2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00"]),
        ("0 0 0 ? * 7", ["2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00"]),
        ("0 0 0 ? * SUN-MON", ["2026-01-04 00:00", "2026-01-05 00:00", "2026-01-11 00:00"]),
        ("0 0 0 ? * 0/3", ["2026-01-03 00:00", "2026-01-04 00:00", "2026-01-07 00:00"]),
        ("0 0 0 13 * FRI", ["2026-02-13 00:00", "2026-03-13 00:00", "2026-11-13 00:00"]),
        ("0 0 0 1,L,15W * *", ["2026-01-15 00:00", "2026-01-31 00:00", "2026-02-01 00:00"]),
        ("0 0 0 29 2 MON", ["2044-02-29 00:00", "2072-02-29 00:00", "2112-02-29 00:00"]),
        ("@hourly", ["2026-01-01 01:00", "2026-01-01 02:00", "2026-01-01 03:00"]),
        ("@daily", ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00"]),
        (" @Midnight ", ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00"]),
        ("@weekly", ["2026-01-04 00:00", "2026-01-11 00:00", "2026-01-18 00:00"]),
        ("@monthly", ["2026-02-01 00:00", "2026-03-01 00:00", "2026-04-01 00:00"]),
        ("@yearly", ["2027-01-01 00:00", "2028-01-01 00:00", "2029-01-01 00:00"]),
        ("@annually", ["2027-01-01 00:00", "2028-01-01 00:00", "2029-01-01 00:00"]),
    ],
)
def test_expression_matches_as_in_spring(expression: str, expected: list[str]) -> None:
    assert following(expression, "2026-01-01 00:00:00") == expected


def test_month_that_begins_with_a_weekend_has_its_first_weekday_on_monday() -> None:
    assert following("0 0 0 1W 8 *", "2026-01-01", 1) == ["2026-08-03 00:00"]


def test_nearest_weekday_stays_in_its_month() -> None:
    """The 31st of May 2026 is a Sunday."""
    assert following("0 0 0 31W 5 *", "2026-01-01", 1) == ["2026-05-29 00:00"]


@pytest.mark.parametrize(
    ("expression", "position", "words"),
    [
        ("", 1, "not 0"),
        ("* * * * *", 10, "begin with the second"),
        ("0 0 0 1 1 ? 2027", 13, "not 7"),
        ("60 * * * * *", 1, "second must be 0-59, not '60'"),
        ("0 0,61 * * * *", 5, "minute must be 0-59, not '61'"),
        ("0 0 24 * * *", 5, "hour"),
        ("0 0 0 0 * *", 7, "day of the month must be 1-31"),
        ("0 0 0 1 13 *", 9, "month must be 1-12 or JAN-DEC"),
        ("0 0 0 1 FOO *", 9, "JAN-DEC"),
        ("0 0 0 * * 8", 11, "day of the week must be 0-7 or MON-SUN"),
        ("0 0 10-8 * * *", 5, "backwards"),
        ("0 0 ? * * *", 5, "hour"),
        ("0 */0 * * * *", 3, "step"),
        ("0 */x * * * *", 3, "step"),
        ("0 1, * * * *", 5, "minute"),
        ("0 -1 * * * *", 3, "minute"),
        ("0 0 0 L5 * *", 7, "L-3"),
        ("0 0 0 L-31 * *", 7, "at most 30"),
        ("0 0 0 W * *", 7, "15W"),
        ("0 0 0 32W * *", 7, "not '32W'"),
        ("0 0 0 ? * L", 11, "FRIL"),
        ("0 0 0 ? * 5#6", 11, "#1 to #5"),
        ("0 0 0 ? * 5#0", 11, "#1 to #5"),
        ("0 0 0 ? * 8#1", 11, "5#2"),
        ("0 0 0 30 2 ?", 7, "never fires"),
        ("0 0 0 31 4,6,9,11 ?", 7, "never fires"),
        ("0 0 0 1-7 * FRI#5", 7, "never fires"),
        ("@often", 1, "@hourly"),
        ("0 " * 300, 501, "longer"),
        ("0 0 0 \N{ARABIC-INDIC DIGIT ONE} * *", 7, "day of the month"),
    ],
)
def test_wrong_expression_is_refused_with_its_position(
    expression: str, position: int, words: str
) -> None:
    with pytest.raises(CronError) as refused:
        parse(expression)
    assert refused.value.position == position
    assert words in str(refused.value)
    assert f"cron expression, at position {position}:" in str(refused.value)


def test_expressions_give_nothing_beyond_the_calendar() -> None:
    assert parse("0 0 0 29 2 *").next_after(at("8999-12-31")) is None


# ------------------------------------------------------------------------ against a slow walker


def _matches(expression: str, wall: datetime) -> bool:
    second, minute, hour, day, month, weekday = expression.split()
    return (
        wall.second in _plain(second, 0, 59)
        and wall.minute in _plain(minute, 0, 59)
        and wall.hour in _plain(hour, 0, 23)
        and wall.month in _plain(month, 1, 12)
        and any(_day_matches(item, wall) for item in day.split(","))
        and any(_weekday_matches(item, wall) for item in weekday.split(","))
    )


def _plain(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        body, _, step = item.partition("/")
        if body == "*":
            first, last = low, high
        else:
            begin, _, end = body.partition("-")
            first = int(begin)
            last = int(end) if end else high if step else first
        found |= {
            number for number in range(first, last + 1) if (number - first) % int(step or 1) == 0
        }
    return found


def _day_matches(item: str, wall: datetime) -> bool:
    last = monthrange(wall.year, wall.month)[1]
    if item == "?":
        return True
    if item.endswith("W"):
        wanted = last if item == "LW" else int(item[:-1])
        if wanted > last:
            return False
        workdays = [day for day in range(1, last + 1) if wall.replace(day=day).weekday() < 5]
        if item == "LW":
            return wall.day == workdays[-1]
        return wall.day == min(workdays, key=lambda day: (abs(day - wanted), day))
    if item.startswith("L"):
        return wall.day == last - int(item[2:] or 0)
    return wall.day in _plain(item, 1, 31)


def _weekday_matches(item: str, wall: datetime) -> bool:
    if item == "?":
        return True
    if item.endswith("L"):
        next_week = wall + timedelta(days=7)
        return wall.isoweekday() % 7 == int(item[:-1]) % 7 and next_week.month != wall.month
    if "#" in item:
        weekday, ordinal = item.split("#")
        return wall.isoweekday() % 7 == int(weekday) % 7 and (wall.day - 1) // 7 + 1 == int(ordinal)
    numbers = _plain(item, 1, 7)
    return wall.isoweekday() in numbers or (wall.isoweekday() == 7 and 0 in numbers)


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    pair = st.tuples(number, number).map(sorted)
    ranges = pair.map(lambda two: f"{two[0]}-{two[1]}")
    steps = st.tuples(st.one_of(st.just("*"), number.map(str), ranges), st.integers(1, high))
    item = st.one_of(number.map(str), ranges, steps.map(lambda two: f"{two[0]}/{two[1]}"))
    return st.one_of(st.just("*"), st.lists(item, min_size=1, max_size=3).map(",".join))


_DAYS = st.one_of(
    _field(1, 31),
    st.just("?"),
    st.just("L"),
    st.just("LW"),
    st.integers(1, 30).map(lambda n: f"L-{n}"),
    st.integers(1, 31).map(lambda n: f"{n}W"),
)
_WEEKDAYS = st.one_of(
    _field(1, 7),
    st.integers(0, 7).map(str),
    st.just("?"),
    st.integers(0, 7).map(lambda n: f"{n}L"),
    st.tuples(st.integers(0, 7), st.integers(1, 5)).map(lambda two: f"{two[0]}#{two[1]}"),
)


def _walk(expression: str, after: datetime, days: int) -> Iterator[datetime]:
    """Every second would take too long: whole days first, then the times of a matching day."""
    for number in range(days):
        midnight = (after + timedelta(days=number)).replace(hour=0, minute=0, second=0)
        if not _matches("* * * " + " ".join(expression.split()[3:]), midnight):
            continue
        for hour in range(24):
            for minute in range(60):
                wall = midnight.replace(hour=hour, minute=minute)
                if _matches(f"* {' '.join(expression.split()[1:])}", wall):
                    for second in range(60):
                        found = wall.replace(second=second)
                        if found > after and _matches(expression, found):
                            yield found


_EXPRESSIONS = st.tuples(
    *(_field(0, 59), _field(0, 59), _field(0, 23), _DAYS, _field(1, 12), _WEEKDAYS)
).map(" ".join)


@settings(deadline=None, max_examples=200)
@given(
    expression=_EXPRESSIONS,
    after=st.datetimes(at("2023-01-01"), at("2029-12-31")).map(
        lambda moment: moment.replace(microsecond=0)
    ),
)
@pytest.mark.thorough(target="histories")
def test_next_match_is_the_one_a_slow_walker_finds(expression: str, after: datetime) -> None:
    try:
        cron = parse(expression)
    except CronError:
        assert next(_walk(expression, after, 1_500), None) is None
        return
    walked = next(_walk(expression, after, 800), None)
    found = cron.next_after(after)
    assert found is not None
    assert walked == found or (walked is None and found > after + timedelta(days=799))


def test_an_expression_of_many_rules_that_never_fires_asks_each_for_the_months_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    of = cron._Occurrence.of

    def counted(rule: cron._Occurrence, first: int, length: int, *, weekly: bool) -> Iterator[int]:
        asked.append(length)
        return of(rule, first, length, weekly=weekly)

    monkeypatch.setattr(cron._Occurrence, "of", counted)
    with pytest.raises(CronError, match="never fires"):
        parse(f"0 0 0 L-30 * {','.join(['1#5'] * 100)}")
    # Months are as many as seven days to begin with, and four lengths.
    assert len(asked) == 28

"""The times of a WAIT task."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.wait_time import parse_duration_ms, parse_until_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("1d 2h 3m 4s", 93_784_000),
        ("1d2h3m4s", 93_784_000),
        ("2 days 1 hour", 176_400_000),
        ("90 MINUTES", 5_400_000),
        ("1 Hr 30 mins", 5_400_000),
        ("  5 secs ", 5_000),
        ("0s", 0),
        ("100000d", 8_640_000_000_000),
    ],
)
def test_duration_is_read(text: str, expected_ms: int) -> None:
    assert parse_duration_ms(text) == expected_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "5",
        "s",
        "1.5h",
        "-1s",
        "2h 1d",
        "1s 1s",
        "1w",
        "1h,2m",
        "PT1H",
        "99999999999s",
        "\u0661s",
        "1 h x",
        "1" + " " * 200 + "s",
    ],
)
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    assert parse_duration_ms(text) is None


COUNTS = st.integers(min_value=0, max_value=10**6)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.sampled_from(["", " "]))
def test_duration_is_the_sum_of_its_parts(d: int, h: int, m: int, s: int, blank: str) -> None:
    expected = timedelta(days=d, hours=h, minutes=m, seconds=s) // timedelta(milliseconds=1)
    assert parse_duration_ms(blank.join((f"{d}d", f"{h}h", f"{m}m", f"{s}s"))) == expected


def _ms(instant: datetime) -> int:
    return int(instant.timestamp()) * 1_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01 08:30", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-3-1 8:30", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-03-01 08:30 UTC", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-03-01 08:30 Z", datetime(2026, 3, 1, 8, 30, tzinfo=UTC)),
        ("2026-03-01 08:30 GMT+02:00", datetime(2026, 3, 1, 6, 30, tzinfo=UTC)),
        ("2026-03-01 08:30 +02:00", datetime(2026, 3, 1, 6, 30, tzinfo=UTC)),
        ("2026-03-01 08:30 -0530", datetime(2026, 3, 1, 14, 0, tzinfo=UTC)),
        ("2026-03-01 08:30 PST", datetime(2026, 3, 1, 16, 30, tzinfo=UTC)),
        ("1969-12-31 23:59", datetime(1969, 12, 31, 23, 59, tzinfo=UTC)),
    ],
)
def test_until_is_read(text: str, expected: datetime) -> None:
    assert parse_until_ms(text) == _ms(expected)


@pytest.mark.parametrize(
    ("zone", "utc"),
    [
        # What a Java server makes of these, whatever the season.
        ("GMT+04:00", "08:00"),
        ("gmt-3:30", "15:30"),
        ("+0530", "06:30"),
        ("CET", "11:00"),
        ("CEST", "10:00"),
        ("EEST", "09:00"),
        ("BST", "11:00"),
        ("IST", "10:00"),
        ("JST", "03:00"),
        ("pdt", "19:00"),
        ("Pacific Standard Time", "20:00"),
        ("Central European Summer Time", "10:00"),
        ("r\u00e9union time", "08:00"),
        ("Europe/Berlin", "10:00"),
        ("America/New_York", "16:00"),
        ("UTC", "12:00"),
    ],
)
def test_zone_is_read_as_a_java_server_does_or_by_its_rules(zone: str, utc: str) -> None:
    assert parse_until_ms(f"2026-07-01 12:00 {zone}") == parse_until_ms(f"2026-07-01 {utc}")


def test_zone_of_the_database_has_a_winter_and_a_gap() -> None:
    berlin = "2026-01-01 12:00 Europe/Berlin"
    assert parse_until_ms(berlin) == parse_until_ms("2026-01-01 11:00")
    gap = "2026-03-29 02:30 Europe/Berlin"
    assert parse_until_ms(gap) == parse_until_ms("2026-03-29 01:30")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-02-30",
        "2026-13-01",
        "2026-03-01 24:00",
        "2026-03-01 08:60",
        "0000-01-01",
        "2026-03-01T08:30",
        "2026-03-01 08:30:00",
        "2026-03-01 08:30 ../../etc/passwd",
        "1767225600",
        "2026-03-01 08:30 +25:00",
        "2026-03-01 UTC",
    ],
)
def test_what_is_not_an_instant_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"not of the form|no date or time|no time zone"):
        parse_until_ms(text)


@given(
    st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001
    st.integers(min_value=-1_080, max_value=1_080),
)
def test_until_with_an_offset_is_that_instant(local: datetime, offset: int) -> None:
    zone = timezone(timedelta(minutes=offset))
    sign, ahead = ("-" if offset < 0 else "+"), abs(offset)
    text = f"{local:%Y-%m-%d %H:%M} {sign}{ahead // 60:02}:{ahead % 60:02}"
    expected = local.replace(second=0, microsecond=0, tzinfo=zone)
    assert parse_until_ms(text) == (expected - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        milliseconds=1
    )


@given(st.text(max_size=30))
def test_no_text_makes_it_throw_anything_else(text: str) -> None:
    assert isinstance(parse_duration_ms(text), int | None)
    with suppress(ValueError):
        assert isinstance(parse_until_ms(text), int)

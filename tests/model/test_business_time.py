"""Time placeholders: what each becomes, on the calendar and across changes of the clock."""

import itertools
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.model.business_time import (
    business_time,
    expanded,
    has_placeholders,
    instant_of,
    requested,
)

BERLIN = ZoneInfo("Europe/Berlin")
FRIDAY = datetime(2022, 8, 26, 10, 5, 9, 123_000, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("", ""),
        ("nothing", "nothing"),
        ("$[yyyyMMdd]", "20220826"),
        ("dt=$[yyyy-MM-dd-1]/hour=$[HH]", "dt=2022-08-25/hour=10"),
        ("$[yyyyMMdd+7*2]", "20220909"),
        ("$[yyyyMMdd-7*2]", "20220812"),
        ("$[yyyyMMddHHmmss-1/24]", "20220826090509"),
        ("$[HHmmss+30/24/60]", "103509"),
        ("$[yyyyMMddHH-1-3/24]", "2022082507"),
        ("$[yyyy-MM-dd'T'HH:mm:ss.SSS]", "2022-08-26T10:05:09.123"),
        ("$[ yyyy/M/d H:m:s ]", "2022/8/26 10:5:9"),
        ("$[yy''MM]", "22'08"),
        ("$[add_months(yyyyMMdd,-6)]", "20220226"),
        ("$[add_months(yyyyMMdd,-12*2)]", "20200826"),
        ("$[this_day(yyyy-MM-dd)]", "2022-08-26"),
        ("$[last_day(yyyy-MM-dd)]", "2022-08-25"),
        ("$[year_week(yyyy-MM-dd)]", "2022-34"),
        ("$[year_week(yyyyMMdd,5)]", "202235"),
        ("$[month_first_day(yyyy-MM-dd,-1)]", "2022-07-01"),
        ("$[month_last_day(yyyy-MM-dd,-1)]", "2022-07-31"),
        ("$[week_first_day(yyyy-MM-dd,-1)]", "2022-08-15"),
        ("$[week_last_day(yyyy-MM-dd,-1)]", "2022-08-21"),
        ("$[month_begin(yyyyMMdd,1)]", "20220802"),
        ("$[month_end(yyyyMMdd,-1)]", "20220830"),
        ("$[week_begin(yyyyMMdd, 1)]", "20220823"),
        ("$[week_end(yyyyMMdd,-1)]", "20220827"),
        ("$[timestamp(yyyyMMddHHmmss)]", "1661501109"),
        ("$[timestamp(yyyyMMdd'000000')]", "1661464800"),
        ("$$[yyyy] $[yyyy] $$[", "$[yyyy] 2022 $["),
        ("$[timestamp(month_begin(yyyyMMddHHmmss,0))]", "1659341109"),
    ],
)
def test_a_placeholder_becomes_what_it_says(text: str, becomes: str) -> None:
    assert expanded(text, FRIDAY) == becomes
    assert has_placeholders(text) == ("$[" in text.replace("$$[", ""))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("$[yyyyMMdd", "has no closing bracket"),
        ("$[]", "has no format"),
        ("$[-1]", "has no format"),
        ("$[YYYYMMdd]", "'YYYY', which is no part of a date"),
        ("$[yyyy-MM-DD]", "'DD', which is no part of a date"),
        ("$[today]", "no part of a date"),
        ("$[yyyy'MM]", "no format that can be read"),
        ("$[yyyyMMdd-1/25]", "no format|no part"),
        ("$[next_day(yyyyMMdd)]", "names no function; there are this_day"),
        ("$[add_months(yyyyMMdd)]", "needs a number"),
        ("$[add_months(yyyyMMdd,x)]", "where a number is wanted"),
        ("$[this_day(yyyyMMdd,1)]", "takes a format only"),
        ("$[year_week(yyyyMMdd,8)]", "a first day from 1, Monday, to 7, Sunday"),
        ("$[timestamp()]", "has no format"),
        ("$[timestamp(yyyyMMdd)]", "needs a format of all of a time"),
        ("$[timestamp(timestamp(yyyyMMddHHmmss))]", "names no function"),
        ("$[yyyyMMdd--1]", "two signs in a row"),
        (f"$[f({' ' * 900}(]", "no closing bracket within 200"),
        (f"$[{'+1' * 4000}x]", "no closing bracket within 200"),
        ("$[yyyyMMdd+999999*999999]", "beyond the years"),
        ("$[add_months(yyyy,999999)]", "beyond the years"),
    ],
)
def test_what_is_not_understood_is_an_error_that_says_why(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        expanded(text, FRIDAY)


def test_a_month_without_that_day_ends_on_its_last() -> None:
    at = datetime(2024, 3, 31, tzinfo=BERLIN)
    assert expanded("$[add_months(yyyyMMdd,-1)] $[add_months(yyyyMMdd,-13)]", at) == (
        "20240229 20230228"
    )


def test_yesterday_is_a_day_of_the_calendar_and_an_hour_ago_an_hour_of_time() -> None:
    """On 27 March 2022 the clocks of Berlin went from 2 to 3."""
    at = datetime(2022, 3, 27, 3, 30, tzinfo=BERLIN)
    assert expanded("$[yyyyMMddHHmm-1]", at) == "202203260330"
    assert expanded("$[yyyyMMddHHmm-1/24]", at) == "202203270130"


def test_the_hour_that_comes_twice_is_gone_back_through() -> None:
    second = datetime(2022, 10, 30, 2, 30, tzinfo=BERLIN, fold=1)
    assert expanded("$[HHmm-1/24] $[HHmm-2/24]", second) == "0230 0130"
    first = datetime(2022, 10, 30, 2, 30, tzinfo=BERLIN)
    stamp = "$[timestamp(yyyyMMddHHmmss)]"
    assert int(expanded(stamp, second)) - int(expanded(stamp, first)) == 3600


MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001
    lambda at: at.replace(tzinfo=BERLIN)
)


@given(at=MOMENTS)
def test_weeks_of_monday_are_those_of_iso(at: datetime) -> None:
    year, week, _ = at.isocalendar()
    assert expanded("$[year_week(yyyy-MM-dd)]", at) == f"{year:04d}-{week:02d}"


@given(at=MOMENTS, first=st.integers(1, 7))
def test_a_week_has_one_number_from_its_first_day_to_its_last(at: datetime, first: int) -> None:
    noon = at.replace(hour=12)
    numbers = []
    for ahead in range(14):
        day = datetime.strptime(expanded(f"$[yyyyMMdd+{ahead}]", noon), "%Y%m%d").replace(
            tzinfo=BERLIN
        )
        numbers.append((day.isoweekday(), expanded(f"$[year_week(yyyyMMdd,{first})]", day)))
    for (_, before), (weekday, after) in itertools.pairwise(numbers):
        assert (before != after) == (weekday == first)


@given(at=MOMENTS, days=st.integers(-400, 400))
def test_days_are_added_and_taken_away_again(at: datetime, days: int) -> None:
    moved = expanded(f"$[yyyyMMdd{days:+d}]", at)
    there = datetime.strptime(moved, "%Y%m%d").replace(tzinfo=BERLIN)
    assert expanded(f"$[yyyyMMdd{-days:+d}]", there) == expanded("$[yyyyMMdd]", at)


@given(text=st.text(alphabet="$[]yMdHms-+*/0123456789(),' _ad"))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        expanded(text, FRIDAY)
    except ValueError as error:
        assert "placeholder" in str(error) or "'" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("given", "zone", "is_"),
    [
        ("2026-11-24", "", "2026-11-24T00:00:00+00:00"),
        ("20261124", "Europe/Berlin", "2026-11-23T23:00:00+00:00"),
        ("20261124T0230", "", "2026-11-24T02:30:00+00:00"),
        ("2026-11-24", "Europe/Berlin", "2026-11-23T23:00:00+00:00"),
        ("2026-11-24T02:30", "Asia/Shanghai", "2026-11-23T18:30:00+00:00"),
        ("2026-11-24T02:30+02:00", "Asia/Shanghai", "2026-11-24T00:30:00+00:00"),
        ("2026-11-24T02:30:00Z", "Asia/Shanghai", "2026-11-24T02:30:00+00:00"),
        (" 1700000000123 ", "Asia/Shanghai", "2023-11-14T22:13:20.123000+00:00"),
        (1_700_000_000_123, "", "2023-11-14T22:13:20.123000+00:00"),
    ],
)
def test_a_business_time_is_read_by_the_clock_of_its_zone(
    given: str | int, zone: str, is_: str
) -> None:
    at = instant_of(given, zone)
    assert business_time(at, "").isoformat() == is_
    assert business_time(at, zone).timestamp() * 1000 == at


@pytest.mark.parametrize(
    ("given", "zone", "says"),
    [
        ("yesterday", "", "businessTime must be epoch ms, or an ISO 8601"),
        ("2026", "", "businessTime must lie between"),
        (20260301, "", "businessTime must lie between"),
        ("20261399", "", "businessTime must be epoch ms, or an ISO 8601"),
        ("9" * 5000, "", "businessTime must lie between"),
        ("²", "", "businessTime must be epoch ms, or an ISO 8601"),
        (0, "", "businessTime must lie between"),
        (-5, "", "businessTime must lie between"),
        (10**30, "", "businessTime must lie between"),
        ("9" * 30, "", "businessTime must lie between"),
        ("0001-01-01", "Asia/Shanghai", "businessTime must lie between"),
        (True, "", "businessTime must be epoch ms or a text"),
        ([], "", "businessTime must be epoch ms or a text"),
        (None, "Mars/Olympus", "zoneId is wrong: there is no time zone 'Mars/Olympus'"),
    ],
)
def test_a_wrong_business_time_says_what_is_wrong(given: object, zone: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("(", "\\(")):
        requested(given, zone, "")


def test_without_one_there_is_the_zone_only() -> None:
    assert requested(None, None, "Europe/Berlin") == (0, "Europe/Berlin")
    assert requested("", "", "") == (0, "")

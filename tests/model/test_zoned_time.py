"""Instants of cron expressions where clocks are put forward and back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor_py.model.cron import parse
from conductor_py.model.zoned_time import next_instant, zone_of


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def instants(expression: str, zone: str, after: str, count: int) -> list[str]:
    """The next instants, on the zone's clock."""
    where, now, found = zone_of(zone), ms(after), []
    for _ in range(count):
        instant = next_instant(parse(expression), now, where)
        assert instant is not None
        now = instant
        found.append(datetime.fromtimestamp(now / 1000, where).isoformat()[5:])
    return found


def test_time_that_is_left_out_fires_after_the_gap() -> None:
    assert instants("0 30 2 * * *", "Europe/Berlin", "2027-03-27T00:00Z", 3) == [
        "03-27T02:30:00+01:00",
        "03-28T03:00:00+02:00",
        "03-29T02:30:00+02:00",
    ]


def test_times_that_are_left_out_fire_together_once() -> None:
    assert instants("0 */20 1-3 * * *", "Europe/Berlin", "2027-03-28T00:30Z", 4) == [
        "03-28T01:40:00+01:00",
        "03-28T03:00:00+02:00",
        "03-28T03:20:00+02:00",
        "03-28T03:40:00+02:00",
    ]


def test_midnight_that_is_left_out_fires_after_the_gap() -> None:
    assert instants("@daily", "Asia/Beirut", "2027-03-27T12:00Z", 2) == [
        "03-28T01:00:00+03:00",
        "03-29T00:00:00+03:00",
    ]


def test_time_that_comes_twice_fires_the_first_time() -> None:
    assert instants("0 30 2 * * *", "Europe/Berlin", "2027-10-30T12:00Z", 2) == [
        "10-31T02:30:00+02:00",
        "11-01T02:30:00+01:00",
    ]
    assert instants("0 30 2 * * *", "Europe/Berlin", "2027-10-31T01:10Z", 1) == [
        "11-01T02:30:00+01:00"
    ]


def test_expression_of_every_hour_counts_elapsed_time() -> None:
    assert instants("0 30 * * * *", "Europe/Berlin", "2027-10-31T00:00Z", 4) == [
        "10-31T02:30:00+02:00",
        "10-31T02:30:00+01:00",
        "10-31T03:30:00+01:00",
        "10-31T04:30:00+01:00",
    ]
    assert instants("0 30 * * * *", "Europe/Berlin", "2027-03-28T00:00Z", 3) == [
        "03-28T01:30:00+01:00",
        "03-28T03:30:00+02:00",
        "03-28T04:30:00+02:00",
    ]


def test_day_that_is_left_out_fires_when_the_next_begins() -> None:
    """Samoa had no 30 December 2011."""
    assert instants("0 0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z", 2) == [
        "12-31T00:00:00+14:00",
        "12-30T12:00:00+14:00",
    ]


@pytest.mark.parametrize(
    ("name", "minutes"),
    [("UTC", 0), ("Z", 0), ("+02:00", 120), ("UTC-3", -180), ("GMT+0530", 330), ("+18", 1080)],
)
def test_offsets_are_zones(name: str, minutes: int) -> None:
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    assert moment.astimezone(zone_of(name)).utcoffset() == timedelta(minutes=minutes)


@pytest.mark.parametrize("name", ["", "Europe", "Europe/Atlantis", "../etc/passwd", "+19:00", "x"])
def test_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        zone_of(name)


@pytest.mark.parametrize("after", [-(2**63), 2**63 - 1])
def test_instants_far_away_are_no_error(after: int) -> None:
    found = next_instant(parse("@daily"), after, zone_of("Asia/Kathmandu"))
    assert found is None if after > 0 else found == ms("1970-01-01T18:30Z")


_ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Beirut",
    "UTC",
    "+05:45",
)
_CHANGES = tuple(
    ms(f"{day}T12:00Z")
    for day in ("2027-03-27", "2027-03-13", "2027-04-03", "2027-10-02", "2027-10-30", "2027-11-06")
)


@settings(deadline=None, max_examples=100)
@given(
    zone=st.sampled_from(_ZONES),
    begin=st.sampled_from(_CHANGES),
    minute=st.sampled_from(["0", "*/7", "30", "59", "15,45", "*"]),
    hour=st.sampled_from(["*", "2", "1-3", "*/2", "0", "0,1", "23"]),
)
@pytest.mark.thorough(target="histories")
def test_instants_are_those_that_a_slow_walker_finds(
    zone: str, begin: int, minute: str, hour: str
) -> None:
    """The walker looks at every minute of two days that hold a change of clocks."""
    cron, where = parse(f"0 {minute} {hour} * * *"), zone_of(zone)
    until = begin + 48 * 3_600_000
    walked = []
    before = datetime.fromtimestamp(begin / 1000, where)
    for now in range(begin + 60_000, until, 60_000):
        local = datetime.fromtimestamp(now / 1000, where)
        wall, last = local.replace(tzinfo=None, fold=0), before.replace(tzinfo=None, fold=0)
        matches = local.minute in cron.minutes and local.hour in cron.hours
        gap = wall - last - timedelta(minutes=1)
        if cron.every_hour:
            fires = matches
        else:
            left_out = [
                last + timedelta(minutes=n + 1) for n in range(int(gap.total_seconds() // 60))
            ]
            skipped = any(one.minute in cron.minutes and one.hour in cron.hours for one in left_out)
            fires = (matches and not local.fold) or skipped
        if fires:
            walked.append(now)
        before = local
    found, now = [], begin
    while (instant := next_instant(cron, now, where)) is not None and instant < until:
        found.append(instant)
        now = instant
    assert found == walked

"""Sizes of rounds, rates, restarts, and how many bad rows are too many."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.pipelines.bad_rows import exceeded
from conductor_py.pipelines.rates import SourceRate
from conductor_py.pipelines.restarts import Restarts
from conductor_py.pipelines.round_size import RoundSize
from conductor_py.pipelines.spec import ErrorRule, Rate, RestartRule, RoundRule

_MB = 1 << 20
_RULE = RoundRule(target_s=20, min_bytes=64 * _MB, max_bytes=1024 * _MB)


def _after(size, *, speed, rounds):
    for _ in range(rounds):
        size = size.succeeded(bytes_read=size.bytes, seconds=size.bytes / speed)
    return size


def test_rounds_double_until_they_take_the_target_time():
    size, seen = RoundSize.start(_RULE), []
    for _ in range(6):
        seen.append(size.bytes // _MB)
        size = _after(size, speed=30 * _MB, rounds=1)
    assert seen == [64, 128, 256, 512, 600, 600]


def test_failed_round_halves_the_next_and_a_restart_begins_small():
    size = _after(RoundSize.start(_RULE), speed=30 * _MB, rounds=6).failed()
    assert size.bytes == 300 * _MB
    assert size.failed().failed().failed().failed().bytes == _RULE.min_bytes
    assert _after(size, speed=30 * _MB, rounds=1).bytes == 600 * _MB


def test_rounds_follow_a_source_that_becomes_slower():
    size = _after(RoundSize.start(_RULE), speed=40 * _MB, rounds=8)
    assert size.bytes == 800 * _MB
    assert _after(size, speed=10 * _MB, rounds=20).bytes == pytest.approx(200 * _MB, rel=0.05)


def test_last_small_round_does_not_tell_the_speed():
    size = _after(RoundSize.start(_RULE), speed=30 * _MB, rounds=8)
    assert size.succeeded(bytes_read=10, seconds=1.0).rate == size.rate


@given(
    st.lists(
        st.none() | st.tuples(st.integers(0, 2**40), st.floats(0, 10_000, allow_nan=False)),
        max_size=30,
    )
)
def test_size_stays_within_its_bounds_whatever_happens(history):
    size = RoundSize.start(_RULE)
    for each in history:
        size = (
            size.failed() if each is None else size.succeeded(bytes_read=each[0], seconds=each[1])
        )
        assert _RULE.min_bytes <= size.bytes <= _RULE.max_bytes


@given(
    st.floats(1, 1000),
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 500)), min_size=1, max_size=40),
)
def test_rate_holds_over_any_time(per_second, steps):
    """What was taken is never more than time brought, the first fill and one last split."""
    now, taken, largest = 0.0, 0, 0
    rate = SourceRate.start(Rate(rows_per_second=per_second), Rate(), burst_s=20, now=now)
    for passed, rows in steps:
        now += passed
        rate = rate.filled(now)
        if not rate.allowance().over:
            rate = rate.took(rows=rows, bytes_read=0)
            taken, largest = taken + rows, max(largest, rows)
        assert taken <= per_second * (now + 1) + largest + 1e-6


def test_debt_is_waited_for_and_no_longer():
    rate = SourceRate.start(Rate(bytes_per_second=10), Rate(), burst_s=5, now=0)
    rate = rate.took(rows=1, bytes_read=60)
    assert rate.wait_s() == pytest.approx(5)
    assert rate.filled(4.9).allowance().over
    assert not rate.filled(5.1).allowance().over
    assert rate.filled(-3).wait_s() == pytest.approx(5)


def test_source_without_a_bound_takes_that_of_the_job_or_none():
    own = SourceRate.start(Rate(), Rate(rows_per_second=3), burst_s=1, now=0)
    assert own.allowance().rows == 3
    free = SourceRate.start(Rate(), Rate(), burst_s=1, now=0)
    assert (free.allowance().over, free.wait_s()) == (False, 0.0)


def test_restarts_wait_longer_each_time_and_end():
    rule, state, waits = RestartRule(per_pipeline=3, delay_s=3, backoff=2), Restarts(), []
    for _ in range(4):
        state, delay = state.failed(rule)
        waits.append(delay)
    assert waits == [3, 6, 12, None]
    assert state.total == 3


def test_enough_epochs_in_a_row_forgive_earlier_failures():
    rule = RestartRule(per_pipeline=1, delay_s=1, reset_after_epochs=3)
    state, _ = Restarts().failed(rule)
    for _ in range(2):
        state = state.committed(rule)
    assert state.failed(rule)[1] is None
    state = state.committed(rule)
    assert state.failed(rule)[1] == 1


@pytest.mark.parametrize(("bad", "verdict"), [(9, False), (10, False), (11, True)])
def test_limit_of_bad_rows_is_allowed_and_one_more_is_not(bad, verdict):
    rule = ErrorRule(bad_rows="drop", max_rows=10)
    assert (exceeded(rule, bad=bad, rows=10**6) is not None) == verdict


@pytest.mark.parametrize(("bad", "verdict"), [(9, False), (10, False), (11, True)])
def test_share_of_bad_rows_is_allowed_and_one_more_is_not(bad, verdict):
    rule = ErrorRule(bad_rows="dead_letter", max_ratio=0.01)
    assert (exceeded(rule, bad=bad, rows=1000) is not None) == verdict


def test_no_bad_row_is_allowed_where_they_fail_the_pipeline():
    assert exceeded(ErrorRule(), bad=0, rows=5) is None
    assert exceeded(ErrorRule(), bad=1, rows=5) is not None
    assert exceeded(ErrorRule(bad_rows="drop"), bad=5, rows=5) is None

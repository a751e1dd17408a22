"""How long calls outlast a server that is away: together, and not each for itself."""

import pytest

from conductor_py.adapters.redis.outages import Outages
from conductor_py.errors import StoreUnavailable

_WHY = ConnectionError("nobody there")


class Time:
    """A clock that moves when somebody pauses."""

    def __init__(self) -> None:
        self.now = 100.0

    def pause(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def outages(time: Time) -> Outages:
    return Outages(2.0, monotonic=lambda: time.now, pause=time.pause)


def test_waiting_counts_from_the_first_call_that_found_nobody(outages: Outages, time: Time) -> None:
    outages.outlast("a", _WHY)
    assert time.now > 100
    time.now += 2
    began = time.now
    with pytest.raises(StoreUnavailable, match="nobody there"):
        outages.outlast("a", _WHY)
    assert time.now == began, "who comes late does not wait"
    outages.outlast("b", _WHY)


def test_answer_ends_an_outage(outages: Outages, time: Time) -> None:
    outages.outlast("a", _WHY)
    assert outages
    assert outages.is_away("a")
    outages.over("a")
    assert not outages
    time.now += 3
    outages.outlast("a", _WHY)


def test_who_does_not_wait_is_spared_a_silence_that_others_hear(
    outages: Outages, time: Time
) -> None:
    assert not outages.is_left_alone("a", patient=False)
    outages.note("a", _WHY)
    assert outages.is_left_alone("a", patient=False)
    assert not outages.is_left_alone("a", patient=True)
    time.now += 0.5
    assert not outages.is_left_alone("a", patient=False), "one of them tries"
    assert outages.is_left_alone("a", patient=False)
    time.now += 2
    assert not outages.is_left_alone("a", patient=True)
    assert outages.is_left_alone("a", patient=True), "whose time is over does not wait either"
    outages.over("a")
    assert not outages.is_left_alone("a", patient=False)


def test_place_that_is_gone_is_not_said_to_be_back(
    outages: Outages, caplog: pytest.LogCaptureFixture
) -> None:
    outages.note("a", _WHY)
    outages.forget("a")
    assert not outages
    assert [record.message for record in caplog.records] == ["A Redis server does not answer"]

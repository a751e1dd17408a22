"""The estimate of the store's time: right soon after that is set, and free while replies come."""

from __future__ import annotations

from conductor_py.engine.clock import StoreClock
from conductor_py.errors import StoreUnavailable
from conductor_py.testing.clock import FakeClock


class _Store:
    """A store whose clock is ahead of this machine's by ``ahead_ms``."""

    def __init__(self) -> None:
        self.machine = FakeClock()
        self.ahead_ms = 5_000
        self.asked = 0
        self.is_away = False
        self.clock = StoreClock(self.read, self.machine.monotonic)

    def read(self) -> int:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable
        return self.now_ms()

    def now_ms(self) -> int:
        return self.machine() + self.ahead_ms


def test_a_clock_that_was_set_is_followed_where_no_reply_corrects_the_estimate() -> None:
    store = _Store()
    assert store.clock.now_ms() == store.now_ms()

    store.ahead_ms = -3_600_000  # set, or that of another server after a failover
    store.machine.advance(seconds=10)

    assert store.clock.now_ms() == store.now_ms()
    assert store.asked == 2


def test_the_store_is_not_asked_while_the_estimate_is_young() -> None:
    store = _Store()
    for _ in range(100):
        assert store.clock.now_ms() == store.now_ms()
        store.machine.advance(milliseconds=99)
    assert store.asked == 1


def test_the_store_is_not_asked_where_replies_correct_the_estimate() -> None:
    store = _Store()
    for _ in range(10):
        store.machine.advance(seconds=9)
        store.clock.correct(store.now_ms())
        store.machine.advance(milliseconds=900)
        assert store.clock.now_ms() == store.now_ms()
    assert store.asked == 0


def test_an_old_estimate_is_gone_by_while_the_store_is_away_and_it_is_asked_now_and_then() -> None:
    store = _Store()
    assert store.clock.now_ms() == store.now_ms()
    store.is_away = True
    store.machine.advance(seconds=60)
    for _ in range(5):
        assert store.clock.now_ms() == store.now_ms()
    assert store.asked == 2
    store.machine.advance(seconds=10)
    assert store.clock.now_ms() == store.now_ms()
    assert store.asked == 3

    store.is_away, store.ahead_ms = False, 0
    store.machine.advance(seconds=10)
    assert store.clock.now_ms() == store.now_ms()


def test_the_clock_of_a_partition_is_gone_by_as_long_as_it_has_told_it_lately() -> None:
    store = _Store()
    store.clock.correct(store.now_ms() + 700, partition=3)
    assert store.clock.now_ms(3) == store.now_ms() + 700
    assert store.clock.now_ms(2) == store.now_ms()

    store.machine.advance(seconds=10)

    assert store.clock.now_ms(3) == store.now_ms()

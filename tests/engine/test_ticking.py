"""The loop of ticks, which nothing ends but its stop, and the walk over partitions."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from conductor_py.engine.sweeping.ticking import Partitions, run_ticks
from conductor_py.errors import LimitExceeded, StoreUnavailable


class _Stop(threading.Event):
    """Waits for nothing, and stops a loop after so many waits."""

    def __init__(self, after: int = 1) -> None:
        super().__init__()
        self._after = after
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) >= self._after:
            self.set()
        return self.is_set()


def _refusing(error: Exception) -> Callable[[], int]:
    def tick() -> int:
        raise error

    return tick


def test_scripts_that_get_no_processor_are_no_error_of_a_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    busy = LimitExceeded("The machine is too busy for this script; try again")
    run_ticks(_refusing(busy), _Stop())
    (told,) = caplog.records
    assert (told.levelname, told.exc_info) == ("WARNING", None)


@pytest.mark.parametrize("error", [StoreUnavailable("it is away"), ValueError("a bug")])
def test_a_loop_whose_ticks_fail_goes_on_and_waits_longer_each_time(error: Exception) -> None:
    stop = _Stop(after=7)
    run_ticks(_refusing(error), stop)
    assert stop.waits == [0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


def test_a_loop_that_found_work_looks_again_at_once() -> None:
    found = iter([3, 1, 0])
    stop = _Stop()
    run_ticks(lambda: next(found), stop, idle_s=0.5)
    assert stop.waits == [0.5]
    assert next(found, None) is None


def test_a_partition_that_is_away_keeps_no_other_from_being_served_and_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    away = {1}

    def work(partition: int) -> int:
        if partition in away:
            raise StoreUnavailable("it is away")
        return 10 + partition

    walk = Partitions()
    assert [walk.each(range(4), work) for _ in range(3)] == [10 + 12 + 13] * 3
    assert [(told.levelname, told.message) for told in caplog.records] == [
        ("WARNING", "A partition is away")
    ]
    away.clear()
    assert [walk.each(range(4), work) for _ in range(2)] == [10 + 11 + 12 + 13] * 2
    assert [told.message for told in caplog.records[1:]] == ["A partition is back"]

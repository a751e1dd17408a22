"""While nothing is changed nobody looks for what is due, and after a change somebody does soon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from conductor_py.engine.quiet import MOST_S, Looking, Quiet
from conductor_py.errors import StoreUnavailable
from tests.waiting import PATIENCE_S, until

_IDLE_S = 0.25


class _Stop(threading.Event):
    """Notes how long it is waited for, and waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.is_set()


class _Noted(Quiet):
    """Notes how long it sleeps at most, and may be changed just before."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.before: Callable[[], object] = lambda: None

    def sleep(self, seen: int, most_s: float) -> bool:
        self.slept.append(most_s)
        self.before()
        return super().sleep(seen, 0)


def _idle(quiet: Quiet | None, due_in_s: float = 60, found: int = 0) -> tuple[Looking, _Stop]:
    stop = _Stop()
    looking = Looking(lambda: found, stop, quiet, lambda: due_in_s)
    assert looking.tick() == found
    looking.wait(_IDLE_S)
    return looking, stop


def test_it_sleeps_until_the_next_is_due_and_looks_at_once() -> None:
    quiet = _Noted()
    _, stop = _idle(quiet, due_in_s=0.7)
    assert quiet.slept == [pytest.approx(0.705)]
    assert stop.waits == []


def test_it_sleeps_no_longer_than_two_seconds_whatever_is_due() -> None:
    quiet = _Noted()
    _idle(quiet)
    assert quiet.slept == [MOST_S]


def test_what_is_due_before_the_usual_wait_is_over_is_not_waited_out() -> None:
    quiet = _Noted()
    _, stop = _idle(quiet, due_in_s=0.01)
    assert quiet.slept == [pytest.approx(0.015)]
    assert stop.waits == []


@pytest.mark.parametrize(("due_in_s", "found"), [(0, 0), (-5, 0), (60, 3)])
def test_it_waits_as_told_behind_work_and_when_nobody_knows_what_is_due(
    due_in_s: float, found: int
) -> None:
    quiet = _Noted()
    _, stop = _idle(quiet, due_in_s, found)
    assert (quiet.slept, stop.waits) == ([], [_IDLE_S])


def test_it_waits_as_told_where_others_may_change_something() -> None:
    _, stop = _idle(None)
    assert stop.waits == [_IDLE_S]


def test_a_change_during_its_look_is_looked_at_after_the_usual_wait() -> None:
    quiet, stop = _Noted(), _Stop()

    def tick() -> int:
        quiet.note()
        return 0

    looking = Looking(tick, stop, quiet, lambda: 60)
    looking.tick()
    looking.wait(_IDLE_S)
    assert (quiet.slept, stop.waits) == ([], [_IDLE_S])


def test_a_change_between_its_question_and_its_sleep_is_not_slept_through() -> None:
    quiet = _Noted()
    quiet.before = quiet.note
    _, stop = _idle(quiet)
    assert stop.waits == [0.02]


@pytest.mark.parametrize("wrong", [StoreUnavailable("it is away"), ValueError("no instant: inf")])
def test_a_store_that_does_not_say_what_is_due_is_looked_at_as_often_as_told(
    wrong: Exception,
) -> None:
    """Whatever it says: nobody else would look."""

    def due_in_s() -> float:
        raise wrong

    quiet, stop = _Noted(), _Stop()
    looking = Looking(lambda: 0, stop, quiet, due_in_s)
    looking.tick()
    looking.wait(_IDLE_S)
    assert (quiet.slept, stop.waits) == ([], [_IDLE_S])


@pytest.fixture
def sleeper() -> Iterator[tuple[Quiet, list[bool]]]:
    """Somebody who sleeps for long."""
    quiet, woken = Quiet(), list[bool]()
    thread = threading.Thread(target=lambda: woken.append(quiet.sleep(quiet.last, PATIENCE_S)))
    thread.start()
    until(lambda: quiet._sleeping == 1, what="the sleep")
    yield quiet, woken
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_change_wakes_who_sleeps(sleeper: tuple[Quiet, list[bool]]) -> None:
    quiet, woken = sleeper
    quiet.note()
    until(lambda: bool(woken), what="it wakes")
    assert woken == [True]


class _Numbered(Quiet):
    """Keeps the number of each change. Who made one from the last would do so when seven others
    had read the same.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._together = threading.Barrier(8)
        super().__init__()

    @property
    def last(self) -> int:
        seen = self._last
        self._together.wait(PATIENCE_S)
        return seen

    @last.setter
    def last(self, number: int) -> None:
        self._last = number
        self.numbers.append(number)


def test_changes_of_many_threads_are_all_told_apart() -> None:
    quiet = _Numbered()
    for _ in range(3):
        threads = [threading.Thread(target=quiet.note) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(PATIENCE_S)
    assert sorted(quiet.numbers) == list(range(1 + 3 * 8))

"""Long polls and system-task workers ask the store again only when something was changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.engine.machine import Machine
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.system_worker.worker import SystemWorkerOptions
from conductor_py.errors import StoreUnavailable
from conductor_py.model.requests import PollRequest
from conductor_py.testing import MemoryEngine
from tests.builders import simple, workflow


class _Waits:
    """Wake-ups whose waits take no time but their own, and in which something may happen."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._clock: Any = engine.clock
        self._began_ms = self._clock()
        self.number = 1
        self.happens: dict[int, Any] = {}
        self.waits = 0
        self.passed_on = 0

    @property
    def now_s(self) -> float:
        """How much time has passed."""
        return float(self._clock() - self._began_ms) / 1000

    def ticket(self, _topic: str) -> int:
        return self.number

    def tickets(self, _topic: str) -> tuple[int, ...]:
        return (self.number,)

    def wait_turn(self, _topic: str, timeout_s: float, seen: int) -> bool:
        self.waits += 1
        self.happens.get(self.waits, lambda: None)()
        if self.number == seen:
            self._clock.advance(seconds=timeout_s)
        return self.number != seen

    def wake_one(self, _topic: str) -> None:
        self.passed_on += 1

    def wait_any(self, _seen: Any, timeout_s: float) -> None:
        self.waits += 1
        self._clock.advance(seconds=timeout_s)

    def wake(self, _topic: str = "") -> None:
        self.number += 1


class _Machine(Machine):
    def __init__(self, waits: _Waits) -> None:
        self._waits = waits

    def monotonic(self) -> float:
        return self._waits.now_s


class _Asked:
    """Counts the polls that reach the store."""

    def __init__(self, queues: Any) -> None:
        self._queues = queues
        self.count = 0

    def poll(self, *given: Any) -> Any:
        self.count += 1
        return self._queues.poll(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queues, name)


@pytest.fixture
def waits(engine: MemoryEngine) -> _Waits:
    return _Waits(engine)


def _quiet(engine: MemoryEngine, waits: _Waits) -> tuple[Any, Quiet, _Asked]:
    tasks: Any = engine.engine.tasks
    polling = tasks._polling
    hub, quiet, asked = polling._hub, Quiet(), _Asked(polling._queues)
    polling._wakeups, polling._queues, polling._machine = waits, asked, _Machine(waits)
    hub._wakeups, hub._queues, hub._quiet = waits, asked, quiet
    hub._monotonic = lambda: waits.now_s
    return tasks, quiet, asked


def _poll(tasks: Any, timeout_ms: int = 5_000) -> int:
    return len(tasks.poll(PollRequest(task_type="a", worker="w", timeout_ms=timeout_ms)))


def test_a_long_poll_of_a_quiet_server_asks_once(engine: MemoryEngine, waits: _Waits) -> None:
    tasks, _, asked = _quiet(engine, waits)
    assert _poll(tasks) == 0
    assert (waits.now_s, asked.count) == (5.0, 1)


def test_a_long_poll_asks_again_within_a_second_of_a_change(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, quiet, asked = _quiet(engine, waits)

    def offered() -> None:
        engine.start(workflow("w", simple("a")))
        quiet.note()

    waits.happens = {3: offered}
    assert _poll(tasks) == 1
    assert (waits.now_s, asked.count) == (3.0, 2)


def test_a_long_poll_asks_at_once_when_it_is_woken(engine: MemoryEngine, waits: _Waits) -> None:
    tasks, _, asked = _quiet(engine, waits)
    waits.happens = {2: waits.wake}
    assert _poll(tasks) == 0
    assert (waits.now_s, asked.count) == (5.0, 2)


def test_a_long_poll_asks_when_what_it_knows_of_falls_due(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    engine.start(workflow("w", simple("a", startDelay=3)))
    assert _poll(tasks) == 1
    assert asked.count == 2
    assert waits.now_s == pytest.approx(3.0, abs=0.1)


def test_a_queue_that_was_found_empty_is_asked_again_ten_seconds_later_while_nothing_changes(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    for _ in range(8):
        assert _poll(tasks, timeout_ms=2_500) == 0
    assert (waits.now_s, asked.count) == (20.0, 2)
    engine.start(workflow("w", simple("a")))
    assert _poll(tasks, timeout_ms=2_500) == 1, "20 seconds"


def test_a_queue_that_was_found_empty_is_asked_within_a_second_of_a_change(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, quiet, asked = _quiet(engine, waits)
    for _ in range(2):
        assert _poll(tasks) == 0
    assert asked.count == 1
    engine.start(workflow("w", simple("a")))
    quiet.note()
    assert _poll(tasks, timeout_ms=250) == 1
    assert asked.count == 2


def test_a_change_while_a_queue_is_asked_is_looked_for_a_second_later(
    engine: MemoryEngine, waits: _Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, quiet, asked = _quiet(engine, waits)
    ask = asked.poll

    def changed_behind(*given: Any) -> Any:
        answer = ask(*given)
        quiet.note()
        return answer

    monkeypatch.setattr(asked, "poll", changed_behind)
    for _ in range(3):
        assert _poll(tasks, timeout_ms=500) == 0
    assert (waits.now_s, asked.count) == (1.5, 2)


def test_a_queue_that_was_found_empty_is_not_asked_within_a_second_where_others_may_fill_it(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    tasks._polling._hub._quiet = None
    for _ in range(8):
        assert _poll(tasks, timeout_ms=250) == 0
    assert (waits.now_s, asked.count) == (2.0, 3)
    engine.start(workflow("w", simple("a")))
    waits.wake()
    assert _poll(tasks, timeout_ms=250) == 1
    assert asked.count == 4


def test_what_falls_due_is_not_missed_though_the_queue_was_found_empty_a_moment_ago(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, quiet, _ = _quiet(engine, waits)
    assert _poll(tasks, timeout_ms=0) == 0
    engine.start(workflow("w", simple("a", startDelay=2)))
    quiet.note()
    assert _poll(tasks) == 1
    assert waits.now_s == pytest.approx(2.0, abs=0.1)


def test_polls_of_one_type_do_not_hide_what_another_type_has_in_the_same_queue(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, _ = _quiet(engine, waits)
    engine.start(workflow("w", simple("a")), task_to_domain={"a": "d"})
    for _ in range(3):
        assert not tasks.poll(PollRequest(task_type="d:a", worker="w", timeout_ms=250))
    wanted = PollRequest(task_type="a", domain="d", worker="w", timeout_ms=250)
    assert len(tasks.poll(wanted)) == 1


def test_a_poll_that_fails_lets_the_next_who_waits_look(
    engine: MemoryEngine, waits: _Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, _, asked = _quiet(engine, waits)

    def away(*_: Any) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(asked, "poll", away)
    with pytest.raises(StoreUnavailable):
        _poll(tasks)
    assert waits.passed_on == 1


def test_who_stopped_polling_is_told_with_the_time_of_the_last_poll(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    began_ms = engine.clock()
    for _ in range(2):
        tasks.poll(PollRequest(task_type="a", worker="w", timeout_ms=250))
    assert asked.count == 1
    engine.clock.advance(seconds=3_600)
    (polled,) = tasks.poll_data("a")
    assert polled["lastPollTime"] - began_ms <= 500


def test_who_does_not_wait_always_asks(engine: MemoryEngine, waits: _Waits) -> None:
    tasks, _, asked = _quiet(engine, waits)
    for _ in range(3):
        assert _poll(tasks, timeout_ms=0) == 0
    assert asked.count == 3


@pytest.mark.parametrize("task_type", ["a", None])
def test_who_polled_last_is_told_though_the_store_was_not_asked(
    engine: MemoryEngine, waits: _Waits, task_type: str | None
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    for worker in ("first", "second", "third"):
        tasks.poll(PollRequest(task_type="a", worker=worker, timeout_ms=125))
    assert asked.count == 1
    (polled,) = tasks.poll_data(task_type)
    assert polled["workerId"] == "third"


def test_a_worker_counts_as_there_by_its_last_poll_though_the_store_was_not_asked(
    engine: MemoryEngine, waits: _Waits
) -> None:
    tasks, _, asked = _quiet(engine, waits)
    for _ in range(3):
        tasks.poll(PollRequest(task_type="a", domain="d", worker="w", timeout_ms=3_000))
    assert asked.count == 1
    engine.clock.advance(seconds=5)
    assert tasks._domains.active("a", "d,other") == "d", "polled 8 seconds ago"
    engine.clock.advance(seconds=5)
    assert tasks._domains.active("a", "d,other") == "other"


@pytest.mark.parametrize(("tasks", "passed_on"), [(1, 0), (2, 1)])
def test_a_poll_that_leaves_tasks_behind_lets_the_next_who_waits_look(
    engine: MemoryEngine, waits: _Waits, tasks: int, passed_on: int
) -> None:
    polled, _, _ = _quiet(engine, waits)
    for _ in range(tasks):
        engine.start(workflow("w", simple("a")))
    assert _poll(polled) == 1
    assert waits.passed_on == passed_on


@pytest.mark.parametrize(("due_s", "passed_on"), [(2, 1), (4, 0)])
def test_who_leaves_and_knows_of_what_falls_due_soon_lets_the_next_who_waits_look(
    engine: MemoryEngine, waits: _Waits, due_s: int, passed_on: int
) -> None:
    polled, _, _ = _quiet(engine, waits)
    engine.start(workflow("w", simple("a", startDelay=due_s)))
    assert _poll(polled, timeout_ms=1_500) == 0
    assert waits.passed_on == passed_on


def test_a_system_task_worker_asks_a_quiet_server_once(engine: MemoryEngine, waits: _Waits) -> None:
    _, quiet, asked = _quiet(engine, waits)
    wakeups: Any = waits
    services = replace(
        engine.engine.system_workers,
        wakeups=wakeups,
        monotonic=lambda: waits.now_s,
        quiet=quiet,
    )

    class Task:
        task_type = "a"

    worker: Any = services.worker([Task()], SystemWorkerOptions(worker="w"))  # type: ignore[list-item]
    for _ in range(5):
        worker.look_or_wait()
    assert asked.count == 1
    assert waits.now_s == pytest.approx(5.0)
    quiet.note()
    worker.look_or_wait()
    assert asked.count == 2
    waits.wake()
    worker.look_or_wait()
    assert asked.count == 3

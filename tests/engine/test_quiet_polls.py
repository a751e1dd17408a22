"""Long polls and system-task workers ask the store again only when something was changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.engine.machine import Machine
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.system_worker import SystemWorkerOptions
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

    @property
    def now_s(self) -> float:
        """How much time has passed."""
        return float(self._clock() - self._began_ms) / 1000

    def ticket(self, _topic: str) -> int:
        return self.number

    def wait(self, _topic: str, timeout_s: float, seen: int) -> int:
        self.waits += 1
        self.happens.get(self.waits, lambda: None)()
        if self.number == seen:
            self._clock.advance(seconds=timeout_s)
        return self.number

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
    tasks._quiet, tasks._wakeups, tasks._queues = Quiet(), waits, _Asked(tasks._queues)
    tasks._machine = _Machine(waits)
    return tasks, tasks._quiet, tasks._queues


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

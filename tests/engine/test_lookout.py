"""Who waits for a queue of a server that is alone sleeps; one thread sees when one is to look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from conductor_py.engine.machine import Machine
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.tasks.hub import Hub, Key
from conductor_py.engine.tasks.lookout import Lookout
from conductor_py.model.requests import PollRequest
from conductor_py.ports.queues import PollReply
from conductor_py.testing import MemoryEngine
from tests.builders import simple, workflow
from tests.conformance.stores import Clock, Store, memory_store

_A: Key = ("a", "a")
_B: Key = ("b", "b")
_SHARDS = ("s0",)


class _Woken:
    """Wake-ups that note whom they wake."""

    def __init__(self, wakeups: Any) -> None:
        self._wakeups = wakeups
        self.topics: list[str] = []
        self.then: Callable[[], None] = lambda: None

    def wake_one(self, topic: str) -> None:
        self.topics.append(topic)
        self.then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wakeups, name)


class _Seconds(Machine):
    """A machine on which time passes when somebody waits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def monotonic(self) -> float:
        return self._clock() / 1000

    def pause(self, seconds: float) -> None:
        self._clock.advance(int(seconds * 1000))


class _Polled:
    """A hub of a store with one partition, in which polls of two queues wait."""

    def __init__(self, store: Store) -> None:
        self.clock = store.clock
        machine = _Seconds(self.clock)
        self.quiet, self.woken = Quiet(), _Woken(store.wakeups)
        wakeups: Any = self.woken
        self.hub = Hub(store.queues, wakeups, lambda _: self.clock(), machine.monotonic, self.quiet)
        self.lookout = Lookout(self.hub, wakeups, machine)

    def asked(self, key: Key, retry_in_ms: int = 0) -> None:
        """Somebody looks, and finds nothing."""
        for one in self.hub.candidates(key, _SHARDS, looks=True):
            retry_at = self.clock() + retry_in_ms if retry_in_ms else 0
            self.hub.asked(
                key, one, PollReply(now_ms=self.clock(), claimed=(), retry_at_ms=retry_at)
            )

    def looked(self, after_ms: int) -> list[str]:
        """Whom the lookout wakes so much later."""
        self.clock.advance(after_ms)
        self.woken.topics.clear()
        self.lookout.look()
        return sorted(self.woken.topics)


@pytest.fixture
def polled() -> Iterator[_Polled]:
    polled = _Polled(memory_store(Clock()))
    with ExitStack() as waits:
        for key in (_A, _A, _B):
            waits.enter_context(polled.hub.waits(key))
        for key in (_A, _B):
            polled.asked(key)
        yield polled


def test_nobody_is_woken_while_nothing_is_changed(polled: _Polled) -> None:
    assert [polled.looked(1_000) for _ in range(9)] == [[]] * 9


def test_one_of_each_queue_is_woken_when_something_was_changed_for_a_second(
    polled: _Polled,
) -> None:
    polled.quiet.note()
    assert polled.looked(500) == [], "looked half a second ago"
    assert polled.looked(500) == ["q:a", "q:b"]
    for key in (_A, _B):
        polled.asked(key)
    assert polled.looked(1_000) == []


def test_one_of_each_queue_is_woken_ten_seconds_after_somebody_has_looked(polled: _Polled) -> None:
    polled.clock.advance(5_000)
    polled.asked(_B)
    assert polled.looked(5_000) == ["q:a"]
    assert polled.looked(5_000) == ["q:a", "q:b"], "nobody has looked at a"


def test_what_falls_due_is_looked_at_though_who_knew_of_it_has_left(polled: _Polled) -> None:
    polled.clock.advance(1_000)
    polled.asked(_A, retry_in_ms=3_000)
    assert polled.looked(2_900) == []
    assert polled.looked(200) == ["q:a"]


def test_a_queue_for_which_nobody_waits_is_left_alone(polled: _Polled) -> None:
    polled.asked(("c", "c"))
    polled.quiet.note()
    assert polled.looked(1_000) == ["q:a", "q:b"]


def test_all_who_wait_are_woken_at_a_stop_and_again_while_some_have_not_heard(
    polled: _Polled,
) -> None:
    stop = threading.Event()
    stop.set()
    began_ms = polled.clock()
    polled.lookout.keep(stop)
    assert polled.woken.topics == ["q:a", "q:a", "q:b"] * 20
    assert polled.clock() - began_ms == 1_000, "it does not wait for ever"
    assert polled.hub.look_in_s(_A) <= 1.0, "who comes now looks after itself"


def test_a_stop_ends_with_the_last_who_waits() -> None:
    polled, stop = _Polled(memory_store(Clock())), threading.Event()
    waits = ExitStack()
    waits.enter_context(polled.hub.waits(_A))
    polled.woken.then = waits.close
    stop.set()
    polled.lookout.keep(stop)
    assert polled.woken.topics == ["q:a"]


def test_it_looks_each_second_until_it_is_stopped(polled: _Polled) -> None:
    polled.quiet.note()
    waits: list[float] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0.0)
            polled.clock.advance(int((timeout or 0.0) * 1000))
            assert polled.hub.look_in_s(_A) > 60, "polls need not see to it"
            return len(waits) > 3

    polled.lookout._wake_all = lambda: None  # type: ignore[method-assign]
    polled.lookout.keep(Stop())
    assert waits == [1.0] * 4
    assert polled.woken.topics == ["q:a", "q:b"] * 3, "nobody has looked yet"


@contextmanager
def _kept(engine: MemoryEngine) -> Iterator[threading.Event]:
    stop = threading.Event()
    thread = threading.Thread(target=engine.engine.lookout.keep, args=(stop,), daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive()


def test_a_long_poll_waits_all_its_time_in_one_piece_where_somebody_looks_out(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: Any = engine.engine.tasks
    polling = tasks._polling
    polling._hub._quiet, polling._machine = Quiet(), _Seconds(Clock())
    waits: list[float] = []

    def wait_turn(_topic: str, timeout_s: float, _seen: int) -> bool:
        waits.append(timeout_s)
        engine.start(workflow("w", simple("a")))
        return True

    monkeypatch.setattr(polling._wakeups, "wait_turn", wait_turn)
    polling._hub.is_attended = True
    request = PollRequest(task_type="a", worker="w", timeout_ms=5_000)
    assert len(engine.engine.tasks.poll(request)) == 1
    assert waits == [5.0]
    assert polling._hub.waiting() == []


def test_a_stop_ends_a_long_poll_that_waits(engine: MemoryEngine) -> None:
    found: list[object] = []
    request = PollRequest(task_type="a", worker="w", timeout_ms=60_000)
    with _kept(engine) as stop:
        poll = threading.Thread(
            target=lambda: found.append(engine.engine.tasks.poll(request, stop)), daemon=True
        )
        poll.start()
        hub: Any = engine.engine.lookout
        while not hub._hub.waiting():
            poll.join(0.01)
    poll.join(10)
    assert found == [()]


def test_a_long_poll_that_a_stop_wakes_claims_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: Any = engine.engine.tasks
    stop = threading.Event()

    def wait_turn(*_: object) -> bool:
        engine.start(workflow("w", simple("a")))
        stop.set()
        return True

    monkeypatch.setattr(tasks._polling._wakeups, "wait_turn", wait_turn)
    request = PollRequest(task_type="a", worker="w", timeout_ms=5_000)
    assert engine.engine.tasks.poll(request, stop) == ()
    assert len(engine.poll("a")) == 1

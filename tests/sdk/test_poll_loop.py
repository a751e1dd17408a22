"""The poll loop: how it waits for a server that is away, and what it does with what it claims."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from conductor_py.errors import StoreUnavailable
from conductor_py.sdk import worker_task
from conductor_py.sdk.poll_loop import PollLoop
from tests.sdk.clock import FakeClock
from tests.sdk.tasks import polled
from tests.waiting import PATIENCE_S

_AWAY_MS = 600_000


class _Server:
    """Away for ten minutes, and back then: the first poll that it answers ends the loop."""

    def __init__(self, clock: FakeClock, retry_after_s: int) -> None:
        self._clock = clock
        self._retry_after_s = retry_after_s
        self.back_ms = clock.now_ms + _AWAY_MS
        self.polled_ms = 0
        self.refused = 0
        self.stopping = threading.Event()

    def poll_batch(self, *_: Any, **__: Any) -> list[Any]:
        if self._clock.now_ms < self.back_ms:
            self.refused += 1
            raise StoreUnavailable("nothing listens", retry_after_s=self._retry_after_s)
        self.polled_ms = self._clock.now_ms
        self.stopping.set()
        return []


@worker_task("greet")
def greet() -> None:
    """Never reached."""


@pytest.mark.parametrize("retry_after_s", [1, 120])
def test_worker_polls_within_a_few_seconds_after_a_long_outage(retry_after_s: int) -> None:
    clock = FakeClock()
    server = _Server(clock, retry_after_s)
    unused: Any = None
    loop = PollLoop(
        greet,
        client=server,  # type: ignore[arg-type]
        keeper=unused,
        reporter=unused,
        worker_id="w",
        clock=clock,
        stopping=server.stopping,
    )
    loop._random = random.Random(1)
    loop.run()
    assert server.polled_ms - server.back_ms <= 4_500
    assert server.refused < _AWAY_MS / 1_000, "and it does not hammer a server that is away"


class _Keeper:
    """Holds leases, and says of which tasks."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.released = threading.Semaphore(0)

    def hold(self, lease: Any) -> None:
        self.held.append(lease.context.task.task_id)

    def release(self, lease: Any) -> None:
        self.held.remove(lease.context.task.task_id)
        self.released.release()


class _Offers:
    """A server that offers two tasks at once, and notes what is handed back."""

    def __init__(self) -> None:
        self.handed_back: list[str] = []

    def poll_batch(self, *_: Any, **__: Any) -> list[Any]:
        return [polled(taskId="t-1"), polled(taskId="t-2")]

    def task_input(self, task: Any) -> Any:
        return task.input

    def update_task(self, result: Any, *, resend: bool) -> None:
        assert not resend
        self.handed_back.append(result.task_id)


class _Reporter:
    """Notes of which tasks the results are."""

    def __init__(self) -> None:
        self.reported: list[str] = []

    def report(self, lease: Any, _result: Any) -> None:
        self.reported.append(lease.context.task.task_id)


@worker_task("greet", concurrency=2)
def greet_two() -> None:
    """Has nothing to do."""


def test_a_task_whose_thread_cannot_start_is_handed_back_and_the_others_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, keeper, reporter = _Offers(), _Keeper(), _Reporter()
    loop = PollLoop(
        greet_two,
        client=server,  # type: ignore[arg-type]
        keeper=keeper,  # type: ignore[arg-type]
        reporter=reporter,  # type: ignore[arg-type]
        worker_id="w",
        clock=FakeClock(),
        stopping=threading.Event(),
    )
    begin, refusals = threading.Thread.start, [RuntimeError("can't start new thread")]

    def start(thread: threading.Thread) -> None:
        if refusals:
            raise refusals.pop()
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="start new thread"):
        loop._poll(2)
    assert keeper.released.acquire(timeout=PATIENCE_S)
    assert keeper.released.acquire(timeout=PATIENCE_S)
    assert (keeper.held, server.handed_back, reporter.reported) == ([], ["t-1"], ["t-2"])
    loop.slots.close()

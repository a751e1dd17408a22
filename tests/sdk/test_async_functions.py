"""Async functions of a worker: one event loop for all, and everything that other functions have."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from conductor_py.sdk import (
    Client,
    ConfigurationError,
    NonRetryableError,
    ResultStatus,
    TaskContext,
    TaskInProgress,
    Worker,
    task_context,
    worker_task,
)
from conductor_py.sdk.event_loop import EventLoop
from tests.sdk.clock import StandingClock
from tests.sdk.stub import Reply, TaskQueue
from tests.sdk.tasks import polled, task
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def client(stub):
    with Client(stub.url, timeout_s=PATIENCE_S) as connected:
        yield connected


@pytest.fixture
def tasks(stub) -> TaskQueue:
    return TaskQueue(stub)


@pytest.fixture
def loop():
    with EventLoop() as running:
        yield running


def run(function, clock, loop, given=None):
    context = TaskContext(task(), clock)
    return worker_task("greet")(function).run(context, given or {}, loop), context


def greet(**options):
    return worker_task("greet", **({"poll_timeout_ms": 50} | options))


def _loop_threads() -> int:
    return sum(thread.name == "conductor-event-loop" for thread in threading.enumerate())


def _await_the_end_of(worker: Worker) -> None:
    thread = worker._event_loop._thread
    assert thread is not None
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


# -- one loop --------------------------------------------------------------------------------------


def test_all_calls_of_a_worker_share_one_event_loop(client, tasks):
    seen = []

    @greet()
    async def look() -> None:
        seen.append((asyncio.get_running_loop(), threading.current_thread()))

    tasks.put(polled(taskId="t-1"), polled(taskId="t-2"))
    with Worker(client, [look]):
        for _ in range(2):
            assert tasks.next_report()["status"] == "COMPLETED"
    assert seen[0] == seen[1]


def test_what_one_call_made_in_the_loop_the_next_call_can_use(clock, loop):
    made: list[asyncio.Future[str]] = []

    async def make() -> None:
        made.append(asyncio.get_running_loop().create_future())

    async def use() -> str:
        made[0].set_result("shared")
        return await made[0]

    run(make, clock, loop)
    assert run(use, clock, loop)[0].output == {"result": "shared"}


def test_a_worker_without_async_functions_has_no_event_loop(client, tasks):
    before = _loop_threads()

    @greet()
    def look() -> int:
        return _loop_threads()

    tasks.put(polled())
    with Worker(client, [look]):
        assert tasks.next_report()["outputData"] == {"result": before}


def test_the_slots_bound_how_many_coroutines_run_at_a_time(stub, client, tasks):
    release, running = threading.Event(), []

    @greet(concurrency=2)
    async def hold() -> int:
        running.append(1)
        at_once = len(running)
        await asyncio.to_thread(release.wait, PATIENCE_S)
        running.pop()
        return at_once

    tasks.put(*(polled(taskId=f"t-{number}") for number in range(4)))
    with Worker(client, [hold]):
        until(lambda: len(running) == 2, what="two run side by side")
        release.set()
        most = max(tasks.next_report()["outputData"]["result"] for _ in range(4))
    assert most == 2
    assert {request.query["count"][0] for request in stub.seen("GET")} <= {"1", "2"}


# -- the context -----------------------------------------------------------------------------------


def test_each_coroutine_knows_its_own_task_before_and_after_it_awaits(client, tasks):
    meeting: list[asyncio.Event] = []

    @greet(concurrency=2)
    async def look() -> list[str]:
        before = task_context().task.task_id
        meeting.append(asyncio.Event())
        if len(meeting) == 2:
            for event in meeting:
                event.set()
        await meeting[0].wait()
        inner = await asyncio.create_task(_own_id())
        thread = await asyncio.to_thread(lambda: task_context().task.task_id)
        return [before, task_context().task.task_id, inner, thread]

    async def _own_id() -> str:
        return task_context().task.task_id

    tasks.put(polled(taskId="t-1"), polled(taskId="t-2"))
    with Worker(client, [look]):
        reports = [tasks.next_report() for _ in range(2)]
    for report in reports:
        assert report["outputData"] == {"result": [report["taskId"]] * 4}


@pytest.mark.parametrize(
    ("block", "instead"),
    [
        (lambda context: context.sleep(1), "await asyncio.sleep"),
        (lambda context: context.heed_requests(), "await asyncio.to_thread"),
    ],
)
def test_a_call_that_would_stop_the_loop_is_refused_and_says_what_to_write(
    clock, loop, block, instead
):
    async def work() -> None:
        block(task_context())

    result, _ = run(work, clock, loop)
    assert result.status is ResultStatus.FAILED
    assert instead in result.reason


def test_an_async_function_heeds_requests_in_a_thread(clock, loop):
    async def work() -> str:
        await asyncio.to_thread(task_context().heed_requests)
        return "went on"

    assert run(work, clock, loop)[0].output == {"result": "went on"}


# -- results and failures --------------------------------------------------------------------------


def test_what_an_async_function_returns_is_read_as_of_any_function(clock, loop):
    async def work() -> TaskInProgress:
        return TaskInProgress(7, {"page": 2})

    result, _ = run(work, clock, loop)
    assert (result.status, result.callback_after_s) == (ResultStatus.IN_PROGRESS, 7)


def test_an_exception_of_a_coroutine_fails_the_task_with_its_traceback(clock, loop):
    async def work() -> None:
        await asyncio.to_thread(len, ())
        raise ValueError("the disk is full")

    result, context = run(work, clock, loop)
    assert (result.status, result.reason) == (ResultStatus.FAILED, "ValueError: the disk is full")
    (entry,) = context.take_lines()
    assert "in work" in entry.line


def test_a_non_retryable_error_of_a_coroutine_fails_the_task_for_good(clock, loop):
    async def work() -> None:
        raise NonRetryableError("no such customer")

    result, _ = run(work, clock, loop)
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR


def test_a_coroutine_that_exits_fails_only_its_task_and_the_loop_goes_on(clock, loop):
    async def leave() -> None:
        sys.exit(3)

    async def work() -> int:
        return 1

    result, _ = run(leave, clock, loop)
    assert (result.status, result.reason) == (ResultStatus.FAILED, "SystemExit: 3")
    assert run(work, clock, loop)[0].output == {"result": 1}


# -- leases ----------------------------------------------------------------------------------------


def test_the_lease_is_extended_while_a_coroutine_waits(stub, client, tasks):
    clock, extended = StandingClock(), threading.Event()

    def extend(_request):
        extended.set()
        return Reply(200, {"leaseUntil": 1})

    stub.on("POST", "/api/tasks/t-1/extend", extend)

    @greet(lease_s=150)
    async def work() -> str:
        await asyncio.to_thread(extended.wait, PATIENCE_S)
        return "extended"

    tasks.put(polled(taskId="t-1"))
    with Worker(client, [work], clock=clock):
        until(lambda: 50_000 in clock.waits, what="the keeper waits for a third of the lease")
        clock.advance(50_000)
        assert tasks.next_report()["outputData"] == {"result": "extended"}


def test_a_coroutine_whose_lease_is_refused_is_cancelled_and_others_go_on(stub, client, tasks):
    stub.on("POST", "/api/tasks/t-1/extend", Reply(409, {"message": "claim moved"}))
    clock, cleaned = StandingClock(), threading.Event()

    @greet(lease_s=150)
    async def work() -> str:
        if task_context().task.task_id == "t-2":
            return "done"
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return "never"

    tasks.put(polled(taskId="t-1"), polled(taskId="t-2"))
    with Worker(client, [work], clock=clock):
        until(lambda: 50_000 in clock.waits, what="the keeper waits for a third of the lease")
        clock.advance(50_000)
        assert cleaned.wait(PATIENCE_S)
        assert tasks.next_report()["taskId"] == "t-2"
    assert tasks.reports.empty()


# -- the end ---------------------------------------------------------------------------------------


def test_a_stop_waits_for_coroutines_within_the_grace(client, tasks):
    begun, release = threading.Event(), threading.Event()

    @greet()
    async def work() -> str:
        begun.set()
        await asyncio.to_thread(release.wait, PATIENCE_S)
        return "done"

    tasks.put(polled())
    worker = Worker(client, [work], grace_s=PATIENCE_S)
    worker.start()
    assert begun.wait(PATIENCE_S)
    stopped: list[bool] = []
    stop = threading.Thread(target=lambda: stopped.append(worker.stop()))
    stop.start()
    release.set()
    assert tasks.next_report()["outputData"] == {"result": "done"}
    stop.join(PATIENCE_S)
    assert stopped == [True]
    _await_the_end_of(worker)


def test_a_stop_cancels_what_runs_after_the_grace_and_ends_the_loop(client, tasks):
    begun, cleaned = threading.Event(), threading.Event()

    @greet()
    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    tasks.put(polled())
    worker = Worker(client, [work])
    worker.start()
    assert begun.wait(PATIENCE_S)
    assert not worker.stop(grace_s=0)
    assert cleaned.wait(PATIENCE_S)
    _await_the_end_of(worker)
    assert tasks.reports.empty()


def test_background_work_that_a_function_left_is_cancelled_with_the_loop(clock):
    cleaned = threading.Event()
    kept = []

    async def linger(begun: asyncio.Event) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    async def work() -> None:
        begun = asyncio.Event()
        kept.append(asyncio.create_task(linger(begun)))
        await begun.wait()

    with EventLoop() as loop:
        assert run(work, clock, loop)[0].status is ResultStatus.COMPLETED
    assert cleaned.wait(PATIENCE_S)


def test_a_closed_loop_takes_nothing_more_and_says_so(clock, loop):
    async def work() -> None:
        """Never begins."""

    loop.close()
    result, _ = run(work, clock, loop)
    assert result.status is ResultStatus.FAILED
    assert "the worker has stopped" in result.reason


# -- generators ------------------------------------------------------------------------------------


def _rows():
    yield 1


async def _async_rows():
    yield 1


class _Rows:
    def __call__(self):
        yield 1


@pytest.mark.parametrize("function", [_rows, _async_rows, _Rows()])
def test_a_generator_function_is_refused_where_it_is_decorated(function):
    with pytest.raises(ConfigurationError, match="generator") as caught:
        worker_task("rows")(function)
    assert "rows: " in str(caught.value)
    assert "Return a value" in str(caught.value)
    assert "task_context().progress" in str(caught.value)

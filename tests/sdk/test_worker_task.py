"""One run of a worker's function: from a polled task to a result, whatever the function does."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from dataclasses import dataclass, replace
from typing import Any

import pytest

from conductor_py.sdk import (
    ConfigurationError,
    InvalidInput,
    NonRetryableError,
    ResultStatus,
    TaskCancelled,
    TaskContext,
    TaskInProgress,
    TaskResult,
    Worker,
    task_context,
    worker_task,
)
from tests.sdk.tasks import task
from tests.waiting import PATIENCE_S


@dataclass(frozen=True)
class Greeting:
    words: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    size: float


_TEXT: Any = "text"
_LIST: Any = [1, 2]


def run(function, clock, given=None):
    context = TaskContext(task(), clock)
    return worker_task("greet")(function).run(context, given or {}), context


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        ({"a": 1}, {"a": 1}),
        (None, {}),
        (5, {"result": 5}),
        ("text", {"result": "text"}),
        ([1, 2], {"result": [1, 2]}),
        (False, {"result": False}),
        (Greeting(("hello", "world")), {"words": ("hello", "world")}),
    ],
)
def test_what_the_function_returns_becomes_the_output(clock, returned, output):
    result, _ = run(lambda: returned, clock)
    assert (result.status, result.output) == (ResultStatus.COMPLETED, output)


def test_a_task_result_is_obeyed(clock):
    given = TaskResult(status=ResultStatus.CANCELED, output={"a": 1}, reason="no")
    assert run(lambda: given, clock)[0] == given


def test_task_in_progress_asks_to_be_called_back(clock):
    result, _ = run(lambda: TaskInProgress(60, {"page": 2}), clock)
    assert result == TaskResult(
        status=ResultStatus.IN_PROGRESS, output={"page": 2}, callback_after_s=60
    )


def test_an_exception_fails_the_task_with_its_traceback_in_the_log(clock):
    def work():
        raise ValueError("the disk is full")

    result, context = run(work, clock)
    assert (result.status, result.reason) == (
        ResultStatus.FAILED,
        "ValueError: the disk is full",
    )
    (entry,) = context.take_lines()
    assert "Traceback" in entry.line
    assert "in work" in entry.line


def test_a_non_retryable_error_fails_the_task_for_good(clock):
    def work():
        raise NonRetryableError("no such customer")

    result, _ = run(work, clock)
    assert (result.status, result.reason) == (
        ResultStatus.FAILED_WITH_TERMINAL_ERROR,
        "no such customer",
    )


def test_a_function_that_exits_fails_only_its_task(clock):
    result, _ = run(lambda: sys.exit(3), clock)
    assert (result.status, result.reason) == (ResultStatus.FAILED, "SystemExit: 3")


class Panic(BaseException):
    """What an extension module raises when it is broken."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Panic("index out of bounds"), "Panic: index out of bounds"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
def test_a_function_that_raises_what_is_no_exception_fails_only_its_task(clock, error, reason):
    def work():
        raise error

    result, _ = run(work, clock)
    assert (result.status, result.reason) == (ResultStatus.FAILED, reason)


def test_a_bad_input_fails_for_good_and_the_function_is_not_called(clock):
    called = []

    def work(count: int):
        called.append(count)

    result, _ = run(work, clock, {"count": "3"})
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert result.reason == "input 'count' must be an integer, not a string"
    assert called == []


@pytest.mark.parametrize("returned", [{"a": object()}, {1: "a"}, 2**70, {"a": "\ud800"}])
def test_an_output_that_is_not_json_fails_for_good(clock, returned):
    result, _ = run(lambda: returned, clock)
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert result.reason.startswith("the output was refused")


@pytest.mark.parametrize(
    ("returned", "where"),
    [
        ({"loss": math.nan}, "$.loss is NaN"),
        ([1.5, None, math.inf], "$.result[2] is Infinity"),
        (Measured(-math.inf), "$.size is -Infinity"),
        (TaskInProgress(60, {"page": math.nan}), "$.page is NaN"),
    ],
)
def test_a_number_that_json_has_not_fails_for_good_and_says_where(clock, returned, where):
    result, _ = run(lambda: returned, clock)
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert result.reason == (
        f"the output was refused: the value cannot be written as JSON: {where}, which JSON has not"
    )


@pytest.mark.parametrize(
    ("returned", "where"),
    [
        ({"a": [1, {"b": {1, 2}}]}, "$.a[1].b: set is not a JSON type"),
        ({"a b": object()}, "$['a b']: object is not a JSON type"),
        ({"a": {1: "x"}}, "$.a: Dict key must be str"),
        ((1, 2j), "$.result[1]: complex is not a JSON type"),
        (Measured(size=b"x"), "$.size: bytes is not a JSON type"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_json_is_named_with_its_path_and_logged(clock, caplog, returned, where):
    result, _ = run(lambda: returned, clock)
    assert result.reason == (
        f"the output was refused: the value cannot be written as JSON: {where}"
    )
    (record,) = caplog.records
    assert record.getMessage() == "the output of a task was refused"
    assert record.__dict__["error"].endswith(where)
    assert record.__dict__["task_id"] == "t-1"


def test_an_output_that_holds_itself_fails_for_good(clock):
    output: dict[str, object] = {}
    output["me"] = output
    result, _ = run(lambda: output, clock)
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert "Recursion" in result.reason


@pytest.mark.parametrize(
    "made",
    [
        lambda: TaskResult.completed(_TEXT),
        lambda: TaskResult(status=ResultStatus.FAILED, output=_TEXT),
        lambda: TaskInProgress(5, _TEXT),
    ],
)
def test_an_output_that_is_no_object_is_refused_where_it_is_made(made):
    with pytest.raises(InvalidInput, match="give it a name, such as"):
        made()


@pytest.mark.parametrize(
    "made",
    [
        lambda: TaskResult.completed(_LIST),
        lambda: TaskInProgress(5, _LIST),
        lambda: replace(TaskResult.completed({}), output=_LIST),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_whose_output_is_no_object_is_not_run_again(clock, caplog, made, *, is_async):
    async def later():
        return made()

    result, context = run(later if is_async else made, clock)
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert result.reason == (
        "the output was refused: the output of a task is a JSON object, and this is a list:"
        ' give it a name, such as {"result": ...}'
    )
    assert [record.getMessage() for record in caplog.records] == [
        "the output of a task was refused"
    ]
    (entry,) = context.take_lines()  # where in the function's code
    assert entry.line.startswith("Traceback")


def test_what_the_server_refuses_to_a_function_is_no_output_of_it(clock):
    def work():
        raise InvalidInput("POST /workflow: no name")

    result, _ = run(work, clock)
    assert (result.status, result.reason) == (
        ResultStatus.FAILED,
        "InvalidInput: POST /workflow: no name",
    )


def test_a_result_of_a_dataclass_is_one(clock):
    greeting: Any = Greeting(("a",))
    result, _ = run(lambda: TaskResult.completed(greeting), clock)
    assert result.status is ResultStatus.COMPLETED


def test_a_decorated_function_says_what_it_is():
    @worker_task("greet")
    def work() -> None: ...

    assert repr(work) == f"<WorkerTask 'greet': {work.function.__qualname__}>"


def test_the_context_is_the_tasks_own_and_ends_with_it(clock):
    def work():
        context = task_context()
        context.log("one")
        context.progress({"done": 1})
        return {"id": context.task.task_id}

    result, context = run(work, clock)
    assert result.output == {"id": "t-1"}
    assert [entry.line for entry in context.take_lines()] == ["one"]
    assert context.newest_progress() == {"done": 1}
    with pytest.raises(LookupError):
        task_context()


def test_a_cancelled_task_reports_nothing_whether_it_notices_or_not(clock):
    def notices():
        task_context().cancelled.set()
        task_context().raise_if_cancelled()

    def does_not_notice():
        task_context().cancelled.set()
        return {"a": 1}

    def fails():
        task_context().cancelled.set()
        raise ValueError

    for function in (notices, does_not_notice, fails):
        assert run(function, clock)[0] is None


def test_lines_that_could_not_be_sent_stay_before_newer_ones(clock):
    context = TaskContext(task(), clock)
    context.log("a")
    taken = context.take_lines()
    context.log("b")
    context.give_back(taken)
    assert [entry.line for entry in context.take_lines()] == ["a", "b"]


def test_a_decorated_function_is_still_a_function():
    @worker_task("double", concurrency=4)
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert double(4) == 8
    assert double.__doc__ == "Twice."
    assert double.options.concurrency == 4


def test_raise_if_cancelled_is_silent_while_the_task_is_ours(clock):
    context = TaskContext(task(), clock)
    context.raise_if_cancelled()
    context.cancelled.set()
    with pytest.raises(TaskCancelled):
        context.raise_if_cancelled()


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "t", "concurrency": 0},
        {"name": "t", "lease_s": 0},
        {"name": "t", "poll_timeout_ms": 5001},
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ConfigurationError):
        worker_task(**options)


def test_a_decorator_without_the_type_of_the_tasks_is_refused_where_it_stands():
    def charge():
        return None

    with pytest.raises(ConfigurationError, match=r'@worker_task\("charge"\)'):
        worker_task(charge)  # type: ignore[arg-type]


def test_a_function_that_is_no_worker_task_is_named(client):
    def charge():
        return None

    with pytest.raises(ConfigurationError, match="charge is no worker task"):
        Worker(client, [charge])  # type: ignore[list-item]


def test_a_time_before_now_to_come_again_is_refused():
    with pytest.raises(InvalidInput, match="callback_after_s is -1"):
        TaskInProgress(-1)


def test_an_async_function_runs_to_its_end_and_knows_its_task(clock):
    async def work(a: int):
        await asyncio.to_thread(len, ())
        task_context().log("hello")
        return {"a": a}

    result, context = run(work, clock, {"a": 3})
    assert (result.status, result.output) == (ResultStatus.COMPLETED, {"a": 3})
    assert [entry.line for entry in context.take_lines()] == ["hello"]


def test_an_async_function_is_cancelled_when_its_task_is_lost(clock):
    begun, cleaned = threading.Event(), threading.Event()

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    context = TaskContext(task(), clock)
    results: list[TaskResult | None] = []
    thread = threading.Thread(
        target=lambda: results.append(worker_task("greet")(work).run(context, {}))
    )
    thread.start()
    assert begun.wait(PATIENCE_S)
    context.cancel()
    thread.join(PATIENCE_S)

    assert results == [None]
    assert cleaned.is_set()


def test_an_async_function_of_a_task_that_is_lost_already_is_cancelled_at_once(clock):
    async def work():
        await asyncio.Event().wait()

    context = TaskContext(task(), clock)
    context.cancel()
    assert worker_task("greet")(work).run(context, {}) is None


def test_an_async_function_that_cancels_itself_has_failed(clock):
    async def work():
        raise asyncio.CancelledError

    result, _ = run(work, clock)
    assert result.status is ResultStatus.FAILED
    assert "not by its worker" in result.reason


def test_a_sleep_ends_with_the_task(clock):
    context = TaskContext(task(), clock)
    context.sleep(5)
    assert clock.now_ms == 1_005_000
    context.cancel()
    with pytest.raises(TaskCancelled):
        context.sleep(5)


def test_what_was_asked_for_in_a_block_that_ended_is_not_stopped(clock):
    context, stopped = TaskContext(task(), clock), []
    with context.when_cancelled(lambda: stopped.append(1)):
        pass
    context.cancel()
    assert stopped == []
    with context.when_cancelled(lambda: stopped.append(2)):
        assert stopped == [2]

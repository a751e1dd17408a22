"""A worker's function as a task type: the decorator, and one run of it from polled task to result.

A run never raises: whatever the function does becomes a result, or None when the task was cancelled
meanwhile and nothing is to be reported.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import traceback
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from conductor_py.errors import ConfigurationError, InvalidInput
from conductor_py.sdk.context import entered
from conductor_py.sdk.document import encode
from conductor_py.sdk.errors import (
    CancelRequested,
    NonRetryableError,
    StopRequested,
    TaskCancelled,
)
from conductor_py.sdk.event_loop import EventLoop
from conductor_py.sdk.inputs import InputError, Inputs
from conductor_py.sdk.task import OutputRefused, ResultStatus, TaskInProgress, TaskResult

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.context import TaskContext

_log = logging.getLogger(__name__)

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

_LONGEST_POLL_MS = 5_000  # the wire's own limit
#: A task that is to stop is put off, and looked at again so often in case it has been resumed in
#: the very moment in which it was put off.
_STOPPED = TaskResult(status=ResultStatus.IN_PROGRESS, callback_after_s=300)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How a task type is polled and run.

    At most ``concurrency`` tasks run at a time. ``lease_s`` is how long the server waits for a sign
    of life before it gives the task to another worker. ``poll_timeout_ms`` (at most 5000) is how
    long a poll of an idle worker waits for work; it also bounds how long a stop takes to notice.
    ``task_definition`` is registered when the worker starts, if it differs from what the server
    has.
    """

    name: str
    domain: str | None = None
    concurrency: int = 1
    lease_s: int = 30
    poll_timeout_ms: int = 1_000
    task_definition: JsonObject | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work; raises ``ConfigurationError``."""
        if callable(self.name):
            raise ConfigurationError(
                "worker_task takes the type of the tasks:"
                f' write @worker_task("{getattr(self.name, "__name__", "my_task")}")'
            )
        if not self.name:
            raise ConfigurationError("a worker task needs a name")
        if self.concurrency < 1 or self.lease_s < 1:
            raise ConfigurationError(f"{self.name}: concurrency and lease_s must be 1 or more")
        if not 0 <= self.poll_timeout_ms <= _LONGEST_POLL_MS:
            raise ConfigurationError(f"{self.name}: poll_timeout_ms must be 0 to 5000")


class WorkerTask(Generic[P, R_co]):
    """A function that carries out tasks of one type; it can still be called as a function."""

    def __init__(self, function: Callable[P, R_co], options: WorkerOptions) -> None:
        """Wrap the function; its annotations are read when the first worker takes it.

        Raises ``ConfigurationError`` for a generator function.
        """
        _refuse_generator(function, options.name)
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options
        self._inputs: Inputs | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function itself, as in a unit test."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"<WorkerTask {self.options.name!r}: {name}>"

    def prepare(self) -> None:
        """Compile the signature; raises ``ConfigurationError`` when inputs cannot fill it."""
        if self._inputs is None:
            self._inputs = Inputs(self.function)

    def run(
        self, context: TaskContext, given: JsonObject, loop: EventLoop | None = None
    ) -> TaskResult | None:
        """Run the function for the context's task with that input.

        An ``async`` function runs in ``loop``, without one in a loop for this call. Returns its
        result, not yet addressed; None when the task is cancelled and nothing is to be said.
        """
        self.prepare()
        assert self._inputs is not None
        call: Callable[..., object] = self.function
        try:
            arguments = self._inputs.arguments(context.task, given)
        except InputError as error:
            return TaskResult.failed(str(error), terminal=True)
        with entered(context):
            try:
                returned = call(**arguments)
                if inspect.iscoroutine(returned):
                    returned = _awaited(context, returned, loop)
                result = _result_of(returned)
            except TaskCancelled:
                return None
            except StopRequested as stopped:
                result = dataclasses.replace(_STOPPED, reason=str(stopped) or None)
            except CancelRequested:
                result = TaskResult.failed("It was cancelled by request.", terminal=True)
            except OutputRefused as error:
                context.log("".join(traceback.format_exception(error)))
                result = _refused(context, error)
            except BaseException as error:  # noqa: BLE001 - becomes the task's failure
                result = self._failure(context, error)
        try:
            encode(result.output)  # what JSON cannot say must fail where it can be reported
        except InvalidInput as error:
            result = _refused(context, error)
        return None if context.cancelled.is_set() else result

    def _failure(self, context: TaskContext, error: BaseException) -> TaskResult:
        context.log("".join(traceback.format_exception(error)))
        terminal = isinstance(error, NonRetryableError)
        _log.warning(
            "the function of a task failed",
            exc_info=error,
            extra={"action": "task_failed", **_facts(context), "terminal": terminal},
        )
        told = str(error)
        reason = told if told and terminal else f"{type(error).__name__}: {told}".rstrip(": ")
        return TaskResult.failed(reason, terminal=terminal)


def _refused(context: TaskContext, error: InvalidInput) -> TaskResult:
    facts = {"action": "output_refused", "error": error.message}
    _log.warning("the output of a task was refused", extra={**_facts(context), **facts})
    return TaskResult.failed(f"the output was refused: {error.message}", terminal=True)


def _facts(context: TaskContext) -> dict[str, object]:
    task = context.task
    return {"task_id": task.task_id, "workflow_id": task.workflow_id, "task_type": task.task_type}


def worker_task(
    name: str,
    *,
    domain: str | None = None,
    concurrency: int = 1,
    lease_s: int = 30,
    poll_timeout_ms: int = 1_000,
    task_definition: JsonObject | None = None,
) -> Callable[[Callable[P, R_co]], WorkerTask[P, R_co]]:
    """Make a function carry out tasks of the type ``name``.

    Parameters are filled from the task's input by name and checked by their annotations; a
    parameter annotated ``Task`` gets the polled task. What the function returns becomes the output:
    a mapping or dataclass as it is, None as nothing, anything else as ``{"result": value}``; a
    ``TaskResult`` or ``TaskInProgress`` is obeyed. An ``async`` function runs in the one event loop
    of its worker and is cancelled when its task is lost. For the other arguments see
    ``WorkerOptions``. Raises ``ConfigurationError`` for options that cannot work, and for a
    generator function.
    """
    options = WorkerOptions(
        name=name,
        domain=domain,
        concurrency=concurrency,
        lease_s=lease_s,
        poll_timeout_ms=poll_timeout_ms,
        task_definition=task_definition,
    )

    def wrap(function: Callable[P, R_co]) -> WorkerTask[P, R_co]:
        return WorkerTask(function, options)

    return wrap


def _awaited(
    context: TaskContext, coroutine: Coroutine[object, object, object], loop: EventLoop | None
) -> object:
    if loop is not None:
        return loop.run(context, coroutine)
    with EventLoop() as own:
        return own.run(context, coroutine)


def _refuse_generator(function: Callable[..., object], name: str) -> None:
    """Calling one carries out nothing, and what it yields has nowhere to go."""
    for called in (function, getattr(function, "__call__", function)):  # noqa: B004
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            raise ConfigurationError(
                f"{name}: {getattr(function, '__qualname__', repr(function))} is a generator"
                " function, and a task has one result. Return a value instead of yielding; report"
                " progress with task_context().progress(...)"
            )


def _result_of(returned: object) -> TaskResult:
    match returned:
        case TaskResult():
            return returned
        case TaskInProgress(callback_after_s=after_s, output=output):
            return TaskResult(
                status=ResultStatus.IN_PROGRESS, output=output, callback_after_s=after_s
            )
        case None:
            return TaskResult.completed({})
        case Mapping():
            return TaskResult.completed(returned)
    if dataclasses.is_dataclass(returned) and not isinstance(returned, type):
        return TaskResult.completed(dataclasses.asdict(returned))
    return TaskResult.completed({"result": returned})  # type: ignore[dict-item]  # encode() decides

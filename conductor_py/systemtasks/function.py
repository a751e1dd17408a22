"""A system task out of a function: for tasks that the server carries out and that are yours.

The function takes the task's input. What it returns becomes the output: an object as it is,
anything else under ``result``. A ``SystemResult`` says everything itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.records import dataclass

Function = Callable[[JsonObject], "JsonValue | SystemResult"]


class NonRetryable(Exception):
    """Raised by a function when to try again is of no use; the message becomes the reason."""


class Retryable(Exception):
    """Raised by a function when the task failed; the message becomes the reason."""


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """``SystemTask`` of a function."""

    task_type: str
    function: Function

    def __call__(self) -> FunctionTask:
        """Be what an entry point names: a factory."""
        return self

    def execute(self, call: SystemCall) -> SystemResult:
        try:
            found = self.function(call.input)
        except NonRetryable as error:
            status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
            return SystemResult(status=status, reason=str(error))
        except Retryable as error:
            return SystemResult(status=TaskStatus.FAILED, reason=str(error))
        if isinstance(found, SystemResult):
            return found
        if found is None:
            return SystemResult()
        return SystemResult(output=found if isinstance(found, Mapping) else {"result": found})

    def close(self) -> None:
        """Nothing is kept between calls."""


def system_task(task_type: str) -> Callable[[Function], FunctionTask]:
    """Make a system task of the function below; name it in the entry points of your package."""

    def made(function: Function) -> FunctionTask:
        return FunctionTask(task_type, function)

    return made

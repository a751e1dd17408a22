"""What a running function can say about its task, and ask: log lines, progress, whether to stop.

The context belongs to the task, not to the process; it is found through a context variable, so that
two tasks in two threads never see each other's. Logging and reporting progress never touch the
network and never fail.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from conductor_py.sdk.errors import TaskCancelled
from conductor_py.sdk.task import TaskLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.task import Task

#: Unsent lines kept for one task; beyond it the oldest go.
_UNSENT_LINES = 10_000


class TaskContext:
    """One task while its function runs."""

    def __init__(self, task: Task, clock: Clock) -> None:
        """Begin with no lines, no progress and not cancelled."""
        self.task = task
        #: Set when the task is no longer this worker's; whatever the function returns is dropped.
        self.cancelled = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        self._lines: deque[TaskLog] = deque(maxlen=_UNSENT_LINES)
        self._progress: JsonObject | None = None

    def log(self, line: str) -> None:
        """Add a line to the task's log; it is sent with the next lease extension, or with the
        result.
        """
        entry = TaskLog(line=line, created_ms=self._clock.epoch_ms())
        with self._lock:
            self._lines.append(entry)

    def progress(self, progress: JsonObject) -> None:
        """Replace what is known of the progress; the newest is sent with each lease extension."""
        with self._lock:
            self._progress = dict(progress)

    def raise_if_cancelled(self) -> None:
        """Raise ``TaskCancelled`` when the task is no longer ours; call it between steps of long
        work.
        """
        if self.cancelled.is_set():
            raise TaskCancelled

    def newest_progress(self) -> JsonObject | None:
        """Return what the next extension will carry."""
        with self._lock:
            return self._progress

    def take_lines(self) -> tuple[TaskLog, ...]:
        """Return the unsent lines and forget them."""
        with self._lock:
            lines = tuple(self._lines)
            self._lines.clear()
        return lines

    def give_back(self, lines: tuple[TaskLog, ...]) -> None:
        """Put lines back that could not be sent, before newer ones."""
        with self._lock:
            self._lines.extendleft(reversed(lines))


_current: ContextVar[TaskContext] = ContextVar("conductor_task")


def task_context() -> TaskContext:
    """Return the context of this thread's task; raises ``LookupError`` outside of one."""
    try:
        return _current.get()
    except LookupError:
        raise LookupError("task_context() works only while a worker runs a task") from None


@contextmanager
def entered(context: TaskContext) -> Iterator[TaskContext]:
    """Make the context the current one inside the block."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)

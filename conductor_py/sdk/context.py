"""What a running function can say about its task, and ask: log lines, progress, whether to stop.

The context belongs to the task, not to the process; it is found through a context variable, so that
two tasks in two threads never see each other's. Logging and reporting progress never touch the
network and never fail.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from conductor_py.sdk.checkpoints import Checkpoints, TaskRequest
from conductor_py.sdk.errors import CancelRequested, StopRequested, TaskCancelled
from conductor_py.sdk.task import TaskLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.checkpoints import CheckpointServer
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.task import Task

_log = logging.getLogger(__name__)

#: Unsent lines kept for one task; beyond it the oldest go.
_UNSENT_LINES = 10_000
#: How long a task that is to pause sleeps between looks.
_PAUSED_S = 0.5


class TaskContext:
    """One task while its function runs."""

    def __init__(self, task: Task, clock: Clock, server: CheckpointServer | None = None) -> None:
        """Begin with no lines, no progress and not cancelled; without ``server`` it keeps
        nothing.
        """
        self.task = task
        #: Set when the task is no longer this worker's; whatever the function returns is dropped.
        self.cancelled = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        self._lines: deque[TaskLog] = deque(maxlen=_UNSENT_LINES)
        self._progress: JsonObject | None = None
        self._when_cancelled: dict[object, Callable[[], object]] = {}
        self._request: TaskRequest | None = None
        self._loop_thread: int | None = None
        self._checkpoints = Checkpoints(server, task, asked=self.asked) if server else None

    def log(self, line: str) -> None:
        """Add a line to the task's log; it is sent with the next lease extension, or with the
        result.
        """
        entry = TaskLog(line=line, created_ms=self._clock.epoch_ms())
        with self._lock:
            self._lines.append(entry)

    def progress(self, progress: JsonObject) -> None:
        """Replace what is known of the progress; the newest is sent with each lease extension. One
        that is no JSON, or that the server refuses, is left out, and logged.
        """
        with self._lock:
            self._progress = dict(progress)

    @property
    def checkpoints(self) -> Checkpoints:
        """What the task keeps between its attempts; ``LookupError`` without a server."""
        if self._checkpoints is None:
            raise LookupError("this task runs without a server that could keep something")
        return self._checkpoints

    @property
    def request(self) -> TaskRequest | None:
        """What somebody asks of the task, as of the last extension of its lease."""
        with self._lock:
            return self._request

    def asked(self, request: TaskRequest | None) -> None:
        """Remember what the server says that somebody asks."""
        with self._lock:
            self._request = request

    def heed_requests(self) -> None:
        """Do what is asked of the task; call it between steps of long work.

        Waits while it is to pause. Raises ``StopRequested``, ``CancelRequested``, or
        ``TaskCancelled`` when the task is no longer ours; let them pass. An ``async`` function
        writes ``await asyncio.to_thread(context.heed_requests)``.
        """
        self._must_not_block("asyncio.to_thread(context.heed_requests)")
        while True:
            self.raise_if_cancelled()
            match self.request:
                case TaskRequest(action="STOP"):
                    raise StopRequested
                case TaskRequest(action="CANCEL"):
                    raise CancelRequested
                case TaskRequest(action="PAUSE"):
                    self.sleep(_PAUSED_S)
                case _:
                    return

    def raise_if_cancelled(self) -> None:
        """Raise ``TaskCancelled`` when the task is no longer ours; call it between steps of long
        work.
        """
        if self.cancelled.is_set():
            raise TaskCancelled

    def sleep(self, seconds: float) -> None:
        """Sleep, and raise ``TaskCancelled`` at once when the task is no longer ours.

        An ``async`` function writes ``await asyncio.sleep(seconds)``, which ends as soon.
        """
        self._must_not_block("asyncio.sleep(seconds)")
        self._clock.wait(self.cancelled, int(seconds * 1000))
        self.raise_if_cancelled()

    @contextmanager
    def when_cancelled(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` once, from another thread, when the task is lost inside the block, for
        example to kill a process that the function waits for. It must not block. A
        task that is lost already is stopped at once.
        """
        key = object()
        with self._lock:
            self._when_cancelled[key] = stop
        if self.cancelled.is_set():
            self._stop(key)
        try:
            yield
        finally:
            with self._lock:
                self._when_cancelled.pop(key, None)

    def cancel(self) -> None:
        """Say that the task is no longer this worker's; for who runs it, not for its function."""
        self.cancelled.set()
        with self._lock:
            keys = tuple(self._when_cancelled)
        for key in keys:
            self._stop(key)

    def awaited_in(self, thread_id: int) -> None:
        """Remember the thread of the event loop that its function runs in; for who runs it."""
        self._loop_thread = thread_id

    def _must_not_block(self, instead: str) -> None:
        if threading.get_ident() == self._loop_thread:
            raise RuntimeError(
                f"this would stop all async functions of this worker; write: await {instead}"
            )

    def _stop(self, key: object) -> None:
        with self._lock:
            stop = self._when_cancelled.pop(key, None)
        if stop is None:
            return
        try:
            stop()
        except Exception:  # noqa: BLE001 - who cancels has more tasks to look after
            _log.exception(
                "a lost task could not be stopped",
                extra={"action": "task_not_stopped", "task_id": self.task.task_id},
            )

    def newest_progress(self) -> JsonObject | None:
        """Return what the next extension will carry."""
        with self._lock:
            return self._progress

    def forget_progress(self, refused: JsonObject) -> None:
        """Send this progress no more; one that is newer stays."""
        with self._lock:
            if self._progress is refused:
                self._progress = None

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
    """Return the context of the task that this thread, or this coroutine, carries out; raises
    ``LookupError`` outside of one.
    """
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

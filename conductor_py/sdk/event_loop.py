"""The event loop of a worker: every ``async`` function of the process runs in it.

There is one, in a thread of its own, so that what async functions share (a connection pool, a lock)
belongs to the loop that uses it. A slot waits for its coroutine, so the slots still say how many
run at a time. The loop begins with the first coroutine: who has none pays nothing.
"""

from __future__ import annotations

import logging
import queue
import threading
from contextvars import copy_context
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine

    from conductor_py.sdk.context import TaskContext

    _Ended = queue.SimpleQueue[asyncio.Task[object]]

_log = logging.getLogger(__name__)

#: How long ``close`` waits for functions that do not heed their cancellation.
_CLOSING_S = 1.0


class EventLoop:
    """A loop that threads hand coroutines to."""

    def __init__(self, make: Callable[[], asyncio.AbstractEventLoop] | None = None) -> None:
        """Start nothing yet; ``make`` makes the loop, without it asyncio does."""
        self._make = make
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, context: TaskContext, coroutine: Coroutine[object, object, object]) -> object:
        """Run the coroutine to its end and return what it returns; the calling thread waits.

        It is cancelled when its task is lost. Raises what it raises, ``TaskCancelled`` for a task
        that was lost, ``RuntimeError`` when it was cancelled by anybody else or cannot run.
        """
        import asyncio  # noqa: PLC0415 - most workers need none of it

        ended: _Ended = queue.SimpleQueue()
        running: list[asyncio.Task[object]] = []

        def begin() -> None:
            context.awaited_in(threading.get_ident())
            running.append(asyncio.get_running_loop().create_task(coroutine))
            running[0].add_done_callback(ended.put)

        def cancel() -> None:
            running[0].cancel()  # begin was queued before this

        try:
            loop = self._beginning(begin)
        except RuntimeError:
            coroutine.close()
            context.raise_if_cancelled()
            raise
        with context.when_cancelled(lambda: loop.call_soon_threadsafe(cancel)):
            over = ended.get()
        try:
            return over.result()
        except asyncio.CancelledError:
            context.raise_if_cancelled()
            raise RuntimeError("the function was cancelled, and not by its worker") from None

    def close(self) -> None:
        """Cancel what still runs and end the loop; nothing runs here any more."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(loop.stop)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSING_S)

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close it."""
        self.close()

    def _beginning(self, begin: Callable[[], None]) -> asyncio.AbstractEventLoop:
        """Have ``begin`` called in the loop, with the context variables of this thread."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker has stopped; no async function can begin")
            loop = self._loop or self._started()
            loop.call_soon_threadsafe(begin, context=copy_context())
            return loop

    def _started(self) -> asyncio.AbstractEventLoop:
        import asyncio  # noqa: PLC0415 - most workers need none of it

        loop = self._make() if self._make else asyncio.new_event_loop()
        thread = threading.Thread(
            target=self._live, args=(loop,), name="conductor-event-loop", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            loop.close()
            raise
        self._loop, self._thread = loop, thread
        return loop

    def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        import asyncio  # noqa: PLC0415 - most workers need none of it

        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.get_loop()
            while True:  # at least once: what has been queued must begin to be cancelled
                try:
                    loop.run_forever()
                except (SystemExit, KeyboardInterrupt):
                    # asyncio ends its loop for these; here they are the failure of one task
                    _log.warning(
                        "an async function tried to end the process",
                        extra={"action": "event_loop_survived"},
                    )
                if self._closed:
                    return

"""How a process hears that it is to end.

A signal writes to a pipe, and a thread that waits on the pipe sets the event. So nothing polls, and
no handler runs code of ours in the middle of another's. Whoever installs other handlers later, as
the HTTP server does, changes nothing of that.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Final

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_SET_PARENT_DEATH_SIGNAL: Final = 1
JOINED_S: Final = 5.0
"""Who supervises a process kills it ten seconds after its signal."""


def stop_on_signals(stop: threading.Event, *, install: bool = True) -> None:
    """Set ``stop`` at SIGTERM or SIGINT; only on the main thread, once a process.

    Without ``install`` somebody else has, or will have, handlers for them.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if install:
        for number in _STOP_SIGNALS:
            signal.signal(number, _noted)

    def listen() -> None:
        while not any(number in _STOP_SIGNALS for number in os.read(reading, 64)):
            pass
        stop.set()

    threading.Thread(target=listen, name="stop-signals", daemon=True).start()


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGINT end the process at once, in order; only on the main thread."""
    before = {number: signal.signal(number, _end) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_parent() -> None:
    """Ask for a SIGTERM when the parent is gone, killed with -9 perhaps. Where that cannot be asked
    of the system, a thread waits for the end of the process that ``multiprocessing`` began this
    one from, if there is one.
    """
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if parent == 1 or os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
    elif (began_by := multiprocessing.parent_process()) is not None:

        def wait() -> None:
            began_by.join()
            os.kill(os.getpid(), signal.SIGTERM)

        threading.Thread(target=wait, name="parent", daemon=True).start()


def join_all(
    threads: Iterable[threading.Thread],
    *,
    within_s: float = JOINED_S,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Wait for the end of threads, for all of them together no longer than ``within_s``.

    One that carries out a long script may need minutes. What it has begun is begun again elsewhere.
    """
    end = monotonic() + within_s
    for each in threads:
        each.join(max(0.0, end - monotonic()))


def run_until(stop: threading.Event, threads: Iterable[threading.Thread]) -> None:
    """Run threads until ``stop``, then wait for their end as ``join_all`` does."""
    running = tuple(threads)
    for each in running:
        each.start()
    stop.wait()
    join_all(running)


def end_after_stop(stop: threading.Event, grace_s: float) -> None:
    """End this process ``grace_s`` after ``stop``, if it has not ended by itself.

    A signal that comes while somebody else's handlers are not there yet is heard here alone.
    """

    def watch() -> None:
        stop.wait()
        time.sleep(grace_s)
        os._exit(0)

    threading.Thread(target=watch, name="end", daemon=True).start()


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Have a handler, so that the signal is written to the pipe."""

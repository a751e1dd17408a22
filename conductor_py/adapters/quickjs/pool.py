"""Script processes: started when first needed, lent to one caller at a time, killed when late.

The pool keeps at most its number of children and a bounded queue of callers. A child that missed
its deadline or died is never lent again: the next caller gets a new one. Children of a background
pool run only while nothing else wants the processor. The pool knows nothing of scripts; it carries
frames (see ``child``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from conductor_py.errors import ConfigurationError, LimitExceeded

_CHILD = Path(__file__).with_name("child.py")
_START_S = 15.0
#: What the interpreter maps before it runs any script, with room for one copy of input and result.
_INTERPRETER_BYTES = 256 << 20
_ENDED_BY_TIME = (-signal.SIGPROF, -signal.SIGALRM)
_LEAST_NICE = 19


class OutOfTime(Exception):
    """The child did not answer by its deadline; it is dead now."""


class ChildDied(Exception):
    """The child ended in the middle of a request."""


class Child:
    """One script process and the socket to it. Not safe to share between threads."""

    def __init__(self, *, memory_bytes: int, result_bytes: int, background: bool = False) -> None:
        """Start it; it is not ready before ``wait_ready`` returned.

        In the ``background`` it runs only while nothing else wants the processor, once it is ready.
        """
        quickjs, jq = _path_of("_quickjs"), _path_of("jq")
        if not quickjs:
            raise ConfigurationError("Scripts need the package quickjs-ng: pip install quickjs-ng")
        self._socket, theirs = socket.socketpair()
        address_space = _INTERPRETER_BYTES + 2 * memory_bytes + 4 * result_bytes
        sizes = map(str, (memory_bytes, address_space, result_bytes))
        command = [sys.executable, "-I", "-S", "-B", str(_CHILD), quickjs, jq, *sizes]
        # Its own session: an interrupt from the terminal is for the server, which then closes the
        # socket.
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        self._background = background

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_ready(self) -> None:
        """Wait for the child's first frame. Raises LimitExceeded when it does not come."""
        try:
            self._receive(time.monotonic() + _START_S)
        except (OutOfTime, ChildDied) as error:
            raise LimitExceeded("No script process could be started; try again") from error
        if self._background:
            _to_background(self._process.pid)

    def call(self, request: bytes, data: bytes, timeout_s: float) -> bytes:
        """Send both frames, return the answer; raises OutOfTime or ChildDied, and is dead then."""
        deadline = time.monotonic() + timeout_s
        head = len(request).to_bytes(4, "big") + request + len(data).to_bytes(4, "big")
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(head + data)
        except TimeoutError as error:
            self.kill()
            raise OutOfTime from error
        except OSError as error:
            raise self._lost() from error
        return self._receive(deadline)

    def kill(self) -> None:
        """End it now, reap it and close the socket."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def interrupt(self) -> None:
        """End it from another thread than the borrower's, who sees it die and reaps it."""
        self._process.send_signal(signal.SIGKILL)

    def is_alive(self) -> bool:
        """Whether it can be lent again."""
        return self._socket.fileno() >= 0 and self._process.poll() is None

    def _receive(self, deadline: float) -> bytes:
        size = int.from_bytes(self._read(4, deadline), "big")
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            remaining = deadline - time.monotonic()
            try:
                self._socket.settimeout(max(remaining, 0.001))
                chunk = self._socket.recv(min(size - len(chunks), 1 << 20))
            except TimeoutError as error:
                self.kill()
                raise OutOfTime from error
            except OSError as error:
                raise self._lost() from error
            if not chunk:
                raise self._lost()
            chunks += chunk
        return bytes(chunks)

    def _lost(self) -> OutOfTime | ChildDied:
        """Reap a child whose socket is closed, and say whether a limit of time ended it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self.kill()  # which changes nothing of how a process ends that is about to
        code = self._process.returncode
        return OutOfTime() if code in _ENDED_BY_TIME else ChildDied(f"exit code {code}")


def _to_background(pid: int) -> None:
    """Let a process run only while nothing else wants the processor; for good.

    Where processes are scheduled by session, its session goes to the background, too.
    """
    with contextlib.suppress(OSError, AttributeError):  # each helps alone; not every system has it
        os.setpriority(os.PRIO_PROCESS, pid, _LEAST_NICE)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(_LEAST_NICE))


def _path_of(extension: str) -> str:
    """Find an extension module without importing it; empty when it is not installed."""
    spec = importlib.util.find_spec(extension)
    return (spec and spec.origin) or ""


class ChildPool:
    """At most ``size`` children; callers beyond that wait, at most ``queue_limit`` of them."""

    def __init__(
        self,
        *,
        size: int,
        memory_bytes: int,
        result_bytes: int,
        queue_limit: int,
        queue_wait_ms: int,
        background: bool = False,
    ) -> None:
        """Remember the limits; the first child starts with the first caller."""
        self._size = size
        self._memory_bytes = memory_bytes
        self._result_bytes = result_bytes
        self._queue_limit = queue_limit
        self._queue_wait_s = queue_wait_ms / 1000
        self._background = background
        self._reset()

    def _reset(self) -> None:
        self._owner = os.getpid()
        self._changed = threading.Condition()
        self._free = self._size
        self._idle: list[Child] = []
        self._lent: set[Child] = set()
        self._waiting = 0
        self._closed = False
        # The kernel ends a child with the *thread* that started it, so one thread that stays starts
        # all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="script-processes")

    @contextmanager
    def lend(self, wait_s: float | None = None) -> Iterator[Child]:
        """Lend a live child; LimitExceeded when the queue is full or none came free in time.

        ``wait_s`` is how long this caller waits, at most and instead of the pool's own wait.
        """
        if self._owner != os.getpid():
            self._reset()  # forked: those children answer the other process
        child = self._take(self._queue_wait_s if wait_s is None else wait_s)
        try:
            yield child
        finally:
            self._give_back(child)

    def close(self) -> None:
        """Kill every child, also the lent ones; nothing is lent from now on."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            for child in self._lent:
                child.interrupt()
            self._changed.notify_all()
        for child in idle:
            child.kill()
        self._starter.shutdown()

    def _take(self, wait_s: float) -> Child:
        with self._changed:
            self._await_permit(wait_s)
            self._free -= 1
            child = self._idle.pop() if self._idle else None
        try:
            if child is not None and not child.is_alive():
                child.kill()
                child = None
            if child is None:
                child = self._spawn()
        except BaseException:
            with self._changed:
                self._free += 1
                self._changed.notify()
            raise
        with self._changed:
            self._lent.add(child)
        return child

    def _await_permit(self, wait_s: float) -> None:
        """Wait, with the condition held, until a child may be lent."""
        if self._waiting >= self._queue_limit and not self._free:
            raise LimitExceeded("Too many scripts wait for a process; try again")
        self._waiting += 1
        try:
            ready = self._changed.wait_for(lambda: self._closed or self._free, wait_s)
        finally:
            self._waiting -= 1
        if self._closed:
            raise LimitExceeded("The server is stopping and runs no more scripts")
        if not ready:
            raise LimitExceeded("No script process came free in time; try again")

    def _spawn(self) -> Child:
        try:
            starting = self._starter.submit(self._start)
        except RuntimeError as error:  # closed since this caller got its permit
            raise LimitExceeded("The server is stopping and runs no more scripts") from error
        return starting.result()

    def _start(self) -> Child:
        child = Child(
            memory_bytes=self._memory_bytes,
            result_bytes=self._result_bytes,
            background=self._background,
        )
        try:
            child.wait_ready()
        except LimitExceeded:
            child.kill()
            raise
        return child

    def _give_back(self, child: Child) -> None:
        with self._changed:
            self._lent.discard(child)
            keep = child.is_alive() and not self._closed
            if keep:
                self._idle.append(child)
            self._free += 1
            self._changed.notify()
        if not keep:
            child.kill()

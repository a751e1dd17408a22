"""Script processes: started when first needed, lent to one caller at a time, killed when late.

The pool keeps at most its number of children and a bounded queue of callers. A child that missed
its deadline or died is never lent again: the next caller gets a new one. One that merely says that
a program took its runner down has the next runner already. Children that rest run
behind all others, and in bursts: one that never paused would cost others their wake-ups even at the
lowest priority. The pool knows nothing of scripts; it carries frames
(see ``child``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from conductor_py.errors import ConfigurationError, LimitExceeded

_CHILD = Path(__file__).with_name("child.py")
_START_S = 15.0
#: What the interpreter maps before it runs any script, with room for one copy of input and result.
_INTERPRETER_BYTES = 256 << 20
#: The largest frame that carries no result: names of locks, or that a result is too large.
_TALK_BYTES = 1 << 12
#: What comes before a result: at most 51 lines of 501 characters, of which some take six bytes.
_PRINTED_BYTES = 1 << 18
_ENDED_BY_TIME = (signal.SIGPROF, signal.SIGALRM)
#: How long a child that rests runs at a time, and rests at most while it starts.
_BURST_S = 0.001
_STARTING_REST_S = 0.019
_LOCKS = frozenset({"landlock", "seccomp"})
_LOG = logging.getLogger(__name__)


class OutOfTime(Exception):
    """The request has used up its time."""


class Starved(Exception):
    """The deadline passed before the request had used up its time; the child is dead now."""


class ChildDied(Exception):
    """The request took down what ran it."""


class ChildKilled(Exception):
    """Somebody else ended what ran the request: an operator, a machine short of memory, or this
    module, because the child did not keep to the protocol.
    """


class Child:
    """One script process and the socket to it. Not safe to share between threads."""

    def __init__(
        self, *, memory_bytes: int, result_bytes: int, rest_s: float = 0.0, idle: bool = False
    ) -> None:
        """Start it; it is not ready before ``wait_ready`` returned.

        With a ``rest_s`` it rests that long after each millisecond, and has a small share where
        others want the processor. An ``idle`` one has none then, once it is ready.
        """
        quickjs, jq = _path_of("_quickjs"), _path_of("jq")
        if not quickjs:
            raise ConfigurationError("Scripts need the package quickjs-ng: pip install quickjs-ng")
        self._socket, theirs = socket.socketpair()
        address_space = _INTERPRETER_BYTES + 2 * memory_bytes + 4 * result_bytes
        sizes = map(str, (memory_bytes, address_space, result_bytes))
        when = "idle" if idle else "seldom" if rest_s else "always"
        command = [sys.executable, "-I", "-S", "-B", str(_CHILD), quickjs, jq, *sizes, when]
        # Its own session: an interrupt from the terminal is for the server, which then closes the
        # socket.
        with contextlib.ExitStack() as unused, theirs:
            unused.callback(self._socket.close)
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
            unused.pop_all()
        self._most_bytes = max(result_bytes, _TALK_BYTES) + _PRINTED_BYTES
        self.locks: frozenset[str] = frozenset()
        """What of the kernel holds it, once it is ready: see ``jail``."""
        self._rest_s = rest_s

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def wait_ready(self) -> None:
        """Wait until it can take a request. Raises LimitExceeded when that takes too long."""
        deadline = time.monotonic() + _START_S
        if self._rest_s:
            self._run_in_bursts(deadline, min(self._rest_s, _STARTING_REST_S))
        try:
            self.locks = frozenset(self._receive(deadline)[1:].decode().split())
            self._renew(deadline)
        except (Starved, ChildDied, ChildKilled) as error:
            raise LimitExceeded("No script process could be started; try again") from error

    def call(self, request: bytes, data: bytes, timeout_s: float) -> bytes:
        """Send both frames, return the answer.

        Raises OutOfTime, Starved, ChildDied or ChildKilled; look whether it ``is_alive`` then.
        """
        deadline = time.monotonic() + timeout_s
        head = len(request).to_bytes(4, "big") + request + len(data).to_bytes(4, "big")
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(head + data)
        except TimeoutError as error:
            self.kill()
            raise Starved from error
        except OSError as error:
            raise self._lost() from error
        if self._rest_s:
            self._run_in_bursts(deadline, self._rest_s)
        answer = self._receive(deadline)
        if answer[:1] in (b"D", b"M"):
            self._renew(time.monotonic() + _START_S)
        if answer[:1] == b"D":
            raise _end_of_runner(int(answer[1:]))
        return answer

    def kill(self) -> None:
        """End it now, reap it and close the socket."""
        self.interrupt()
        self._process.wait()
        self._socket.close()

    def interrupt(self) -> None:
        """End it from another thread than the borrower's, who sees it die and reaps it."""
        self._signal(signal.SIGKILL)

    def is_alive(self) -> bool:
        """Whether it can be lent again; it cannot when it says something that nobody asked for."""
        if self._socket.fileno() < 0 or self._process.poll() is not None:
            return False
        heard = select.poll()
        heard.register(self._socket, select.POLLIN)
        return not heard.poll(0)

    def _renew(self, deadline: float) -> None:
        """Let it fork the next runner; it must not stand still before that is ready."""
        try:
            self._socket.sendall(bytes(4))
        except OSError as error:
            raise self._lost() from error
        self._receive(deadline)

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and its runner, which are a group of their own."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # reaped by another thread just now
                os.killpg(self._process.pid, number)

    def _run_in_bursts(self, deadline: float, rest_s: float) -> None:
        """Let it run and rest in turn until it has something to say."""
        heard = select.poll()
        heard.register(self._socket, select.POLLIN)
        try:
            while time.monotonic() < deadline:
                self._signal(signal.SIGCONT)
                if heard.poll(_BURST_S * 1000):
                    break
                self._signal(signal.SIGSTOP)
                if heard.poll(rest_s * 1000):
                    break
        finally:  # one that stands still would never read its next request
            self._signal(signal.SIGCONT)

    def _receive(self, deadline: float) -> bytes:
        size = int.from_bytes(self._read(4, deadline), "big")
        if size > self._most_bytes:  # a program may have broken out and speak for its child
            self.kill()
            raise ChildKilled(f"a frame of {size} bytes")
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
                raise Starved from error
            except OSError as error:
                raise self._lost() from error
            if not chunk:
                raise self._lost()
            chunks += chunk
        return bytes(chunks)

    def _lost(self) -> ChildKilled:
        """Reap a child whose socket is closed: it tells of a program that has ended its runner."""
        self.kill()
        return ChildKilled(f"exit code {self._process.returncode}")


def _end_of_runner(number: int) -> OutOfTime | ChildDied:
    return OutOfTime() if number in _ENDED_BY_TIME else ChildDied(f"signal {number}")


@cache
def _tell_of_missing(locks: str) -> None:
    """Once a process: it is the same for all children."""
    _LOG.warning(
        "Script processes run without locks that this kernel lacks; their limits hold",
        extra={"action": "script_locks_missing", "locks": locks},
    )


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
        rest_s: float = 0.0,
        idle: bool = False,
    ) -> None:
        """Remember the limits; the first child starts with the first caller. See ``Child`` for
        ``rest_s`` and ``idle``.
        """
        self._size = size
        self._memory_bytes = memory_bytes
        self._result_bytes = result_bytes
        self._queue_limit = queue_limit
        self._queue_wait_s = queue_wait_ms / 1000
        self._rest_s = rest_s
        self._idle_only = idle
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
            if self._closed:  # since this caller got its permit
                child.interrupt()
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
        try:
            child = Child(
                memory_bytes=self._memory_bytes,
                result_bytes=self._result_bytes,
                rest_s=self._rest_s,
                idle=self._idle_only,
            )
        except OSError as error:  # too many processes or files just now, say
            raise LimitExceeded("No script process could be started; try again") from error
        try:
            child.wait_ready()
        except LimitExceeded:
            child.kill()
            raise
        if _LOCKS - child.locks:
            _tell_of_missing(" ".join(sorted(_LOCKS - child.locks)))
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

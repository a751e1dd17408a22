"""Child processes of a deployment: started together, started again when they die, stopped in order.

Every child is tied to the supervisor's life (see ``tether``) and leads a process group of its own,
so that nothing of it survives its end. The supervisor lives on the main thread, does nothing but
wait, and never starts a child that failed for its configuration, or that cannot stay up, again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from conductor_py.processes.tether import tethered
from conductor_py.records import dataclass

_log = logging.getLogger(__name__)

#: The exit code of a process whose configuration is wrong; trying again would not help.
CONFIGURATION_EXIT: Final = 2
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_LOOK_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """A process to run: its name in logs, its arguments, and the environment that it gets.

    ``environment`` replaces the supervisor's own; None passes that on. ``start_after_ms`` leaves
    the machine to the children before it for a moment. ``stop_timeout_ms`` is how long it may take
    to end after SIGTERM. Without ``restart`` its end is the end of all.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    start_after_ms: int = 0
    stop_timeout_ms: int = 10_000
    restart: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How long to wait before a child that died is started again, and when to give up.

    A child that lived for ``stable_ms`` has a clean slate; ``give_up_after`` deaths without that
    are the end. The wait doubles from ``first_ms`` up to ``longest_ms``.
    """

    first_ms: int = 200
    longest_ms: int = 10_000
    stable_ms: int = 30_000
    give_up_after: int = 8

    def delay_ms(self, deaths: int) -> int:
        """Return the wait after the given number of deaths in a row, the first being 1."""
        return int(min(self.first_ms * 2 ** min(deaths - 1, 30), self.longest_ms))


@dataclass(slots=True)
class _Child:
    spec: ChildSpec
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    deaths: int = 0
    due: float = 0.0

    def start(self) -> None:
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            tethered(self.spec.argv),
            stdin=subprocess.DEVNULL,
            env=None if self.spec.environment is None else dict(self.spec.environment),
            start_new_session=True,
        )
        _log.info("A process is started.", extra=self.facts("process_started"))

    def end_group(self) -> None:
        """Kill what is left of its process group: workers whose parent died before them."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def facts(self, action: str) -> dict[str, object]:
        pid = self.process.pid if self.process is not None else None
        return {"action": action, "process_name": self.spec.name, "pid": pid}


class Supervisor:
    """Runs the children until a signal, or the end of one that is not started again."""

    def __init__(self, children: Sequence[ChildSpec], policy: RestartPolicy | None = None) -> None:
        """Start nothing yet; children start in this order and stop in the opposite one."""
        self._children = tuple(_Child(spec) for spec in children)
        self._policy = policy or RestartPolicy()
        self._signals = 0

    def run(self) -> int:
        """Run until it is over and return the exit code of this process; only on the main thread.

        0 after SIGTERM or SIGINT, 1 when a child then had to be killed. Otherwise the code of the
        child whose end ended all: its own, or 128 + n when signal n ended it. A signal while
        stopping kills what still runs.
        """
        assert threading.current_thread() is threading.main_thread()
        with self._awake_on_signals() as wait:
            try:
                for child in self._children:
                    child.due = time.monotonic() + child.spec.start_after_ms / 1000
                code = self._watch(wait)
            finally:
                killed = self._stop(wait)
        return 1 if code == 0 and killed else code

    def _watch(self, wait: Callable[[float], None]) -> int:
        while not self._signals:
            for child in self._children:
                code = self._attend(child)
                if code is not None:
                    return code
            wait(self._until_next_start())
        return 0

    def _attend(self, child: _Child) -> int | None:
        """Notice a child's end, or start it when it is due; return a code when all is over."""
        now = time.monotonic()
        if child.process is None:
            return self._start(child) if now >= child.due else None
        status = child.process.poll()
        if status is None:
            return None
        child.end_group()
        code = status if status >= 0 else 128 - status
        extra = {**child.facts("process_ended"), "exit_code": code}
        child.process = None
        is_stable = (now - child.started) * 1000 >= self._policy.stable_ms
        child.deaths = 1 if is_stable else child.deaths + 1
        return self._bury(child, code, extra)

    def _start(self, child: _Child) -> int | None:
        """Start a child; that the machine had no process for it counts as a death of it."""
        try:
            child.start()
        except OSError as error:
            child.deaths += 1
            extra = {**child.facts("process_not_started"), "error": str(error)}
            return self._bury(child, os.EX_OSERR, extra)
        return None

    def _bury(self, child: _Child, code: int, extra: dict[str, object]) -> int | None:
        """Decide when a child that is dead is started again; return its code when all is over."""
        if (
            not child.spec.restart
            or code == CONFIGURATION_EXIT
            or child.deaths >= self._policy.give_up_after
        ):
            _log.error("A process is gone, and with it all others.", extra=extra)
            return code
        child.due = time.monotonic() + self._policy.delay_ms(child.deaths) / 1000
        _log.warning("A process is gone and will be started again.", extra=extra)
        return None

    def _until_next_start(self) -> float:
        due = [child.due for child in self._children if child.process is None]
        return max(0.0, min([_LOOK_S, *(moment - time.monotonic() for moment in due)]))

    def _stop(self, wait: Callable[[float], None]) -> bool:
        """End the children, the last one first; return whether one had to be killed."""
        killed = False
        signals = self._signals
        for child in reversed(self._children):
            if child.process is None:
                continue
            child.process.terminate()
            deadline = time.monotonic() + child.spec.stop_timeout_ms / 1000
            while child.process.poll() is None:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or self._signals > signals:
                    killed = True
                    _log.error("A process did not stop and is killed.", extra=child.facts("kill"))
                    break
                wait(min(remaining, _LOOK_S))
            child.end_group()
            child.process.wait()
            child.process = None
        return killed

    @contextmanager
    def _awake_on_signals(self) -> Iterator[Callable[[float], None]]:
        """Count stop signals, and offer a wait that a signal or the end of a child cuts short."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)

        def count(_number: int, _frame: FrameType | None) -> None:
            self._signals += 1

        def ignore(_number: int, _frame: FrameType | None) -> None:
            """Have a handler, so that the signal is written to the pipe."""

        handlers = dict.fromkeys(_STOP_SIGNALS, count) | {signal.SIGCHLD: ignore}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        descriptor = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

        def wait(seconds: float) -> None:
            if select.select([reading], [], [], seconds)[0]:
                os.read(reading, 4096)

        try:
            yield wait
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

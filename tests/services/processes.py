"""Children that cannot outlive the tests: started, awaited, stopped, killed with their parent."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests.services.cache import Unobtainable
from tests.waiting import until

_LOG_TAIL = 1500
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def free_port(*, below: int = 0) -> int:
    """A TCP port that nobody listens on just now; `below` bounds it where a server wants that."""
    if not below:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])
    # One range a test process, so that two of them do not race for the same port.
    for port in range(below - 1 - os.getpid() % 7, below - 100, -7):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise Unobtainable(f"no free port below {below}")


def answers(port: int) -> bool:
    """Whether something accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Service:
    """A server process with a folder of its own and a log file; a context manager that stops it.

    The folder is short (sockets have a length limit) and is removed by `stop`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix="cpy-"))
        self.log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], *, env: dict[str, str] | None = None) -> None:
        """Start the process; it is killed when this process ends, however it ends."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(command),
                cwd=self.folder,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # an interrupt at the terminal is for the tests
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
            )

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def await_ready(self, ready: Callable[[], object], timeout_s: float) -> None:
        """Wait for `ready`; on an early end or at the deadline stop and raise Unobtainable."""
        try:
            until(lambda: not self.running() or ready(), timeout_s, what=f"{self.name} answers")
        except AssertionError as error:
            raise self._failed(str(error)) from error
        if not self.running():
            raise self._failed(f"{self.name} ended while starting")

    def kill(self) -> None:
        """Kill -9, and wait until it is gone; the folder stays."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask the process to end, kill it if it does not, and remove its folder."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def _failed(self, sentence: str) -> Unobtainable:
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        self.stop()
        return Unobtainable(f"{sentence}: {log[-_LOG_TAIL:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

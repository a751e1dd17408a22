"""Children that cannot outlive the tests: started, awaited, stopped, killed with their parent."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.services.cache import Unobtainable
from tests.waiting import PATIENCE_S, until

START_S = 240.0
"""How long a server may take until it answers; a test with a service has 900 s (see conftest)."""
_STOP_S = 20.0
_LOG_TAIL = 1500
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def answers(port: int) -> bool:
    """Whether something accepts connections on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # gone in between; systems that have no /proc tell by the signal
        return sys.platform != "linux"
    return status.rpartition(")")[2].split()[0] != "Z"


def processes_in(folder: Path) -> dict[int, str]:
    """Process ids and command lines of what works in this folder or below it (Linux)."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone in between, or a zombie, which works nowhere any more
            if (entry / "cwd").readlink().is_relative_to(folder):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = command.decode(errors="replace").strip()
    return found


def resident_mb(pid: int | None) -> float:
    """The memory that a process has in use, as /proc says (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def die_with_parent() -> None:
    """For a child, before it runs: be killed when the thread that started it ends."""
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
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
            )

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def await_ready(self, ready: Callable[[], object], timeout_s: float = START_S) -> None:
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
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_S)

    def _failed(self, sentence: str) -> Unobtainable:
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        self.stop()
        return Unobtainable(f"{sentence}: {log[-_LOG_TAIL:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

"""Real processes of a deployment: started by their commands, watched in /proc, killed at will."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from redis import Redis

from conductor_py.errors import StoreUnavailable
from conductor_py.sdk import Backoff, Client
from tests.services.ports import free_port
from tests.services.processes import is_running
from tests.waiting import PATIENCE_S, until

STOP_S = PATIENCE_S
_TICK_S = 0.05

ONE_PROCESS = ("--set", "conductor.server.oneProcess=true")
A_PROCESS_EACH = ("--set", "conductor.server.oneProcess=false")
APART = os.environ.get("SHAPE") == "apart"
"""Whether servers run a process for each of their parts where a story does not say how."""


class Process:
    """One command of conductor-py with a working directory of its own."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder = folder
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its output is in `said` and `log`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CONDUCTOR_")}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("ab") as err:
            self.process = subprocess.Popen(
                (sys.executable, "-m", "conductor_py.cli", *self.command),
                cwd=self.folder,
                env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def log(self) -> str:
        return (self.folder / "err").read_text()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def family(self) -> dict[int, str]:
        """Process ids of it and all below it, with their command lines."""
        return {pid: _command(pid) for pid in with_descendants(self.pid)}

    def member(self, word: str) -> int:
        """The one whose command line has the word `word`; of several the first started."""
        return until(
            lambda: min(
                (p for p, line in self.family().items() if word in line.split()), default=0
            ),
            what=f"a process {word}",
        )

    def workers(self) -> list[int]:
        """The processes that it started to work, the embedded store apart."""
        own = [pid for pid in with_descendants(self.pid)[1:] if _parent(pid) == self.pid]
        return [pid for pid in own if name_of(pid) != "valkey-server"]

    def wait(self, timeout_s: float = STOP_S) -> int:
        assert self.process is not None
        return self.process.wait(timeout_s)

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.wait()

    def kill(self) -> None:
        """SIGKILL of this process alone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


class Api(Process):
    """A command that serves HTTP: `server` or `api`."""

    def __init__(self, folder: Path, command: str, *options: str, port: int | None = None) -> None:
        self.port = port or free_port()
        shape = A_PROCESS_EACH if APART and command == "server" else ()  # what options say wins
        super().__init__(folder, command, "--port", str(self.port), *shape, *options)
        self.client = Client(
            f"http://127.0.0.1:{self.port}/api", timeout_s=PATIENCE_S, backoff=Backoff(tries=1)
        )

    def start(self) -> None:
        """Start and wait until it is healthy."""
        super().start()
        until(lambda: self._has_ended() or self._is_ready(), what="ready")
        assert not self._has_ended(), self.log

    def _is_ready(self) -> bool:
        if self.command[0] == "server":
            # The port may still be answered by a predecessor that was killed.
            return "docs" in self.said
        return self.is_healthy()

    def _has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def keep_all(self) -> None:
        """Wait until the embedded store has written down all that it has answered."""
        (line,) = [each for each in self.family().values() if "unixsocket:" in each]
        with Redis(unix_socket_path=line.partition("unixsocket:")[2].split()[0]) as store:
            written_down(store)

    def is_healthy(self) -> bool:
        """Whether it answers, and says that its stores do."""
        try:
            return bool(self.client.health().get("healthy"))
        except StoreUnavailable:
            return False


def written_down(store: Redis) -> None:
    """Wait until Redis has written into its file all that it has answered so far.

    It waits for what this very connection has written, so that must be something.
    """
    store.set("written-down", "", px=1)
    kept: Any = store.execute_command("WAITAOF", 1, 0, int(PATIENCE_S * 1000))
    assert kept[0] == 1, "Redis has not written within its time"


class Deployment:
    """Starts processes for one test, and ends what is left of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[Process] = []

    def server(self, *options: str, name: str = "server", port: int | None = None) -> Api:
        """Run the all-in-one server on a data directory of its own, until it is healthy."""
        data = ("--data", str(self.folder / f"{name}-data"))
        return self.serve(Api(self.folder / name, "server", *data, *options, port=port))

    def serve(self, process: Api) -> Api:
        self.processes.append(process)
        process.start()
        return process

    def run(self, name: str, *command: str) -> Process:
        """Run another command."""
        process = Process(self.folder / name, *command)
        self.processes.append(process)
        process.start()
        return process

    def end(self) -> None:
        for process in self.processes:
            if isinstance(process, Api):
                process.client.close()
            if process.process is not None and process.process.poll() is None:
                left = process.family()
                process.kill()
                for pid in left:
                    _end(pid)


@contextmanager
def deployed(folder: Path) -> Iterator[Deployment]:
    deployment = Deployment(folder)
    try:
        yield deployment
    finally:
        deployment.end()


class Stalls:
    """A witness of how long the machine lets a thread wait that asks for next to nothing."""

    def __init__(self) -> None:
        self._longest_s = 0.0
        self._ticked_at = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        self._ticked_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._longest_s, self._ticked_at = self.longest_s, float("inf")

    @property
    def longest_s(self) -> float:
        """By how much it overslept at most; the tick under way counts."""
        return max(self._longest_s, time.monotonic() - self._ticked_at - _TICK_S)

    @property
    def longest_ms(self) -> int:
        return round(self.longest_s * 1000)

    def _tick(self) -> None:
        while not self._stop.wait(_TICK_S):
            self._longest_s = self.longest_s
            self._ticked_at = time.monotonic()


def with_descendants(root: int) -> list[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for pid in _all_pids():
        children.setdefault(_parent(pid), []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def name_of(pid: int) -> str:
    """The name of its program, at most 15 characters."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


def await_gone(pids: Any, timeout_s: float = STOP_S) -> None:
    """Wait until none of them runs."""
    until(lambda: not any(is_running(pid) for pid in pids), timeout_s, what="no process left")


def cpu_ticks(pid: int) -> int:
    """Processor time used so far, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return

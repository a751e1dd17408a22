"""The processes of a deployment and who starts them again: what systemd or Kubernetes would do.

All is done by one thread, because a child dies with the thread that started it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from conductor_py.errors import StoreUnavailable
from conductor_py.sdk import Backoff, Client
from tests.acceptance.deployment import with_descendants
from tests.chaos.verdict import Violation
from tests.services.ports import free_port
from tests.services.processes import die_with_parent, is_running, processes_in
from tests.waiting import until

_CLI = ("-m", "conductor_py.cli")
_WITH_API = {"api", "server"}
_WORKER = ("-m", "tests.chaos.worker")


class Member:
    """One process that is to run always."""

    def __init__(self, name: str, role: str, command: tuple[str, ...], folder: Path) -> None:
        self.name = name
        self.role = role
        self.folder = folder / name
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self.frozen: list[int] = []
        self.started_s = 0.0
        self.folder.mkdir(parents=True)

    def start(self) -> None:
        """Start it; its log is in the file `err` of its folder."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CONDUCTOR_")}
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.started_s = time.monotonic()
        with (self.folder / "err").open("ab") as log:
            self._process = subprocess.Popen(
                (sys.executable, *self._command),
                cwd=self.folder,
                env=kept | path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def has_ended(self) -> bool:
        """Whether it was started and is gone."""
        return self._process is not None and self._process.poll() is not None

    def is_up(self) -> bool:
        """Whether it runs and is not frozen."""
        return self._process is not None and not self.has_ended() and not self.frozen

    def family(self) -> list[int]:
        """Process ids: its own, then those of all below it."""
        return with_descendants(self.pid)

    def kill(self) -> None:
        """Kill -9 of the process alone; what it has started must go by itself."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.frozen = []

    def kill_child(self, chance: random.Random) -> bool:
        """Kill -9 of one process below it, which it has to replace; false when there is none."""
        below = self.family()[1:]
        if not below:
            return False
        with suppress(ProcessLookupError):
            os.kill(chance.choice(below), signal.SIGKILL)
        return True

    def freeze(self) -> None:
        """Stop it with all below it."""
        self.frozen = self.family()
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)
        self.frozen = []

    def end(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.frozen:
            if is_running(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


class Api(Member):
    """An API node, or a whole server, with a client for it."""

    def __init__(
        self, name: str, options: tuple[str, ...], folder: Path, *, role: str = "api"
    ) -> None:
        self.port = free_port()
        command = (*_CLI, role, "--port", str(self.port), *options)
        super().__init__(name, role, command, folder)
        #: Gives up early, as a client does that can ask somebody else; the other one does not.
        self.client = Client(self.url, timeout_s=5, backoff=Backoff(tries=1))
        self.patient = Client(self.url, timeout_s=60, backoff=Backoff(base_ms=500, tries=8))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    def is_healthy(self) -> bool:
        """Whether it answers, and says that its stores do."""
        try:
            return bool(self.client.health().get("healthy"))
        except StoreUnavailable:
            return False


def given(settings: dict[str, str]) -> tuple[str, ...]:
    """Settings as words of a command line."""
    return tuple(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))


class Crew:
    """All members of a deployment."""

    def __init__(self, folder: Path, redis_urls: tuple[str, ...], settings: dict[str, str]) -> None:
        """Over these ways to one Redis, in turn; nothing starts yet."""
        self.folder = folder
        self._urls = redis_urls
        self._data = folder / "data"
        self._settings = given(settings)
        self.members: list[Member] = []

    @property
    def apis(self) -> list[Api]:
        return [member for member in self.members if isinstance(member, Api)]

    def add(self, role: str, count: int) -> None:
        """Have so many processes of a command: `server`, `api`, `sweeper`, `effects`, …"""
        for number in range(count):
            options = self._options(number)
            name = f"{role}-{number + 1}"
            if role in _WITH_API:
                self.have(Api(name, options, self.folder, role=role))
            else:
                self.have(Member(name, role, (*_CLI, role, *options), self.folder))

    def add_workers(self, count: int) -> None:
        """Have so many SDK workers, each of one of the API nodes."""
        (self.folder / "healed").mkdir()
        for number in range(count):
            url, name = self.apis[number % len(self.apis)].url, f"worker-{number + 1}"
            self.have(Member(name, "worker", (*_WORKER, url, str(self.folder), name), self.folder))

    def have(self, member: Member) -> None:
        """Start a member and keep it."""
        self.members.append(member)
        member.start()

    def _options(self, number: int) -> tuple[str, ...]:
        url = self._urls[number % len(self._urls)]
        return ("--redis", url, "--data", str(self._data), *self._settings)

    def end(self) -> dict[str, int]:
        """SIGTERM to all, and their exit codes by name."""
        codes = {member.name: member.end() for member in self.members}
        for api in self.apis:
            api.client.close()
            api.patient.close()
        return codes

    def left_over(self, within_s: float) -> list[Violation]:
        """What still runs so long after the end; nothing of it does after this.

        Orphans of members that were killed count, too: all that a member starts works in its
        folder, and is known by that.
        """
        with suppress(AssertionError):
            until(lambda: not processes_in(self.folder), within_s, what="all are gone")
        still = processes_in(self.folder)
        for pid in still:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [
            Violation(kind="left over", execution="", sentence=f"still runs: {command}")
            for command in still.values()
        ]

"""Attempts at a job as real processes: struck while they are held at a named point, and their
successors.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from tests.acceptance.deployment import name_of, with_descendants
from tests.waiting import PATIENCE_S, until
from tests.workers.pipelines.stores import StoreServer

_ROOT = Path(__file__).parents[3]
_WITHIN_S = 300.0


class Victim(StrEnum):
    """What of an attempt is killed with -9, or frozen."""

    DRIVER = "driver"
    """The Python process that has the task: its coordinators, its lease."""
    JVM = "jvm"
    WORKER = "worker"
    """All of its processes at once."""


@dataclass(slots=True)
class AttemptProcess:
    """A host's process, leader of its process group."""

    token: int
    process: subprocess.Popen[bytes]
    log: Path
    mark: Path
    """The file that tells that the fault was met."""
    family: list[int] = field(default_factory=list)
    """All of its processes when it was struck."""

    def met(self) -> bool:
        """Wait until it is held at its fault; False when it ended instead."""
        until(lambda: self.mark.exists() or self.process.poll() is not None, _WITHIN_S)
        return self.process.poll() is None

    def kill(self, victim: Victim) -> None:
        """Kill it with -9, while it is held; what is left of it goes on."""
        family = with_descendants(self.process.pid)
        chosen = {
            Victim.DRIVER: family[:1],
            Victim.JVM: [pid for pid in family if _is_java(pid)],
            Victim.WORKER: family,
        }[victim]
        assert chosen, f"there is no {victim}: {self.said()}"
        self.family += family
        signalled(chosen, signal.SIGKILL)
        self._release()

    def freeze(self) -> None:
        """Stop all of its processes, those that Spark puts into groups of their own among them."""
        signalled([self.process.pid], signal.SIGSTOP)
        while left := set(with_descendants(self.process.pid)) - set(self.family):
            signalled(left, signal.SIGSTOP)
            self.family += left
        self._release()

    def _release(self) -> None:
        self.mark.with_suffix(".released").touch()

    def ended(self, within_s: float = _WITHIN_S) -> int:
        """Wait for its end and return its exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"attempt {self.token} did not end: {self.said()}") from None

    def wake(self) -> None:
        """Let what is frozen go on."""
        signalled(self.family, signal.SIGCONT)

    def end(self) -> None:
        """Kill what is left of it: of those that have no parent any more, too."""
        if self.process.poll() is None:
            self.family += with_descendants(self.process.pid)
        signalled(self.family, signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def said(self) -> str:
        """Return the end of its log."""
        return self.log.read_text()[-4000:]


def signalled(pids: Iterable[int], number: signal.Signals) -> None:
    """Send those that are still there a signal."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_java(pid: int) -> bool:
    try:
        return name_of(pid) == "java"
    except FileNotFoundError:  # it has ended
        return False


@dataclass(slots=True)
class Crew:
    """All attempts at one job in one place; leaves no process behind."""

    place: Path
    job: dict[str, Any]
    settings: dict[str, str] = field(default_factory=dict)
    """Of Spark, for all attempts."""
    master: str = ""
    """A cluster's; without one each attempt has cores of its own."""
    running: list[AttemptProcess] = field(default_factory=list)
    server: StoreServer = field(default_factory=StoreServer)

    def start(
        self,
        token: int,
        *,
        cores: int,
        fault: str = "",
        job: dict[str, Any] | None = None,
    ) -> AttemptProcess:
        """Start the attempt with that token."""
        asked = self.place / f"asked-{token}.json"
        asked.write_text(
            json.dumps(
                {
                    "place": str(self.place),
                    "token": token,
                    "store": self.server.address,
                    "master": self.master or f"local[{cores},4]",
                    "settings": self.settings,
                    "job": job or self.job,
                    "result": str(self.place / f"result-{token}.json"),
                }
            )
        )
        mark = self.place / f"mark-{token}"
        environment = {
            **os.environ,
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'workers'}",
            "CONDUCTOR_PY_FAULT": fault,
            "CONDUCTOR_PY_FAULT_MARK": str(mark),
        }
        log = self.place / f"log-{token}"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.workers.pipelines.host", str(asked)],
                env=environment,
                cwd=_ROOT,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        attempt = AttemptProcess(token, process, log, mark)
        self.running.append(attempt)
        return attempt

    def await_taken(self, token: int) -> None:
        """Wait until that token holds the task."""
        until(lambda: self.server.keeper.token >= token, _WITHIN_S)

    def await_epochs(self, count: int) -> None:
        """Wait until so many records have been put, of all pipelines."""
        until(
            lambda: len(self.server.keeper.history) >= count or not self._works(),
            _WITHIN_S,
            what=f"{count} records",
        )
        assert len(self.server.keeper.history) >= count, self.running[-1].said()

    def _works(self) -> bool:
        return any(each.process.poll() is None for each in self.running)

    def result(self, token: int) -> dict[str, Any]:
        """What the attempt that finished the job has told: its document, and what Spark read."""
        found: dict[str, Any] = json.loads((self.place / f"result-{token}.json").read_text())
        return found

    def fault_happened(self, token: int) -> bool:
        """Say whether the fault of that attempt was met."""
        return (self.place / f"mark-{token}").exists()

    def __enter__(self) -> Self:
        """Nothing runs yet."""
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what still runs."""
        for attempt in self.running:
            attempt.end()
        self.server.__exit__()

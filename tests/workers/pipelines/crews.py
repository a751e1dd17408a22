"""Attempts at a job as real processes: killed or frozen at a named point, and their successors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.waiting import PATIENCE_S, until
from tests.workers.pipelines.stores import StoreServer

_ROOT = Path(__file__).parents[3]
_WITHIN_S = 300.0


@dataclass(frozen=True, slots=True)
class AttemptProcess:
    """A host's process, leader of its process group."""

    token: int
    process: subprocess.Popen[bytes]
    log: Path

    def ended(self, within_s: float = _WITHIN_S) -> int:
        """Wait for its end and return its exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"attempt {self.token} did not end: {self.said()}") from None

    def frozen(self) -> bool:
        """Say whether it stands still."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        with suppress(FileNotFoundError, IndexError):
            return stat.read_text().rpartition(")")[2].split()[0] in ("T", "t")
        return False

    def wake(self) -> None:
        """Let it and its children go on."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)

    def said(self) -> str:
        """Return the end of its log."""
        return self.log.read_text()[-4000:]


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
        environment = {
            **os.environ,
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'workers'}",
            "CONDUCTOR_PY_FAULT": fault,
            "CONDUCTOR_PY_FAULT_MARK": str(self.place / f"mark-{token}"),
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
        attempt = AttemptProcess(token, process, log)
        self.running.append(attempt)
        return attempt

    def await_frozen(self, attempt: AttemptProcess) -> bool:
        """Wait until it stands still; False when it ended instead."""
        until(lambda: attempt.frozen() or attempt.process.poll() is not None, _WITHIN_S)
        return attempt.process.poll() is None

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
            with suppress(ProcessLookupError):
                os.killpg(attempt.process.pid, signal.SIGKILL)
            attempt.process.wait(PATIENCE_S)
        self.server.__exit__()

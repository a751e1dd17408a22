"""What must hold all along: health, others' executions, processes, memory, the log."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.acceptance.deployment import name_of, with_descendants
from tests.chaos.memory import Sample, sample
from tests.fuzz.findings import Findings, Slowest
from tests.services.processes import is_running

HEALTH_S: Final = 10.0
CANARY_S: Final = 30.0
MOST_MB: Final = 1_500
_CANARY: Final = {
    "name": "canary",
    "version": 1,
    "tasks": [
        {
            "name": "canary_task",
            "taskReferenceName": "sing",
            "type": "SIMPLE",
            "taskDefinition": {"name": "canary_task", "retryCount": 0},
        },
        {
            "name": "rest",
            "taskReferenceName": "rest",
            "type": "WAIT",
            "inputParameters": {"duration": "1s"},
        },
    ],
    "outputParameters": {"song": "${sing.output.song}"},
}
_CANARY_EVERY_S: Final = 10.0
_HEALTH_EVERY_S: Final = 0.5
_SAMPLE_EVERY_S: Final = 2.0
_LOOK_S: Final = 0.1
#: Script processes: one whose script went over a limit is replaced by design.
_PASSING: Final = re.compile(rb"quickjs")
_RECORD: Final = re.compile(r"\n(?=\S)")
_BAD_RECORD: Final = re.compile(
    r"Traceback|request_failed| ERROR | CRITICAL |action=(?:process_ended|damaged|quarantine)"
)
_EXECUTION: Final = re.compile(r"workflow_id=(\S+)")
#: What is told of entries that were damaged, once that is done.
_OF_DAMAGE: Final = re.compile(
    r"action=(?:damaged|key_set_aside|quarantin\w+)|StoreDamaged|UnknownFormat|JSONDecodeError"
)


class Watch:
    """Threads that look while others send."""

    def __init__(self, root: int, port: int, log: Path, findings: Findings) -> None:
        self.samples: list[Sample] = []
        self._root = root
        self._port = port
        self._log = log
        self._findings = findings
        self._over = threading.Event()
        self._began = time.monotonic()
        self._read = 0
        self._singing = threading.Lock()
        self._pids = {pid: name_of(pid) for pid in self._lasting()}
        self._threads = [
            threading.Thread(target=self._each, args=facts, daemon=True)
            for facts in (
                (_HEALTH_EVERY_S, self._ask_health),
                (_CANARY_EVERY_S, self._sing),
                (_SAMPLE_EVERY_S, self.look),
            )
        ]

    def begin(self) -> None:
        """Register the canary and look from now on."""
        status, _ = self._call("PUT", "/api/metadata/workflow", [_CANARY])
        assert status == 200, status
        for each in self._threads:
            each.start()

    def end(self) -> None:
        """Look no more."""
        self._over.set()
        for each in self._threads:
            each.join(CANARY_S + HEALTH_S)
        self.look()

    @property
    def highest_mb(self) -> float:
        """Of all processes together."""
        return max((_total(each) for each in self.samples), default=0.0)

    @property
    def first_mb(self) -> float:
        """Of all processes, when it began."""
        return _total(self.samples[0])

    @property
    def last_mb(self) -> float:
        """Of all processes, when it last looked."""
        return _total(self.samples[-1])

    def growth_mb(self) -> float:
        """Of all processes, from the middle third of the time until now to the last third."""
        thirds = len(self.samples) // 3
        middle, last = self.samples[thirds : 2 * thirds], self.samples[2 * thirds :]
        return median(map(_total, last)) - median(map(_total, middle or last))

    @contextmanager
    def canaries_paused(self) -> Iterator[None]:
        """Have none meanwhile: somebody removes all executions that there are."""
        with self._singing:
            yield

    def _each(self, seconds: float, look: Callable[[], None]) -> None:
        while not self._over.is_set():
            look()
            self._over.wait(seconds)

    def _ask_health(self) -> None:
        began = time.monotonic()
        try:
            status, _ = self._call("GET", "/health", timeout_s=HEALTH_S)
        except (OSError, http.client.HTTPException) as error:
            self._findings.report("health", f"/health: {error!r} within {HEALTH_S:.0f} s")
            return
        seconds = time.monotonic() - began
        if status != 200:
            self._findings.report(f"health {status}", f"/health answered {status}")
        if seconds > self._findings.slowest_health.seconds:
            self._findings.slowest_health = Slowest(seconds=seconds, what="GET /health")

    def _sing(self) -> None:
        """An execution of somebody else: start, work, wait a second, done."""
        with self._singing:
            self._sing_now()

    def _sing_now(self) -> None:
        began = time.monotonic()
        try:
            problem = self._sung(began)
        except (OSError, http.client.HTTPException, ValueError) as error:
            problem = f"{error!r}"
        seconds = time.monotonic() - began
        self._findings.canaries += 1
        if seconds > self._findings.slowest_canary.seconds:
            self._findings.slowest_canary = Slowest(seconds=seconds, what="canary")
        if problem:
            self._findings.report("canary", f"the canary: {problem} after {seconds:.1f} s")

    def _sung(self, began: float) -> str:
        """What was wrong with it; nothing when it ended as it should."""
        execution = ""
        while time.monotonic() < began + CANARY_S:
            if not execution:
                status, told = self._call("POST", "/api/workflow/canary", {})
                execution = told.decode() if status == 200 else ""
            status, told = self._call("GET", "/api/tasks/poll/canary_task?workerid=canary")
            if status == 200 and told:
                task = json.loads(told)
                self._call("POST", "/api/tasks", _result(task))
            status, told = self._call("GET", f"/api/workflow/{execution or 'none'}/status")
            if status == 200 and (found := json.loads(told)["status"]) != "RUNNING":
                return "" if found == "COMPLETED" else f"it is {found}"
            self._over.wait(_LOOK_S)
            if self._over.is_set():
                return ""
        return f"it did not end within {CANARY_S:.0f} s: {execution or 'not even started'}"

    def _call(
        self, method: str, path: str, body: Any = None, timeout_s: float = CANARY_S
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _lasting(self) -> list[int]:
        """The processes that live as long as the server does."""
        found = []
        for pid in with_descendants(self._root):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if words and not _PASSING.search(words):
                found.append(pid)
        return found

    def look(self) -> None:
        """Once at processes, memory and log."""
        for pid, name in self._pids.items():
            if not is_running(pid):
                self._findings.report(f"gone {pid}", f"process {pid} ({name}) is gone")
        self.samples.append(sample(self._root, self._began))
        if (held := _total(self.samples[-1])) > MOST_MB:
            parts = {role: round(mb) for role, mb in self.samples[-1].mb.items()}
            self._findings.report("memory", f"{held:.0f} MB, above {MOST_MB}: {parts}")
        self._read_log()

    def _read_log(self) -> None:
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        whole = text.rpartition(b"\n")[0]
        self._read += len(whole) + bool(whole)
        for record in _RECORD.split(whole.decode(errors="replace")):
            is_excused = self._findings.damaged and self._is_planted(record)
            if _BAD_RECORD.search(record) and not is_excused:
                key = re.sub(r"[\d-]{2,}|[0-9a-f-]{8,}", "", record)[:160]
                self._findings.report(f"log {key}", f"the log: {record[:3_000]}")

    def _is_planted(self, record: str) -> bool:
        """Whether it tells of an entry that was damaged, or of an execution that was."""
        about = _EXECUTION.search(record)
        planted = about is not None and about[1] in self._findings.planted
        return planted or _OF_DAMAGE.search(record) is not None


def _total(taken: Sample) -> float:
    return sum(taken.mb.values())


def _result(task: Any) -> Any:
    return {
        "workflowInstanceId": task["workflowInstanceId"],
        "taskId": task["taskId"],
        "status": "COMPLETED",
        "outputData": {"song": "tweet"},
    }

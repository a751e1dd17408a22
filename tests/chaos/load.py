"""The clients of the chaos program: they start executions, act on them, and keep a journal.

The journal holds what the server has acknowledged, nothing else. A start without an idempotency key
is sent once: when no answer came, whether it exists is unknown, and nobody waits for it. A start
with a key, and every operation, is repeated until it is answered.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from conductor_py.errors import ConductorError, Conflict, NotFound, StoreUnavailable
from conductor_py.sdk import Client, ServerFailure
from tests.chaos.kinds import Json, Kind, draw

_STARTERS = 6
_ATTENDANTS = 10
_PAUSE_S = 0.3
_SHARE_WITH_KEY = 0.3
_ENDED = frozenset({"COMPLETED", "FAILED", "TERMINATED", "TIMED_OUT"})
_NEVER = threading.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A start that was acknowledged: when it was sent, the last time, and when the answer came."""

    id: str
    kind: str
    input: Json
    key: str
    sent_ms: int
    at_ms: int


class Journal:
    """What was acknowledged, in memory and in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("ab")
        self._lock = threading.Lock()
        self.started: list[Started] = []
        self.operated: list[Json] = []
        #: When each execution's end was first asked for: it may be taken in from then on.
        self.terminations: dict[str, int] = {}
        #: How often an operation on an execution was sent and not answered: it may be carried out.
        self.unanswered: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def start(self, started: Started) -> None:
        entry = {
            "event": "started",
            "id": started.id,
            "kind": started.kind,
            "input": started.input,
            "key": started.key,
            "at": started.at_ms,
        }
        with self._lock:
            self.started.append(started)
            self._file.write(orjson.dumps(entry) + b"\n")
            self._file.flush()

    def operation(self, verb: str, execution: str) -> None:
        entry = {"event": verb, "id": execution, "at": _now_ms()}
        with self._lock:
            self.operated.append(entry)
            self._file.write(orjson.dumps(entry) + b"\n")
            self._file.flush()

    def no_answer(self, execution: str) -> None:
        with self._lock:
            self.unanswered[execution] += 1
            self.counts["operations without an answer"] += 1

    def count(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def failure(self, sentence: str) -> None:
        """What no client should ever see."""
        with self._lock:
            self.failures.append(sentence)

    def close(self) -> None:
        self._file.close()


class Load:
    """Starters and attendants, in threads."""

    def __init__(
        self,
        clients: Sequence[Client],
        journal: Journal,
        folder: Path,
        site: str,
        *,
        seed: int,
        first: int = 1,
    ) -> None:
        """``first`` is the number of the first start; no two of a deployment may be the same."""
        self._clients = clients
        self._journal = journal
        self._folder = folder
        self._site = site
        self._seed = seed
        self._numbers = itertools.count(first)
        self._starting_over = threading.Event()
        self._over = threading.Event()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._changed = threading.Condition()
        self._busy = 0
        self._threads: list[threading.Thread] = []
        self._began = 0.0
        #: Set while as much is open as should be.
        self.enough = threading.Event()

    def begin(self, per_s: float) -> None:
        """Start so many executions a second, evenly, and catch up after an outage."""
        self._began = time.monotonic()
        for number in range(_STARTERS):
            chance = random.Random(f"{self._seed}-{number}")
            self._thread(self._start_some, chance, number, per_s)
        for _ in range(_ATTENDANTS):
            self._thread(self._attend)

    def stop_starting(self) -> None:
        """Start nothing new; operations go on."""
        self._starting_over.set()

    def idle(self) -> bool:
        """Whether no operation is owed."""
        with self._changed:
            return not self._due and not self._busy

    def end(self) -> None:
        """Stop everything."""
        self._starting_over.set()
        self._over.set()
        for thread in self._threads:
            thread.join(20)

    def operate(self, kind: Kind, execution: str, given: Json) -> None:
        """Do with an execution what its kind says; a second time if need be."""
        act: dict[str, Callable[[str, Json], None]] = {
            "pause": self._pause,
            "terminate": self._terminate,
            "recover": self._recover,
            "answer": self._answer,
        }
        self._later(0.3, lambda: act[kind.operation](execution, given))

    # -- starts ------------------------------------------------------------------------------------

    def _start_some(self, chance: random.Random, number: int, per_s: float) -> None:
        turn = number
        while not self._starting_over.is_set():
            due = self._began + turn / per_s
            if due > time.monotonic() or self.enough.is_set():
                _NEVER.wait(max(0.01, min(due - time.monotonic(), 0.2)))
                continue
            if self._start(chance):
                turn += _STARTERS
            else:
                _NEVER.wait(_PAUSE_S)

    def _start(self, chance: random.Random) -> bool:
        """Start one; whether it was acknowledged."""
        kind, given = draw(chance)
        given = {**given, "number": next(self._numbers), "site": self._site}
        key = ""
        if kind.operation or chance.random() < _SHARE_WITH_KEY:
            key = f"key-{given['number']}"
        started = self._acknowledged(kind, given, key)
        if started is None:
            return False
        self._journal.start(started)
        if kind.operation:
            self.operate(kind, started.id, given)
        return True

    def _acknowledged(self, kind: Kind, given: Json, key: str) -> Started | None:
        more: Any = {"idempotency_key": key, "idempotency_strategy": "RETURN_EXISTING"}
        while not self._over.is_set():
            client, sent_ms = random.choice(self._clients), _now_ms()
            try:
                execution = client.start_workflow(
                    kind.name, version=1, input=given, **(more if key else {})
                )
            except StoreUnavailable:
                self._journal.count("starts without an answer")
                if not key:
                    return None
                _NEVER.wait(_PAUSE_S)
            except ConductorError as error:
                self._journal.failure(f"start of {kind.name}: {error}")
                return None
            else:
                return Started(
                    id=execution,
                    kind=kind.name,
                    input=given,
                    key=key,
                    sent_ms=sent_ms,
                    at_ms=_now_ms(),
                )
        return None

    # -- operations --------------------------------------------------------------------------------

    def _pause(self, execution: str, _: Json) -> None:
        self._insist("pause", execution, lambda client: client.pause_workflow(execution))
        self._later(
            random.uniform(0.5, 3),
            lambda: self._insist(
                "resume", execution, lambda client: client.resume_workflow(execution)
            ),
        )

    def _terminate(self, execution: str, _: Json) -> None:
        def terminate() -> None:
            self._journal.terminations[execution] = _now_ms()
            self._insist(
                "terminate", execution, lambda client: client.terminate_workflow(execution, "chaos")
            )

        self._later(random.uniform(0, 3), terminate)

    def _recover(self, execution: str, given: Json) -> None:
        status = self._status(execution)
        if status != "FAILED":
            if status not in _ENDED and status != "gone":
                self._later(0.5, lambda: self._recover(execution, given))
            return
        (self._folder / "healed" / str(given["number"])).touch()
        self._insist(
            given["by"], execution, lambda client: self._do(given["by"], client, execution)
        )
        # It was answered, or it was carried out without: then it runs, or has ended well.
        self._later(1.0, lambda: self._recover(execution, given))

    def _do(self, verb: str, client: Client, execution: str) -> None:
        if verb == "retry":
            client.retry_workflow(execution)
        elif verb == "restart":
            client.restart_workflow(execution)
        else:
            found: Any = client.get_workflow(execution)
            broken = [t["taskId"] for t in found["tasks"] if t["referenceTaskName"] == "breaks"]
            if broken:  # else a Redis that lost its last writes has set the execution back
                client.rerun_workflow(execution, from_task_id=broken[-1])

    def _answer(self, execution: str, given: Json) -> None:
        """Complete its two tasks, each as soon as it is open."""
        client = random.choice(self._clients)
        try:
            if client.workflow_status(execution)["status"] in _ENDED:
                return
            for ref in ("one", "two"):
                answer = {"answer": given["number"]}
                if client.update_task_by_ref(execution, ref, "COMPLETED", answer):
                    self._journal.operation(f"answer {ref}", execution)
        except StoreUnavailable:
            self._journal.count("operations without an answer")
        except NotFound:
            self._journal.count("operations on what is gone")
            return
        except ConductorError as error:
            self._journal.failure(f"answer of {execution}: {error}")
        self._later(0.5, lambda: self._answer(execution, given))

    def _insist(self, verb: str, execution: str, call: Callable[[Client], object]) -> None:
        """Repeat a call until it is answered."""
        while not self._over.is_set():
            try:
                call(random.choice(self._clients))
            except (StoreUnavailable, OSError):
                self._journal.no_answer(execution)
                _NEVER.wait(_PAUSE_S)
            except Conflict:  # it has happened already, or is over
                return
            except NotFound:
                self._journal.count("operations on what is gone")
                return
            except ConductorError as error:
                self._journal.failure(f"{verb} of {execution}: {error}")
                if not isinstance(error, ServerFailure):
                    return
                _NEVER.wait(_PAUSE_S)
            else:
                self._journal.operation(verb, execution)
                return

    def _status(self, execution: str) -> str:
        try:
            return str(random.choice(self._clients).workflow_status(execution)["status"])
        except NotFound:
            self._journal.count("operations on what is gone")
            return "gone"
        except StoreUnavailable:
            return "unknown"
        except ConductorError as error:
            self._journal.failure(f"status of {execution}: {error}")
            return "unknown"

    # -- attendants --------------------------------------------------------------------------------

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), act))
            self._changed.notify()

    def _attend(self) -> None:
        while not self._over.is_set():
            with self._changed:
                wait = self._due[0][0] - time.monotonic() if self._due else 0.5
                if wait > 0:
                    self._changed.wait(min(wait, 0.5))
                    continue
                _, _, act = heapq.heappop(self._due)
                self._busy += 1
            try:
                act()
            except Exception as error:  # noqa: BLE001 - the others still need attendance
                self._journal.failure(f"an attendant: {error!r}")
            finally:
                with self._changed:
                    self._busy -= 1

    def _thread(self, run: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

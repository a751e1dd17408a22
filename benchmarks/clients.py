"""Clients of a server: processes of their own, keep-alive sockets, as little work as can be.

``drive`` lets starters and pollers loose on a server and returns what they saw; the clock is the
machine's monotonic one, so that instants of several processes compare.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

_DATA = "x" * 200
_TIMEOUT_S = 60.0
_LONG_POLL_MS = 1000
_FIRST_TASK_S = 10.0


class Http:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self._socket = socket.create_connection(("127.0.0.1", port), _TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Send a request to the API and return status and body."""
        content = b"" if body is None else json.dumps(body).encode()
        self._socket.sendall(
            b"%s /api%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s"
            % (method.encode(), path.encode(), len(content), content)
        )
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += self._more()
        head, _, rest = reply.partition(b"\r\n\r\n")
        status = int(head[9:12])
        length = _length(head.lower())
        while len(rest) < length:
            rest += self._more()
        return status, rest

    def json(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Ask for what cannot be refused, and read the answer."""
        status, answer = self.ask(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path} answered {status}: {answer[:300]!r}")
        return json.loads(answer) if answer.strip() else None

    def text(self, method: str, path: str, body: object = None) -> str:
        """Ask for what cannot be refused and is answered by a bare word."""
        status, answer = self.ask(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path} answered {status}: {answer[:300]!r}")
        return answer.decode().strip('"\n ')

    def _more(self) -> bytes:
        received = self._socket.recv(1 << 20)
        if not received:
            raise ConnectionError("the server closed the connection")
        return received


def _length(head: bytes) -> int:
    at = head.find(b"content-length:")
    if at < 0:
        if b" 204" in head[:13]:
            return 0
        raise RuntimeError(f"an answer without length: {head!r}")
    return int(head[at + 15 :].split(b"\r\n", 1)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to do: executions of a registered workflow, tasks of a type.

    ``starts_per_s`` 0: as fast as they are accepted. ``batch``: tasks of one poll.
    """

    port: int
    workflow: str
    task_type: str
    executions: int
    tasks: int
    starters: int = 4
    pollers: int = 4
    batch: int = 20
    starts_per_s: float = 0.0


@dataclass(slots=True)
class Seen:
    """What clients saw. Instants are monotonic seconds; by execution and reference name."""

    executions: list[str] = field(default_factory=list)
    received: dict[tuple[str, str], float] = field(default_factory=dict)
    reported: dict[tuple[str, str], float] = field(default_factory=dict)
    began: float = float("inf")

    def add(self, other: Seen) -> None:
        """Take in what another client saw."""
        self.executions += other.executions
        self.received |= other.received
        self.reported |= other.reported
        self.began = min(self.began, other.began)

    @property
    def seconds(self) -> float:
        """From the first start to the last result that was accepted."""
        return max(self.reported.values()) - self.began


def drive(load: Load) -> Seen:
    """Run a load to its end. Raises RuntimeError when results are missing."""
    roles: list[tuple[Callable[[Load, int], Seen], int]] = [
        (_start_some, number) for number in range(load.starters)
    ]
    roles += [(_work, number) for number in range(load.pollers)]
    everything = Seen()
    context = get_context("spawn")
    with ProcessPoolExecutor(max_workers=4, mp_context=context) as pool:
        list(pool.map(_warm, range(4)))
        # Dealt out so that every process has starters and pollers.
        hands = [roles[first::4] for first in range(4)]
        for seen in pool.map(_play, [load] * 4, hands):
            everything.add(seen)
    wanted = load.executions * load.tasks
    if len(everything.reported) != wanted:
        raise RuntimeError(f"{len(everything.reported)} of {wanted} results were taken")
    return everything


def alone(load: Load) -> Seen:
    """Run executions of one task one after the other, as one client."""
    http = Http(load.port)
    seen = Seen(began=time.monotonic())
    for _ in range(load.executions):
        seen.executions.append(_start(http, load))
        found = _poll(http, load, "alone", 1)
        for task in found:
            _report(http, task, seen)
    if len(seen.reported) != load.executions:
        raise RuntimeError(f"{len(seen.reported)} of {load.executions} results were taken")
    return seen


def _warm(number: int) -> int:
    """Let the process be there before the clock runs."""
    time.sleep(0.2)
    return number


def _play(load: Load, hand: Sequence[tuple[Callable[[Load, int], Seen], int]]) -> Seen:
    together = Seen()
    lock = threading.Lock()
    failures: list[Exception] = []

    def run(role: Callable[[Load, int], Seen], number: int) -> None:
        try:
            seen = role(load, number)
        except Exception as error:  # noqa: BLE001 - raised again below, where it is seen
            failures.append(error)
            return
        with lock:
            together.add(seen)

    threads = [threading.Thread(target=run, args=role) for role in hand]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return together


def _start_some(load: Load, number: int) -> Seen:
    http = Http(load.port)
    seen = Seen(began=time.monotonic())
    for turn in range(number, load.executions, load.starters):
        if load.starts_per_s:
            time.sleep(max(0.0, seen.began + turn / load.starts_per_s - time.monotonic()))
        seen.executions.append(_start(http, load))
    return seen


def _work(load: Load, number: int) -> Seen:
    """Poll and report until a long poll finds nothing any more."""
    http = Http(load.port)
    seen = Seen()
    give_up = time.monotonic() + _FIRST_TASK_S
    while True:
        tasks = _poll(http, load, f"bench-{number}", load.batch)
        if not tasks and (seen.reported or time.monotonic() > give_up):
            return seen
        received = time.monotonic()
        for task in tasks:
            seen.received[task["workflowInstanceId"], task["referenceTaskName"]] = received
            _report(http, task, seen)


def _start(http: Http, load: Load) -> str:
    body = {"name": load.workflow, "version": 1, "input": {"data": _DATA}}
    return http.text("POST", "/workflow", body)


def _poll(http: Http, load: Load, worker: str, count: int) -> list[dict[str, Any]]:
    path = (
        f"/tasks/poll/batch/{load.task_type}?count={count}&timeout={_LONG_POLL_MS}"
        f"&workerid={worker}"
    )
    return http.json("GET", path) or []


def _report(http: Http, task: Mapping[str, Any], seen: Seen) -> None:
    execution = task["workflowInstanceId"]
    body = {
        "taskId": task["taskId"],
        "workflowInstanceId": execution,
        "status": "COMPLETED",
        "workerId": "bench",
        "outputData": {"data": _DATA},
    }
    began = time.monotonic()
    http.text("POST", "/tasks", body)
    seen.reported[execution, task["referenceTaskName"]] = began

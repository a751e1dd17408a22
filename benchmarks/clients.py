"""Clients of a server: processes of their own, keep-alive sockets, as little work as can be.

``drive`` lets starters and pollers loose on a server and returns what they saw; the clock is the
machine's monotonic one, so that instants of several processes compare.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Self, TypeVar

T = TypeVar("T")
DATA = "x" * 200
_TIMEOUT_S = 60.0
_LONG_POLL_MS = 1000
#: How long a poller goes on that finds nothing though results are missing: a server may hand out
#: again, after two minutes, what it took from its queue for a poll that it refused then.
_PATIENCE_S = 200.0
_BEFORE_REPEAT_S = 0.02
_left: Synchronized[int]


class Refused(RuntimeError):
    """A request that was not carried out: the server says that the fault is its own."""


class Lost(RuntimeError):
    """An execution that was accepted, and of which nothing more comes."""


class Http:
    """One keep-alive connection, made anew when the server says that it closes it."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self._port = port
        self._connect()

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_S)
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
        status, head = int(head[9:12]), head.lower()
        content = self._chunks(rest) if b"chunked" in head else self._rest(rest, _length(head))
        if b"connection: close" in head:
            self.close()
            self._connect()
        return status, content

    def json(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Ask for what should not be refused, and read the answer; ``RuntimeError`` if it is."""
        answer = self._accepted(method, path, body)
        return json.loads(answer) if answer.strip() else None

    def text(self, method: str, path: str, body: object = None) -> str:
        """Ask for what is answered by a bare word."""
        return self._accepted(method, path, body).decode().strip('"\n ')

    def _accepted(self, method: str, path: str, body: object) -> bytes:
        status, answer = self.ask(method, path, body)
        if status >= 300:
            kind = Refused if status >= 500 else RuntimeError
            raise kind(f"{method} {path} answered {status}: {answer[:300]!r}")
        return answer

    def _rest(self, received: bytes, length: int) -> bytes:
        while len(received) < length:
            received += self._more()
        return received

    def _chunks(self, received: bytes) -> bytes:
        """Put a body together that comes in chunks, as Java's servers send it."""
        body = b""
        while True:
            while b"\r\n" not in received:
                received += self._more()
            size, _, received = received.partition(b"\r\n")
            length = int(size, 16)
            received = self._rest(received, length + 2)
            if not length:
                return body
            body, received = body + received[:length], received[length + 2 :]

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

    ``starts_per_s`` 0: as fast as they are accepted. ``batch``: tasks of one poll. ``repeats``: how
    often what the server refuses is asked again at most.
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
    repeats: int = 0


@dataclass(slots=True)
class Seen:
    """What clients saw. Instants are monotonic seconds; by execution and reference name.

    ``refused``: how many requests had to be repeated.
    """

    executions: list[str] = field(default_factory=list)
    received: dict[tuple[str, str], float] = field(default_factory=dict)
    reported: dict[tuple[str, str], float] = field(default_factory=dict)
    began: float = float("inf")
    refused: int = 0

    def add(self, other: Seen) -> None:
        """Take in what another client saw."""
        self.executions += other.executions
        self.received |= other.received
        self.reported |= other.reported
        self.began = min(self.began, other.began)
        self.refused += other.refused

    @property
    def seconds(self) -> float:
        """From the first start to the last result that was accepted."""
        return max(self.reported.values()) - self.began


_Role = tuple[Callable[[Load, int], Seen], int]


def drive(load: Load) -> Seen:
    """Run a load to its end. Raises ``Lost`` when results are missing."""
    starters: list[_Role] = [(_start_some, number) for number in range(load.starters)]
    pollers: list[_Role] = [(_work, number) for number in range(load.pollers)]
    everything = Seen()
    context = get_context("spawn")
    left = context.Value("i", load.executions * load.tasks)
    with ProcessPoolExecutor(
        max_workers=4, mp_context=context, initializer=_share, initargs=(left,)
    ) as pool:
        list(pool.map(_warm, range(4)))
        roles, before = starters + pollers, -1
        # A task that was handed out twice counted twice: pollers go again for what is missing.
        while left.value > 0 and len(everything.reported) > before:
            before = len(everything.reported)
            # Dealt out so that every process has starters and pollers.
            for seen in pool.map(_play, [load] * 4, [roles[first::4] for first in range(4)]):
                everything.add(seen)
            left.value = load.executions * load.tasks - len(everything.reported)
            roles = pollers
    if left.value:
        raise Lost(_missing(load, everything))
    return everything


def _missing(load: Load, seen: Seen) -> str:
    counted = Counter(execution for execution, _ in seen.reported)
    short = [each for each in seen.executions if counted[each] < load.tasks]
    strange = counted.keys() - set(seen.executions)
    return (
        f"{len(seen.reported)} of {load.executions * load.tasks} results were taken; executions "
        f"that have too few: {short[:3]}, and that nobody started: {sorted(strange)[:3]}"
    )


def alone(load: Load) -> Seen:
    """Run executions of one task one after the other, as one client."""
    load = replace(load, batch=1)
    seen = Seen(began=time.monotonic())
    with Http(load.port) as http:
        for _ in range(load.executions):
            seen.executions.append(_start(http, load, seen))
            until = time.monotonic() + _PATIENCE_S
            while not (found := _poll(http, load, seen, "alone")) and time.monotonic() < until:
                pass
            for task in found:
                _report(http, load, seen, task)
    if len(seen.reported) != load.executions:
        raise Lost(f"{len(seen.reported)} of {load.executions} results were taken")
    return seen


def _share(left: Synchronized[int]) -> None:
    """Know in this process how many results all processes have yet to report."""
    global _left  # noqa: PLW0603 - a process of a pool is given what it shares when it starts
    _left = left


def _warm(number: int) -> int:
    """Let the process be there before the clock runs."""
    time.sleep(0.2)
    return number


def _play(load: Load, hand: Sequence[_Role]) -> Seen:
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
    with Http(load.port) as http:
        seen = Seen(began=time.monotonic())
        for turn in range(number, load.executions, load.starters):
            if load.starts_per_s:
                time.sleep(max(0.0, seen.began + turn / load.starts_per_s - time.monotonic()))
            seen.executions.append(_start(http, load, seen))
        return seen


def _work(load: Load, number: int) -> Seen:
    """Poll and report until all pollers together have reported all, or nothing comes any more."""
    with Http(load.port) as http:
        seen = Seen()
        received = time.monotonic()
        while _left.value > 0 and time.monotonic() < received + _PATIENCE_S:
            if not (tasks := _poll(http, load, seen, f"bench-{number}")):
                continue
            received = time.monotonic()
            for task in tasks:
                seen.received[task["workflowInstanceId"], task["referenceTaskName"]] = received
                _report(http, load, seen, task)
            with _left.get_lock():
                _left.value -= len(tasks)
        return seen


def _start(http: Http, load: Load, seen: Seen) -> str:
    body = {"name": load.workflow, "version": 1, "input": {"data": DATA}}
    return _asked(load, seen, lambda: http.text("POST", "/workflow", body))


def _poll(http: Http, load: Load, seen: Seen, worker: str) -> list[dict[str, Any]]:
    path = (
        f"/tasks/poll/batch/{load.task_type}?count={load.batch}&timeout={_LONG_POLL_MS}"
        f"&workerid={worker}"
    )
    return _asked(load, seen, lambda: http.json("GET", path)) or []


def _report(http: Http, load: Load, seen: Seen, task: Mapping[str, Any]) -> None:
    execution = task["workflowInstanceId"]
    body = {
        "taskId": task["taskId"],
        "workflowInstanceId": execution,
        "status": "COMPLETED",
        "workerId": "bench",
        "outputData": {"data": DATA},
    }
    began = time.monotonic()
    _asked(load, seen, lambda: http.text("POST", "/tasks", body))
    seen.reported[execution, task["referenceTaskName"]] = began


def _asked(load: Load, seen: Seen, ask: Callable[[], T]) -> T:
    """Ask, and again when it is refused, as a client must."""
    for _ in range(load.repeats):
        try:
            return ask()
        except Refused:
            seen.refused += 1
            time.sleep(_BEFORE_REPEAT_S)
    return ask()

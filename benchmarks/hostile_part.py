"""Hostile scripts on a server: what they cost those who have nothing to do with them.

Windows without and with hostile executions take turns, and which of a pair is first changes, too;
a figure is the median over pairs, so that a machine which changes its pace does so for both. The
same client goes round all the time: start, poll, report, at a steady pace. Every hostile execution
has an input of its own, so that none is answered by another's result.
"""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Final

from benchmarks.clients import Http
from benchmarks.figures import Figure, quantile
from benchmarks.machine import script_processes_mb
from benchmarks.server_part import Served, server

_PART: Final = "Hostile scripts"
_ROUNDS_PER_S: Final = 60.0
_WINDOW_S: Final = 10.0
_LONGEST_S: Final = 120.0
_LOOK_S: Final = 1.0
_SCRIPTS: Final = {
    "loop": "while (true) {}",
    "allocation": "let a = []; while (true) { a.push('x'.repeat(1e5) + a.length) }",
    "recursion": "function f() { return f() + 1 } f()",
    "expression": "/(a+)+$/.test('a'.repeat(40) + 'b')",
    "native": "Array(2 ** 32 - 1).join('abcdefgh')",
}
_FILTERS: Final = {"endless": "[repeat(1)]", "large": '"x" * 1e9'}
_ENDS: Final = {"FAILED", "FAILED_WITH_TERMINAL_ERROR"}


@dataclass(slots=True)
class _Window:
    """What the client saw, how long each hostile start took, in ms, and memory of scripts."""

    latencies: list[float]
    starts: list[float] = field(default_factory=list)
    script_mb: float = 0.0

    def share(self, share: float) -> float:
        return quantile(self.latencies, share)


def measure_hostile(windows: int, hostile: int) -> list[Figure]:
    """Measure ``windows`` windows of each kind; ``hostile`` executions are spread over theirs."""
    # A script may take little here: a window is over when its last one is, a hundred times slower.
    with (
        server(CONDUCTOR_SCRIPTS_TIMELIMIT="12ms") as at,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as client,
    ):
        _define(at)
        client.submit(_go_round, at.port, 3.0).result()
        quiet: list[_Window] = []
        troubled: list[_Window] = []
        numbers = itertools.count()
        for number in range(windows):
            kinds = [(quiet, 0), (troubled, hostile // windows)]
            for windows_of_kind, count in kinds if number % 2 else reversed(kinds):
                windows_of_kind.append(_window(at, client, count, numbers))
        with Http(at.port) as http:
            if not http.json("GET", "/metadata/workflow/honest?version=1"):
                raise RuntimeError("the server has lost a definition")
    return list(_figures(quiet, troubled, hostile))


def _figures(
    quiet: Sequence[_Window], troubled: Sequence[_Window], hostile: int
) -> Iterator[Figure]:
    for share, target in ((0.99, 1.1), (0.5, None)):
        before, during = (_middle(windows, share) for windows in (quiet, troubled))
        change = _change(quiet, troubled, share)
        yield Figure(
            key=f"hostile_p{share * 100:.0f}",
            part=_PART,
            title=f"p{share * 100:.0f} of a request while {hostile} hostile scripts run "
            f"({during:.2f} ms) over that without ({before:.2f} ms)",
            value=change,
            unit="x",
            ratio=1 / change if target else None,
            target=target,
        )
    yield Figure(
        key="hostile_start",
        part=_PART,
        title="slowest start of a hostile execution",
        value=max(max(window.starts) for window in troubled),
        unit="ms",
        target=1500,
    )
    yield Figure(
        key="hostile_memory",
        part=_PART,
        title="most memory of all script processes",
        value=max(window.script_mb for window in troubled),
        unit="MB",
    )


def _middle(windows: Sequence[_Window], share: float) -> float:
    return statistics.median(window.share(share) for window in windows)


def _change(quiet: Sequence[_Window], troubled: Sequence[_Window], share: float) -> float:
    """Return the median of the ratios of windows that were neighbours."""
    return statistics.median(
        during.share(share) / before.share(share)
        for before, during in zip(quiet, troubled, strict=True)
    )


# -- the honest client -----------------------------------------------------------------------------


def _go_round(port: int, seconds: float) -> list[float]:
    """Start, poll and report at a steady pace; return how long each request took, in ms."""
    with Http(port) as http:
        began = time.monotonic()
        seen: list[float] = []
        for turn in itertools.count():
            due = began + turn / _ROUNDS_PER_S
            if due > began + seconds:
                return seen
            time.sleep(max(0.0, due - time.monotonic()))
            _round(http, seen)
        raise AssertionError


def _round(http: Http, seen: list[float]) -> None:
    def timed(method: str, path: str, body: object = None) -> bytes:
        sent = time.perf_counter()
        status, answer = http.ask(method, path, body)
        seen.append((time.perf_counter() - sent) * 1000)
        if status >= 300:
            raise RuntimeError(f"{method} {path} answered {status}: {answer[:300]!r}")
        return answer

    timed("POST", "/workflow", {"name": "honest", "version": 1, "input": {"data": "x" * 200}})
    path = "/tasks/poll/batch/honest_step?count=1&timeout=1000&workerid=bench"
    sent = time.perf_counter()
    tasks = http.json("GET", path)
    seen.append((time.perf_counter() - sent) * 1000)
    for task in tasks:
        body = {
            "taskId": task["taskId"],
            "workflowInstanceId": task["workflowInstanceId"],
            "status": "COMPLETED",
            "workerId": "bench",
            "outputData": {"data": "x" * 200},
        }
        timed("POST", "/tasks", body)


# -- the hostile ones ------------------------------------------------------------------------------


def _window(at: Served, client: ProcessPoolExecutor, count: int, numbers: Iterator[int]) -> _Window:
    """Let ``count`` hostile executions loose, and look on until the last has ended.

    They are started before anybody looks: to start a workflow costs what it costs, hostile or not.
    What is looked at afterwards is looked at in quiet windows, too.
    """
    seen = _Window([])
    running = _let_loose(at, count, numbers, seen)
    over = threading.Event()

    def honest() -> None:
        while not over.is_set():
            seen.latencies.extend(client.submit(_go_round, at.port, _LOOK_S).result())

    thread = threading.Thread(target=honest)
    thread.start()
    try:
        _look_on(at, running, seen)
    finally:
        over.set()
        thread.join()
    return seen


def _let_loose(at: Served, count: int, numbers: Iterator[int], seen: _Window) -> dict[str, str]:
    """Start them, one right after the other; return the kind of each by its id."""
    with Http(at.port) as http:
        kinds = [*_SCRIPTS, *_FILTERS]
        running: dict[str, str] = {}
        for number in itertools.islice(numbers, count):
            kind = kinds[number % len(kinds)]
            body = {"name": kind, "version": 1, "input": {"number": number}}
            sent = time.perf_counter()
            running[http.text("POST", "/workflow", body)] = kind
            seen.starts.append((time.perf_counter() - sent) * 1000)
        return running


def _look_on(at: Served, running: dict[str, str], seen: _Window) -> None:
    """Wait until they have ended, and at least as long as a window is."""
    with Http(at.port) as http:
        began = time.monotonic()
        while (spent := time.monotonic() - began) < _WINDOW_S or running:
            if spent > _LONGEST_S:
                raise RuntimeError(f"hostile executions do not end: {sorted(running.values())}")
            while running and (ended := _ended(http, next(iter(running)), running)) is not None:
                del running[ended]
            seen.script_mb = max(seen.script_mb, script_processes_mb(at.pid))
            time.sleep(_LOOK_S)


def _ended(http: Http, execution: str, kinds: Mapping[str, str]) -> str | None:
    """Return the execution when it has ended; it must have failed with a sentence."""
    document: dict[str, Any] = http.json("GET", f"/workflow/{execution}")
    if document["status"] == "RUNNING":
        return None
    (task,) = document["tasks"]
    if task["status"] not in _ENDS or not task.get("reasonForIncompletion"):
        raise RuntimeError(f"{kinds[execution]}: its task is {task['status']}, without a reason")
    return execution


def _define(at: Served) -> None:
    step = {"name": "honest_step", "responseTimeoutSeconds": 60}
    task: dict[str, Any] = {
        "name": "honest_step",
        "taskReferenceName": "t0",
        "type": "SIMPLE",
        "inputParameters": {"data": "${workflow.input.data}"},
    }
    definitions = [_workflow("honest", task)]
    for name, text in _SCRIPTS.items():
        inputs = {"evaluatorType": "javascript", "expression": text}
        definitions.append(_workflow(name, _script("INLINE", inputs)))
    for name, text in _FILTERS.items():
        definitions.append(_workflow(name, _script("JSON_JQ_TRANSFORM", {"queryExpression": text})))
    with Http(at.port) as http:
        http.json("POST", "/metadata/taskdefs", [step])
        http.json("PUT", "/metadata/workflow", definitions)


def _script(kind: str, inputs: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": "script",
        "taskReferenceName": "t0",
        "type": kind,
        "inputParameters": {**inputs, "number": "${workflow.input.number}"},
    }


def _workflow(name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "version": 1, "schemaVersion": 2, "tasks": [task]}

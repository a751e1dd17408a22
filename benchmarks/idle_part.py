"""What a server costs that has nothing to do, one at which everything waits, and its web server."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.clients import Http
from benchmarks.figures import Figure
from benchmarks.machine import cost_of
from benchmarks.server_part import Served, await_idle
from tests.services.ports import free_port
from tests.services.processes import answers
from tests.waiting import until

_PART: Final = "An idle server"
_CHILD: Final = Path(__file__).with_name("web_server_child.py")
_POLL_MS: Final = 5_000
_KINDS: Final = 10
_LONGEST_S: Final = 600.0
_WANTED_PERCENT: Final = 0.5
_WAITING: Final[dict[str, Any]] = {
    "name": "waiting",
    "version": 1,
    "tasks": [
        {
            "name": "wait",
            "taskReferenceName": "wait",
            "type": "WAIT",
            "inputParameters": {"duration": "1 days"},
        }
    ],
}


def measure_idle(at: Served, waiting: int, polls: int, seconds: float) -> Iterator[Figure]:
    """Measure for so long with nothing to do, then with so many executions that wait for a day and
    workers of ten kinds whose long polls of five seconds find nothing.
    """
    yield _figure("idle", "nothing to do", _percent(at.pid, seconds))
    with Http(at.port) as http:
        for _ in range(waiting):
            body = {"name": "waiting", "version": 1, "workflowDef": _WAITING}
            http.text("POST", "/workflow", body)
    await_idle(at.pid, below_ms=at.idle_ms, within_s=_LONGEST_S)
    with _polled(at.port, polls):
        time.sleep(_POLL_MS / 1000)  # by then each asks when the others do not
        percent = _percent(at.pid, seconds)
    title = f"{waiting:,} waiting executions, {polls} long polls of {_POLL_MS // 1000} s each"
    yield _figure("idle_waiting", title, percent, _WANTED_PERCENT)


def measure_web_server(polls: int, seconds: float) -> Iterator[Figure]:
    """Measure the web server alone, before an application that only waits as long as it is told."""
    port = free_port()
    command = (sys.executable, str(_CHILD), "granian", str(port), str(2 * polls))
    with subprocess.Popen(command) as process:
        try:
            until(lambda: answers(port), what="the web server")
            with _polled(port, polls):
                time.sleep(_POLL_MS / 1000)
                percent = _percent(process.pid, seconds)
        finally:
            process.terminate()
    yield _figure("idle_web_server", f"the web server alone with {polls} such polls", percent)


def _figure(key: str, title: str, percent: float, target: float | None = None) -> Figure:
    return Figure(
        key=key,
        part=_PART,
        title=f"CPU of all processes, of a core: {title}",
        value=percent,
        unit="%",
        target=target,
    )


def _percent(pid: int, seconds: float) -> float:
    before, began = cost_of(pid).cpu_ms, time.monotonic()
    time.sleep(seconds)
    return (cost_of(pid).cpu_ms - before) / (time.monotonic() - began) / 10


@contextmanager
def _polled(port: int, polls: int) -> Iterator[None]:
    """Have so many workers that poll, begun one after the other within the time of a poll."""
    stop = threading.Event()
    failures: list[Exception] = []

    def work(number: int) -> None:
        stop.wait(_POLL_MS / 1000 * number / polls)
        path = f"/tasks/poll/batch/idle_{number % _KINDS}?count=1&timeout={_POLL_MS}&workerid=w"
        try:
            with Http(port) as http:
                while not stop.is_set():
                    http.json("GET", f"{path}{number}")
        except Exception as error:  # noqa: BLE001 - raised again below, where it is seen
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(polls)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]

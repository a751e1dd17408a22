"""Very many timers due within a minute, on the server as it ships: how late they fire."""

from __future__ import annotations

import time
from typing import Any, Final

from benchmarks.clients import Http
from benchmarks.figures import Figure, quantile
from benchmarks.machine import cost_of
from benchmarks.server_part import Served

_PART: Final = "Very many timers, server as it ships"
_MINUTE_S: Final = 60.0
_TRIED: Final = 1000
#: Starting them must have ended before the first is due.
_MARGIN: Final = 2.0
_AFTER_S: Final = 600.0
_DEFINITION: Final[dict[str, Any]] = {
    "name": "later",
    "version": 1,
    "tasks": [
        {
            "name": "wait",
            "taskReferenceName": "wait",
            "type": "WAIT",
            "inputParameters": {"duration": "${workflow.input.seconds} seconds"},
        }
    ],
}


def measure_timers(at: Served, count: int) -> list[Figure]:
    """Start executions that wait until instants spread over one minute, and read when each went
    on.
    """
    with Http(at.port) as http:
        began = time.time()
        for _ in range(_TRIED):
            _start(http, time.time() + 86_400)
        each_s = (time.time() - began) / _TRIED
        first_s = time.time() + count * each_s * _MARGIN + 5
        started = [_start(http, first_s + number * _MINUTE_S / count) for number in range(count)]
    if time.time() > first_s:
        raise RuntimeError("starting the executions took longer than thought")
    cpu_ms = cost_of(at.pid).cpu_ms
    time.sleep(first_s + _MINUTE_S - time.time())
    with Http(at.port) as http:
        late = _lateness(http, started)
    spent_ms = cost_of(at.pid).cpu_ms - cpu_ms
    return [
        *(
            Figure(
                key=f"scale_timers_p{share}",
                part=_PART,
                title=f"{count:,} WAIT tasks due in one minute: how late, p{share}",
                value=quantile(late, share / 100),
                unit="ms",
                target=1000 if share == 99 else None,
            )
            for share in (50, 99)
        ),
        Figure(
            key="scale_timers_cpu",
            part=_PART,
            title="CPU of all processes for one: its end, its way into the index, a read",
            value=spent_ms / count,
            unit="ms",
        ),
    ]


def _start(http: Http, due_s: float) -> str:
    """Start one that waits so long, to the second."""
    given = {"seconds": round(due_s - time.time())}
    body = {"name": "later", "version": 1, "workflowDef": _DEFINITION, "input": given}
    return http.text("POST", "/workflow", body)


def _lateness(http: Http, started: list[str]) -> list[float]:
    """Read by how many milliseconds each was late, in the order they were due."""
    until = time.time() + _AFTER_S
    late = []
    for execution in started:
        while (read := http.json("GET", f"/workflow/{execution}"))["status"] == "RUNNING":
            if time.time() > until:
                raise RuntimeError(f"{execution} has not gone on after {_AFTER_S:.0f} s")
            time.sleep(0.2)
        if read["status"] != "COMPLETED":
            raise RuntimeError(f"{execution} is {read['status']}")
        waited_ms = read["endTime"] - read["tasks"][0]["scheduledTime"]
        late.append(waited_ms - 1000 * read["input"]["seconds"])
    return late

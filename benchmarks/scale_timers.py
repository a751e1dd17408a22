"""Very many timers due within a minute, on the server as it ships: how late the last ones fire."""

from __future__ import annotations

import time
from typing import Any, Final

from benchmarks.clients import Http
from benchmarks.figures import Figure, quantile
from benchmarks.machine import cost_of
from benchmarks.server_part import Served

_PART: Final = "Very many timers, server as it ships"
_MINUTE_MS: Final = 60_000
_TRIED: Final = 1000
#: Starting them must have ended before the first is due.
_MARGIN: Final = 1.5
_AFTER_S: Final = 600.0
_DEFINITION: Final[dict[str, Any]] = {
    "name": "later",
    "version": 1,
    "tasks": [
        {
            "name": "wait",
            "taskReferenceName": "wait",
            "type": "WAIT",
            "inputParameters": {"until": "${workflow.input.until}"},
        }
    ],
}


def measure_timers(at: Served, count: int) -> list[Figure]:
    """Start executions that wait until instants spread over one minute, and read when each went
    on.
    """
    http = Http(at.port)
    began = time.time()
    _start(http, _TRIED, began * 1000 + 86_400_000)
    each_s = (time.time() - began) / _TRIED
    first_ms = (time.time() + count * each_s * _MARGIN + 5) * 1000
    due = _start(http, count, first_ms, _MINUTE_MS / count)
    if time.time() * 1000 > first_ms:
        raise RuntimeError("starting the executions took longer than thought")
    cpu = cost_of(at.pid).cpu_s
    late = _lateness(http, due, first_ms)
    spent = cost_of(at.pid).cpu_s - cpu
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
            title="CPU of all processes for one of them, its end and its way into the index",
            value=spent * 1000 / count,
            unit="ms",
        ),
    ]


def _start(http: Http, count: int, first_ms: float, apart_ms: float = 0.0) -> dict[str, float]:
    """Start so many; when each is due, by id."""
    due = {}
    for number in range(count):
        at_ms = int(first_ms + number * apart_ms)
        body = {
            "name": "later",
            "version": 1,
            "workflowDef": _DEFINITION,
            "input": {"until": at_ms},
        }
        due[http.text("POST", "/workflow", body)] = at_ms
    return due


def _lateness(http: Http, due: dict[str, float], first_ms: float) -> list[float]:
    """Wait until the minute is over and all have ended, then read by how much each was late."""
    time.sleep(max(0.0, (first_ms + _MINUTE_MS) / 1000 - time.time()))
    until = time.time() + _AFTER_S
    last = max(due, key=lambda execution: due[execution])
    late = []
    while http.json("GET", f"/workflow/{last}?includeTasks=false")["status"] == "RUNNING":
        if time.time() > until:
            raise RuntimeError(f"the last of them has not gone on after {_AFTER_S:.0f} s")
        time.sleep(0.2)
    for execution, at_ms in due.items():
        while (read := http.json("GET", f"/workflow/{execution}?includeTasks=false"))[
            "status"
        ] == "RUNNING":
            if time.time() > until:
                raise RuntimeError(f"{execution} has not gone on")
            time.sleep(0.2)
        late.append(read["endTime"] - at_ms)
    return late

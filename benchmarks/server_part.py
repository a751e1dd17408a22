"""The server as it ships, from outside: one command, embedded Redis with its file, index on."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.bare import BareRedis
from benchmarks.clients import Http, Load, Seen, alone, drive
from benchmarks.figures import Bare, Figure, between, quantile
from benchmarks.machine import cost_of
from conductor_py.processes.embedded_redis import EmbeddedRedis
from tests.services.ports import free_port

_PART = "Server, through HTTP"
_LATENCIES = "Latencies at 80 tasks/s"
_FORKS = "FORK, through HTTP"
_READY_S = 30.0
_DRAIN_S = 30.0
_QUIET_LOOKS = 3
_QUIET_MS = 50.0
_SAMPLE = 200
_LOG_SHOWN = 2000
#: A tenth of a core: loops that look for work.
_IDLE_MS = 100.0
_OWNER = "bench@example.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A running server of whatever make: its port, and its processes without those below them.

    It is at rest when it uses less than ``idle_ms`` of CPU in a second.
    """

    port: int
    pids: tuple[int, ...]
    idle_ms: float = _IDLE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(Reached):
    """A running server of ours: with a connection to its Redis."""

    bare: BareRedis

    @property
    def pid(self) -> int:
        """Its process: that of the command."""
        return self.pids[0]


@contextmanager
def server(**settings: str) -> Iterator[Served]:
    """Run a server on a data directory of its own; ``settings`` are environment variables."""
    with begun(**settings) as at:
        _await_ready(at)
        _await_rest(at.process)
        with BareRedis(EmbeddedRedis(at.data / "redis").socket) as bare:
            yield Served(port=at.port, pids=(at.process.pid,), bare=bare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A command whose server need not answer yet."""

    process: subprocess.Popen[bytes]
    port: int
    data: Path

    @property
    def said(self) -> str:
        """The end of what it has logged."""
        return (self.data / "log").read_text()[-_LOG_SHOWN:]


@contextmanager
def begun(**settings: str) -> Iterator[Begun]:
    """Begin a server on an empty data directory, and end it; ``settings`` as above."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        data = Path(directory)
        port = free_port()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CONDUCTOR_")}
        command = ("server", "--port", str(port), "--data", str(data))
        with (data / "log").open("wb") as log:
            process = subprocess.Popen(
                (sys.executable, "-m", "conductor_py.cli", *command),
                cwd=data,
                env={**kept, **settings},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            yield Begun(process=process, port=port, data=data)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _await_ready(at: Begun) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until and at.process.poll() is None:
        with suppress(OSError, RuntimeError), Http(at.port) as http:
            http.json("GET", "/metadata/taskdefs")
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server does not start:\n{at.said}")


def _await_rest(process: subprocess.Popen[bytes]) -> None:
    """Wait until all its processes have started: what that costs is nobody's execution."""
    until, quiet, spent = time.monotonic() + _READY_S, 0, cost_of(process.pid).cpu_ms
    while quiet < _QUIET_LOOKS and time.monotonic() < until:
        time.sleep(1)
        before, spent = spent, cost_of(process.pid).cpu_ms
        quiet = quiet + 1 if spent - before < _QUIET_MS else 0


# -- definitions -----------------------------------------------------------------------------------


def _define(at: Reached, name: str, tasks: list[dict[str, Any]]) -> None:
    step = {"name": f"{name}_step", "responseTimeoutSeconds": 60, "ownerEmail": _OWNER}
    definition = {
        "name": name,
        "version": 1,
        "schemaVersion": 2,
        "ownerEmail": _OWNER,
        "tasks": tasks,
        "inputParameters": ["data"],
        "outputParameters": {"done": "${t0.output.data}"},
    }
    with Http(at.port) as http:
        http.json("POST", "/metadata/taskdefs", [step])
        http.json("PUT", "/metadata/workflow", [definition])


def _step(name: str, number: int, data: str) -> dict[str, Any]:
    return {
        "name": f"{name}_step",
        "taskReferenceName": f"t{number}",
        "type": "SIMPLE",
        "inputParameters": {"data": data},
    }


def chain(at: Reached, name: str, length: int) -> Load:
    """Register a workflow of ``length`` tasks, one after the other."""
    data = ["${workflow.input.data}", *(f"${{t{n}.output.data}}" for n in range(length - 1))]
    _define(at, name, [_step(name, n, data[n]) for n in range(length)])
    return Load(port=at.port, workflow=name, task_type=f"{name}_step", executions=1, tasks=length)


def fork(at: Reached, name: str, width: int) -> Load:
    """Register a workflow that forks into ``width`` tasks and joins them."""
    steps = [_step(name, number, "${workflow.input.data}") for number in range(width)]
    forking = {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN",
        "forkTasks": [[step] for step in steps],
    }
    join = {
        "name": "join",
        "taskReferenceName": "join",
        "type": "JOIN",
        "joinOn": [step["taskReferenceName"] for step in steps],
    }
    _define(at, name, [forking, join])
    return Load(port=at.port, workflow=name, task_type=f"{name}_step", executions=1, tasks=width)


# -- figures ---------------------------------------------------------------------------------------


def measure_one_task(at: Served, executions: int) -> list[Figure]:
    """Measure one-task workflows: 1 client, then 8 (4 start, 4 poll 20 and report)."""
    load = chain(at, "one", 1)
    drive(replace(load, executions=max(100, executions // 5)))
    before = at.bare.loop()
    single = alone(replace(load, executions=executions // 4))
    middle = at.bare.loop()
    await_effects(at)
    spent = cost_of(at.pid).cpu_ms
    many = drive(replace(load, executions=executions))
    await_effects(at)
    cost = cost_of(at.pid)
    after = at.bare.loop()
    _check(at, many)
    first, second = between(before, middle), between(middle, after)
    cpu_ms = (cost.cpu_ms - spent) / executions
    return [
        _rate("http_one", "one-task workflows, 1 client", len(single.executions), single, first),
        _rate("http_eight", "the same, 8 clients", executions, many, second, target=300),
        Figure(
            key="http_cpu",
            part=_PART,
            title="CPU of all processes for one execution, 8 clients",
            value=cpu_ms,
            unit="ms",
            ratio=second.time(cpu_ms),
            target=3.3,
        ),
        Figure(
            key="http_resident",
            part=_PART,
            title="memory of all processes",
            value=cost.resident_mb,
            unit="MB",
        ),
    ]


def _rate(  # noqa: PLR0917 - one row
    key: str, title: str, count: int, seen: Seen, bare: Bare, target: float | None = None
) -> Figure:
    per_s = count / seen.seconds
    return Figure(
        key=key,
        part=_PART,
        title=title,
        value=per_s,
        unit="/s",
        ratio=bare.rate(per_s),
        target=target,
        bound="at least",
    )


def measure_latencies(at: Served, executions: int) -> list[Figure]:
    """Measure chains of ten at 80 tasks/s, with four long polls waiting."""
    load = chain_of_ten(at)
    drive(replace(load, executions=8))
    before = at.bare.loop()
    seen = drive(replace(load, executions=executions))
    bare = between(before, at.bare.loop())
    await_effects(at)
    scheduled: list[float] = []
    started: list[float] = []
    for document in _check(at, seen):
        tasks = sorted(document["tasks"], key=lambda task: int(task["seq"]))
        scheduled += [
            after["scheduledTime"] - task["endTime"] for task, after in itertools.pairwise(tasks)
        ]
        started += [task["startTime"] - task["scheduledTime"] for task in tasks]
    return [
        *_latency("completed_scheduled", "completed to next scheduled", scheduled, (3, 15)),
        *_latency(
            "scheduled_started", "scheduled to started, a long poll waits", started, (None, 20)
        ),
        *_latency(
            "handed_on",
            "result sent to next task in a worker's hands",
            handed_on_ms(seen),
            (None, None),
            bare,
        ),
    ]


def chain_of_ten(at: Reached) -> Load:
    """Register a chain of ten and start it eight times a second, a task at a time polled for."""
    return replace(chain(at, "ten", 10), batch=1, starts_per_s=8)


def handed_on_ms(seen: Seen) -> list[float]:
    """How long after each result of a chain of ten its next task was in a worker's hands."""
    return [
        (seen.received[execution, f"t{number + 1}"] - at_s) * 1000
        for (execution, ref), at_s in seen.reported.items()
        if (number := int(ref[1:])) < 9
    ]


def _latency(
    key: str,
    title: str,
    values: Sequence[float],
    targets: tuple[float | None, float | None],
    bare: Bare | None = None,
) -> Iterator[Figure]:
    """The server's own instants are whole milliseconds and often equal: they have no ratio. Nor
    has the slowest hundredth, which is the machine's.
    """
    for share, target in zip((0.5, 0.99), targets, strict=True):
        value = quantile(values, share)
        yield Figure(
            key=f"{key}_p{share * 100:.0f}",
            part=_LATENCIES,
            title=f"{title}, p{share * 100:.0f}",
            value=value,
            unit="ms",
            ratio=bare.time(value) if bare and share == 0.5 else None,
            target=target,
        )


def measure_forks(at: Served, widths: Sequence[int], branches: int) -> list[Figure]:
    """Measure the CPU of all processes for a branch; as many executions as make ``branches``."""
    costs = [_branch_cpu_ms(at, width, max(1, branches // width)) for width in widths]
    bare = at.bare.loop()
    figures = [
        Figure(
            key=f"http_fork_{widths[0]}",
            part=_FORKS,
            title=f"CPU of all processes for a branch of {widths[0]}",
            value=costs[0],
            unit="ms",
            ratio=bare.time(costs[0]),
        )
    ]
    for width, cost in zip(widths[1:], costs[1:], strict=True):
        figures.append(
            Figure(
                key=f"http_fork_{width}_growth",
                part=_FORKS,
                title=f"a branch of {width:,} ({cost:.2f} ms) over one of {widths[0]}",
                value=cost / costs[0],
                unit="x",
                ratio=costs[0] / cost,
                target=1.5,
            )
        )
    return figures


def _branch_cpu_ms(at: Served, width: int, executions: int) -> float:
    load = fork(at, f"fork_{width}", width)
    drive(replace(load, executions=max(1, executions // 10)))
    await_effects(at)
    cpu_ms, seen = cpu_of(at, replace(load, executions=executions))
    _check(at, seen)
    return cpu_ms / (width * executions)


def cpu_of(at: Reached, load: Load, run: Callable[[Load], Seen] = drive) -> tuple[float, Seen]:
    """Run the load, at rest before and after it, and measure the CPU of all processes in ms."""
    spent = cost_of(*at.pids).cpu_ms
    seen = run(load)
    await_effects(at)
    return cost_of(*at.pids).cpu_ms - spent, seen


def await_effects(at: Reached) -> None:
    """Wait until the index has what was done, so that its cost counts."""
    await_idle(*at.pids, below_ms=at.idle_ms)


def await_idle(*pids: int, below_ms: float = _IDLE_MS, within_s: float = _DRAIN_S) -> None:
    """Wait until processes and all below them use less CPU than this in a second."""
    until = time.monotonic() + within_s
    spent = -1.0
    while time.monotonic() < until:
        time.sleep(1.0)
        now = cost_of(*pids).cpu_ms
        if now - spent < below_ms:
            return
        spent = now
    raise RuntimeError("the server does not come to rest")


def _check(at: Served, seen: Seen) -> list[dict[str, Any]]:
    """Read some of the executions back; all of them must have completed."""
    with Http(at.port) as http:
        documents = []
        stride = max(1, len(seen.executions) // _SAMPLE)
        for execution in seen.executions[::stride]:
            document = http.json("GET", f"/workflow/{execution}")
            if document["status"] != "COMPLETED":
                raise RuntimeError(f"execution {execution} is {document['status']}")
            documents.append(document)
        return documents

"""The engine without HTTP: this process, over an embedded Redis that keeps its file.

Effects stay in the outbox: indexing is part of the figures of the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.figures import Bare, Figure, between
from benchmarks.place import Place, complete, poll
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine import Engine
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest

_PART = "Engine without HTTP"
_DATA = "x" * 200
_OUTPUT: JsonObject = {"data": _DATA}
#: The middle one counts: where the scheduler puts Redis and us makes a fifth of the rate.
_ROUNDS = 5
_ONE_TASK = workflow_from_json(
    {
        "name": "one",
        "tasks": [
            {
                "name": "step",
                "taskReferenceName": "t0",
                "type": "SIMPLE",
                "inputParameters": {"data": "${workflow.input.data}"},
            }
        ],
        "outputParameters": {"done": "${t0.output.data}"},
    }
)


def measure_one_task(at: Place, seconds: float) -> list[Figure]:
    """Measure one-task workflows with 1 and 8 clients, and count round trips."""
    engine = at.engine
    _run_for(engine, 0.5)
    before = at.bare.loop()
    rounds = [_timed(lambda: _run_for(engine, seconds / _ROUNDS)) for _ in range(_ROUNDS)]
    done, spent, cpu_s = sorted(rounds, key=lambda each: each[0] / each[1])[_ROUNDS // 2]
    middle = at.bare.loop()
    together, wall, _ = _timed(lambda: _run_together(engine, seconds, clients=8))
    after = at.bare.loop()
    return [
        *_rate("one", "one-task workflows, 1 client", done / spent, between(before, middle), 800),
        *_rate("eight", "the same, 8 clients (threads)", together / wall, between(middle, after)),
        Figure(
            key="engine_one_cpu",
            part=_PART,
            title="CPU of this process for one execution, 1 client",
            value=cpu_s * 1000 / done,
            unit="ms",
            ratio=between(before, middle).time(cpu_s * 1000 / done),
        ),
        *_round_trips(at),
    ]


def in_turn(at: Place, seconds: float) -> list[float]:
    """Measure executions a second and the CPU of each in ms, by one client, then by eight."""
    figures: list[float] = []
    for work in (
        lambda: _run_for(at.engine, seconds),
        lambda: _run_together(at.engine, seconds, clients=8),
    ):
        done, spent, cpu_s = _timed(work)
        figures += (done / spent, cpu_s * 1000 / done)
    return figures


def _rate(
    key: str, title: str, per_s: float, bare: Bare, target: float | None = None
) -> Iterator[Figure]:
    yield Figure(
        key=f"engine_{key}",
        part=_PART,
        title=title,
        value=per_s,
        unit="/s",
        ratio=bare.rate(per_s),
        target=target,
        bound="at least",
    )


def _timed(work: Callable[[], int]) -> tuple[int, float, float]:
    """Return how many were done, the time and the CPU that took, in seconds."""
    began, cpu = time.perf_counter(), time.process_time()
    done = work()
    return done, time.perf_counter() - began, time.process_time() - cpu


def _run_for(engine: Engine, seconds: float) -> int:
    until = time.perf_counter() + seconds
    done = 0
    while time.perf_counter() < until:
        _start(engine)
        for task in poll(engine, "step", 1):
            complete(engine, task, _OUTPUT)
            done += 1
    return done


def _run_together(engine: Engine, seconds: float, clients: int) -> int:
    done: list[int] = []
    threads = [
        threading.Thread(target=lambda: done.append(_run_for(engine, seconds)))
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == clients, "a client has failed"
    return sum(done)


def _round_trips(at: Place) -> Iterator[Figure]:
    """Count what one start, one poll that finds a task, and one final update ask of Redis."""
    _run_for(at.engine, 0.01)
    marks = [at.connection.round_trips]
    _start(at.engine)
    marks.append(at.connection.round_trips)
    (task,) = poll(at.engine, "step", 1)
    marks.append(at.connection.round_trips)
    complete(at.engine, task, _OUTPUT)
    marks.append(at.connection.round_trips)
    for name, wanted, first, last in zip(
        ("start", "poll", "update"), (1, 1, 2), marks, marks[1:], strict=False
    ):
        yield Figure(
            key=f"round_trips_{name}",
            part=_PART,
            title=f"round trips to Redis of one {name}",
            value=last - first,
            unit="",
            ratio=wanted / (last - first),
            target=wanted,
        )


def _start(engine: Engine) -> str:
    return engine.executions.start(
        StartRequest(name="one", definition=_ONE_TASK, input={"data": _DATA})
    )

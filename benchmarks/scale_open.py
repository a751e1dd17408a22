"""Very many executions that are open at once: what one more costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Final

from benchmarks.figures import Figure
from benchmarks.place import Place, complete, poll
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine import Engine
from conductor_py.model.requests import StartRequest

_PART: Final = "Very many open executions, engine without HTTP"
_FEW: Final = 1000
_ROUNDS: Final = 7
_DEFINITION: Final = workflow_from_json(
    {
        "name": "open",
        "tasks": [{"name": "step", "taskReferenceName": "step", "type": "SIMPLE"}],
    }
)


def measure_open(at: Place, many: int) -> list[Figure]:
    """Measure a start and a completion while a thousand are open, and while ``many`` are."""
    _open(at.engine, _FEW)
    few = _costs(at.engine)
    before = at.bare.counters().memory
    _open(at.engine, many - _FEW)
    held = (at.bare.counters().memory - before) / (many - _FEW)
    lots = _costs(at.engine)
    return [
        *(
            Figure(
                key=f"scale_open_{name}",
                part=_PART,
                title=f"{title} while {many:,} are open ({dear:.3g} ms) over that of {_FEW:,}"
                f" ({cheap:.3g} ms)",
                value=dear / cheap,
                unit="x",
                target=1.2,
            )
            for name, title, cheap, dear in zip(
                ("start", "complete"),
                ("time of a start", "time of a poll and a completion"),
                few,
                lots,
                strict=True,
            )
        ),
        Figure(
            key="scale_open_held",
            part=_PART,
            title="memory of Redis for an open execution",
            value=held,
            unit="B",
        ),
    ]


def _open(engine: Engine, count: int) -> None:
    for _ in range(count):
        engine.executions.start(StartRequest(name="open", definition=_DEFINITION))


def _costs(engine: Engine) -> tuple[float, float]:
    """Take the middle of some rounds, of which each leaves as many open as it found."""
    starts, completions = [], []
    for _ in range(_ROUNDS):
        completions.append(_ms(lambda: _complete(engine, _FEW)))
        starts.append(_ms(lambda: _open(engine, _FEW)))
    return statistics.median(starts), statistics.median(completions)


def _complete(engine: Engine, count: int) -> None:
    left = count
    while left:
        tasks = poll(engine, "step", min(left, 100))
        if not tasks:
            raise RuntimeError(f"{left} tasks never came")
        for task in tasks:
            complete(engine, task, {})
        left -= len(tasks)


def _ms(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000 / _FEW

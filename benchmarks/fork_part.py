"""Wide forks through the engine without HTTP: what a branch costs, and whether Redis stalls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.figures import Bare, Figure, between
from benchmarks.machine import forget_peak, peak_resident_mb
from benchmarks.place import Place, work_off
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine import Engine
from conductor_py.model.requests import StartRequest

_FORKS = "FORK, engine without HTTP"
FORK = workflow_from_json(
    {
        "name": "fork",
        "tasks": [
            {
                "name": "fork",
                "taskReferenceName": "fork",
                "type": "FORK_JOIN_DYNAMIC",
                "dynamicForkTasksParam": "tasks",
                "dynamicForkTasksInputParamName": "inputs",
                "inputParameters": {
                    "tasks": "${workflow.input.tasks}",
                    "inputs": "${workflow.input.inputs}",
                },
            },
            {"name": "join", "taskReferenceName": "join", "type": "JOIN"},
        ],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkCost:
    """What a branch cost from the start of its fork to the end of the execution."""

    width: int
    ms: float
    held: float
    moved: float
    slowest_ms: float
    peak_mb: float


def measure_forks(at: Place, widths: Sequence[int], least: int) -> list[Figure]:
    """Measure forks of growing width; narrow ones are repeated until ``least`` branches ran."""
    _fork(at.engine, widths[0])
    at.bare.watch_slow_commands(above_ms=1)
    bare = at.bare.loop()
    costs = [cost_of_branch(at, width, least) for width in widths]
    bare = between(bare, at.bare.loop())
    first = costs[0]
    figures: list[Figure] = []
    for cost in costs:
        figures += _fork_figures(cost, first, bare)
    return figures


def cost_of_branch(at: Place, width: int, least: int) -> ForkCost:
    """Measure forks of one width, repeated until ``least`` branches ran."""
    times = max(1, least // width)
    at.bare.ask(b"SLOWLOG", b"RESET")
    forget_peak()
    before = at.bare.counters()
    began = time.perf_counter()
    for _ in range(times):
        _fork(at.engine, width)
    spent = time.perf_counter() - began
    after = at.bare.counters()
    branches = width * times
    return ForkCost(
        width=width,
        ms=spent * 1000 / branches,
        held=(after.memory - before.memory) / branches,
        moved=(after.moved - before.moved) / branches,
        slowest_ms=max((entry[2] for entry in _slow(at)), default=0) / 1000,
        peak_mb=peak_resident_mb(),
    )


def _slow(at: Place) -> list[list[int]]:
    found: list[list[int]] = at.connection.call("SLOWLOG", "GET", "1024")
    return found


def _fork(engine: Engine, width: int) -> None:
    branches = [
        {"name": "branch", "taskReferenceName": f"b{number}", "type": "SIMPLE"}
        for number in range(width)
    ]
    execution = engine.executions.start(
        StartRequest(name="fork", definition=FORK, input={"tasks": branches, "inputs": {}})
    )
    # Small outputs: the JOIN gathers those of all branches into one.
    work_off(engine, execution, "branch", width, {})


def _fork_figures(cost: ForkCost, first: ForkCost, bare: Bare) -> Iterator[Figure]:
    width = f"{cost.width:,}"
    key = f"fork_{cost.width}"
    if cost is first:
        yield Figure(
            key=key,
            part=_FORKS,
            title=f"a branch of {width}",
            value=cost.ms,
            unit="ms",
            ratio=bare.time(cost.ms),
        )
        yield Figure(
            key=f"{key}_held",
            part=_FORKS,
            title="memory of Redis for it",
            value=cost.held,
            unit="B",
        )
        yield Figure(
            key=f"{key}_moved",
            part=_FORKS,
            title="sent to and from Redis",
            value=cost.moved,
            unit="B",
        )
        return
    for name, title, mine, ten in (
        ("time", "time", cost.ms, first.ms),
        ("held", "memory of Redis", cost.held, first.held),
        ("moved", "bytes sent to and from Redis", cost.moved, first.moved),
    ):
        unit = "ms" if name == "time" else "B"
        yield Figure(
            key=f"{key}_{name}_growth",
            part=_FORKS,
            title=f"{title} of a branch of {width} ({mine:.3g} {unit}) over one of {first.width}",
            value=mine / ten,
            unit="x",
            ratio=ten / mine,
            target=1.5,
        )
    yield Figure(
        key=f"{key}_slowest",
        part=_FORKS,
        title=f"longest command of Redis during a FORK of {width}",
        value=cost.slowest_ms,
        unit="ms",
        target=50,
    )
    yield Figure(
        key=f"{key}_peak",
        part=_FORKS,
        title=f"most memory of this process during a FORK of {width}",
        value=cost.peak_mb,
        unit="MB",
    )

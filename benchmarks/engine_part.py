"""The engine without HTTP: this process, over an embedded Redis that keeps its file.

Effects stay in the outbox: indexing is part of the figures of the server.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import BareRedis
from benchmarks.figures import Bare, Figure
from benchmarks.machine import forget_peak, peak_resident_mb
from conductor_py.adapters.files.payloads import FilePayloads
from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.metadata import RedisMetadataStore
from conductor_py.adapters.redis.outbox import RedisOutbox
from conductor_py.adapters.redis.plans import RedisPlanStore
from conductor_py.adapters.redis.queues import RedisTaskQueues
from conductor_py.adapters.redis.reader import RedisExecutionReader
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.shards import RedisShardRegistry
from conductor_py.adapters.redis.store import RedisExecutionStore
from conductor_py.adapters.redis.timers import RedisTimers
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import Ports, assemble
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.shards import Shards
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.processes.embedded_redis import EmbeddedRedis

_PART = "Engine without HTTP"
_FORKS = "FORK, engine without HTTP"
_DATA = "x" * 200
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
_FORK = workflow_from_json(
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
class Place:
    """An engine, its connection and a bare connection to the same Redis."""

    engine: Engine
    connection: Connection
    bare: BareRedis


@contextmanager
def place() -> Iterator[Place]:
    """Have a fresh Redis with an engine over it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        data = Path(directory)
        with EmbeddedRedis(data / "redis") as store, BareRedis(store.socket) as bare:
            connection = Connection(f"unix://{store.socket}")
            namespace = Namespace("bench", 1)
            wakeups = RedisWakeups(connection, namespace)
            try:
                engine = _engine(Scripts(connection, namespace), wakeups, data)
                yield Place(engine=engine, connection=connection, bare=bare)
            finally:
                wakeups.close()
                connection.close()


def _engine(scripts: Scripts, wakeups: RedisWakeups, data: Path) -> Engine:
    ports = Ports(
        store=RedisExecutionStore(scripts),
        reader=RedisExecutionReader(scripts),
        queues=RedisTaskQueues(scripts),
        timers=RedisTimers(scripts),
        outbox=RedisOutbox(scripts),
        metadata=RedisMetadataStore(scripts),
        plans=RedisPlanStore(scripts),
        wakeups=wakeups,
        payloads=FilePayloads(
            data / "payloads",
            base_url="http://127.0.0.1/payloads",
            now_ms=lambda: time.time_ns() // 1_000_000,
        ),
        search=MemorySearch(),
        scripts=QuickJsScripts(),
    )
    return assemble(
        ports,
        Shards(RedisShardRegistry(scripts), "bench"),
        version="bench",
        limits=Limits(),
        payload_limits=PayloadLimits(),
    )


# -- one task --------------------------------------------------------------------------------------


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
        *_rate("one", "one-task workflows, 1 client", done / spent, _between(before, middle), 800),
        *_rate("eight", "the same, 8 clients (threads)", together / wall, _between(middle, after)),
        Figure(
            key="engine_one_cpu",
            part=_PART,
            title="CPU of this process for one execution, 1 client",
            value=cpu_s * 1000 / done,
            unit="ms",
            ratio=_between(before, middle).time(cpu_s * 1000 / done),
        ),
        *_round_trips(at),
    ]


def _between(first: Bare, second: Bare) -> Bare:
    return Bare((first.loops_per_s + second.loops_per_s) / 2)


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
        for task in _poll(engine, "step", 1):
            _complete(engine, task)
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
    (task,) = _poll(at.engine, "step", 1)
    marks.append(at.connection.round_trips)
    _complete(at.engine, task)
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


def _poll(engine: Engine, kind: str, count: int) -> Sequence[dict[str, str]]:
    found = engine.tasks.poll(
        PollRequest(task_type=kind, timeout_ms=0, worker="bench", count=count)
    )
    return [{"taskId": str(t["taskId"]), "of": str(t["workflowInstanceId"])} for t in found]


def _complete(engine: Engine, task: dict[str, str]) -> None:
    engine.tasks.update(
        TaskResult(
            workflow_id=task["of"],
            task_id=task["taskId"],
            status=TaskStatus.COMPLETED,
            output={"data": _DATA},
            worker="bench",
        )
    )


# -- forks -----------------------------------------------------------------------------------------


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
    costs = [_cost(at, width, max(1, least // width)) for width in widths]
    bare = _between(bare, at.bare.loop())
    first = costs[0]
    figures: list[Figure] = []
    for cost in costs:
        figures += _fork_figures(cost, first, bare)
    return figures


def _cost(at: Place, width: int, times: int) -> ForkCost:
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
        StartRequest(name="fork", definition=_FORK, input={"tasks": branches, "inputs": {}})
    )
    left = width
    while left:
        tasks = _poll(engine, "branch", 100)
        if not tasks and not engine.sweeper.tick():
            raise RuntimeError(f"{left} branches never came")
        for task in tasks:
            _complete(engine, task)
        left -= len(tasks)
    while engine.executions.document(execution, include_tasks=False)["status"] == "RUNNING":
        if not engine.sweeper.tick():
            raise RuntimeError("the execution does not end")


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

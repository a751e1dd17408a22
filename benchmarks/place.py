"""An engine over an embedded Redis, in this process, and the verbs of its clients."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_type_hints

import conductor_py.engine as engine_package
from benchmarks.bare import BareRedis
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
from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.shards import Shards
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.processes.embedded_redis import EmbeddedRedis

NAMESPACE: Final = "bench"
#: Ports that not every tree has whose engine is measured: module and name of their adapters.
_FURTHER: Final = {
    "cache": ("redis.cache", "RedisOutputCache"),
    "catalog": ("redis.catalog", "RedisCatalogStore"),
    "checkpoints": ("redis.checkpoints", "RedisCheckpoints"),
    "damage": ("redis.damage", "RedisDamage"),
    "environment": ("environment.values", "NO_VALUES"),
    "events": ("redis.events", "RedisEventStore"),
    "inspector": ("redis.inspector", "RedisInspector"),
    "numbers": ("redis.worker_numbers", "RedisWorkerNumbers"),
    "quarantine": ("redis.quarantine", "RedisQuarantine"),
    "payload_holders": ("redis.payload_holders", "RedisPayloadHolders"),
    "permits": ("redis.permits", "RedisPermits"),
    "schedules": ("redis.schedules", "RedisScheduleStore"),
    "presence": ("redis.presence", "RedisPresence"),
    "secrets": ("environment.values", "NO_VALUES"),
    "touched": ("redis.touched", "RedisTouchedTasks"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An engine, its connection and a bare connection to the same Redis."""

    engine: Engine
    connection: Connection
    bare: BareRedis
    socket: str
    data: str


@contextmanager
def place(limits: Limits | None = None, *, in_file: bool = False) -> Iterator[Place]:
    """Have a fresh Redis with an engine over it. It has its index in memory; or ``in_file``, and
    what has ended leaves Redis as soon as it may.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        data = Path(directory)
        with (
            EmbeddedRedis(data / "redis") as store,
            BareRedis(store.socket) as bare,
            engine_at(store.socket, data, limits, in_file=in_file) as (engine, connection),
        ):
            yield Place(
                engine=engine,
                connection=connection,
                bare=bare,
                socket=str(store.socket),
                data=str(data),
            )


@contextmanager
def engine_at(
    socket: str | Path,
    data: str | Path,
    limits: Limits | None = None,
    *,
    in_file: bool = False,
) -> Iterator[tuple[Engine, Connection]]:
    """Have an engine over the Redis at ``socket``; several of them are servers over one store."""
    connection = Connection(f"unix://{socket}")
    namespace = Namespace(NAMESPACE, 1)
    wakeups = RedisWakeups(connection, namespace)
    try:
        scripts = Scripts(connection, namespace)
        ports = ports_at(scripts, wakeups, Path(data))
        more: dict[str, Any] = {}
        if in_file:
            ports = dataclasses.replace(ports, search=SqliteSearch(Path(data) / "search.sqlite"))
            more["remove_after_ms"] = 0
        yield _engine(scripts, ports, limits or Limits(), **more), connection
    finally:
        wakeups.close()
        connection.close()


def ports_at(scripts: Scripts, wakeups: RedisWakeups, data: Path) -> Any:  # noqa: ANN401 - of that tree
    """Have every port that this tree's engine asks for; nothing connects yet."""
    known: dict[str, Any] = {
        "store": RedisExecutionStore(scripts),
        "reader": RedisExecutionReader(scripts),
        "queues": RedisTaskQueues(scripts),
        "timers": RedisTimers(scripts),
        "outbox": RedisOutbox(scripts),
        "metadata": RedisMetadataStore(scripts),
        "plans": RedisPlanStore(scripts),
        "wakeups": wakeups,
        "payloads": FilePayloads(
            data / "payloads",
            base_url="http://127.0.0.1/payloads",
            now_ms=lambda: time.time_ns() // 1_000_000,
        ),
        "search": MemorySearch(),
        "scripts": QuickJsScripts(),
    }
    ports: Any = get_type_hints(assemble)["ports"]  # wherever that tree keeps it
    wanted = {field.name for field in dataclasses.fields(ports)}
    for name, (module, made) in _FURTHER.items():
        if name in wanted:
            found = getattr(import_module(f"conductor_py.adapters.{module}"), made)
            known[name] = found(scripts) if isinstance(found, type) else found
    return ports(**known)


def engine_module(*names: str) -> Any:  # noqa: ANN401 - of that tree
    """Find a module of this tree's engine, in whatever folder of it that is: the first of these
    names that there is.
    """
    (folder,) = engine_package.__path__
    found = next(path for name in names for path in Path(folder).rglob(f"{name}.py"))
    inside = found.relative_to(folder).with_suffix("")
    return import_module(".".join((engine_package.__name__, *inside.parts)))


def _engine(scripts: Scripts, ports: Any, limits: Limits, **more: Any) -> Engine:  # noqa: ANN401 - of that tree
    return assemble(
        ports,
        Shards(RedisShardRegistry(scripts), "bench"),
        version="bench",
        limits=limits,
        payload_limits=engine_module("encoding").PayloadLimits(),
        **more,
    )


def poll(engine: Engine, kind: str, count: int) -> Sequence[dict[str, str]]:
    """Claim up to ``count`` tasks without waiting."""
    found = engine.tasks.poll(
        PollRequest(task_type=kind, timeout_ms=0, worker="bench", count=count)
    )
    return [{"taskId": str(t["taskId"]), "of": str(t["workflowInstanceId"])} for t in found]


def complete(engine: Engine, task: dict[str, str], output: JsonObject) -> None:
    """Report a claimed task as completed."""
    engine.tasks.update(
        TaskResult(
            workflow_id=task["of"],
            task_id=task["taskId"],
            status=TaskStatus.COMPLETED,
            output=output,
            worker="bench",
        )
    )


def work_off(engine: Engine, execution: str, kind: str, count: int, output: JsonObject) -> None:
    """Complete ``count`` tasks of a kind, until the execution has ended well (``RuntimeError``)."""
    left = count
    while left:
        tasks = poll(engine, kind, 100)
        if not tasks and not engine.sweeper.tick():
            raise RuntimeError(f"{left} tasks never came")
        for task in tasks:
            complete(engine, task, output)
        left -= len(tasks)
    while (status := _status(engine, execution)) == "RUNNING":
        if not engine.sweeper.tick():
            raise RuntimeError("the execution does not end")
    if status != "COMPLETED":
        raise RuntimeError(f"the execution is {status}")


def _status(engine: Engine, execution: str) -> object:
    return engine.executions.document(execution, include_tasks=False)["status"]

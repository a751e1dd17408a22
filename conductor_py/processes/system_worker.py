"""The system-task worker process: carries out HTTP and KAFKA_PUBLISH tasks, and those of yours.

Any number may run. Killed at any moment it loses nothing: its claims end by their time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.engine.system_worker.lanes import Served
from conductor_py.engine.system_worker.worker import SystemWorkerOptions
from conductor_py.errors import ConfigurationError
from conductor_py.outbound.addresses import AddressRules, networks
from conductor_py.ports.system_tasks import SystemTask, SystemTaskFactory
from conductor_py.processes.identity import new_name
from conductor_py.processes.readiness import await_redis
from conductor_py.processes.stopping import stop_on_signals
from conductor_py.systemtasks.http import HttpLimits, HttpTask
from conductor_py.systemtasks.kafka_publish import KafkaLimits, KafkaPublishTask, Producers
from conductor_py.wire.outside import OutsideJson
from conductor_py.wiring import build_engine

ENTRY_POINTS: Final = "conductor_py.system_tasks"


def run_system_worker(settings: Settings, *, server: str | None = None) -> int:
    """Work until a stop signal; ``server`` names the server that this process is part of."""
    stop = threading.Event()
    stop_on_signals(stop)
    tasks = system_tasks(settings)
    await_redis(settings, stop)
    name = new_name()
    engine = build_engine(settings, server=server or name, serves_all_shards=server is None)
    work_on_system_tasks(settings, engine, tasks, stop, name=name)
    return 0


def work_on_system_tasks(
    settings: Settings,
    engine: Engine,
    tasks: Sequence[SystemTask],
    stop: threading.Event,
    *,
    name: str,
) -> None:
    """Carry system tasks out until ``stop``, as worker ``name``, and let those under way end."""
    worker = engine.system_workers.worker(tasks, _options(settings, name))
    worker.run(stop)
    for task in tasks:
        task.close()


def system_tasks(settings: Settings) -> tuple[SystemTask, ...]:
    """Make the system tasks: those of the engine, then those that are installed beside it.

    Raises ConfigurationError for one that cannot be made, and for two of one type.
    """
    found: dict[str, SystemTask] = {}
    for task in (*_own_tasks(settings), *_installed_tasks()):
        if task.task_type in found:
            raise ConfigurationError(f"there are two system tasks of the type {task.task_type}")
        found[task.task_type] = task
    return tuple(found.values())


def _own_tasks(settings: Settings) -> Iterator[SystemTask]:
    http, kafka = settings.http_tasks, settings.kafka_tasks
    yield HttpTask(
        _rules(http.allowed_hosts, http.allowed_networks, "HTTP tasks", "conductor.tasks.http"),
        HttpLimits(
            connect_ms=http.connect_ms,
            read_ms=http.read_ms,
            total_ms=http.total_ms,
            response_bytes=http.response_bytes,
        ),
        OutsideJson(max_values=settings.limits.json_values),
    )
    limits = KafkaLimits(
        request_ms=kafka.request_ms,
        block_ms=kafka.block_ms,
        total_ms=kafka.total_ms,
        producers=kafka.cache_size,
        kept_ms=kafka.cache_ms,
    )
    rules = _rules(
        kafka.allowed_hosts,
        kafka.allowed_networks,
        "KAFKA_PUBLISH tasks",
        "conductor.tasks.kafka-publish",
    )
    yield KafkaPublishTask(partial(_kafka_producers, limits, rules), limits)


def _rules(
    hosts: tuple[str, ...], allowed: tuple[str, ...], callers: str, prefix: str
) -> AddressRules:
    try:
        found = networks(allowed)
    except ValueError as error:
        raise ConfigurationError(f"{prefix}.allowedNetworks: {error}") from error
    return AddressRules(hosts=hosts, networks=found, callers=callers, settings=prefix)


def _kafka_producers(limits: KafkaLimits, rules: AddressRules) -> Producers:
    """Load the client with the first record: most workers publish none, and it is large."""
    from conductor_py.systemtasks.kafka_client import KafkaClient
    from conductor_py.systemtasks.kafka_producers import KafkaProducers

    return KafkaProducers(limits, rules, KafkaClient)


def _installed_tasks() -> Iterator[SystemTask]:
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name):
        yield _made(point)


def _made(point: EntryPoint) -> SystemTask:
    try:
        factory: SystemTaskFactory = point.load()
        task = factory()
    except Exception as error:
        raise ConfigurationError(
            f"the system task {point.name} ({point.value}) cannot be made: {error}"
        ) from error
    if not (isinstance(getattr(task, "task_type", None), str) and hasattr(task, "execute")):
        raise ConfigurationError(f"{point.value} makes no system task: it has no task_type")
    return task


def _options(settings: Settings, name: str) -> SystemWorkerOptions:
    wanted = settings.system_tasks
    return SystemWorkerOptions(
        worker=name,
        served=Served(
            namespace=wanted.namespace,
            groups=wanted.groups,
            every_group=wanted.every_group,
            slots=wanted.threads,
            slots_beside=wanted.lasting,
            slots_of_a_group=wanted.threads_of_a_group,
        ),
        max_poll=wanted.max_poll,
        lease_s=max(wanted.lease_ms // 1000, 1),
        idle_s=wanted.idle_ms / 1000,
        find_s=wanted.find_ms / 1000,
        drain_s=wanted.drain_ms / 1000,
    )

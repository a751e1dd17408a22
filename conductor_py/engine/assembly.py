"""Put the services together over a set of ports. Which adapters those are is decided above
(``wiring``, ``testing``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conductor_py.decider.workspace import Limits
from conductor_py.engine.bounds import TaskBounds
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.collection import Collector
from conductor_py.engine.definitions import Definitions
from conductor_py.engine.domains import Domains
from conductor_py.engine.effects import Effects
from conductor_py.engine.encoding import Encoder, PayloadLimits
from conductor_py.engine.engine import Engine
from conductor_py.engine.executions import Executions
from conductor_py.engine.executor import Executor
from conductor_py.engine.live_limits import LiveLimits
from conductor_py.engine.needs import Fetcher
from conductor_py.engine.payloads import PayloadLocations
from conductor_py.engine.retention import FOREVER, Retention
from conductor_py.engine.shards import Shards
from conductor_py.engine.snapshots import Snapshots
from conductor_py.engine.sweeper import Relay, Sweeper
from conductor_py.engine.tasks import Tasks
from conductor_py.engine.views import Views
from conductor_py.ports.metadata import MetadataStore, PlanStore
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionReader, ExecutionStore
from conductor_py.ports.timers import Timers
from conductor_py.ports.wakeups import Wakeups


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One adapter a port."""

    store: ExecutionStore
    reader: ExecutionReader
    queues: TaskQueues
    timers: Timers
    outbox: Outbox
    metadata: MetadataStore
    plans: PlanStore
    wakeups: Wakeups
    payloads: Payloads
    search: Search
    scripts: Scripts


# long: one flat list of constructors, each named once
def assemble(
    ports: Ports,
    shards: Shards,
    *,
    version: str,
    limits: Limits,
    payload_limits: PayloadLimits,
    partitions: int = 1,
    lease_ms: int = 3_000,
    remove_after_ms: int = 3_600_000,
    index_after_ms: int = 1_000,
    sweep_batch: int = 50,
    relay_batch: int = 500,
    relay_lease_ms: int = 30_000,
    retention_ms: int = FOREVER,
    active_worker_ms: int = 10_000,
    task_bounds: TaskBounds | None = None,
    index_tasks: bool = True,
    monotonic: Callable[[], float] = time.monotonic,
    enqueue: Callable[[int, Sequence[str]], object] | None = None,
) -> Engine:
    """Build an engine. ``enqueue`` hands effects on; without it the relay carries them out
    itself.
    """
    snapshots = Snapshots(ports.metadata, ports.plans)
    views = Views(snapshots)
    clock = StoreClock(ports.store.now_ms, monotonic)
    encoder = Encoder(
        ports.payloads,
        payload_limits,
        remove_after_ms=remove_after_ms,
        index_after_ms=index_after_ms,
    )
    domains = Domains(ports.queues, clock, partitions, active_worker_ms)
    fetcher = Fetcher(
        ports.store,
        snapshots,
        ports.payloads,
        ports.scripts,
        domains.active,
    )
    executor = Executor(
        ports.store,
        snapshots,
        fetcher,
        encoder,
        pick_shard=shards.pick,
        limits=limits,
        lease_ms=lease_ms,
    )
    executions = Executions(
        store=ports.store,
        reader=ports.reader,
        executor=executor,
        snapshots=snapshots,
        encoder=encoder,
        views=views,
        search=ports.search,
        payloads=ports.payloads,
        wakeups=ports.wakeups,
        shards=shards,
        clock=clock,
        partitions=partitions,
        max_input_bytes=payload_limits.workflow_input_hard,
    )
    live = LiveLimits(ports.metadata, monotonic)
    tasks = Tasks(
        store=ports.store,
        reader=ports.reader,
        queues=ports.queues,
        executor=executor,
        views=views,
        payloads=ports.payloads,
        search=ports.search,
        wakeups=ports.wakeups,
        shards=shards,
        domains=domains,
        clock=clock,
        limits=payload_limits,
        partitions=partitions,
        bounds=task_bounds or TaskBounds(),
        live=live,
    )
    effects = Effects(
        outbox=ports.outbox,
        store=ports.store,
        reader=ports.reader,
        plans=ports.plans,
        views=views,
        search=ports.search,
        index_tasks=index_tasks,
    )
    return Engine(
        version=version,
        executions=executions,
        tasks=tasks,
        definitions=Definitions(ports.metadata, snapshots, clock, live),
        payloads=PayloadLocations(ports.payloads),
        executor=executor,
        effects=effects,
        sweeper=Sweeper(ports.timers, executor, shards, partitions=partitions, batch=sweep_batch),
        relay=Relay(
            ports.outbox,
            enqueue or effects.run,
            partitions=partitions,
            batch=relay_batch,
            lease_ms=relay_lease_ms,
        ),
        collector=Collector(ports.plans, partitions=partitions),
        retention=Retention(ports.search, ports.store, clock, keep_ms=retention_ms),
        shards=shards,
        checks=(("store", ports.store.now_ms),),
    )

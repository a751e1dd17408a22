"""Put the services together over a set of ports. Which adapters those are is decided above
(``wiring``, ``testing``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from conductor_py.decider.workspace import Limits
from conductor_py.engine.awaiting import Awaiting
from conductor_py.engine.bounds import TaskBounds
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.collection import Collector
from conductor_py.engine.definitions import Definitions
from conductor_py.engine.domains import Domains
from conductor_py.engine.drafts import Drafts
from conductor_py.engine.effects import Effects
from conductor_py.engine.encoding import Encoder, PayloadLimits
from conductor_py.engine.engine import Engine
from conductor_py.engine.event_actions import EventActions
from conductor_py.engine.event_delivery import EventDelivery
from conductor_py.engine.events import Events
from conductor_py.engine.executions import Executions
from conductor_py.engine.executor import Executor
from conductor_py.engine.failure_reports import FailureReports
from conductor_py.engine.file_retention import FileRetention
from conductor_py.engine.files import FilePorts, Files
from conductor_py.engine.hand_out import HandOut
from conductor_py.engine.keyed_starts import KeyedStarts
from conductor_py.engine.live_limits import LiveLimits
from conductor_py.engine.long_scripts import LongScripts
from conductor_py.engine.lookups import Lookups
from conductor_py.engine.messages import Messages
from conductor_py.engine.needs import Fetcher
from conductor_py.engine.notifications import Listeners, Notifications
from conductor_py.engine.operations import Operations
from conductor_py.engine.patience import DAY_MS, EffectHandler, Patience
from conductor_py.engine.payloads import PayloadLocations
from conductor_py.engine.posts import Posts
from conductor_py.engine.recovery import Recovery
from conductor_py.engine.repairs import Repairs
from conductor_py.engine.restoring import Restoring
from conductor_py.engine.retention import FOREVER, Retention
from conductor_py.engine.scheduler import Firing, RunHistory, Scheduler
from conductor_py.engine.schedules import Schedules
from conductor_py.engine.schemas import Schemas
from conductor_py.engine.script_check import ScriptCheck
from conductor_py.engine.shards import Shards
from conductor_py.engine.snapshots import Snapshots
from conductor_py.engine.steering import Steering
from conductor_py.engine.sweeper import Relay, Sweeper
from conductor_py.engine.system_worker import SystemWorkers
from conductor_py.engine.tags import Tags
from conductor_py.engine.tasks import Tasks
from conductor_py.engine.trials import MakeBench, Trials
from conductor_py.engine.views import Views
from conductor_py.ports.events import EventStore, Sink, Webhook
from conductor_py.ports.metadata import MetadataStore, PlanStore
from conductor_py.ports.named_values import NamedValues
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.output_cache import OutputCache
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.schedules import ScheduleStore
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore
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
    events: EventStore
    plans: PlanStore
    wakeups: Wakeups
    payloads: Payloads
    search: Search
    scripts: Scripts
    secrets: NamedValues
    environment: NamedValues
    cache: OutputCache
    schedules: ScheduleStore
    sinks: Mapping[str, Sink] = field(default_factory=dict)
    webhook: Webhook | None = None
    files: FilePorts | None = None


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
    message_bytes: int = 256 * 1024,
    task_bounds: TaskBounds | None = None,
    index_tasks: bool = True,
    run_history: RunHistory | None = None,
    schedule_batch: int = 5,
    schedule_lease_ms: int = 30_000,
    monotonic: Callable[[], float] = time.monotonic,
    enqueue: Callable[[int, Sequence[str]], object] | None = None,
    bench: MakeBench | None = None,
    listeners: Listeners | None = None,
    give_up_ms: int = DAY_MS,
    waits_for_scripts: bool = True,
    evaluates_long_scripts: bool = False,
) -> Engine:
    """Build an engine. ``enqueue`` hands effects on; without it the relay carries them out
    itself. ``bench`` makes places for trials; without it there are none. Without
    ``waits_for_scripts`` no caller waits for a script that takes long: it is left to an engine that
    ``evaluates_long_scripts``.
    """
    snapshots = Snapshots(ports.metadata, ports.plans)
    views = Views(snapshots)
    restoring = Restoring(ports.search, ports.reader, snapshots)
    clock = StoreClock(ports.store.now_ms, monotonic)
    encoder = Encoder(
        ports.payloads,
        payload_limits,
        remove_after_ms=remove_after_ms,
        index_after_ms=index_after_ms,
    )
    long_scripts = LongScripts(ports.scripts)
    domains = Domains(ports.queues, clock, partitions, active_worker_ms)
    fetcher = Fetcher(
        ports.store,
        snapshots,
        ports.payloads,
        ports.scripts,
        domains.active,
        ports.cache,
        frozenset(ports.sinks),
        restoring.restore,
        long_scripts=long_scripts if evaluates_long_scripts else None,
        waits_for_scripts=waits_for_scripts,
    )
    executor = Executor(
        ports.store,
        snapshots,
        fetcher,
        encoder,
        FailureReports(ports.reader, views, encoder.document),
        pick_shard=shards.pick,
        keep_output=ports.cache.put,
        limits=limits,
        lease_ms=lease_ms,
        monotonic=monotonic,
    )
    operations = Operations(ports.store, ports.reader, executor, ports.wakeups, partitions)
    executions = Executions(
        store=ports.store,
        reader=ports.reader,
        executor=executor,
        snapshots=snapshots,
        views=views,
        search=ports.search,
        operations=operations,
        shards=shards,
        clock=clock,
        partitions=partitions,
        drafts=Drafts(encoder, ports.payloads, payload_limits.workflow_input_hard),
    )
    live = LiveLimits(ports.metadata, monotonic)
    hand_out = HandOut(ports.secrets, ports.environment)
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
        hand_out=hand_out,
    )
    history = run_history or RunHistory()
    firing = Firing(ports.schedules, executions, clock, history)
    effects = Effects(
        outbox=ports.outbox,
        store=ports.store,
        reader=ports.reader,
        plans=ports.plans,
        views=views,
        search=ports.search,
        index_tasks=index_tasks,
        others=_deliveries(
            ports,
            executor=executor,
            executions=executions,
            tasks=tasks,
            operations=operations,
            snapshots=snapshots,
            clock=clock,
            listeners=listeners or Listeners(),
            patience=Patience(give_up_ms=give_up_ms),
        ),
    )
    awaiting = Awaiting(
        executions=executions,
        operations=operations,
        tasks=tasks,
        store=ports.store,
        wakeups=ports.wakeups,
        clock=clock,
    )
    steering = Steering(
        executions=executions,
        operations=operations,
        executor=executor,
        search=ports.search,
        carry_out=effects.run,
    )
    return Engine(
        version=version,
        executions=executions,
        steering=steering,
        awaiting=awaiting,
        tasks=tasks,
        definitions=Definitions(ports.metadata, snapshots, clock, live),
        schemas=Schemas(ports.metadata, clock, snapshots.forget_heads),
        tags=Tags(ports.metadata, snapshots.forget_heads),
        secrets=ports.secrets,
        environment=ports.environment,
        payloads=PayloadLocations(ports.payloads),
        executor=executor,
        effects=effects,
        long_scripts=long_scripts,
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
        events=Events(ports.events, ports.outbox, ports.scripts),
        schedules=Schedules(ports.schedules, firing, clock, history),
        scheduler=Scheduler(
            ports.schedules, firing, clock, batch=schedule_batch, lease_ms=schedule_lease_ms
        ),
        trials=Trials(
            bench and partial(bench, ports.metadata, ports.scripts, limits, payload_limits)
        ),
        lookups=Lookups(executions, ports.search),
        repairs=Repairs(executions, executor),
        recovery=Recovery(
            executions=executions,
            operations=operations,
            snapshots=snapshots,
            store=ports.store,
            restoring=restoring,
        ),
        messages=Messages(operations, ports.search, max_bytes=message_bytes),
        files=_files(ports.files, executions, tasks, clock),
        file_retention=FileRetention(
            ports.files, clock, workflow=partial(executions.document, include_tasks=False)
        ),
        check_script=ScriptCheck(ports.scripts),
        system_workers=SystemWorkers(
            tasks=tasks,
            queues=ports.queues,
            wakeups=ports.wakeups,
            payloads=ports.payloads,
            clock=clock,
            partitions=partitions,
            monotonic=monotonic,
        ),
        checks=(("store", ports.store.now_ms),),
    )


def _files(
    ports: FilePorts | None, executions: Executions, tasks: Tasks, clock: StoreClock
) -> Files | None:
    """Serve files of executions, where they are switched on."""
    if ports is None:
        return None
    workflow = partial(executions.document, include_tasks=False)
    return Files(ports, clock, workflow=workflow, task=tasks.document)


def _deliveries(
    ports: Ports,
    *,
    executor: Executor,
    executions: Executions,
    tasks: Tasks,
    operations: Operations,
    snapshots: Snapshots,
    clock: StoreClock,
    listeners: Listeners,
    patience: Patience,
) -> dict[str, EffectHandler]:
    """Carry out the effects that leave the engine, by kind."""
    events = EventDelivery(
        store=ports.events,
        actions=EventActions(ports.events, executions, tasks, operations),
        scripts=ports.scripts,
        payloads=ports.payloads,
        sinks=ports.sinks,
        clock=clock,
        patience=patience,
    )
    notifications = Notifications(
        listeners=listeners,
        webhook=ports.webhook,
        sinks=ports.sinks,
        store=ports.events,
        outbox=ports.outbox,
        payloads=ports.payloads,
        workflow=partial(executions.document, include_tasks=False),
        task=tasks.document,
        clock=clock,
        patience=patience,
    )
    starts = KeyedStarts(executions, tasks, operations, ports.store, snapshots, ports.payloads)
    return {
        "publish": events.deliver,
        "notify": notifications.deliver,
        "start": starts.handle,
        "post": Posts(ports.store, executor).handle,
    }

"""Put the services together over a set of ports. Which adapters those are is decided above
(``wiring``, ``testing``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from conductor_py.decider.workspace import Limits
from conductor_py.engine.auditing.audit import NO_ROUNDS, Auditor, AuditRounds
from conductor_py.engine.catalog.minting import Minter
from conductor_py.engine.catalog_assembly import catalog_parts
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.deliberation import Deliberation
from conductor_py.engine.decisions.drafts import Drafts
from conductor_py.engine.decisions.encoding import Encoder, PayloadLimits
from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.failure_reports import FailureReports
from conductor_py.engine.decisions.locking import Locking
from conductor_py.engine.decisions.long_scripts import LongScripts
from conductor_py.engine.decisions.needs import Fetcher
from conductor_py.engine.decisions.operations import Operations
from conductor_py.engine.decisions.punctuality import Punctuality
from conductor_py.engine.definitions.collection import Collector
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.definitions import Definitions
from conductor_py.engine.definitions.live_limits import LiveLimits
from conductor_py.engine.definitions.registered import Registered
from conductor_py.engine.definitions.schemas import Schemas
from conductor_py.engine.definitions.script_check import ScriptCheck
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.definitions.tags import Tags
from conductor_py.engine.effects.events import Events
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.engine.effects.shared_admission import admitting
from conductor_py.engine.effects.shared_limits import SharedLimits, limited
from conductor_py.engine.effects_assembly import effects_part
from conductor_py.engine.engine import Engine
from conductor_py.engine.executions.awaiting import Awaiting
from conductor_py.engine.executions.executions import STAYS_MS, Executions
from conductor_py.engine.executions.lookups import Lookups
from conductor_py.engine.executions.messages import Messages
from conductor_py.engine.executions.open_tasks import OpenTasks
from conductor_py.engine.executions.quarantine import Quarantine
from conductor_py.engine.executions.recovery import Recovery
from conductor_py.engine.executions.repairs import Repairs
from conductor_py.engine.executions.restoring import Restoring
from conductor_py.engine.executions.steering import Steering
from conductor_py.engine.executions.trials import MakeBench, Trials
from conductor_py.engine.explaining.why import Why
from conductor_py.engine.health import Check
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.patience import DAY_MS, Patience
from conductor_py.engine.payload_assembly import payload_parts
from conductor_py.engine.payloads.file_retention import FileRetention, let_go_files
from conductor_py.engine.payloads.files import Files
from conductor_py.engine.payloads.holding import GRACE_MS, PayloadHolding
from conductor_py.engine.payloads.payloads import PayloadLocations
from conductor_py.engine.port_set import Ports
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.reading.reading import Reading
from conductor_py.engine.reading.views import Views
from conductor_py.engine.schedules.backfills import Backfills
from conductor_py.engine.schedules.scheduler import Firing, RunHistory, Scheduler
from conductor_py.engine.schedules.schedules import Schedules
from conductor_py.engine.shards import Shards
from conductor_py.engine.sweeping.erasure import NEVER, Erasure
from conductor_py.engine.sweeping.queue_names import QueueNames
from conductor_py.engine.sweeping.retention import FOREVER, Retention
from conductor_py.engine.sweeping.sweeper import Enqueue, Relay, Sweeper, always, never
from conductor_py.engine.system_worker.worker import SystemWorkers
from conductor_py.engine.tasks.bounds import TaskBounds
from conductor_py.engine.tasks.checkpoints import DEFAULT_BOUNDS, Checkpoints
from conductor_py.engine.tasks.domains import Domains
from conductor_py.engine.tasks.hand_out import HandOut
from conductor_py.engine.tasks.hub import Hub
from conductor_py.engine.tasks.lookout import Lookout
from conductor_py.engine.tasks.polling import Polling
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.engine.tasks.workers import LEASE_MS, Workers
from conductor_py.model.codes import DEFAULT_LAYOUT, CodeLayout
from conductor_py.ports.checkpoints import CheckpointBounds
from conductor_py.ports.touched import GATHER_MS


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
    lock_wait_ms: int = 500,
    fencing: bool = True,
    remove_after_ms: int = 3_600_000,
    stays_ms: int = STAYS_MS,
    zone: str = "",
    index_after_ms: int = 1_000,
    sweep_batch: int = 50,
    relay_batch: int = 500,
    relay_lease_ms: int = 30_000,
    retention_ms: int = FOREVER,
    payload_grace_ms: int | None = GRACE_MS,
    erasure_ms: int = NEVER,
    active_worker_ms: int = 10_000,
    worker_presence_ms: int = LEASE_MS,
    message_bytes: int = 256 * 1024,
    most_waiting: int = 10_000,
    task_bounds: TaskBounds | None = None,
    gather_tasks_ms: int | None = GATHER_MS,
    run_history: RunHistory | None = None,
    schedule_batch: int = 5,
    schedule_lease_ms: int = 30_000,
    monotonic: Callable[[], float] = time.monotonic,
    enqueue: Enqueue | None = None,
    enqueue_first: Enqueue | None = None,
    has_room: Callable[[], bool] = always,
    effects_give_way: bool = False,
    bench: MakeBench | None = None,
    listeners: Listeners | None = None,
    give_up_ms: int = DAY_MS,
    waits_for_scripts: bool = True,
    evaluates_long_scripts: bool = False,
    machine: Machine = REAL_MACHINE,
    audit_rounds: AuditRounds = NO_ROUNDS,
    checkpoint_bounds: CheckpointBounds = DEFAULT_BOUNDS,
    code_layout: CodeLayout = DEFAULT_LAYOUT,
    quiet: Quiet | None = None,
) -> Engine:
    """Build an engine. ``enqueue`` and ``enqueue_first`` hand effects on while there ``has_room``;
    without them the relay carries them out itself. They ``effects_give_way`` to timers that are
    behind when both are this process's work. ``bench`` makes places for trials; without it
    there are none. Without ``waits_for_scripts`` no caller waits for a script that takes long: it
    is left to an engine that ``evaluates_long_scripts``. ``quiet`` hears of all that changes the
    store, where this engine is alone with it.
    """
    shared_limits = SharedLimits(ports.permits)
    if partitions > 1:
        queues = limited(ports.queues, ports.permits, shared_limits, machine.token)
        ports = replace(ports, store=admitting(ports.store, shared_limits), queues=queues)
    composer = Composer(ports.catalog)
    registered = Registered(ports.metadata, composer)
    snapshots = Snapshots(ports.metadata, ports.plans, registered)
    views = Views(snapshots)
    reading = Reading(ports.store, ports.reader, views, ports.search, partitions=partitions)
    clock = StoreClock(ports.store.now_ms, monotonic)
    kept = payload_parts(
        ports, clock, payload_limits, grace_ms=payload_grace_ms, partitions=partitions
    )
    ports, holding = replace(ports, payloads=kept.payloads), kept.holding
    reader = kept.reader
    erasure = Erasure(ports.erasure, clock, interval_ms=erasure_ms)
    left = partial(_left, holding, partial(let_go_files, ports.files, clock), erasure)
    restoring = Restoring(ports.search, ports.reader, snapshots, holding, lambda: machine.token(6))
    encoder = Encoder(
        ports.payloads,
        holding,
        payload_limits,
        remove_after_ms=remove_after_ms,
        stays_ms=stays_ms,
        index_after_ms=index_after_ms,
        gather_tasks_ms=gather_tasks_ms,
        elapsed_ms=clock.elapsed_ms,
    )
    long_scripts = LongScripts(ports.scripts)
    hub = Hub(ports.queues, ports.wakeups, clock.now_ms, monotonic, quiet)
    domains = Domains(ports.queues, hub.record_all, clock, partitions, active_worker_ms)
    providers = frozenset(ports.sinks)
    fetcher = Fetcher(
        ports.store,
        snapshots,
        reader,
        ports.scripts,
        domains.active,
        ports.cache,
        providers,
        restoring.restore,
        long_scripts=long_scripts if evaluates_long_scripts else None,
        waits_for_scripts=waits_for_scripts,
        keeps_lines=task_bounds is None or task_bounds.keep_logs,
    )
    executor = Executor(
        ports.store,
        snapshots,
        fetcher,
        Deliberation(
            snapshots,
            fetcher,
            encoder,
            FailureReports(ports.store, ports.reader, views, encoder.document),
            shards.pick,
            limits,
            Punctuality(ports.timers, monotonic),
        ),
        keep_output=ports.cache.put,
        lease_ms=lease_ms,
        quarantine=ports.quarantine,
        monotonic=monotonic,
        machine=machine,
        locking=_locking(ports, fencing=fencing, wait_ms=lock_wait_ms, lease_ms=lease_ms),
    )
    operations = Operations(
        ports.store,
        ports.reader,
        executor,
        ports.wakeups,
        partitions,
        machine,
        quarantine=ports.quarantine,
        most_waiting=most_waiting,
    )
    quarantine = Quarantine(
        ports.quarantine,
        ports.damage,
        executor,
        snapshots,
        ports.search,
        partitions=partitions,
        elapsed_ms=clock.elapsed_ms,
    )
    executions = Executions(
        store=ports.store,
        reader=ports.reader,
        executor=executor,
        snapshots=snapshots,
        reading=reading,
        search=ports.search,
        operations=operations,
        end_quarantined=quarantine.end,
        shards=shards,
        clock=clock,
        partitions=partitions,
        drafts=Drafts(encoder, reader, payload_limits.workflow_input_hard),
        machine=machine,
        stays_ms=stays_ms,
        zone=zone,
    )
    live = LiveLimits(ports.metadata, monotonic)
    workers = Workers(ports.presence, lease_ms=worker_presence_ms, monotonic=monotonic)
    bounds, hand_out = task_bounds or TaskBounds(), HandOut(ports.secrets, ports.environment)
    polling = Polling(
        queues=ports.queues,
        views=views,
        wakeups=ports.wakeups,
        hub=hub,
        shards=shards,
        clock=clock,
        partitions=partitions,
        bounds=bounds,
        live=live,
        hand_out=hand_out,
        polled=workers.polled,
        machine=machine,
        gather_tasks_ms=gather_tasks_ms,
    )
    tasks = Tasks(
        store=ports.store,
        reader=ports.reader,
        queues=ports.queues,
        executor=executor,
        views=views,
        reading=reading,
        payloads=ports.payloads,
        payload_reader=reader,
        holding=holding,
        search=ports.search,
        wakeups=ports.wakeups,
        domains=domains,
        clock=clock,
        limits=payload_limits,
        partitions=partitions,
        bounds=bounds,
        hand_out=hand_out,
        polling=polling,
    )
    history = run_history or RunHistory()
    firing = Firing(ports.schedules, executions, clock, history)
    effects = effects_part(
        ports,
        clock=clock,
        snapshots=snapshots,
        views=views,
        kept=kept,
        executor=executor,
        operations=operations,
        executions=executions,
        tasks=tasks,
        limits=shared_limits,
        listeners=listeners or Listeners(),
        patience=Patience(give_up_ms=give_up_ms),
        restore=restoring.restore,
        most_bytes=payload_limits.largest,
        index_tasks=gather_tasks_ms is not None,
        left=left,
    )
    awaiting = Awaiting(
        executions=executions,
        operations=operations,
        tasks=tasks,
        store=ports.store,
        wakeups=ports.wakeups,
        clock=clock,
        machine=machine,
    )
    script_check = ScriptCheck(ports.scripts, monotonic)
    definitions = Definitions(
        ports.metadata,
        registered,
        snapshots,
        clock,
        live,
        scripts=script_check,
        providers=providers,
    )
    codes = Minter(ports.numbers, clock, layout=code_layout, machine=machine)
    schedules = Schedules(ports.schedules, firing, clock, history, holding, machine=machine)
    catalog = catalog_parts(
        ports.catalog,
        clock=clock,
        mint=codes.codes,
        layout=code_layout,
        composer=composer,
        registered=registered,
        definitions=definitions,
        schedules=schedules,
        snapshots=snapshots,
    )
    steering = Steering(
        executions=executions,
        operations=operations,
        executor=executor,
        reader=ports.reader,
        search=ports.search,
        carry_out=effects.run,
        left=left,
    )
    workflow = partial(executions.document, include_tasks=False)
    sweeper = Sweeper(
        ports.timers,
        executor,
        shards,
        now_ms=clock.now_ms,
        partitions=partitions,
        batch=sweep_batch,
        monotonic=monotonic,
    )
    return Engine(
        version=version,
        executions=executions,
        steering=steering,
        checkpoints=Checkpoints(
            checkpoints=ports.checkpoints,
            store=ports.store,
            search=ports.search,
            operations=operations,
            bounds=checkpoint_bounds,
        ),
        awaiting=awaiting,
        lookout=Lookout(hub, ports.wakeups, machine),
        quiet=quiet,
        tasks=tasks,
        definitions=definitions,
        catalog=catalog.catalog,
        publishing=catalog.publishing,
        lineages=catalog.lineages,
        exporting=catalog.exporting,
        importing=catalog.importing,
        applying=catalog.applying,
        schemas=Schemas(ports.metadata, clock, snapshots.forget_heads),
        tags=Tags(ports.metadata, snapshots.forget_heads),
        secrets=ports.secrets,
        environment=ports.environment,
        payloads=PayloadLocations(ports.payloads),
        executor=executor,
        effects=effects,
        long_scripts=long_scripts,
        sweeper=sweeper,
        relay=Relay(
            ports.outbox,
            enqueue or effects.run,
            now_ms=clock.now_ms,
            enqueue_first=enqueue_first,
            carry_out=effects.run if enqueue else None,
            has_room=has_room,
            gives_way=sweeper.is_behind if effects_give_way else never,
            partitions=partitions,
            batch=relay_batch,
            lease_ms=relay_lease_ms,
        ),
        collector=Collector(ports.plans, partitions=partitions),
        quarantine=quarantine,
        queue_names=QueueNames(ports.queues, partitions=partitions),
        why=Why(
            inspector=ports.inspector,
            snapshots=snapshots,
            search=ports.search,
            shards=shards,
            domains=domains,
            live=live,
            workers=workers,
            partitions=partitions,
        ),
        auditor=Auditor(
            inspector=ports.inspector,
            snapshots=snapshots,
            search=ports.search,
            live=live,
            now_ms=clock.now_ms,
            partitions=partitions,
            rounds=audit_rounds,
        ),
        retention=Retention(ports.search, ports.store, clock, keep_ms=retention_ms, left=left),
        payload_retention=kept.retention,
        erasure=erasure,
        shards=shards,
        workers=workers,
        events=Events(
            ports.events, ports.outbox, ports.scripts, holding, is_registered=registered.has
        ),
        schedules=schedules,
        backfills=Backfills(executions, snapshots, reader, clock),
        scheduler=Scheduler(
            ports.schedules,
            firing,
            ports.outbox,
            clock,
            batch=schedule_batch,
            lease_ms=schedule_lease_ms,
        ),
        trials=Trials(
            bench
            and partial(
                bench,
                ports.metadata,
                ports.catalog,
                ports.scripts,
                limits,
                payload_limits,
                providers,
            ),
            zone,
        ),
        lookups=Lookups(executions, ports.search),
        open_tasks=OpenTasks(ports.inspector, operations, tasks.document),
        repairs=Repairs(executions, executor),
        recovery=Recovery(
            executions=executions,
            operations=operations,
            snapshots=snapshots,
            store=ports.store,
            restoring=restoring,
            fetcher=fetcher,
        ),
        messages=Messages(operations, ports.search, max_bytes=message_bytes, machine=machine),
        codes=codes,
        files=Files(ports.files, clock, workflow=workflow, task=tasks.document)
        if ports.files
        else None,
        file_retention=FileRetention(
            ports.files, clock, workflow=workflow, removed=erasure.removed
        ),
        check_script=script_check,
        system_workers=SystemWorkers(
            tasks=tasks,
            queues=ports.queues,
            wakeups=ports.wakeups,
            payloads=reader,
            clock=clock,
            monotonic=monotonic,
            quiet=quiet,
        ),
        checks=(
            Check(name="store", ask=ports.inspector.check),
            Check(name="search", ask=ports.search.check, vital=False),
        ),
    )


def _left(
    holding: PayloadHolding, let_go: Callable[[str], None], erasure: Erasure, execution: str
) -> None:
    """What follows when an execution is gone for good."""
    holding.let_go(execution)
    let_go(execution)
    erasure.removed()


def _locking(ports: Ports, *, fencing: bool, wait_ms: int, lease_ms: int) -> Locking | None:
    """Ask for a lock around the store, where there is one."""
    if ports.lock is None:
        return None
    return Locking(ports.lock, ports.store, fencing=fencing, wait_ms=wait_ms, lease_ms=lease_ms)

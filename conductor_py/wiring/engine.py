"""The engine of one process: an adapter behind each port, and the settings that concern it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from conductor_py.config import Settings
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.auditing.audit import AuditRounds
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.engine.port_set import Ports
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.schedules.scheduler import RunHistory
from conductor_py.engine.shards import Shards
from conductor_py.engine.tasks.bounds import TaskBounds
from conductor_py.model.priorities import QueueOrder
from conductor_py.ports import scripts as scripts_port
from conductor_py.ports.effects import EffectQueue
from conductor_py.ports.named_values import NamedValues
from conductor_py.ports.quarantine import QuarantineBounds
from conductor_py.ports.shards import ShardRegistry
from conductor_py.wiring.effects import LazyEffectQueue
from conductor_py.wiring.erasure import erasure_of
from conductor_py.wiring.files import files_of
from conductor_py.wiring.installation import version
from conductor_py.wiring.locks import lock_of
from conductor_py.wiring.outlets import listeners_of, sinks_of, webhook_of
from conductor_py.wiring.payloads import payloads_of
from conductor_py.wiring.redis import cache_of, connect, namespace_of, stores_of
from conductor_py.wiring.search import search_of

#: A search shows a change within two seconds: what SQLite has committed at once, what Elasticsearch
#: was told when it refreshes, a second later.
_GATHER_TASKS_MS: Final = {"sqlite": 1_500, "elasticsearch": 400}

if TYPE_CHECKING:
    from conductor_py.api.admission import Admission
    from conductor_py.api.metrics import Metrics
    from conductor_py.engine.executions.trials import Bench
    from conductor_py.ports.catalog import CatalogStore
    from conductor_py.ports.metadata import MetadataStore


def build_engine(
    settings: Settings,
    *,
    server: str,
    serves_all_shards: bool = False,
    sweeps: bool = False,
    metrics: Metrics | None = None,
    evaluates_long_scripts: bool = False,
    admission: Admission | None = None,
    effect_queue: EffectQueue | None = None,
    quiet: Quiet | None = None,
) -> Engine:
    """Build the engine of one process.

    ``server`` names the server that the process belongs to: processes of one name share its shards.
    With ``serves_all_shards`` it holds none, and serves those of all live servers; ``sweeps``: it
    fires timers. ``metrics`` counts what its stores answer. Scripts that take long are left to the
    engines that are built with ``evaluates_long_scripts``. Who waits for something to happen has no
    turn of ``admission`` meanwhile. Effects go by ``effect_queue``, else to the job queue.
    ``quiet`` hears of all that changes the store: nobody else does. Raises ConfigurationError for
    what cannot be had.
    """
    registry, ports = _ports(settings, metrics, None if quiet is None else quiet.note)
    if admission is not None:
        from conductor_py.api.admission import RestingWakeups

        ports = replace(ports, wakeups=RestingWakeups(ports.wakeups, admission))
    listeners = listeners_of(settings)
    is_carried_out_here = effect_queue is not None
    effect_queue = effect_queue or LazyEffectQueue(settings)
    return assemble(
        ports,
        _shards(settings, registry, server, serves_all=serves_all_shards, sweeps=sweeps),
        version=version(),
        limits=_limits(settings, listeners),
        payload_limits=_payload_limits(settings),
        partitions=settings.redis.partitions,
        lease_ms=settings.app.lock_lease_ms,
        lock_wait_ms=settings.app.lock_wait_ms,
        fencing=settings.app.fencing,
        remove_after_ms=settings.index.archive_delay_s * 1000,
        sweep_batch=settings.sweeper.batch,
        relay_batch=settings.effects.batch,
        relay_lease_ms=settings.effects.lease_ms,
        audit_rounds=_rounds(settings),
        retention_ms=settings.index.retention_ms,
        payload_grace_ms=settings.payload_storage.grace_ms
        if settings.payload_storage.collect
        else None,
        erasure_ms=settings.erasure.interval_ms,
        active_worker_ms=settings.app.active_worker_ms,
        code_layout=settings.app.code_layout,
        worker_presence_ms=settings.app.worker_presence_ms,
        message_bytes=settings.messages.message_bytes,
        most_waiting=settings.limits.inbox_events,
        task_bounds=TaskBounds(
            poll_bytes=settings.limits.poll_bytes,
            log_lines=settings.app.task_log_limit,
            keep_logs=settings.index.task_logs,
        ),
        gather_tasks_ms=_GATHER_TASKS_MS[settings.index.type] if settings.index.tasks else None,
        run_history=RunHistory(
            keep=settings.scheduler.kept_records,
            trim_above=max(settings.scheduler.kept_records, settings.scheduler.record_threshold),
        ),
        zone="" if settings.scheduler.time_zone == "UTC" else settings.scheduler.time_zone,
        schedule_batch=settings.scheduler.batch,
        schedule_lease_ms=settings.scheduler.lease_ms,
        enqueue=effect_queue.enqueue,
        enqueue_first=effect_queue.enqueue_first,
        has_room=effect_queue.has_room,
        effects_give_way=is_carried_out_here,
        bench=_bench,
        listeners=listeners,
        give_up_ms=settings.listeners.give_up_ms,
        waits_for_scripts=False,
        evaluates_long_scripts=evaluates_long_scripts,
        quiet=quiet,
    )


def _bench(  # noqa: PLR0917 - what a trial has of a whole engine
    metadata: MetadataStore,
    catalog: CatalogStore,
    scripts: scripts_port.Scripts,
    limits: Limits,
    payload_limits: PayloadLimits,
    providers: frozenset[str],
) -> Bench:
    """Make a place for a trial. It is imported by the first: a hundred modules, and few run one."""
    from conductor_py.testing.bench import MemoryBench

    return MemoryBench(metadata, catalog, scripts, limits, payload_limits, providers)


def _limits(settings: Settings, listeners: Listeners) -> Limits:
    return Limits(
        attempts=settings.limits.decision_attempts,
        input_bytes=settings.payloads.task_input_hard_bytes,
        output_bytes=settings.payloads.workflow_output_hard_bytes,
        depth=settings.limits.sub_workflow_depth,
        chain=settings.limits.chain_length,
        chain_executions=settings.limits.chain_executions,
        nested_executions=settings.limits.nested_executions,
        tasks=settings.limits.tasks_per_execution,
        iterations=settings.limits.loop_iterations,
        branches=settings.limits.fork_branches,
        lost=settings.app.worker_lost_limit,
        messages=settings.messages.queue_length if settings.messages.enabled else 0,
        message_batch=settings.messages.batch,
        message_ttl_ms=settings.messages.ttl_ms,
        task_notices=listeners.of_tasks,
        workflow_notices=listeners.of_workflows,
        order=QueueOrder(
            instance_first=settings.app.queue_order == "INSTANCE_FIRST",
            ageing_ms=settings.app.priority_ageing_ms,
        ),
    )


def _ports(
    settings: Settings, metrics: Metrics | None, changed: Callable[[], None] | None
) -> tuple[ShardRegistry, Ports]:
    from conductor_py.adapters.redis.catalog import RedisCatalogStore
    from conductor_py.adapters.redis.checkpoints import RedisCheckpoints
    from conductor_py.adapters.redis.damage import RedisDamage
    from conductor_py.adapters.redis.events import RedisEventStore
    from conductor_py.adapters.redis.inspector import RedisInspector
    from conductor_py.adapters.redis.metadata import RedisMetadataStore
    from conductor_py.adapters.redis.outbox import RedisOutbox
    from conductor_py.adapters.redis.payload_holders import RedisPayloadHolders
    from conductor_py.adapters.redis.permits import RedisPermits
    from conductor_py.adapters.redis.plans import RedisPlanStore
    from conductor_py.adapters.redis.presence import RedisPresence
    from conductor_py.adapters.redis.quarantine import RedisQuarantine
    from conductor_py.adapters.redis.reader import RedisExecutionReader
    from conductor_py.adapters.redis.schedules import RedisScheduleStore
    from conductor_py.adapters.redis.scripts import Scripts
    from conductor_py.adapters.redis.shards import RedisShardRegistry
    from conductor_py.adapters.redis.timers import RedisTimers
    from conductor_py.adapters.redis.touched import RedisTouchedTasks
    from conductor_py.adapters.redis.wakeups import RedisWakeups
    from conductor_py.adapters.redis.worker_numbers import RedisWorkerNumbers

    connection, namespace = connect(settings), namespace_of(settings)
    bounds = QuarantineBounds(tries=settings.quarantine.tries, wait_ms=settings.quarantine.wait_ms)
    scripts = Scripts(connection, namespace, changed=changed)
    store, queues = stores_of(settings, scripts, metrics)
    search = search_of(settings)
    ports = Ports(
        store=store,
        reader=RedisExecutionReader(scripts),
        queues=queues,
        permits=RedisPermits(scripts),
        timers=RedisTimers(scripts, take_lease=settings.lock.type == "redis", bounds=bounds),
        outbox=RedisOutbox(scripts),
        touched=RedisTouchedTasks(scripts),
        metadata=RedisMetadataStore(scripts),
        catalog=RedisCatalogStore(scripts),
        events=RedisEventStore(scripts),
        plans=RedisPlanStore(scripts),
        wakeups=RedisWakeups(connection, namespace),
        payloads=payloads_of(settings),
        payload_holders=RedisPayloadHolders(scripts),
        sinks=sinks_of(settings),
        webhook=webhook_of(settings),
        search=search,
        schedules=RedisScheduleStore(scripts),
        presence=RedisPresence(scripts),
        inspector=RedisInspector(scripts),
        damage=RedisDamage(scripts),
        quarantine=RedisQuarantine(scripts, bounds, take_lease=settings.lock.type == "redis"),
        checkpoints=RedisCheckpoints(scripts),
        numbers=RedisWorkerNumbers(scripts),
        secrets=_values(settings.secrets.type, settings.secrets.prefix),
        environment=_values(settings.secrets.environment_type, settings.secrets.environment_prefix),
        cache=cache_of(settings, scripts),
        scripts=_scripts(settings),
        files=files_of(settings, scripts),
        lock=lock_of(settings, metrics),
        erasure=erasure_of(settings, scripts, search),
    )
    return RedisShardRegistry(scripts), ports


def _scripts(settings: Settings) -> scripts_port.Scripts:
    from conductor_py.adapters.quickjs import QuickJsScripts
    from conductor_py.wire.outside import OutsideJson

    return QuickJsScripts(
        workers=settings.scripts.workers,
        long_workers=settings.scripts.long_workers,
        time_limit_ms=settings.scripts.time_limit_ms,
        memory_bytes=settings.scripts.memory_bytes,
        result_bytes=settings.scripts.result_bytes,
        queue_limit=settings.scripts.queue_limit,
        queue_wait_ms=settings.scripts.queue_wait_ms,
        outside=OutsideJson(max_values=settings.limits.json_values),
    )


def _values(kind: str, prefix: str) -> NamedValues:
    from conductor_py.adapters.environment.values import NO_VALUES, EnvironmentValues

    return EnvironmentValues(os.environ, prefix) if kind == "env" else NO_VALUES


def _shards(
    settings: Settings, registry: ShardRegistry, server: str, *, serves_all: bool, sweeps: bool
) -> Shards:
    redis = settings.redis
    return Shards(
        registry,
        server,
        strategy=redis.sharding_strategy,
        names=redis.shards or _racks(settings),
        serves_all=serves_all,
        sweeps=sweeps,
        lease_ms=redis.shard_lease_ms,
    )


def _racks(settings: Settings) -> tuple[str, ...]:
    """Several racks are named and one is near: its name is the shard's."""
    racks = {host.rack for host in settings.redis.hosts if host.rack}
    zone = settings.redis.availability_zone
    return (zone,) if len(racks) > 1 and zone in racks else ()


def _rounds(settings: Settings) -> AuditRounds:
    return AuditRounds(interval_ms=settings.audit.interval_ms, page=settings.audit.page)


def _payload_limits(settings: Settings) -> PayloadLimits:
    sizes = settings.payloads
    return PayloadLimits(
        workflow_input_soft=sizes.workflow_input_soft_bytes,
        workflow_input_hard=sizes.workflow_input_hard_bytes,
        workflow_output_soft=sizes.workflow_output_soft_bytes,
        workflow_output_hard=sizes.workflow_output_hard_bytes,
        task_input_soft=sizes.task_input_soft_bytes,
        task_input_hard=sizes.task_input_hard_bytes,
        task_output_soft=sizes.task_output_soft_bytes,
        task_output_hard=sizes.task_output_hard_bytes,
        variables_hard=sizes.workflow_variables_hard_bytes,
        values=settings.limits.json_values,
    )

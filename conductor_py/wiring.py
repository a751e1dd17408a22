"""The composition root: which adapter stands behind each port, chosen by settings.

The only place that knows settings and drivers both. Drivers are imported when they are chosen;
nothing is sent anywhere before the first use, ``check_redis`` apart.
"""

# long: every adapter is chosen here, and nowhere else

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from conductor_py.config import RedisHost, Settings
from conductor_py.config.shown import shown
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import Ports, assemble
from conductor_py.engine.bounds import TaskBounds
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.scheduler import RunHistory
from conductor_py.engine.shards import Shards
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.model.zoned_time import zone_of
from conductor_py.outlets import listeners_of, sinks_of, webhook_of
from conductor_py.ports.effects import EffectQueue
from conductor_py.ports.named_values import NamedValues
from conductor_py.ports.output_cache import CacheBounds
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.search import Search
from conductor_py.ports.shards import ShardRegistry

if TYPE_CHECKING:
    from flask import Flask

    from conductor_py.adapters.files.payloads import FilePayloads
    from conductor_py.adapters.redis.connection import Connection
    from conductor_py.api.metrics import Metrics

_PAYLOADS_PATH: Final = "/api/payloads"
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what it means, not a use


def build_metrics(settings: Settings) -> Metrics | None:
    """Make the metrics of an API process, unless they are switched off."""
    if not settings.server.metrics:
        return None
    from conductor_py.api.metrics import Metrics

    return Metrics()


def build_engine(
    settings: Settings,
    *,
    server: str,
    serves_all_shards: bool = False,
    metrics: Metrics | None = None,
    evaluates_long_scripts: bool = False,
) -> Engine:
    """Build the engine of one process.

    ``server`` names the server that the process belongs to: processes of one name share its shards.
    With ``serves_all_shards`` it holds none, and sweeps those of all live servers. ``metrics``
    counts what its stores answer. Scripts that take long are left to the engines that are built
    with ``evaluates_long_scripts``. Raises ConfigurationError for what cannot be had.
    """
    from conductor_py.testing.bench import MemoryBench

    registry, ports = _ports(settings, metrics)
    listeners = listeners_of(settings)
    return assemble(
        ports,
        _shards(settings, registry, server, serves_all=serves_all_shards),
        version=version(),
        limits=Limits(
            attempts=settings.limits.decision_attempts,
            depth=settings.limits.sub_workflow_depth,
            lost=settings.app.worker_lost_limit,
            messages=settings.messages.queue_length if settings.messages.enabled else 0,
            message_batch=settings.messages.batch,
            message_ttl_ms=settings.messages.ttl_ms,
            task_notices=listeners.of_tasks,
            workflow_notices=listeners.of_workflows,
        ),
        payload_limits=_payload_limits(settings),
        partitions=settings.redis.partitions,
        lease_ms=settings.app.lock_lease_ms,
        remove_after_ms=settings.index.archive_delay_s * 1000,
        sweep_batch=settings.sweeper.batch,
        relay_batch=settings.effects.batch,
        relay_lease_ms=settings.effects.lease_ms,
        retention_ms=settings.index.retention_ms,
        active_worker_ms=settings.app.active_worker_ms,
        message_bytes=settings.messages.message_bytes,
        task_bounds=TaskBounds(
            poll_bytes=settings.limits.poll_bytes,
            log_lines=settings.app.task_log_limit,
            keep_logs=settings.index.task_logs,
        ),
        index_tasks=settings.index.tasks,
        run_history=RunHistory(
            keep=settings.scheduler.kept_records,
            trim_above=max(settings.scheduler.kept_records, settings.scheduler.record_threshold),
        ),
        schedule_batch=settings.scheduler.batch,
        schedule_lease_ms=settings.scheduler.lease_ms,
        enqueue=_enqueue(settings),
        bench=MemoryBench,
        listeners=listeners,
        give_up_ms=settings.listeners.give_up_ms,
        waits_for_scripts=False,
        evaluates_long_scripts=evaluates_long_scripts,
    )


def build_application(
    settings: Settings,
    engine: Engine,
    *,
    stop: threading.Event,
    instance: str,
    metrics: Metrics | None = None,
) -> Flask:
    """Build the HTTP front of an engine.

    ``stop`` ends long polls, ``instance`` is in errors, ``metrics`` are served.
    """
    from conductor_py.api.app import create_app
    from conductor_py.decider.expressions import check

    limits = settings.limits
    served = _file_payloads(settings) if settings.payload_storage.type == "files" else None
    application = create_app(
        engine,
        served_payloads=served,
        check_expressions=check,
        stop=stop,
        instance=instance,
        max_body_bytes=settings.server.body_bytes,
        max_depth=limits.json_depth,
        max_poll_count=limits.poll_tasks,
        max_poll_ms=settings.server.long_poll_limit_ms,
        max_results=limits.search_results,
        max_wait_ms=settings.server.wait_limit_ms,
        max_tasks=limits.tasks_per_definition,
        owner_email_mandatory=settings.app.owner_email_mandatory,
        restrict_names=settings.app.validate_names,
        metrics=metrics.write if metrics is not None else None,
        config=shown(settings),
        time_zone=_time_zone(settings),
    )
    if metrics is not None:
        metrics.observe(application)
        metrics.show_queues(lambda: engine.tasks.queue_sizes(None))
        metrics.show_schedules(engine.schedules.counts)
        metrics.show_events(engine.events.counts)
    if settings.server.ui:
        from conductor_py.ui import create_ui

        application.register_blueprint(create_ui(engine))
    return application


def check_redis(settings: Settings) -> tuple[str, ...]:
    """Ask Redis what it is, and return what is not as it should be.

    Raises ConfigurationError when it is too old, may forget data, or holds this namespace with
    another number of partitions; ``StoreUnavailable`` when it does not answer.
    """
    from conductor_py.adapters.redis.keys import Namespace
    from conductor_py.adapters.redis.partitions import fix_partitions

    connection = _connection(settings)
    try:
        _, warnings = connection.check()
        fix_partitions(connection, Namespace(settings.redis.namespace, settings.redis.partitions))
        return warnings
    finally:
        connection.close()


def release_shards(settings: Settings, server: str) -> None:
    """Give back the shards of a server that ended in order; one that is away is not waited for."""
    from conductor_py.adapters.redis.keys import Namespace
    from conductor_py.adapters.redis.scripts import Scripts
    from conductor_py.adapters.redis.shards import RedisShardRegistry

    connection = _connection(settings)
    namespace = Namespace(settings.redis.namespace, settings.redis.partitions)
    with suppress(StoreUnavailable):
        RedisShardRegistry(Scripts(connection, namespace)).release(server)
    connection.close()


def run_effects(settings: Settings, engine: Engine) -> None:
    """Carry out effects until SIGTERM or SIGINT; only on the main thread."""
    from conductor_py.adapters.rq.worker import work

    work(effects_url(settings), namespace=settings.redis.namespace, handler=engine.effects.run)


def redis_url(settings: Settings) -> str:
    """Write where the engine's Redis is; it may hold a password."""
    redis = settings.redis
    if redis.socket:
        return f"unix://{quote(redis.socket)}?db={redis.database}"
    if not redis.hosts:
        raise ConfigurationError(
            "no Redis is named: set conductor.redis.hosts, or run conductor-py server, which "
            "brings its own"
        )
    host = redis.hosts[0]
    scheme = "rediss" if redis.ssl else "redis"
    return f"{scheme}://{_credentials(redis.user, host)}{host.host}:{host.port}/{redis.database}"


def effects_url(settings: Settings) -> str:
    """Write where the job queue is: a Redis of its own, or the engine's."""
    return settings.effects.redis_url or redis_url(settings)


@cache
def version() -> str:
    """Return the version of this software."""
    try:
        return installed_version("conductor-py")
    except PackageNotFoundError:
        return "0"


def data_directory(settings: Settings) -> Path:
    """Return where this machine keeps what it keeps."""
    return Path(settings.data.directory).absolute()


def _credentials(user: str, host: RedisHost) -> str:
    if not (user or host.password):
        return ""
    return f"{quote(user, safe='')}:{quote(host.password, safe='')}@"


def _connection(settings: Settings) -> Connection:
    from conductor_py.adapters.redis.connection import Connection

    return Connection(
        redis_url(settings), socket_timeout_s=settings.redis.command_timeout_ms / 1000
    )


# long: one flat list of adapters, each named once
def _ports(settings: Settings, metrics: Metrics | None) -> tuple[ShardRegistry, Ports]:
    from conductor_py.adapters.quickjs import QuickJsScripts
    from conductor_py.adapters.redis.cache import RedisOutputCache
    from conductor_py.adapters.redis.counted import CountedExecutionStore, CountedTaskQueues
    from conductor_py.adapters.redis.events import RedisEventStore
    from conductor_py.adapters.redis.keys import Namespace
    from conductor_py.adapters.redis.metadata import RedisMetadataStore
    from conductor_py.adapters.redis.outbox import RedisOutbox
    from conductor_py.adapters.redis.plans import RedisPlanStore
    from conductor_py.adapters.redis.queues import RedisTaskQueues
    from conductor_py.adapters.redis.reader import RedisExecutionReader
    from conductor_py.adapters.redis.schedules import RedisScheduleStore
    from conductor_py.adapters.redis.scripts import Scripts
    from conductor_py.adapters.redis.shards import RedisShardRegistry
    from conductor_py.adapters.redis.store import RedisExecutionStore
    from conductor_py.adapters.redis.timers import RedisTimers
    from conductor_py.adapters.redis.wakeups import RedisWakeups

    connection = _connection(settings)
    namespace = Namespace(settings.redis.namespace, settings.redis.partitions)
    scripts = Scripts(connection, namespace)
    take_lease = settings.lock.type == "redis"
    fencing, key_ttl_ms = settings.app.fencing, settings.idempotency.key_ttl_ms
    store, queues = (
        (
            RedisExecutionStore(
                scripts, fencing=fencing, take_lease=take_lease, idempotency_ms=key_ttl_ms
            ),
            RedisTaskQueues(scripts),
        )
        if metrics is None
        else (
            CountedExecutionStore(
                scripts,
                metrics.count,
                fencing=fencing,
                take_lease=take_lease,
                idempotency_ms=key_ttl_ms,
            ),
            CountedTaskQueues(scripts, metrics.count),
        )
    )
    ports = Ports(
        store=store,
        reader=RedisExecutionReader(scripts),
        queues=queues,
        timers=RedisTimers(scripts, take_lease=take_lease),
        outbox=RedisOutbox(scripts),
        metadata=RedisMetadataStore(scripts),
        events=RedisEventStore(scripts),
        plans=RedisPlanStore(scripts),
        wakeups=RedisWakeups(connection, namespace),
        payloads=_payloads(settings),
        sinks=sinks_of(settings),
        webhook=webhook_of(settings),
        search=_search(settings),
        schedules=RedisScheduleStore(scripts),
        secrets=_values(settings.secrets.type, settings.secrets.prefix),
        environment=_values(settings.secrets.environment_type, settings.secrets.environment_prefix),
        cache=RedisOutputCache(
            scripts,
            CacheBounds(
                entries=settings.cache.entries,
                entry_bytes=settings.cache.entry_bytes,
                ttl_ms=settings.cache.ttl_limit_ms,
            ),
        ),
        scripts=QuickJsScripts(
            workers=settings.scripts.workers,
            long_workers=settings.scripts.long_workers,
            time_limit_ms=settings.scripts.time_limit_ms,
            memory_bytes=settings.scripts.memory_bytes,
            result_bytes=settings.scripts.result_bytes,
            queue_limit=settings.scripts.queue_limit,
            queue_wait_ms=settings.scripts.queue_wait_ms,
        ),
    )
    return RedisShardRegistry(scripts), ports


def _values(kind: str, prefix: str) -> NamedValues:
    from conductor_py.adapters.environment.values import NO_VALUES, EnvironmentValues

    return EnvironmentValues(os.environ, prefix) if kind == "env" else NO_VALUES


def _enqueue(settings: Settings) -> Callable[[int, Sequence[str]], None]:
    """Reach the job queue when there is a first effect: most processes never hand one on."""
    url = effects_url(settings)

    @cache
    def queue() -> EffectQueue:
        from conductor_py.adapters.rq.queue import RqEffectQueue

        return RqEffectQueue(
            url, namespace=settings.redis.namespace, lease_ms=settings.effects.lease_ms
        )

    return lambda partition, ids: queue().enqueue(partition, ids)


def _payloads(settings: Settings) -> Payloads:
    storage = settings.payload_storage
    if storage.type == "files":
        return _file_payloads(settings)
    from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings

    return S3Payloads(
        S3Settings(
            bucket=storage.bucket,
            region=storage.region,
            endpoint=storage.endpoint or None,
            access_key=storage.access_key or None,
            secret_key=storage.secret_key or None,
            expiry_ms=storage.url_ttl_ms,
        )
    )


def _file_payloads(settings: Settings) -> FilePayloads:
    from conductor_py.adapters.files.payloads import FilePayloads

    server = settings.server
    host = "127.0.0.1" if server.host in _EVERYWHERE else server.host
    public = server.public_url or f"http://{f'[{host}]' if ':' in host else host}:{server.port}"
    return FilePayloads(
        data_directory(settings) / "payloads",
        base_url=public.rstrip("/") + _PAYLOADS_PATH,
        now_ms=_now_ms,
        expiry_ms=settings.payload_storage.url_ttl_ms,
    )


def _search(settings: Settings) -> Search:
    index = settings.index
    if index.type == "sqlite":
        from conductor_py.adapters.sqlite.search import SqliteSearch

        return SqliteSearch(data_directory(settings) / "search.sqlite3")
    from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
    from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch

    return ElasticsearchSearch(
        ElasticsearchSettings(
            urls=tuple(url.strip() for url in index.url.split(",") if url.strip()),
            prefix=index.prefix,
            shards=index.shards,
            replicas=index.replicas,
            manage=index.manage,
            refresh_ms=index.refresh_ms,
            wait_for_refresh=index.wait_for_refresh,
            batch=index.batch,
            username=index.username or None,
            password=index.password or None,
        )
    )


def _shards(
    settings: Settings, registry: ShardRegistry, server: str, *, serves_all: bool
) -> Shards:
    redis = settings.redis
    return Shards(
        registry,
        server,
        strategy=redis.sharding_strategy,
        names=redis.shards or _racks(settings),
        serves_all=serves_all,
        lease_ms=redis.shard_lease_ms,
    )


def _racks(settings: Settings) -> tuple[str, ...]:
    """Several racks are named and one is near: its name is the shard's."""
    racks = {host.rack for host in settings.redis.hosts if host.rack}
    zone = settings.redis.availability_zone
    return (zone,) if len(racks) > 1 and zone in racks else ()


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
    )


def _time_zone(settings: Settings) -> str:
    try:
        zone_of(settings.scheduler.time_zone)
    except ValueError as unknown:
        raise ConfigurationError(f"conductor.scheduler.schedulerTimeZone: {unknown}") from unknown
    return settings.scheduler.time_zone


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

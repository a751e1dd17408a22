"""The engine's Redis: where it is, whether it may be used, and the stores of executions in it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from conductor_py.config import RedisHost, Settings
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.ports.output_cache import CacheBounds, OutputCache
from conductor_py.ports.queues import TaskQueues
from conductor_py.ports.store import ExecutionStore

if TYPE_CHECKING:
    from conductor_py.adapters.redis.connection import Connection
    from conductor_py.adapters.redis.keys import Namespace
    from conductor_py.adapters.redis.scripts import Scripts
    from conductor_py.adapters.redis.sentinel import Watched
    from conductor_py.api.metrics import Metrics


def redis_url(settings: Settings) -> str:
    """Write where the engine's Redis is; it may hold a password. Of a cluster it is one node."""
    redis = settings.redis
    if redis.socket:
        return f"unix://{quote(redis.socket)}?db={redis.database}"
    if not redis.hosts:
        raise ConfigurationError(
            "no Redis is named: set conductor.redis.hosts, or run conductor-py server, which "
            "brings its own"
        )
    if redis.type == "redis_sentinel":
        return _watched(settings).url
    host = redis.hosts[0]
    where = f"{_credentials(redis.user, host)}{host.host}:{host.port}/{redis.database}"
    if not redis.ssl:
        return f"redis://{where}"
    from conductor_py.adapters.redis.connection import with_tls

    return with_tls(where, redis.ca_file)


def check_redis(settings: Settings) -> tuple[str, ...]:
    """Ask Redis what it is, and return what is not as it should be.

    Raises ConfigurationError when it is too old, may forget data, wants another password, or holds
    this namespace with another number of partitions; ``StoreUnavailable`` when it does not answer.
    """
    from conductor_py.adapters.redis.partitions import fix_partitions, partition_warnings

    connection = connect(settings)
    try:
        _, warnings = described(connection)
        namespace = namespace_of(settings)
        fix_partitions(connection, namespace)
        return (*warnings, *partition_warnings(connection, namespace))
    finally:
        connection.close()


def described(connection: Connection) -> tuple[str, tuple[str, ...]]:
    """Read the version of a Redis and what is not as it should be (``ConfigurationError``,
    ``StoreUnavailable``).
    """
    from redis.exceptions import AuthenticationError

    try:
        return connection.check()
    except StoreUnavailable as away:
        if isinstance(away.__cause__, AuthenticationError):
            raise ConfigurationError(
                f"Redis refuses who asks ({away.__cause__}): name the password in "
                "conductor.redis.hosts, as host:port:rack:password"
            ) from away
        raise


def release_shards(settings: Settings, server: str) -> None:
    """Give back the shards of a server that ended in order; one that is away is not waited for."""
    from conductor_py.adapters.redis.scripts import Scripts
    from conductor_py.adapters.redis.shards import RedisShardRegistry

    connection = connect(settings)
    namespace = namespace_of(settings)
    with suppress(StoreUnavailable):
        RedisShardRegistry(Scripts(connection, namespace)).release(server)
    connection.close()


def connect(settings: Settings) -> Connection:
    """Make the connection to the engine's Redis, cluster or primary; nothing is sent yet."""
    redis, timeout_s = settings.redis, settings.redis.command_timeout_ms / 1000
    if redis.type == "redis_cluster":
        from conductor_py.adapters.redis.cluster import ClusterConnection

        return ClusterConnection(
            redis_url(settings),
            tuple((host.host, host.port) for host in redis.hosts),
            home=namespace_of(settings).prefixes[0],
            socket_timeout_s=timeout_s,
            patience_s=timeout_s,
        )
    if redis.type == "redis_sentinel":
        from conductor_py.adapters.redis.sentinel import SentinelConnection

        return SentinelConnection(
            _watched(settings), socket_timeout_s=timeout_s, patience_s=timeout_s
        )
    from conductor_py.adapters.redis.connection import Connection

    return Connection(redis_url(settings), socket_timeout_s=timeout_s)


def namespace_of(settings: Settings) -> Namespace:
    """Say what the keys of this deployment begin with."""
    from conductor_py.adapters.redis.keys import Namespace

    return Namespace(settings.redis.namespace, settings.redis.partitions)


def stores_of(
    settings: Settings, scripts: Scripts, metrics: Metrics | None
) -> tuple[ExecutionStore, TaskQueues]:
    """Make the store of executions and its queues; what they answer is counted when there are
    metrics.
    """
    from conductor_py.adapters.redis.counted import CountedExecutionStore, CountedTaskQueues
    from conductor_py.adapters.redis.queues import RedisTaskQueues
    from conductor_py.adapters.redis.store import RedisExecutionStore

    take_lease = settings.lock.type == "redis"
    fencing, key_ttl_ms = settings.app.fencing, settings.idempotency.key_ttl_ms
    if metrics is None:
        store = RedisExecutionStore(
            scripts, fencing=fencing, take_lease=take_lease, idempotency_ms=key_ttl_ms
        )
        return store, RedisTaskQueues(scripts)
    counted = CountedExecutionStore(
        scripts,
        metrics.count,
        fencing=fencing,
        take_lease=take_lease,
        idempotency_ms=key_ttl_ms,
    )
    return counted, CountedTaskQueues(scripts, metrics.count)


def cache_of(settings: Settings, scripts: Scripts) -> OutputCache:
    """Make the cache of task outputs."""
    from conductor_py.adapters.redis.cache import RedisOutputCache

    cache = settings.cache
    bounds = CacheBounds(
        entries=cache.entries, entry_bytes=cache.entry_bytes, ttl_ms=cache.ttl_limit_ms
    )
    return RedisOutputCache(scripts, bounds)


def _watched(settings: Settings) -> Watched:
    from conductor_py.adapters.redis.sentinel import Watched

    redis = settings.redis
    return Watched(
        sentinels=tuple((host.host, host.port) for host in redis.hosts),
        master=redis.sentinel_master,
        user=redis.user,
        password=next((host.password for host in redis.hosts if host.password), ""),
        sentinel_password=redis.sentinel_password,
        database=redis.database,
        ssl=redis.ssl,
        ca_file=redis.ca_file,
    )


def _credentials(user: str, host: RedisHost) -> str:
    if not (user or host.password):
        return ""
    return f"{quote(user, safe='')}:{quote(host.password, safe='')}@"

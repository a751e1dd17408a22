"""Servers over several partitions: in memory, or over the scripts of a real Redis or cluster."""

from dataclasses import replace

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.cache import RedisOutputCache
from conductor_py.adapters.redis.checkpoints import RedisCheckpoints
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.damage import RedisDamage
from conductor_py.adapters.redis.events import RedisEventStore
from conductor_py.adapters.redis.inspector import RedisInspector
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.metadata import RedisMetadataStore
from conductor_py.adapters.redis.outbox import RedisOutbox
from conductor_py.adapters.redis.payload_holders import RedisPayloadHolders
from conductor_py.adapters.redis.permits import RedisPermits
from conductor_py.adapters.redis.plans import RedisPlanStore
from conductor_py.adapters.redis.presence import RedisPresence
from conductor_py.adapters.redis.quarantine import RedisQuarantine
from conductor_py.adapters.redis.queues import RedisTaskQueues
from conductor_py.adapters.redis.reader import RedisExecutionReader
from conductor_py.adapters.redis.schedules import RedisScheduleStore
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.shards import RedisShardRegistry
from conductor_py.adapters.redis.store import RedisExecutionStore
from conductor_py.adapters.redis.timers import RedisTimers
from conductor_py.adapters.redis.touched import RedisTouchedTasks
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.adapters.redis.worker_numbers import RedisWorkerNumbers
from conductor_py.decider.workspace import Limits
from conductor_py.engine.assembly import assemble
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.port_set import Ports
from conductor_py.engine.shards import Shards
from conductor_py.testing import FakeClock, MemoryEngine
from conductor_py.testing.adapters import memory_ports


def ports_over(connection: Connection, partitions: int, clock: FakeClock) -> Ports:
    """Everything of Redis in Redis, the rest in memory."""
    namespace = Namespace("test", partitions)
    scripts = Scripts(connection, namespace, clock=clock)
    return replace(
        memory_ports(MemorySpace(partitions, clock)),
        store=RedisExecutionStore(scripts),
        reader=RedisExecutionReader(scripts),
        queues=RedisTaskQueues(scripts),
        permits=RedisPermits(scripts),
        timers=RedisTimers(scripts),
        outbox=RedisOutbox(scripts),
        touched=RedisTouchedTasks(scripts),
        metadata=RedisMetadataStore(scripts),
        events=RedisEventStore(scripts),
        plans=RedisPlanStore(scripts),
        wakeups=RedisWakeups(connection, namespace),
        schedules=RedisScheduleStore(scripts),
        inspector=RedisInspector(scripts),
        quarantine=RedisQuarantine(scripts),
        damage=RedisDamage(scripts),
        checkpoints=RedisCheckpoints(scripts),
        numbers=RedisWorkerNumbers(scripts),
        cache=RedisOutputCache(scripts),
        presence=RedisPresence(scripts),
        payload_holders=RedisPayloadHolders(scripts),
    )


def engine_over(
    ports: Ports,
    connection: Connection,
    partitions: int,
    clock: FakeClock,
    server: str = "one",
    *,
    limits: Limits | None = None,
) -> MemoryEngine:
    """A server over these ports."""
    scripts = Scripts(connection, Namespace("test", partitions), clock=clock)
    engine = assemble(
        ports,
        Shards(RedisShardRegistry(scripts), server, monotonic=clock.monotonic),
        version="test",
        limits=limits or Limits(),
        payload_limits=PayloadLimits(),
        monotonic=clock.monotonic,
        partitions=partitions,
        remove_after_ms=60_000,
    )
    return MemoryEngine(engine, clock, ports)

"""A memory adapter behind every port of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conductor_py.adapters.environment.values import EnvironmentValues
from conductor_py.adapters.memory.cache import MemoryOutputCache
from conductor_py.adapters.memory.catalog import MemoryCatalogStore
from conductor_py.adapters.memory.checkpoints import MemoryCheckpoints
from conductor_py.adapters.memory.damage import MemoryDamage
from conductor_py.adapters.memory.events import MemoryEventStore
from conductor_py.adapters.memory.inspector import MemoryInspector
from conductor_py.adapters.memory.metadata import MemoryMetadataStore
from conductor_py.adapters.memory.outbox import MemoryOutbox
from conductor_py.adapters.memory.payload_holders import MemoryPayloadHolders
from conductor_py.adapters.memory.payloads import MemoryPayloads
from conductor_py.adapters.memory.permits import MemoryPermits
from conductor_py.adapters.memory.plans import MemoryPlanStore
from conductor_py.adapters.memory.presence import MemoryPresence
from conductor_py.adapters.memory.quarantine import MemoryQuarantine
from conductor_py.adapters.memory.queues import MemoryTaskQueues
from conductor_py.adapters.memory.reader import MemoryExecutionReader
from conductor_py.adapters.memory.schedules import MemoryScheduleStore
from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.adapters.memory.timers import MemoryTimers
from conductor_py.adapters.memory.touched import MemoryTouchedTasks
from conductor_py.adapters.memory.wakeups import MemoryWakeups
from conductor_py.adapters.memory.worker_numbers import MemoryWorkerNumbers
from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.engine.port_set import FilePorts, Ports
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.events import Sink, Webhook
from conductor_py.ports.lock import Lock
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.shards import ShardRegistry
from conductor_py.ports.store import ExecutionStore


def memory_ports(
    space: MemorySpace,
    *,
    fencing: bool = True,
    store: ExecutionStore | None = None,
    metadata: MetadataStore | None = None,
    catalog: CatalogStore | None = None,
    scripts: Scripts | None = None,
    payloads: Payloads | None = None,
    values: Mapping[str, str] = MappingProxyType({}),
    sinks: Mapping[str, Sink] = MappingProxyType({}),
    webhook: Webhook | None = None,
    files: FilePorts | None = None,
    lock: Lock | None = None,
    take_lease: bool = True,
) -> Ports:
    """Put a memory adapter behind every port; index and payloads are new unless they are given,
    the rest is in ``space``.
    """
    flags: dict[str, Any] = {} if take_lease and lock is None else {"take_lease": False}
    return Ports(
        store=store or MemoryExecutionStore(space, fencing=fencing, **flags),
        reader=MemoryExecutionReader(space),
        queues=MemoryTaskQueues(space),
        permits=MemoryPermits(space),
        timers=MemoryTimers(space, **flags),
        outbox=MemoryOutbox(space),
        touched=MemoryTouchedTasks(space),
        metadata=metadata or MemoryMetadataStore(space),
        catalog=catalog or MemoryCatalogStore(space),
        events=MemoryEventStore(space),
        plans=MemoryPlanStore(space),
        wakeups=MemoryWakeups(space),
        payloads=payloads or MemoryPayloads(now_ms=space.clock),
        payload_holders=MemoryPayloadHolders(space),
        search=MemorySearch(),
        schedules=MemoryScheduleStore(space),
        inspector=MemoryInspector(space),
        damage=MemoryDamage(space),
        quarantine=MemoryQuarantine(space, **flags),
        checkpoints=MemoryCheckpoints(space),
        numbers=MemoryWorkerNumbers(space),
        scripts=scripts or QuickJsScripts(),
        secrets=EnvironmentValues(values, "SECRET_"),
        environment=EnvironmentValues(values, "ENV_"),
        cache=MemoryOutputCache(space),
        presence=MemoryPresence(space),
        sinks=sinks,
        webhook=webhook,
        files=files,
        lock=lock,
    )


def memory_registry(space: MemorySpace) -> ShardRegistry:
    """Make the registry of the servers over ``space``."""
    return MemoryShardRegistry(space)

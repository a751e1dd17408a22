"""All ports of one store under one manual clock, and short words for what tests say to them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conductor_py.adapters.memory.catalog import MemoryCatalogStore
from conductor_py.adapters.memory.checkpoints import MemoryCheckpoints
from conductor_py.adapters.memory.damage import MemoryDamage
from conductor_py.adapters.memory.events import MemoryEventStore
from conductor_py.adapters.memory.inspector import MemoryInspector
from conductor_py.adapters.memory.metadata import MemoryMetadataStore
from conductor_py.adapters.memory.outbox import MemoryOutbox
from conductor_py.adapters.memory.payload_holders import MemoryPayloadHolders
from conductor_py.adapters.memory.permits import MemoryPermits
from conductor_py.adapters.memory.plans import MemoryPlanStore
from conductor_py.adapters.memory.presence import MemoryPresence
from conductor_py.adapters.memory.quarantine import MemoryQuarantine
from conductor_py.adapters.memory.queues import MemoryTaskQueues
from conductor_py.adapters.memory.reader import MemoryExecutionReader
from conductor_py.adapters.memory.schedules import MemoryScheduleStore
from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.adapters.memory.timers import MemoryTimers
from conductor_py.adapters.memory.touched import MemoryTouchedTasks
from conductor_py.adapters.memory.wakeups import MemoryWakeups
from conductor_py.adapters.memory.worker_numbers import MemoryWorkerNumbers
from conductor_py.adapters.redis.catalog import RedisCatalogStore
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
from conductor_py.codec.event import digest_of
from conductor_py.model.ids import ExecutionId, execution_id
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.checkpoints import CheckpointBounds, CheckpointStore
from conductor_py.ports.damage import DamageStore
from conductor_py.ports.events import EventStore
from conductor_py.ports.inspector import Inspector
from conductor_py.ports.metadata import MetadataStore, PlanStore
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.payload_holders import PayloadHolders
from conductor_py.ports.permits import Permits
from conductor_py.ports.presence import Presence
from conductor_py.ports.quarantine import QuarantineStore
from conductor_py.ports.queues import Claimed, Poll, TaskQueues
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.schedules import ScheduleStore
from conductor_py.ports.shards import ShardRegistry
from conductor_py.ports.store import (
    Changes,
    Commit,
    CommitReply,
    ExecutionStore,
    Loaded,
    Offer,
    Outcome,
    Report,
    ReportReply,
    Start,
    StartReply,
)
from conductor_py.ports.timers import Timers
from conductor_py.ports.touched import TouchedTasks
from conductor_py.ports.wakeups import Wakeups
from conductor_py.ports.worker_numbers import WorkerNumbers
from tests.waiting import PATIENCE_S

NOW = 1_700_000_000_000
LEASE_MS = 3_000
RESPONSE_MS = 60_000
CHECKPOINT_BOUNDS = CheckpointBounds(
    notes=6, note_bytes=200, parts=3, savepoints=2, places=2, bytes=2_000
)


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now_ms = NOW

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, ms: int) -> None:
        self.now_ms += ms


@dataclass(slots=True, kw_only=True)
class Store:
    """Every port of one store; `keys` lists what it keeps, `again` builds it with other flags."""

    clock: Clock
    executions: ExecutionStore
    reader: ExecutionReader
    queues: TaskQueues
    permits: Permits
    timers: Timers
    outbox: Outbox
    touched: TouchedTasks
    metadata: MetadataStore
    catalog: CatalogStore
    events: EventStore
    plans: PlanStore
    shards: ShardRegistry
    presence: Presence
    payload_holders: PayloadHolders
    inspector: Inspector
    quarantine: QuarantineStore
    damage: DamageStore
    checkpoints: CheckpointStore
    numbers: WorkerNumbers
    schedules: ScheduleStore
    wakeups: Wakeups
    keys: Callable[[], object]
    again: Callable[[bool, bool], "Store"]
    connection: Connection | None = None
    operations: int = field(default=0)

    def operation(self) -> str:
        """An operation id that nobody used."""
        self.operations += 1
        return f"op{self.operations}"

    def start(self, execution: ExecutionId, changes: Changes, **more: Any) -> StartReply:
        """Start an execution of the workflow `wf` at home in s0."""
        start = Start(
            execution=execution,
            operation=more.pop("operation", None) or self.operation(),
            home="s0",
            name="wf",
            now_ms=self.clock.now_ms,
            changes=changes,
        )
        return self.executions.start(replace(start, **more))

    def poll(self, queue: str = "task", **more: Any) -> tuple[Claimed, ...]:
        """Ask for up to ten attempts as worker w."""
        return self.queues.poll(0, replace(a_poll(queue), **more)).claimed

    def report(self, execution: ExecutionId, seq: int, claim: int, **more: Any) -> ReportReply:
        """Report a result as worker w and decider d."""
        report = Report(
            execution=execution,
            seq=seq,
            claim=claim,
            worker="w",
            final=True,
            event=f'{seq} {{"t":"result"}}'.encode(),
            output=b'{"r":1}',
            holder="d",
            lease_ms=LEASE_MS,
        )
        return self.executions.report(replace(report, **more))

    def commit(self, loaded: Loaded, changes: Changes, **more: Any) -> CommitReply:
        """Commit all events of what was loaded, as decider d."""
        commit = Commit(
            execution=loaded.execution,
            operation=more.pop("operation", None) or self.operation(),
            version=loaded.version,
            home="s0",
            name="wf",
            first_event=loaded.first_event,
            consumed=loaded.first_event + len(loaded.events) - 1,
            seen=digest_of(loaded.events),
            changes=changes,
            holder="d",
            lease_ms=LEASE_MS,
        )
        return self.executions.commit(replace(commit, **more))

    def started(self, number: int = 1, count: int = 1, **state: Any) -> ExecutionId:
        """Start an execution whose attempts 1..count wait in the queue of s0."""
        execution = an_id(number)
        reply = self.start(execution, offering(count, **state))
        assert reply.outcome is Outcome.OK
        return execution

    def sent(self, execution: ExecutionId, event: bytes = b'{"t":"signal"}') -> Loaded:
        """Send an event and win the lease."""
        reply = self.executions.send(execution, self.operation(), event, "d", LEASE_MS)
        assert reply.loaded is not None
        return reply.loaded


def a_poll(queue: str = "task") -> Poll:
    """A poll of shard s0."""
    return Poll(queue=queue, shards=("s0",), worker="w", count=10)


def an_id(number: int, partition: int = 0) -> ExecutionId:
    """The id of a test's n-th execution."""
    return execution_id(partition, f"{number:029x}")


def header(**more: Any) -> bytes:
    """A hot header."""
    return json.dumps({"plan": "p1", "home": "s0", "name": "wf", "first_seq": 1, **more}).encode()


def attempt(**more: Any) -> bytes:
    """The state of an open attempt of the task definition `task`."""
    state = {
        "ref": "t1",
        "it": "",
        "st": "SCHEDULED",
        "gen": 1,
        "def": "task",
        "plan": "p1",
        "q": "task",
        "sh": "s0",
        "score": 100,
        "rt": RESPONSE_MS,
        "tt": 0,
        "deadline": 0,
        "lim": 0,
        "rl": 0,
        "rw": 0,
    }
    return json.dumps({**state, **more}).encode()


def running(**more: Any) -> Changes:
    """Changes that leave an execution running in its first generation."""
    return replace(
        Changes(status="RUNNING", terminal=False, generation=1, fields={"h": header()}), **more
    )


def completed(**more: Any) -> Changes:
    """Changes that end an execution."""
    return replace(running(), status="COMPLETED", terminal=True, **more)


def offering(count: int = 1, **state: Any) -> Changes:
    """Changes that create and offer attempts 1..count."""
    fields = {"h": header()}
    for seq in range(1, count + 1):
        fields[f"a:{seq}"] = attempt(**{"score": 100 + seq, **state})
        fields[f"i:{seq}"] = b'{"in":%d}' % seq
    offers = tuple(
        Offer(seq=seq, queue="task", shard="s0", score=100 + seq) for seq in range(1, count + 1)
    )
    return running(fields=fields, offers=offers)


def memory_store(clock: Clock, partitions: int = 1) -> Store:
    """The reference."""
    space = MemorySpace(partitions, clock)

    def build(fencing: bool, take_lease: bool) -> Store:
        return Store(
            clock=clock,
            executions=MemoryExecutionStore(space, fencing=fencing, take_lease=take_lease),
            reader=MemoryExecutionReader(space),
            queues=MemoryTaskQueues(space),
            permits=MemoryPermits(space),
            timers=MemoryTimers(space, take_lease=take_lease),
            outbox=MemoryOutbox(space),
            touched=MemoryTouchedTasks(space),
            metadata=MemoryMetadataStore(space),
            catalog=MemoryCatalogStore(space),
            events=MemoryEventStore(space),
            plans=MemoryPlanStore(space),
            shards=MemoryShardRegistry(space),
            presence=MemoryPresence(space),
            payload_holders=MemoryPayloadHolders(space),
            inspector=MemoryInspector(space),
            quarantine=MemoryQuarantine(space, take_lease=take_lease),
            damage=MemoryDamage(space),
            checkpoints=MemoryCheckpoints(space, CHECKPOINT_BOUNDS),
            numbers=MemoryWorkerNumbers(space),
            schedules=MemoryScheduleStore(space),
            wakeups=MemoryWakeups(space),
            keys=lambda: _memory_keys(space),
            again=build,
        )

    return build(True, True)


def _memory_keys(space: MemorySpace) -> object:
    return [
        (
            sorted(partition.executions),
            sorted(partition.effects),
            *(
                sorted(member for scores in family.values() for member in scores.scores)
                for family in (
                    partition.ready,
                    partition.delayed,
                    partition.timers,
                    partition.permits,
                    partition.running,
                )
            ),
        )
        for partition in space.partitions
    ]


def redis_store(url: str, clock: Clock, partitions: int = 1, first_line: str = "") -> Store:
    """The store on a real server, which is empty."""
    connection = Connection(url, socket_timeout_s=PATIENCE_S)
    return store_over(connection, clock, partitions, (connection,), first_line)


def store_over(
    connection: Connection,
    clock: Clock,
    partitions: int,
    servers: Sequence[Connection],
    first_line: str = "",
) -> Store:
    """The store on a connection; its keys are on these servers."""
    namespace = Namespace("test", partitions)
    scripts = Scripts(connection, namespace, clock=clock, first_line=first_line)

    def build(fencing: bool, take_lease: bool) -> Store:
        return Store(
            clock=clock,
            executions=RedisExecutionStore(scripts, fencing=fencing, take_lease=take_lease),
            reader=RedisExecutionReader(scripts),
            queues=RedisTaskQueues(scripts),
            permits=RedisPermits(scripts),
            timers=RedisTimers(scripts, take_lease=take_lease),
            outbox=RedisOutbox(scripts),
            touched=RedisTouchedTasks(scripts),
            metadata=RedisMetadataStore(scripts),
            catalog=RedisCatalogStore(scripts),
            events=RedisEventStore(scripts),
            plans=RedisPlanStore(scripts),
            shards=RedisShardRegistry(scripts),
            presence=RedisPresence(scripts),
            payload_holders=RedisPayloadHolders(scripts),
            inspector=RedisInspector(scripts),
            quarantine=RedisQuarantine(scripts, take_lease=take_lease),
            damage=RedisDamage(scripts),
            checkpoints=RedisCheckpoints(scripts, CHECKPOINT_BOUNDS),
            numbers=RedisWorkerNumbers(scripts),
            schedules=RedisScheduleStore(scripts),
            wakeups=RedisWakeups(connection, namespace),
            keys=lambda: sorted(key for one in servers for key in one.command("KEYS", "*")),
            again=build,
            connection=connection,
        )

    return build(True, True)

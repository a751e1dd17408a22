# ruff: noqa: ANN401 - the verbs pass any attribute of the requests on
"""A whole engine over memory adapters, for tests of workflows and of the engine itself.

Nothing runs by itself: ``settle`` does what the background processes would do, for the time the
fake clock shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from conductor_py.adapters.environment.values import EnvironmentValues
from conductor_py.adapters.memory.cache import MemoryOutputCache
from conductor_py.adapters.memory.catalog import MemoryCatalogStore
from conductor_py.adapters.memory.checkpoints import MemoryCheckpoints
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
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.audit import AuditRounds
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.files import FilePorts
from conductor_py.engine.notifications import Listeners
from conductor_py.engine.payload_holding import GRACE_MS
from conductor_py.engine.port_set import Ports
from conductor_py.engine.retention import FOREVER
from conductor_py.engine.shards import ROUND_ROBIN, Shards
from conductor_py.engine.trials import MakeBench
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.events import Sink, Webhook
from conductor_py.ports.lock import Lock
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.scripts import Scripts
from conductor_py.testing.clock import FakeClock, FakeMachine


@dataclass(frozen=True, slots=True)
class MemoryEngine:
    """An engine with its clock and its stores, and the short verbs that tests want."""

    engine: Engine
    clock: FakeClock
    ports: Ports

    def start(self, definition: Mapping[str, Any] | str, **request: Any) -> str:
        """Start an inline definition (JSON object) or a registered one (name)."""
        if isinstance(definition, str):
            return self.engine.executions.start(StartRequest(name=definition, **request))
        inline = workflow_from_json(definition)
        return self.engine.executions.start(
            StartRequest(name=inline.name, definition=inline, **request)
        )

    def workflow(self, workflow_id: str) -> dict[str, Any]:
        """Read an execution in wire form."""
        return dict(self.engine.executions.document(workflow_id))

    def statuses(self, workflow_id: str) -> dict[str, str]:
        """The status of the newest attempt by reference name."""
        tasks = self.workflow(workflow_id)["tasks"]
        return {task["referenceTaskName"]: task["status"] for task in tasks}

    def poll(self, task_type: str, count: int = 1, **request: Any) -> list[dict[str, Any]]:
        """Claim tasks without waiting, as ``worker`` unless another one is named."""
        asked = {"timeout_ms": 0, "worker": "worker", **request}
        wanted = PollRequest(task_type=task_type, count=count, **asked)
        return [dict(task) for task in self.engine.tasks.poll(wanted)]

    def complete(
        self, task: Mapping[str, Any], output: JsonObject | None = None, **result: Any
    ) -> None:
        """Report a polled task, COMPLETED unless ``status`` says otherwise."""
        status = TaskStatus(result.pop("status", "COMPLETED"))
        self.engine.tasks.update(
            TaskResult(
                workflow_id=task["workflowInstanceId"],
                task_id=task["taskId"],
                status=status,
                output=output or {},
                worker=result.pop("worker", "worker"),
                **result,
            )
        )

    def run(
        self, task_type: str, output: JsonObject | None = None, **result: Any
    ) -> dict[str, Any]:
        """Poll one task of a type and report it."""
        (task,) = self.poll(task_type)
        self.complete(task, output, **result)
        return task

    def settle(self) -> None:
        """Fire what is due and carry out the effects that are due, until nothing is."""
        engine = self.engine
        while engine.sweeper.tick() + engine.relay.tick() + engine.scheduler.tick():
            pass


def memory_engine(
    *,
    clock: FakeClock | None = None,
    space: MemorySpace | None = None,
    strategy: str = ROUND_ROBIN,
    server: str = "server-1",
    limits: Limits | None = None,
    most_waiting: int = 10_000,
    payload_limits: PayloadLimits | None = None,
    fencing: bool = True,
    metadata: MetadataStore | None = None,
    catalog: CatalogStore | None = None,
    scripts: Scripts | None = None,
    values: Mapping[str, str] = MappingProxyType({}),
    bench: MakeBench | None = None,
    sinks: Mapping[str, Sink] = MappingProxyType({}),
    webhook: Webhook | None = None,
    listeners: Listeners | None = None,
    waits_for_scripts: bool = True,
    evaluates_long_scripts: bool = False,
    files: FilePorts | None = None,
    lock: Lock | None = None,
    lock_wait_ms: int = 0,
    take_lease: bool = True,
    remove_after_ms: int = 60_000,
    retention_ms: int = FOREVER,
    payload_grace_ms: int | None = GRACE_MS,
    index_tasks: bool = True,
    zone: str = "",
) -> MemoryEngine:
    """Make an engine in memory; engines that share ``space`` are servers over one store.

    With a ``lock``, or without ``take_lease``, nobody takes the lease inside the store.

    ``metadata``, ``catalog`` and ``scripts`` replace those of the space; ``bench`` makes places for
    trials. Scripts that take long are left to another engine without ``waits_for_scripts``.
    """
    clock = clock or FakeClock()
    space = space or MemorySpace(clock=clock)
    ports = memory_ports(
        space,
        fencing=fencing,
        metadata=metadata,
        catalog=catalog,
        scripts=scripts,
        values=values,
        sinks=sinks,
        webhook=webhook,
        files=files,
        lock=lock,
        take_lease=take_lease,
    )
    shards = Shards(
        MemoryShardRegistry(space), server, strategy=strategy, monotonic=clock.monotonic
    )
    engine = assemble(
        ports,
        shards,
        version="test",
        limits=limits or Limits(),
        most_waiting=most_waiting,
        payload_limits=payload_limits or PayloadLimits(),
        monotonic=clock.monotonic,
        machine=FakeMachine(clock),
        partitions=len(space.partitions),
        remove_after_ms=remove_after_ms,
        retention_ms=retention_ms,
        payload_grace_ms=payload_grace_ms,
        zone=zone,
        lock_wait_ms=lock_wait_ms,
        fencing=fencing,
        audit_rounds=AuditRounds(pause=_at_once),
        bench=bench,
        listeners=listeners,
        waits_for_scripts=waits_for_scripts,
        evaluates_long_scripts=evaluates_long_scripts,
        index_tasks=index_tasks,
    )
    return MemoryEngine(engine, clock, ports)


def _at_once(_seconds: float) -> None:
    """Nothing moves between two looks unless the test moves it."""


def memory_ports(
    space: MemorySpace,
    *,
    fencing: bool = True,
    metadata: MetadataStore | None = None,
    catalog: CatalogStore | None = None,
    scripts: Scripts | None = None,
    values: Mapping[str, str] = MappingProxyType({}),
    sinks: Mapping[str, Sink] = MappingProxyType({}),
    webhook: Webhook | None = None,
    files: FilePorts | None = None,
    lock: Lock | None = None,
    take_lease: bool = True,
) -> Ports:
    """Put a memory adapter behind every port; index and payloads are new, the rest is in
    ``space``.
    """
    flags: dict[str, Any] = {} if take_lease and lock is None else {"take_lease": False}
    return Ports(
        store=MemoryExecutionStore(space, fencing=fencing, **flags),
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
        payloads=MemoryPayloads(now_ms=space.clock),
        payload_holders=MemoryPayloadHolders(space),
        search=MemorySearch(),
        schedules=MemoryScheduleStore(space),
        inspector=MemoryInspector(space),
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

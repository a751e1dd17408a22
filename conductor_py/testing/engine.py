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
from conductor_py.adapters.memory.events import MemoryEventStore
from conductor_py.adapters.memory.metadata import MemoryMetadataStore
from conductor_py.adapters.memory.outbox import MemoryOutbox
from conductor_py.adapters.memory.payloads import MemoryPayloads
from conductor_py.adapters.memory.plans import MemoryPlanStore
from conductor_py.adapters.memory.queues import MemoryTaskQueues
from conductor_py.adapters.memory.reader import MemoryExecutionReader
from conductor_py.adapters.memory.schedules import MemoryScheduleStore
from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.adapters.memory.timers import MemoryTimers
from conductor_py.adapters.memory.wakeups import MemoryWakeups
from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import Ports, assemble
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.files import FilePorts
from conductor_py.engine.notifications import Listeners
from conductor_py.engine.shards import ROUND_ROBIN, Shards
from conductor_py.engine.trials import MakeBench
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.events import Sink, Webhook
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.scripts import Scripts
from conductor_py.testing.clock import FakeClock


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
        """Claim tasks without waiting."""
        wanted = PollRequest(
            task_type=task_type, count=count, timeout_ms=0, worker="worker", **request
        )
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
    payload_limits: PayloadLimits | None = None,
    fencing: bool = True,
    metadata: MetadataStore | None = None,
    scripts: Scripts | None = None,
    values: Mapping[str, str] = MappingProxyType({}),
    bench: MakeBench | None = None,
    sinks: Mapping[str, Sink] = MappingProxyType({}),
    webhook: Webhook | None = None,
    listeners: Listeners | None = None,
    waits_for_scripts: bool = True,
    evaluates_long_scripts: bool = False,
    files: FilePorts | None = None,
) -> MemoryEngine:
    """Make an engine in memory; engines that share ``space`` are servers over one store.

    ``metadata`` and ``scripts`` replace those of the space; ``bench`` makes places for trials.
    Scripts that take long are left to another engine without ``waits_for_scripts``.
    """
    clock = clock or FakeClock()
    space = space or MemorySpace(clock=clock)
    ports = Ports(
        store=MemoryExecutionStore(space, fencing=fencing),
        reader=MemoryExecutionReader(space),
        queues=MemoryTaskQueues(space),
        timers=MemoryTimers(space),
        outbox=MemoryOutbox(space),
        metadata=metadata or MemoryMetadataStore(space),
        events=MemoryEventStore(space),
        plans=MemoryPlanStore(space),
        wakeups=MemoryWakeups(space),
        payloads=MemoryPayloads(now_ms=clock),
        search=MemorySearch(),
        schedules=MemoryScheduleStore(space),
        scripts=scripts or QuickJsScripts(),
        secrets=EnvironmentValues(values, "SECRET_"),
        environment=EnvironmentValues(values, "ENV_"),
        cache=MemoryOutputCache(space),
        sinks=sinks,
        webhook=webhook,
        files=files,
    )
    shards = Shards(
        MemoryShardRegistry(space), server, strategy=strategy, monotonic=clock.monotonic
    )
    engine = assemble(
        ports,
        shards,
        version="test",
        limits=limits or Limits(),
        payload_limits=payload_limits or PayloadLimits(),
        monotonic=clock.monotonic,
        partitions=len(space.partitions),
        remove_after_ms=60_000,
        bench=bench,
        listeners=listeners,
        waits_for_scripts=waits_for_scripts,
        evaluates_long_scripts=evaluates_long_scripts,
    )
    return MemoryEngine(engine, clock, ports)

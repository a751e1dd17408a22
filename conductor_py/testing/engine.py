# ruff: noqa: ANN401 - the verbs pass any attribute of the requests on
"""A whole engine over memory adapters, for tests of workflows and of the engine itself.

Nothing runs by itself: ``settle`` does what the background processes would do, for the time the
fake clock shows; ``work`` does what workers would do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.expressions.expressions import check
from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.auditing.audit import AuditRounds
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.engine.executions.trials import MakeBench
from conductor_py.engine.payloads.holding import GRACE_MS
from conductor_py.engine.port_set import FilePorts, Ports
from conductor_py.engine.shards import ROUND_ROBIN, Shards
from conductor_py.engine.sweeping.retention import FOREVER
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.events import Sink, Webhook
from conductor_py.ports.lock import Lock
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.store import ExecutionStore
from conductor_py.ports.touched import GATHER_MS
from conductor_py.records import dataclass, field
from conductor_py.testing.adapters import memory_ports, memory_registry
from conductor_py.testing.clock import FakeClock, FakeMachine
from conductor_py.testing.ending import not_ended
from conductor_py.testing.mocks import Mock, Mocks, Output
from conductor_py.testing.serving import served
from conductor_py.testing.standing import Standing, refuse_type
from conductor_py.testing.working import AnyTask, Hands, next_due, stored
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.schedules import read_schedule
from conductor_py.wire.validation import Rules

_DAY_S = 24 * 3_600


@dataclass(frozen=True, slots=True)
class MemoryEngine:
    """An engine with its clock and its stores, and the short verbs that tests want."""

    engine: Engine
    clock: FakeClock
    ports: Ports
    space: MemorySpace = field(default_factory=MemorySpace)
    mocks: Mocks = field(default_factory=Mocks)
    _standing: Standing = field(default_factory=Standing)

    def register(self, *definitions: Mapping[str, Any]) -> None:
        """Register workflow definitions (JSON objects), in place of older ones of that version.

        Raises ``DefinitionError`` with all that a server would find wrong.
        """
        for definition in definitions:
            read = self._reader().workflow(dict(definition))
            self.engine.definitions.register(read, overwrite=True)

    def register_tasks(self, *definitions: Mapping[str, Any]) -> None:
        """Register task definitions (JSON objects): retries, timeouts (``InvalidInput``)."""
        self.engine.definitions.register_tasks(self._reader().task_defs(list(definitions)))

    def schedule(self, schedule: Mapping[str, Any]) -> None:
        """Save a schedule (JSON object), as ``POST /api/scheduler/schedules`` does
        (``InvalidInput``). It fires in ``advance`` and ``settle``.
        """
        self.engine.schedules.save(read_schedule(dict(schedule), self._reader()))

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

    def mock(
        self,
        task: str,
        output: Output = MappingProxyType({}),
        *,
        fails: int = 0,
        reason: str = "mocked failure",
        terminal: bool = False,
    ) -> Mock:
        """Stand in for the tasks of a reference, else of a name, else of a type (``HTTP``).

        They complete with ``output`` (or what it makes of the input), after ``fails`` failures with
        ``reason``; ``terminal`` failures are not tried again. ``calls`` of the mock are the inputs
        so far. Works for what waits for somebody: worker tasks, HTTP and KAFKA_PUBLISH, HUMAN, WAIT
        and PULL_WORKFLOW_MESSAGES. Raises ``ConfigurationError`` for a type that the engine carries
        out by itself; for a reference or a name of such a task ``work`` does.
        """
        refuse_type(task)
        mock = Mock(name=task, output=output, fails=fails, reason=reason, terminal=terminal)
        self.mocks.put(mock)
        return mock

    def work(self, *tasks: AnyTask) -> int:
        """Run mocks and these functions on all that is ready, and on what that makes ready, until
        nothing is; returns how many tasks were run.

        It runs in this thread. A mock counts before a function. What a function waits for by
        ``task_context().sleep`` passes on the clock. Nothing else lets time pass: a retry with a
        delay is run by the ``work`` after ``advance``. Raises ``ConfigurationError`` where a mock
        is meant for a task that the engine carries out by itself.
        """
        hands = Hands(
            engine=self.engine,
            clock=self.clock,
            space=self.space,
            mocks=self.mocks,
            payloads=self.ports.payloads,
            standing=self._standing,
        )
        done = self._settle(hands)
        while ran := hands.round(tasks):
            done += ran + self._settle(hands)
        return done

    def advance(self, *, seconds: float = 0, milliseconds: int = 0) -> None:
        """Let time pass, and stop at each instant at which something is due to do it, as a server
        would: a wait ends, a deadline passes, a schedule fires.
        """
        end_ms = self.clock.now_ms + int(seconds * 1000) + milliseconds
        self.settle()
        while (due := next_due(self.space, self.clock.now_ms)) is not None and due <= end_ms:
            self.clock.now_ms = due
            self.settle()
        self.clock.now_ms = max(end_ms, self.clock.now_ms)
        self.settle()

    def run_to_end(
        self, workflow_id: str, *tasks: AnyTask, within_s: float = _DAY_S
    ) -> dict[str, Any]:
        """Work, and let time pass to the next instant at which something is due, until the
        execution has ended; returns it in wire form.

        Raises ``NotEnded`` when it waits for somebody, or has not ended after ``within_s`` seconds
        of the clock.
        """
        end_ms = self.clock.now_ms + int(within_s * 1000)
        while True:
            self.work(*tasks)
            found = self.workflow(workflow_id)
            if found["status"] not in {"RUNNING", "PAUSED"}:
                return found
            due = next_due(self.space, self.clock.now_ms)
            if due is None or due > end_ms:
                why = self.engine.why.explain(workflow_id)
                raise not_ended(found, why, within_s if due is not None else None)
            self.clock.now_ms = due

    def path(self, workflow_id: str) -> list[str]:
        """List the references of the tasks that it came to, in order; further tries count once."""
        tasks = self.workflow(workflow_id)["tasks"]
        return list(dict.fromkeys(task["referenceTaskName"] for task in tasks))

    def started(self, name: str) -> list[str]:
        """List the ids of the executions of a workflow, oldest first, such as those that a
        schedule, an event or another workflow has started.
        """
        found = self.engine.executions.search(
            query=f"workflowType={name}", free_text="*", sort="startTime:ASC", start=0, size=1_000
        )
        indexed = [str(one["workflowId"]) for one in found.results]
        return list(dict.fromkeys([*indexed, *stored(self.space, name)]))  # the index lags behind

    def serve(self) -> AbstractContextManager[str]:
        """Serve the HTTP API and the user interface inside a ``with`` block, on a port of the
        system's choice; gives the URL that clients want, which ends in ``/api``.

        Time stands still while it serves, too: ``advance`` lets it pass.
        """
        return served(self.engine, self.space, self.settle)

    def settle(self) -> None:
        """Fire what is due and carry out the effects that are due, until nothing is."""
        while self._tick():
            pass

    def _settle(self, hands: Hands) -> int:
        """Settle, and let mocks end what waits for somebody before its time does; how many."""
        done = ended = hands.end_waiting()
        while self._tick() + ended:
            ended = hands.end_waiting()
            done += ended
        return done

    def _tick(self) -> int:
        engine = self.engine
        return engine.sweeper.tick() + engine.relay.tick() + engine.scheduler.tick()

    def _reader(self) -> DefinitionReader:
        return DefinitionReader(
            Rules(
                check_expressions=check,
                check_script=self.engine.check_script,
                input_template_of=self._input_template,
            )
        )

    def _input_template(self, name: str) -> JsonObject:
        # Flask comes with it, and few definitions ask.
        from conductor_py.api.templates import registered_templates

        return registered_templates(self.engine.definitions)(name)


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
    store: ExecutionStore | None = None,
    metadata: MetadataStore | None = None,
    catalog: CatalogStore | None = None,
    scripts: Scripts | None = None,
    payloads: Payloads | None = None,
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
    gather_tasks_ms: int | None = GATHER_MS,
    effects_give_way: bool = False,
    zone: str = "",
) -> MemoryEngine:
    """Make an engine in memory; engines that share ``space`` are servers over one store.

    With a ``lock``, or without ``take_lease``, nobody takes the lease inside the store.

    ``store``, ``metadata``, ``catalog``, ``scripts`` and ``payloads`` replace those of the space;
    ``bench`` makes places for trials. Scripts that take long are left to another engine without
    ``waits_for_scripts``.
    """
    clock = clock or FakeClock()
    space = space or MemorySpace(clock=clock)
    ports = memory_ports(
        space,
        fencing=fencing,
        store=store,
        metadata=metadata,
        catalog=catalog,
        scripts=scripts,
        payloads=payloads,
        values=values,
        sinks=sinks,
        webhook=webhook,
        files=files,
        lock=lock,
        take_lease=take_lease,
    )
    shards = Shards(memory_registry(space), server, strategy=strategy, monotonic=clock.monotonic)
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
        gather_tasks_ms=gather_tasks_ms,
        effects_give_way=effects_give_way,
    )
    return MemoryEngine(engine, clock, ports, space)


def _at_once(_seconds: float) -> None:
    """Nothing moves between two looks unless the test moves it."""

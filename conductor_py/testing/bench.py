"""A place for one trial of a workflow: an engine in memory over the registered definitions."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.execution import load_attempt
from conductor_py.decider.workspace import Limits
from conductor_py.engine.encoding import PayloadLimits
from conductor_py.engine.executions import Executions
from conductor_py.engine.tasks import Tasks
from conductor_py.model.execution import Attempt
from conductor_py.model.homes import homes_of
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.scripts import Scripts
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine

_BATCH = 500
_MOST_TASKS = 20_000
"""Of one trial: it is in the memory of the process that was asked for it."""
_LEASE_MS = 30_000
_FIRST = -1
_CHANGES = ("put", "delete")


class RegisteredDefinitions:
    """The registered definitions, to be read and never to be changed.

    It never tells of a change either: a trial reads what there is when it reads.
    """

    def __init__(self, metadata: MetadataStore) -> None:
        """Read from ``metadata``."""
        self._metadata = metadata

    def revision(self, partition: int) -> int:
        """Answer the same number always."""
        return 0 * partition

    def __getattr__(self, name: str) -> object:
        """Read what the store reads."""
        if name.startswith(_CHANGES):
            raise AttributeError(name)
        return getattr(self._metadata, name)


class MemoryBench:
    """A ``Bench`` over the memory adapters."""

    def __init__(
        self,
        metadata: MetadataStore,
        catalog: CatalogStore,
        scripts: Scripts,
        limits: Limits,
        payload_limits: PayloadLimits,
    ) -> None:
        """Read definitions from ``metadata`` and ``catalog``, evaluate by ``scripts``."""
        self._clock = FakeClock(time.time_ns() // 1_000_000)
        self._space = MemorySpace(clock=self._clock)
        self._ended: dict[str, set[str]] = {}
        self._memory: MemoryEngine = memory_engine(
            clock=self._clock,
            space=self._space,
            limits=replace(limits, tasks=min(limits.tasks, _MOST_TASKS)),
            payload_limits=_inline(payload_limits),
            metadata=cast("MetadataStore", RegisteredDefinitions(metadata)),
            catalog=catalog,
            scripts=scripts,
            gather_tasks_ms=None,
        )

    @property
    def executions(self) -> Executions:
        """Executions of this engine."""
        return self._memory.engine.executions

    @property
    def tasks(self) -> Tasks:
        """Tasks of this engine."""
        return self._memory.engine.tasks

    def now_ms(self) -> int:
        """Read the clock."""
        return self._clock.now_ms

    def advance_to(self, now_ms: int) -> None:
        """Set the clock forward."""
        self._clock.now_ms = max(self._clock.now_ms, now_ms)

    def settle(self) -> None:
        """Fire what is due. Effects are dropped: they would leave the trial."""
        while self._memory.engine.sweeper.tick() + self._drop_effects():
            pass

    def _drop_effects(self) -> int:
        outbox = self._memory.ports.outbox
        due = outbox.take(0, _BATCH, _LEASE_MS)
        return outbox.confirm(0, [(one.id, one.stamp) for one in due])

    def next_due_ms(self) -> int:
        """Read when something falls due next; 0: nothing is going to."""
        timers, shards = self._memory.ports.timers, self._memory.engine.shards.own
        due = [timers.next_due_ms(0, home) for shard in shards for home in homes_of(shard)]
        effects = self._space.partition(0).outbox.first()
        due += [effects[0]] if effects else []
        return min((instant for instant in due if instant), default=0)

    def open_attempts(self, execution: str) -> tuple[Attempt, ...] | None:
        """Read the attempts that wait for something; ``None`` when the execution has ended."""
        found = self._space.of(ExecutionId(execution)).executions.get(execution)
        if found is None or found.terminal:
            return None
        ended = self._ended.setdefault(execution, set())
        attempts = []
        for name in [name for name in found.fields if name.startswith("a:")]:
            if name in ended:
                continue
            attempt = load_attempt(int(name[2:]), found.fields[name])
            if attempt.open and attempt.generation == found.generation:
                attempts.append(attempt)
            else:
                ended.add(name)
        return tuple(sorted(attempts, key=lambda attempt: attempt.seq))

    def available_ms(self, attempt: Attempt, task: str) -> int:
        """Read when a worker may take a task."""
        delayed = self._space.partition(0).delayed[attempt.queue, attempt.shard]
        return delayed.scores.get(task, self._clock.now_ms)

    def put_first(self, attempt: Attempt, task: str) -> None:
        """Put a task at the head of its queue, if it is in it."""
        lane, partition = (attempt.queue, attempt.shard), self._space.partition(0)
        with self._space.lock:
            due = partition.delayed[lane].scores.get(task)
            if due is not None and due <= self._clock.now_ms:
                partition.delayed[lane].drop(task)
                partition.ready[lane].put(task, _FIRST)
            elif task in partition.ready[lane].scores:
                partition.ready[lane].put(task, _FIRST)


def _inline(limits: PayloadLimits) -> PayloadLimits:
    """Keep every document with its task: what a trial puts away is nowhere to be fetched."""
    return replace(
        limits,
        workflow_input_soft=limits.workflow_input_hard,
        workflow_output_soft=limits.workflow_output_hard,
        task_input_soft=limits.task_input_hard,
        task_output_soft=limits.task_output_hard,
    )

"""A place for one trial of a workflow: an engine in memory over the registered definitions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.store import MemoryExecutionStore
from conductor_py.codec.execution import load_attempt
from conductor_py.decider.workspace import Limits
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.executions.trials import MOST_BYTES, TrialOver
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.model.event_handlers import EventMessage
from conductor_py.model.execution import Attempt
from conductor_py.model.homes import homes_of
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json_bounds import is_heavy, values_in, values_of
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.scripts import Scripts
from conductor_py.ports.store import Changes, Commit, CommitReply, Outcome, Start, StartReply
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine

_BATCH = 500
_MOST_TASKS = 20_000
"""Of one trial: it is in the memory of the process that was asked for it."""
_MOST_ATTEMPTS = 8
"""Of one decision, all of which is there before it is stored: time and room are looked at between
two.
"""
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


class _BoundedStore(MemoryExecutionStore):
    """Executions in memory until the time is over or there is no more room: then each call that
    would change something, or asks whether the store is there, raises ``TrialOver``.
    """

    def __init__(self, space: MemorySpace, most_values: int) -> None:
        super().__init__(space)
        self._executions = space.partition(0).executions
        self._most_values = most_values
        self._bytes = self._values = 0
        self.ends = math.inf
        self.full = False

    def now_ms(self) -> int:
        self._ask()
        return super().now_ms()

    def start(self, start: Start) -> StartReply:
        self._ask()
        added = self._room_for(start.execution, start.changes)
        reply = super().start(start)
        if reply.outcome is Outcome.OK:
            self._add(added)
        return reply

    def commit(self, commit: Commit) -> CommitReply:
        self._ask()
        added = self._room_for(commit.execution, commit.changes)
        reply = super().commit(commit)
        if reply.outcome is Outcome.OK:
            self._add(added)
        return reply

    def renew(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        self._ask()
        return super().renew(execution, holder, lease_ms)

    def _ask(self) -> None:
        if self.full or time.monotonic() > self.ends:
            raise TrialOver

    def _room_for(self, execution: ExecutionId, changes: Changes) -> tuple[int, int]:
        """What the fields come to that these changes add, less those that they replace."""
        found = self._executions.get(execution)
        before = found.fields if found is not None else {}
        names = (*changes.fields, *changes.deleted)
        gone = [before[name] for name in names if name in before]
        new = [*changes.fields.values()]
        new += [stored for child in changes.children for stored in child.fields.values()]
        size = _size(new) - _size(gone)
        values = sum(map(_values, new)) - sum(map(_values, gone))
        self.full = self._bytes + size > MOST_BYTES or self._values + values > self._most_values
        self._ask()
        return size, values

    def _add(self, added: tuple[int, int]) -> None:
        self._bytes += added[0]
        self._values += added[1]


class _Nowhere:
    """A ``Sink`` that only has to be there: a trial drops its effects."""

    def publish(self, messages: Sequence[EventMessage]) -> None:
        """Send nothing: what a trial does stays in it."""


class MemoryBench:
    """A ``Bench`` over the memory adapters."""

    def __init__(  # noqa: PLR0917 - what a trial has of a whole engine
        self,
        metadata: MetadataStore,
        catalog: CatalogStore,
        scripts: Scripts,
        limits: Limits,
        payload_limits: PayloadLimits,
        providers: frozenset[str] = frozenset(),
    ) -> None:
        """Read definitions from ``metadata`` and ``catalog``, evaluate by ``scripts``. Nothing is
        sent to the ``providers`` of events.
        """
        self._clock = FakeClock(time.time_ns() // 1_000_000)
        self._space = MemorySpace(clock=self._clock)
        self._store = _BoundedStore(self._space, payload_limits.values)
        self._ended: dict[str, set[str]] = {}
        self._memory: MemoryEngine = memory_engine(
            clock=self._clock,
            space=self._space,
            store=self._store,
            limits=replace(
                limits,
                tasks=min(limits.tasks, _MOST_TASKS),
                attempts=min(limits.attempts, _MOST_ATTEMPTS),
            ),
            payload_limits=_inline(payload_limits),
            metadata=cast("MetadataStore", RegisteredDefinitions(metadata)),
            catalog=catalog,
            scripts=scripts,
            sinks=dict.fromkeys(providers, _Nowhere()),
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

    @property
    def full(self) -> bool:
        """Whether it has refused what would have been more than it may hold."""
        return self._store.full

    def end_at(self, instant: float) -> None:
        """Raise ``TrialOver`` from this instant of ``time.monotonic`` on."""
        self._store.ends = instant

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


def _size(stored: Iterable[bytes]) -> int:
    return sum(map(len, stored))


def _values(stored: bytes) -> int:
    return values_in(stored) if is_heavy(stored) else values_of(stored)

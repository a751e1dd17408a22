"""Trials: a workflow run apart from everything else, its tasks answered by mocks.

A trial has an engine of its own, in memory, over the registered definitions, with a clock that
jumps from one instant at which something happens to the next: delays, retries, WAITs and the times
that mocks take pass without waiting, and run into the timeouts that they would run into. All
operators are the real ones. A task takes its mocks in turn, one an attempt; the trial ends when
the execution has ended, or when nothing goes on without somebody whom no mock speaks for. It is
bounded in time and in what it holds, which its place looks at before each commit.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from conductor_py.decider.workspace import Limits
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.executions.executions import Executions
from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import (
    Conflict,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    StoreUnavailable,
)
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.requests import PollRequest, TaskResult
from conductor_py.model.trial import Mock, Mocks, Trial
from conductor_py.ports.catalog import CatalogStore
from conductor_py.ports.metadata import MetadataStore
from conductor_py.ports.scripts import Scripts

MAX_ROUNDS: Final = 20_000
MAX_SECONDS: Final = 20.0
MOST_BYTES: Final = 64 << 20
"""Of all documents of a trial: it is in the memory of the process that was asked for it."""
AT_ONCE: Final = 2
"""Trials that run at the same time in one process; each has a thread to itself."""

_OWN: Final = frozenset(
    {
        "CONDITIONS",
        "DECISION",
        "DO_WHILE",
        "DYNAMIC",
        "EXCLUSIVE_JOIN",
        "FORK",
        "FORK_JOIN",
        "FORK_JOIN_DYNAMIC",
        "INLINE",
        "JOIN",
        "SET_VARIABLE",
        "SUB_WORKFLOW",
        "SWITCH",
        "TERMINATE",
    }
)
"""Types that go on by themselves and are never mocked."""
_WORKER: Final = "workflow-test"
_LIMITED_MS: Final = 1_000
"""How long a task waits that a limit of its definition keeps from its worker."""


class TrialOver(StoreUnavailable):
    """The time of a trial is over, or its room is used up: its place does nothing any more."""


class Bench(Protocol):
    """A place for one trial: an engine that nobody else knows, and its clock (epoch ms)."""

    @property
    def executions(self) -> Executions:
        """Executions of that engine."""

    @property
    def tasks(self) -> Tasks:
        """Tasks of that engine."""

    @property
    def full(self) -> bool:
        """Whether it has refused what would have been more than it may hold."""

    def end_at(self, instant: float) -> None:
        """From this instant of ``time.monotonic`` on change nothing: raise ``TrialOver``, as where
        it would come to hold more than ``MOST_BYTES``, or more values than a request.
        """

    def now_ms(self) -> int:
        """Read the clock."""

    def advance_to(self, now_ms: int) -> None:
        """Set the clock forward."""

    def settle(self) -> None:
        """Fire what is due now, and do what that orders within this engine."""

    def next_due_ms(self) -> int:
        """Read when something falls due next; 0: nothing is going to."""

    def open_attempts(self, execution: str) -> tuple[Attempt, ...] | None:
        """Read the attempts that wait for something; ``None`` when the execution has ended."""

    def available_ms(self, attempt: Attempt, task: str) -> int:
        """Read when a worker may take a task."""

    def put_first(self, attempt: Attempt, task: str) -> None:
        """Put a task at the head of its queue."""


MakeBench = Callable[
    [MetadataStore, CatalogStore, Scripts, Limits, PayloadLimits, frozenset[str]], Bench
]
"""Make a new place, over these definitions, with the bounds that hold for every execution, and the
providers of events that there are.
"""


class Trials:
    """Runs trials, a few at a time."""

    def __init__(self, bench: Callable[[], Bench] | None, zone: str = "") -> None:
        """``bench`` makes a new place for each; without it there are no trials here. ``zone`` is
        that of trials that name none.
        """
        self._bench = bench
        self._zone = zone
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def run(self, trial: Trial) -> JsonObject:
        """Run a trial and answer its execution as it stands at the end, or when its time is over.

        ``NotFound`` for an unknown definition, ``LimitExceeded`` when too many run already,
        ``PayloadTooLarge`` when it comes to hold more than it may.
        """
        if self._bench is None:
            raise NotFound("This server runs no tests of workflows.")
        if not self._free.acquire(blocking=False):
            raise LimitExceeded(f"{AT_ONCE} tests of workflows run already; try again.")
        try:
            start = replace(trial.start, zone=trial.start.zone or self._zone)
            return _Run(self._bench(), replace(trial, start=start)).result()
        finally:
            self._free.release()


@dataclass(slots=True)
class _Left:
    """The mocks of one execution that are left, and those of its children by reference."""

    mocks: Mocks
    used: dict[str, int] = field(default_factory=dict)
    inner: dict[str, _Left] = field(default_factory=dict)

    def take(self, names: tuple[str, ...]) -> Mock | None:
        for name in names:
            listed, used = self.mocks.attempts.get(name, ()), self.used.get(name, 0)
            if used < len(listed):
                self.used[name] = used + 1
                return listed[used]
        return None

    def of_child(self, names: tuple[str, ...]) -> _Left:
        found = next((name for name in names if name in self.mocks.inner), names[0])
        if found not in self.inner:
            self.inner[found] = _Left(self.mocks.inner.get(found, Mocks()))
        return self.inner[found]


@dataclass(slots=True, frozen=True, order=True)
class _Step:
    """Something that a mocked worker does at an instant: takes a task, or reports it."""

    at: int
    number: int
    task: str = field(compare=False)
    execution: str = field(compare=False)
    attempt: Attempt = field(compare=False)
    mock: Mock = field(compare=False)
    claim: int = field(compare=False, default=0)
    taken: bool = field(compare=False, default=False)


class _Run:
    """One trial under way."""

    def __init__(self, bench: Bench, trial: Trial) -> None:
        self._bench = bench
        self._trial = trial
        self._steps: list[_Step] = []
        self._underway: set[str] = set()
        self._number = 0
        self._stuck = False
        """Somebody waits for a worker whom no mock speaks for."""
        self._timed = False
        """Something goes on by itself at a later instant."""

    def result(self) -> JsonObject:
        root = ""
        self._bench.end_at(time.monotonic() + MAX_SECONDS)
        try:
            root = self._bench.executions.start(self._trial.start)
            self._go_through(root)
        except TrialOver:
            pass
        if self._bench.full:
            raise PayloadTooLarge(
                f"This test would hold more than {MOST_BYTES >> 20} MB of documents, or more values"
                " than a request may have: give it a smaller input, smaller outputs of its mocks,"
                " or fewer tasks that take all of them."
            )
        if not root:
            raise LimitExceeded(f"This test has not begun after {MAX_SECONDS:g} s.")
        self._bench.end_at(math.inf)
        return self._bench.executions.document(root)

    def _go_through(self, root: str) -> None:
        left = _Left(self._trial.mocks)
        for _ in range(MAX_ROUNDS):
            self._bench.settle()
            self._stuck = self._timed = False
            if self._look(root, left) or not self._go_on():
                break

    def _look(self, execution: str, left: _Left) -> bool:
        """Give open attempts their mocks, here and in children; whether the execution has ended."""
        attempts = self._bench.open_attempts(execution)
        if attempts is None:
            return True
        for attempt in attempts:
            names = (wire_ref(attempt.ref, attempt.vector), attempt.ref)
            if attempt.child:
                self._look(attempt.child, left.of_child(names))
            self._answer(execution, attempt, names, left)
        return False

    def _answer(
        self, execution: str, attempt: Attempt, names: tuple[str, ...], left: _Left
    ) -> None:
        name = task_id(ExecutionId(execution), attempt.seq)
        if name in self._underway:
            return
        now = self._bench.now_ms()
        if attempt.type in _OWN or attempt.start_at > now:
            self._timed = self._timed or attempt.start_at > now
            return
        mock = left.take(names)
        if mock is not None:
            self._underway.add(name)
            at = max(self._bench.available_ms(attempt, name), now) + mock.queue_ms
            self._add(at, name, execution, attempt, mock)
        elif attempt.wait_until > now:
            self._timed = True
        else:
            self._stuck = True

    def _add(  # noqa: PLR0917 - the members of a step
        self,
        at: int,
        task: str,
        execution: str,
        attempt: Attempt,
        mock: Mock,
        claim: int | None = None,
    ) -> None:
        self._number += 1
        taken = claim is not None
        step = _Step(at, self._number, task, execution, attempt, mock, claim or 0, taken)
        heapq.heappush(self._steps, step)

    def _go_on(self) -> bool:
        """Go to the next instant at which something happens; false when there is none."""
        if not self._steps and self._stuck and not self._timed:
            return False
        now, due = self._bench.now_ms(), self._bench.next_due_ms()
        following = [max(due, now + 1)] if due else []
        following += [self._steps[0].at] if self._steps else []
        if not following:
            return False
        self._bench.advance_to(max(min(following), now))
        now = self._bench.now_ms()
        if due and due <= now and not (self._steps and self._steps[0].at < due):
            self._bench.settle()  # what time ends, ends before a result of the same instant
        while self._steps and self._steps[0].at <= now:
            self._do(heapq.heappop(self._steps))
        return True

    def _do(self, step: _Step) -> None:
        if not step.taken and step.attempt.queue:
            self._take(step)
            return
        if not step.taken and step.mock.work_ms:
            at = step.at + step.mock.work_ms
            self._add(at, step.task, step.execution, step.attempt, step.mock, 0)
            return
        self._underway.discard(step.task)
        try:
            self._bench.tasks.update(
                TaskResult(
                    workflow_id=step.execution,
                    task_id=step.task,
                    status=step.mock.status,
                    output=step.mock.output,
                    claim=step.claim,
                    worker=_WORKER,
                )
            )
        except Conflict:
            return  # it took too long: its claim ended before

    def _take(self, step: _Step) -> None:
        """Claim the task; one that a limit keeps back is tried again, one that is gone is not."""
        self._bench.put_first(step.attempt, step.task)
        wanted = PollRequest(task_type=step.attempt.queue, worker=_WORKER, timeout_ms=0)
        found, _ = self._bench.tasks.take(wanted, step.attempt.type)
        now = self._bench.now_ms()
        if found:
            claim = found[0]["claimToken"]
            assert isinstance(claim, int)
            self._add(
                now + step.mock.work_ms,
                str(found[0]["taskId"]),
                step.execution,
                step.attempt,
                step.mock,
                claim,
            )
        elif self._is_open(step):
            self._add(now + _LIMITED_MS, step.task, step.execution, step.attempt, step.mock)
        else:
            self._underway.discard(step.task)

    def _is_open(self, step: _Step) -> bool:
        attempts = self._bench.open_attempts(step.execution) or ()
        return any(attempt.seq == step.attempt.seq for attempt in attempts)

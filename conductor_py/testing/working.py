"""Workers of a test: they poll, work and report in the test's own thread, by its clock.

Each result goes the way of HTTP: it is written as the SDK writes it and read as the server reads
it, so what a server would refuse is refused here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import orjson

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.execution import load_attempt, load_header
from conductor_py.errors import (
    ClaimLost,
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
)
from conductor_py.model.execution import Attempt
from conductor_py.model.ids import split_task_id
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest
from conductor_py.model.requests import TaskResult as Report
from conductor_py.ports.payloads import Payloads
from conductor_py.records import dataclass, field
from conductor_py.sdk.context import TaskContext
from conductor_py.sdk.document import encode
from conductor_py.sdk.event_loop import EventLoop
from conductor_py.sdk.task import ResultStatus, Task, TaskLog, TaskResult
from conductor_py.sdk.worker import WorkerTask
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.mocks import Mocks
from conductor_py.testing.standing import Standing
from conductor_py.wire.requests import read_result

if TYPE_CHECKING:
    import asyncio

    from conductor_py.engine import Engine

AnyTask = WorkerTask[..., object]

_WORKER: Final = "worker"
_BATCH: Final = 100


class WorkerClock:
    """The fake clock as a worker sees it: who waits lets time pass, and nobody sleeps."""

    def __init__(self, clock: FakeClock) -> None:
        """Read and move ``clock``."""
        self._clock = clock

    def monotonic_ms(self) -> int:
        """Milliseconds of the fake clock."""
        return self._clock.now_ms

    def epoch_ms(self) -> int:
        """Milliseconds since 1970 by the fake clock."""
        return self._clock.now_ms

    def wait(self, event: threading.Event, timeout_ms: int) -> bool:
        """Let ``timeout_ms`` pass, unless the event is set already."""
        if not event.is_set():
            self._clock.advance(milliseconds=max(0, timeout_ms))
        return event.is_set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """Who works on the tasks of a test: mocks first, then the functions that are given."""

    engine: Engine
    clock: FakeClock
    space: MemorySpace
    mocks: Mocks
    payloads: Payloads
    standing: Standing
    _ended: set[str] = field(default_factory=set)

    def end_waiting(self) -> int:
        """End what waits for somebody and has a mock, each task once; returns how many there were.

        Raises ``ConfigurationError`` where a mock is meant for a task of the engine's own.
        """
        if not self.mocks.by_name:
            return 0
        read, ended = self.engine.tasks.document, 0
        for one in self.standing.waiting(self.space, self.mocks, read):
            if one in self._ended:
                continue
            task = Task.from_json(orjson.loads(encode(read(one))))
            result = self._carried_out(task, None)
            if result is not None:
                self._ended.add(one)
                ended += self._report(task, result)
        return ended

    def round(self, tasks: Sequence[AnyTask]) -> int:
        """Run each task that is ready now, once; returns how many were run.

        Raises ``ConfigurationError`` when two functions are given for one type.
        """
        functions = _by_queue(tasks)
        wanted = {**self._mocked(), **{key: key[0] for key in functions}}
        return sum(self._queue(*key, type_, functions.get(key)) for key, type_ in wanted.items())

    def _queue(self, kind: str, domain: str | None, type_: str, function: AnyTask | None) -> int:
        asked = PollRequest(
            task_type=kind, domain=domain or "", count=_BATCH, timeout_ms=0, worker=_WORKER
        )
        done, left = 0, []
        for document in self.engine.tasks.take(asked, type_)[0]:
            task = Task.from_json(orjson.loads(encode(document)))
            result = self._carried_out(task, function)
            if result is None:
                left.append(task)
            else:
                done += self._report(task, result)
        for task in left:  # of the same type, but nobody's
            self._hand_back(task)
        return done

    def _carried_out(self, task: Task, function: AnyTask | None) -> TaskResult | None:
        mock = self.mocks.of(task)
        if mock is not None:
            answer = mock.answer(self._input(task))
            encode(answer.output)  # a mock that is no JSON is the test's own fault, and raises
            return answer
        if function is None:
            return None
        context = TaskContext(task, WorkerClock(self.clock))
        with EventLoop(self._event_loop) as loop:  # it begins with the first coroutine
            result = function.run(context, self._input(task), loop)
        if result is None:
            return None
        logs = (*result.logs, *context.take_lines())
        joined = "\n".join(log.line for log in logs)
        entries = (TaskLog(line=joined, created_ms=self.clock.now_ms),) if logs else ()
        return TaskResult(
            status=result.status,
            output=result.output,
            reason=result.reason,
            callback_after_s=result.callback_after_s,
            logs=entries,
        )

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        # A server that tests workflows has this module, and no need of asyncio.
        from conductor_py.testing.loop import VirtualLoop

        return VirtualLoop(self.clock)

    def _input(self, task: Task) -> JsonObject:
        """Read the input as a worker would: what is large lies in payload storage."""
        if task.external_input_path is None:
            return task.input
        found: JsonObject = orjson.loads(self.payloads.get(task.external_input_path))
        return found

    def _report(self, task: Task, result: TaskResult) -> int:
        try:
            self._send(task, result)
        except (ClaimLost, Conflict, NotFound):  # it was over before its worker was
            pass
        except (InvalidInput, PayloadTooLarge) as refused:
            reason = f"the result was refused: {refused.message}"
            self._send(task, TaskResult.failed(reason, terminal=True))
        return 1

    def _send(self, task: Task, result: TaskResult) -> None:
        wire = result.answering(task, _WORKER).to_json()
        report = read_result(orjson.loads(encode(wire)))
        assert isinstance(report, Report), "a result extends no lease"
        self.engine.tasks.update(report)

    def _hand_back(self, task: Task) -> None:
        again = TaskResult(status=ResultStatus.IN_PROGRESS, output=task.output)
        self._report(task, again)

    def _mocked(self) -> dict[tuple[str, str | None], str]:
        """Find the queues in which a task with a mock is ready, with the task's type."""
        found: dict[tuple[str, str | None], str] = {}
        for queue, attempt in waiting(self.space, self.clock.now_ms):
            names = {attempt.ref, attempt.definition, attempt.type}
            if not names.isdisjoint(self.mocks):
                domain, _, kind = queue.rpartition(":")
                found[kind, domain or None] = attempt.type
        return found


def waiting(space: MemorySpace, now_ms: int) -> list[tuple[str, Attempt]]:
    """List the attempts that wait in queues and are due, with the names of their queues."""
    found: list[tuple[str, Attempt]] = []
    with space.lock:
        for partition in space.partitions:
            for lanes in (partition.ready, partition.delayed):
                for (queue, _), members in lanes.items():
                    due = lanes is partition.ready
                    ids = [one for one, at in members.scores.items() if due or at <= now_ms]
                    found += [(queue, each) for each in _attempts(space, ids)]
    return found


def next_due(space: MemorySpace, after_ms: int) -> int | None:
    """Tell the next instant (epoch ms) at which something falls due: a timer, a task that was put
    off, a schedule. ``None``: nothing will come by itself.
    """
    with space.lock:
        instants = list(space.schedules.due.scores.values())
        for partition in space.partitions:
            for sets in (partition.timers, partition.delayed):
                for members in sets.values():
                    instants += members.scores.values()
    return min((instant for instant in instants if instant > after_ms), default=None)


def stored(space: MemorySpace, name: str) -> list[str]:
    """List the executions of a workflow that are not archived yet, oldest first."""
    found: list[tuple[int, str]] = []
    with space.lock:
        for partition in space.partitions:
            for execution in partition.executions.values():
                header = load_header(execution.fields["h"])
                if header.name == name:
                    found.append((header.created_at, execution.id))
    return [one for _, one in sorted(found)]


def _attempts(space: MemorySpace, ids: Iterable[str]) -> Iterator[Attempt]:
    for one in ids:
        execution, seq = split_task_id(one)
        stored = space.of(execution).executions.get(execution)
        state = stored.fields.get(f"a:{seq}") if stored is not None else None
        if state is not None:
            yield load_attempt(seq, state)


def _by_queue(tasks: Sequence[AnyTask]) -> dict[tuple[str, str | None], AnyTask]:
    found: dict[tuple[str, str | None], AnyTask] = {}
    for task in tasks:
        key = (task.options.name, task.options.domain)
        if key in found:
            raise ConfigurationError(f"two functions are given for task {key[0]}; give one")
        found[key] = task
    return found

"""Those outside: workers that take tasks and report, and clients that start and operate.

They speak to API servers over a network that delays, loses and doubles. What they were answered
is remembered: that is what must be true in the end.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from conductor_py.engine import Engine
from conductor_py.errors import ConductorError, Conflict, NotFound
from conductor_py.model.requests import ExtendRequest, PollRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.loop import MS, SECOND
from conductor_py.testing.simulation.process import Killed, NoAnswer, Process, Request

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_PATIENCE: Final = 15 * SECOND
_REPORT_TRIES: Final = 4
_LONGEST_REST: Final = 600 * SECOND
_STILL_S: Final = (0.1, 1, 2, 5, 10)
"""How much longer than its lease a worker stands still: somebody else may be at work by then."""
_WORK_MS: Final = (1, 5, 40, 300, 1_200, 3_500, 6_000)
Json = Mapping[str, Any]


class Client(Process):
    """Somebody who asks servers."""

    def ask(self, name: str, act: Callable[[Engine], Any], *, turn: int | None = None) -> Any:
        """Ask a server that is there, as a load balancer would: any, or those in turn;
        ``NoAnswer`` when none comes.
        """
        world, loop = self.world, self.world.loop
        fault = self.next_fault(f"ask.{name}")
        server = world.choose_api(self.chance, turn)
        request = Request(name, act, self)
        delay = 100 + int(self.chance.random() * 2_000)
        if fault is not None:
            self.befalls(fault)
            self._disturb(fault, request, delay)
        if fault is None or fault.kind is not Kind.REQUEST_LOST:
            loop.at(loop.now + delay, lambda: server.accept(request))
        until = loop.now + (_PATIENCE if fault is None or fault.kind is not Kind.REPLY_LOST else 1)
        while not request.done and loop.now < until:
            self.park(until)
        request.client = None
        if fault is not None and fault.kind is Kind.CRASH_AFTER:
            self._die(f"after ask.{name}")
            raise Killed
        if not request.done:
            raise NoAnswer
        if request.error is not None:
            raise request.error
        return request.answer

    def post(self, name: str, act: Callable[[Engine], Any], after: int = 0) -> None:
        """Send a request whose answer nobody waits for, so many microseconds from now."""
        loop, server = self.world.loop, self.world.choose_api(self.chance)
        loop.at(loop.now + after, lambda: server.accept(Request(name, act, None)))

    def _disturb(self, fault: Fault, request: Request, delay: int) -> None:
        """Double or hold up a message, or die before it leaves."""
        if fault.kind is Kind.CRASH_BEFORE:
            self._die(f"before {fault.call}")
            raise Killed
        if fault.kind in {Kind.TWICE, Kind.LATE, Kind.REPEATED}:
            self.post(request.name, request.act, delay + (fault.ms or 5) * MS)
        if fault.kind in {Kind.STOPPED, Kind.SLOW}:
            self.pause(fault.ms * MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a worker does with one attempt: how long it takes, and what it reports.

    A task that is not done yet is reported IN_PROGRESS, to be offered again after ``callback_s``.
    """

    status: TaskStatus = TaskStatus.COMPLETED
    after_ms: int = 5
    callback_s: int = 0
    output: Json = field(default_factory=dict)
    reason: str = ""
    is_silent: bool = False
    """Whether nothing is ever reported, and nothing extended: the worker has forgotten it."""


Behave = Callable[[Json], Behaviour]
"""From a task as it was handed out to what is done with it."""


def draw_behaviour(seed: int) -> Behave:
    """Make workers of a random mind: the same task in the same try is always done the same way."""

    def behave(task: Json) -> Behaviour:
        place = (task["referenceTaskName"], task.get("iteration", 0), task.get("retryCount", 0))
        polls = task.get("pollCount", 0)
        draw = zlib.crc32(f"{seed} {place} {polls}".encode()) % 1000
        after_ms = _WORK_MS[zlib.crc32(f"{draw} {seed}".encode()) % len(_WORK_MS)]
        if draw < 10:
            return Behaviour(after_ms=25_000)
        if draw < 30:
            return Behaviour(is_silent=True)
        # What comes again comes more often than not once more: old results meet claims of others.
        if draw < (130 if polls < 2 else 700) and polls < 4:
            return Behaviour(status=TaskStatus.IN_PROGRESS, after_ms=after_ms, callback_s=draw % 3)
        if draw < 190:
            return Behaviour(status=TaskStatus.FAILED, after_ms=after_ms, reason="it failed")
        if draw < 200:
            return Behaviour(status=TaskStatus.FAILED_WITH_TERMINAL_ERROR, after_ms=after_ms)
        if draw < 210:
            return Behaviour(status=TaskStatus.COMPLETED_WITH_ERRORS, after_ms=after_ms)
        return Behaviour(after_ms=after_ms)

    return behave


def faithful(seed: int) -> Behave:
    """Make workers that do the same task the same way, and succeed after a few tries."""

    def behave(task: Json) -> Behaviour:
        place = f"{seed} {task['referenceTaskName']} {task.get('iteration', 0)}"
        draw = zlib.crc32(place.encode())
        after_ms = (1, 30, 400, 2_500)[draw % 4]
        if int(task.get("retryCount", 0)) < (0, 0, 0, 1, 2)[draw // 4 % 5]:
            return Behaviour(status=TaskStatus.FAILED, after_ms=after_ms, reason="not yet")
        return Behaviour(after_ms=after_ms, output={"value": draw})

    return behave


def well_behaved(_: Json) -> Behaviour:
    """Do every task at once, and well."""
    return Behaviour()


class Worker(Client):
    """Polls, works, extends, reports.

    A *leasing* worker is one of ours: it polls for a lease, keeps it while it works, stops when it
    loses it, and names its claim. The others do as the official clients: no lease, and some of them
    no claim token. A *stubborn* one reports what it has done whoever holds the task by then, some
    stand *still* now and then for longer than their lease and do not know it, and some send a
    result again though it was taken.
    """

    def __init__(self, world: World, name: str, number: int) -> None:
        """Choose habits by number."""
        super().__init__(world, name)
        self.lease_s = self.chance.choice((0, 3, 4)) if number else 4
        self.batch = self.chance.choice((1, 1, 2, 4))
        self._names_claim = bool(self.lease_s) or self.chance.random() < 0.5
        self._is_stubborn = bool(number) and self.chance.random() < 0.4
        self._stands_still = bool(number and self.lease_s) and self.chance.random() < 0.3
        self._repeats = self.chance.random() < 0.3
        self._rest = SECOND // 2
        self._round = self._idle_rounds = 0

    def run(self) -> None:
        """Work for ever."""
        deployment = self.world.scenario.deployment
        # What is at home in one server is found there only: all are asked before resting longer.
        servers = deployment.apis if deployment.local_only else 1
        while True:
            self._round += 1
            found, kinds = False, self.world.queues()
            for kind in kinds:
                tasks = self._poll(kind)
                found = found or bool(tasks)
                for task in tasks:
                    self._work(task)
            if found:
                self._rest, self._idle_rounds = SECOND // 2, 0
            else:
                self.world.rest(self, kinds, self._rest)
                self._idle_rounds += 1
                if self._idle_rounds % servers == 0:
                    self._rest = min(self._rest * 2, _LONGEST_REST)

    def _poll(self, kind: str) -> tuple[Json, ...]:
        request = PollRequest(
            task_type=kind,
            worker=self.name,
            count=self.batch,
            timeout_ms=0,
            lease_s=self.lease_s,
        )
        try:
            tasks, retry_at = self.ask(
                "poll", lambda engine: engine.tasks.take(request, ""), turn=self._round
            )
        except (NoAnswer, ConductorError):
            self.pause(200 * MS)
            return ()
        if retry_at:
            self._rest = min(self._rest, max(retry_at - self.world.space.clock(), 1) * MS)
        polled: tuple[Json, ...] = tasks
        return polled

    def _work(self, task: Json) -> None:
        behaviour = self.world.behave(task)
        if behaviour.is_silent:
            self.world.note(self.name, f"forgets {self.world.names.of_task(task)}")
            return
        if self._stands_still and self.chance.random() < 0.2:
            self.world.note(self.name, f"stands still over {self.world.names.of_task(task)}")
            self.pause(int((self.lease_s + self.chance.choice(_STILL_S)) * SECOND))
        elif not (self._do(task, behaviour.after_ms) or self._is_stubborn):
            self.world.note(self.name, f"stops {self.world.names.of_task(task)}: its lease is lost")
            return
        output = {"by": self.name, "at": self.world.loop.now, **behaviour.output}
        result = TaskResult(
            workflow_id=task["workflowInstanceId"],
            task_id=task["taskId"],
            status=behaviour.status,
            output=output,
            claim=task.get("claimToken", 0) if self._names_claim else 0,
            worker=self.name,
            reason=behaviour.reason or None,
            callback_after_s=behaviour.callback_s,
        )
        self._report(result)
        often = 0.9 if result.status is TaskStatus.IN_PROGRESS else 0.2
        if self._repeats and self.chance.random() < often:
            after = int(self.chance.random() * 4 * SECOND)
            self.post("report", lambda engine: engine.tasks.update(result), after)

    def _do(self, task: Json, after_ms: int) -> bool:
        """Take the time that it takes; false when the lease is lost meanwhile."""
        left = after_ms * MS
        if not self.lease_s:
            self.pause(max(left, 1))
            return True
        third = self.lease_s * SECOND // 3
        kept_until = self.world.loop.now + self.lease_s * SECOND
        while left > 0:
            span = min(left, third)
            began = self.world.loop.now
            self.pause(span)
            left -= span
            now = self.world.loop.now
            if left > 0 or now - began > third:
                try:
                    self._extend(task)
                    kept_until = now + self.lease_s * SECOND
                except (Conflict, NotFound):
                    return False
                except (NoAnswer, ConductorError):
                    pass
            if self.world.loop.now > kept_until:
                return False
        return True

    def _extend(self, task: Json) -> None:
        request = ExtendRequest(
            task_id=task["taskId"],
            claim=task.get("claimToken", 0),
            worker=self.name,
            lease_s=self.lease_s,
        )
        self.ask("extend", lambda engine: engine.tasks.extend(request))

    def _report(self, result: TaskResult) -> None:
        for number in range(_REPORT_TRIES):
            try:
                self.ask("report", lambda engine: engine.tasks.update(result))
            except (Conflict, NotFound) as refused:
                self.world.note(self.name, f"drops a result: {refused.message}")
                return
            except (NoAnswer, ConductorError):
                self.pause((100 << (2 * number)) * MS)
            else:
                return


__all__ = [
    "Behave",
    "Behaviour",
    "Client",
    "Worker",
    "draw_behaviour",
    "faithful",
    "well_behaved",
]

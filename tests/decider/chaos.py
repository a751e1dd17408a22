"""A world in which everything happens at once: random workflows of every operator, every verb at
any moment, a store that goes away, processes that die in the middle of a call, and deciders that
get in each other's way.

One seed decides all of it. ``Chaos.step`` does one thing, ``sound`` looks whether what is stored
keeps the invariants, ``Chaos.finish`` lets a well-behaved world bring everything to its end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.codec.execution import load_header
from conductor_py.decider.workspace import Limits
from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.model.requests import ForceRequest, RerunRequest, UpgradeRequest
from conductor_py.model.status import TaskStatus
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.testing.author import WORKER, Author, RichAuthor
from tests.builders import Json, report, simple

FAULTY_CALLS = {
    "store": ("report", "send", "acquire", "commit", "load", "start"),
    "reader": ("remove", "restore", "snapshot"),
    "outbox": ("confirm", "postpone", "read", "take"),
    "timers": ("claim_due",),
    "queues": ("poll",),
}
_INTRUDED = frozenset({"commit", "confirm", "remove", "restore"})
_OUTSIDE = frozenset({"HUMAN", "WAIT", "EVENT", "START_WORKFLOW", "SUB_WORKFLOW", "INLINE"})


class Crash(BaseException):
    """The process dies here: nothing in the engine may catch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """How rough the world is: chances per store call."""

    unavailable: float = 0.0
    crash: float = 0.0
    intrusion: float = 0.0
    fencing: bool = True


class Chaos:
    """One engine and all that happens to it."""

    def __init__(
        self, seed: int, limits: Limits, weather: Weather, author: type[Author] = RichAuthor
    ) -> None:
        self.chance = random.Random(seed)
        self.weather = weather
        self.clock = FakeClock()
        self.space = MemorySpace(clock=self.clock)
        self.engine: MemoryEngine = memory_engine(
            clock=self.clock, space=self.space, limits=limits, fencing=weather.fencing
        )
        self.held: list[Json] = []
        self.log: list[str] = []
        self.calm = True
        self._depth = 0
        self._register(workflow_("other", simple("x", name=WORKER)))
        self._register(workflow_("rescue", simple("x", name=WORKER)))
        self.definition = author(random.Random(seed)).definition()
        self._register(self.definition)
        self._register({**self._longer(), "version": 2})
        self.roots = [self.engine.start("w", version=1)]
        self._disturb()
        self.calm = False

    def _register(self, definition: Json) -> None:
        found = workflow_from_json(definition)
        self.engine.engine.definitions.register(found, overwrite=True)

    def _longer(self) -> Json:
        tasks = list(self.definition["tasks"])
        at = self.chance.randrange(len(tasks) + 1)
        if at and tasks[at - 1]["type"] in {"FORK_JOIN", "FORK_JOIN_DYNAMIC"}:
            at -= 1
        return {**self.definition, "tasks": [*tasks[:at], simple("new", name=WORKER), *tasks[at:]]}

    # -- what goes wrong ---------------------------------------------------------------------------

    def _disturb(self) -> None:
        for port, names in FAULTY_CALLS.items():
            adapter: Any = getattr(self.engine.ports, port)
            for name in names:
                setattr(adapter, name, self._disturbed(name, getattr(adapter, name)))

    def _disturbed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def disturbed(*arguments: Any, **named: Any) -> Any:
            if self.calm:
                return call(*arguments, **named)
            self._may_fail(f"before {name}")
            if name in _INTRUDED and self.chance.random() < self.weather.intrusion:
                self._intrude()
            answer = call(*arguments, **named)
            self._may_fail(f"after {name}")
            return answer

        return disturbed

    def _may_fail(self, where: str) -> None:
        draw = self.chance.random()
        if draw < self.weather.crash:
            self.log.append(f"  crash {where}")
            raise Crash
        if draw < self.weather.crash + self.weather.unavailable:
            self.log.append(f"  away {where}")
            raise StoreUnavailable("chance")

    def _intrude(self) -> None:
        """Somebody else does something in between, perhaps after this one's lease has ended."""
        if self._depth:
            return
        self._depth += 1
        try:
            if self.chance.random() < 0.5:
                self.clock.advance(seconds=4)
            self.log.append("  intrusion:")
            for _ in range(self.chance.randrange(1, 3)):
                self.step()
        finally:
            self._depth -= 1

    # -- what happens ------------------------------------------------------------------------------

    @property
    def stored(self) -> list[Stored]:
        return list(self.space.partition(0).executions.values())

    def step(self) -> None:
        """One random thing happens."""
        draw = self.chance.random()
        act: Callable[[], object]
        if draw < 0.15:
            act = self._work
        elif draw < 0.27:
            act = self._poll
        elif draw < 0.55 and self.held:
            act = self._report
        elif draw < 0.62:
            act = self._complete_outside
        elif draw < 0.64:
            act = self._start_another
        elif draw < 0.80:
            act = self._verb
        else:
            act = self._tick
        with suppress(ConductorError, Crash):
            act()

    def _note(self, text: str) -> None:
        self.log.append(f"{self.clock.now_ms - 1_800_000_000_000} {text}")

    def _tick(self) -> None:
        ms = self.chance.choice([1, 700, 3000, 3000, 8000])
        self._note(f"tick {ms}")
        self.clock.advance(milliseconds=ms)
        self.engine.settle()

    def _work(self) -> None:
        """A good hour: workers do whatever there is, and do it well."""
        self._note("work")
        for type_ in (WORKER, "limited"):
            for task in self.engine.poll(type_, 10):
                report(self.engine, task, claim=task.get("claimToken", 0), worker="worker")
        self.clock.advance(milliseconds=self.chance.choice([1, 1500]))
        self.engine.settle()

    def _poll(self) -> None:
        type_ = self.chance.choice([WORKER, WORKER, "limited"])
        lease_s = self.chance.choice([0, 0, 4])
        found = self.engine.poll(type_, 3, lease_s=lease_s)
        self._note(f"poll {type_} {[task['taskId'] for task in found]}")
        self.held.extend(found)

    def _report(self) -> None:
        task = self.chance.choice(self.held)
        status = self.chance.choice(
            ["COMPLETED"] * 9
            + ["FAILED", "FAILED", "IN_PROGRESS", "COMPLETED_WITH_ERRORS", "CANCELED"]
            + ["FAILED_WITH_TERMINAL_ERROR"]
        )
        if self.chance.random() < 0.8:
            self.held.remove(task)
        claim = task.get("claimToken", 0) if self.chance.random() < 0.8 else 0
        callback = self.chance.choice([0, 0, 3])
        self._note(f"report {task['referenceTaskName']} {task['taskId']} {status}")
        extra: Json = {"callback_after_s": callback} if status == "IN_PROGRESS" else {}
        report(self.engine, task, status=status, claim=claim, worker="worker", **extra)

    def _complete_outside(self) -> None:
        tasks = list(self.open_outside())
        if not tasks:
            return
        task = self.chance.choice(tasks)
        status = self.chance.choice(["COMPLETED"] * 6 + ["FAILED", "IN_PROGRESS", "CANCELED"])
        self._note(f"outside {task['referenceTaskName']} {task['taskId']} {status}")
        if self.chance.random() < 0.3:
            found = TaskStatus(status)
            self.engine.engine.awaiting.signal(task["workflowInstanceId"], found, {"s": 1})
        else:
            report(self.engine, task, status=status)

    def open_outside(self) -> Iterator[Json]:
        """Tasks that somebody outside may end."""
        for stored in self.stored:
            if stored.terminal:
                continue
            for task in self.engine.workflow(stored.id)["tasks"]:
                open_ = task["status"] in {"SCHEDULED", "IN_PROGRESS"}
                if open_ and task["taskType"] in _OUTSIDE:
                    yield task

    def _start_another(self) -> None:
        if len(self.roots) < 5:
            self._note("start")
            key: Json = {}
            if self.chance.random() < 0.3:
                key = {"idempotency_key": "same", "idempotency_strategy": "RETURN_EXISTING"}
            self.roots.append(self.engine.start("w", version=1, **key))

    def _verb(self) -> None:
        ids = [stored.id for stored in self.stored] + self.roots
        chosen = self.chance.choice(ids)
        verbs = [name for name in dir(self) if name.startswith("do_")]
        verb = self.chance.choice(verbs)
        self._note(f"{verb} {chosen}")
        getattr(self, verb)(chosen)

    def do_pause(self, chosen: str) -> None:
        self.engine.engine.steering.pause(chosen)

    def do_resume(self, chosen: str) -> None:
        self.engine.engine.steering.resume(chosen)

    do_resume_too = do_resume

    def do_skip(self, chosen: str) -> None:
        refs = _refs(self.definition) or ["none"]
        ref = self.chance.choice(refs) + self.chance.choice(["", "", "__1", "__2"])
        self.engine.engine.steering.skip(chosen, ref, task_input={}, task_output={"k": 1})

    def do_variables(self, chosen: str) -> None:
        self.engine.engine.steering.set_variables(chosen, {"v": self.chance.randrange(3)})

    def do_reset(self, chosen: str) -> None:
        self.engine.engine.steering.reset_callbacks(chosen)

    def do_decide(self, chosen: str) -> None:
        self.engine.engine.steering.decide(chosen)

    def do_remove(self, chosen: str) -> None:
        if self.chance.random() < 0.5:
            archive = self.chance.random() < 0.5
            self.engine.engine.steering.remove(chosen, archive=archive)

    def do_terminate(self, chosen: str) -> None:
        if self.chance.random() < 0.5:
            rescue = self.chance.random() < 0.3
            self.engine.engine.executions.terminate(
                chosen, reason="chance", trigger_failure_workflow=rescue
            )

    def do_retry(self, chosen: str) -> None:
        resume = self.chance.random() < 0.5
        self.engine.engine.recovery.retry(chosen, resume_subworkflows=resume)

    do_retry_too = do_retry

    def do_restart(self, chosen: str) -> None:
        latest = self.chance.random() < 0.2
        self.engine.engine.recovery.restart(chosen, use_latest=latest)

    def do_rerun(self, chosen: str) -> None:
        tasks = self.engine.workflow(chosen)["tasks"]
        request = RerunRequest()
        if tasks and self.chance.random() < 0.85:
            given = {"again": 1} if self.chance.random() < 0.3 else {}
            request = RerunRequest(from_task=self.chance.choice(tasks)["taskId"], task_input=given)
        self.engine.engine.recovery.rerun(chosen, request)

    do_rerun_too = do_rerun

    def do_rerun_below(self, chosen: str) -> None:
        """From a task of what may be a child, however deep, through the one that was chosen."""
        below = self.chance.choice([chosen, *(stored.id for stored in self.stored)])
        tasks = self.engine.workflow(below)["tasks"]
        if tasks:
            request = RerunRequest(from_task=self.chance.choice(tasks)["taskId"])
            self.engine.engine.recovery.rerun(chosen, request)

    def do_rerun_from(self, chosen: str) -> None:
        mode = self.chance.choice(("TASK_POST", "TASK_ONLY", "TASK_PRE"))
        ref = self.chance.choice(_refs(self.definition) or ["none"])
        self.engine.engine.recovery.rerun(chosen, RerunRequest(from_ref=ref, mode=mode))

    def do_force(self, chosen: str) -> None:
        ends = {"FAILED", "FAILED_WITH_TERMINAL_ERROR", "TIMED_OUT", "CANCELED"}
        tasks = self.engine.workflow(chosen)["tasks"]
        failed = [one["referenceTaskName"] for one in tasks if one["status"] in ends]
        ref = self.chance.choice([*failed, "none"])
        self.engine.engine.recovery.force_success(chosen, ref, ForceRequest())

    do_force_too = do_force

    def do_jump(self, chosen: str) -> None:
        refs = _refs(self.definition) or ["none"]
        given = {"jumped": 1} if self.chance.random() < 0.3 else {}
        self.engine.engine.recovery.jump(chosen, self.chance.choice(refs), given)

    def do_upgrade(self, chosen: str) -> None:
        self.engine.engine.recovery.upgrade(chosen, UpgradeRequest(version=2))

    def do_message(self, chosen: str) -> None:
        self.engine.engine.messages.push(chosen, {"m": 1})

    # -- the end -----------------------------------------------------------------------------------

    def rest(self, rounds: int = 8) -> None:
        """Nothing happens but what is owed."""
        self.calm = True
        for _ in range(rounds):
            self.clock.advance(seconds=4)
            self.engine.settle()
        self.calm = False

    def finish(self) -> list[str]:
        """A well-behaved world, until all has ended; the ids of what does not end."""
        self.calm = True
        for task in self.held:
            with suppress(ConductorError):
                report(self.engine, task, claim=task.get("claimToken", 0), worker="worker")
        self.held.clear()
        for number in range(400):
            if number % 40 == 39:  # claims that died with their worker time out
                self.clock.advance(seconds=3700)
            released = self.engine.engine.quarantine.retry_all().decided
            running = [stored for stored in self.stored if not stored.terminal]
            if not (running or released):
                return []
            self._resume_all(running)
            self._do_all()
            for stored in running:
                with suppress(ConductorError):
                    self.engine.engine.messages.push(stored.id, {"m": 1})
            self.clock.advance(milliseconds=1500)
            self.engine.settle()
        return [stored.id for stored in self.stored if not stored.terminal]

    def _resume_all(self, running: list[Stored]) -> None:
        for stored in running:
            if stored.status == "PAUSED":
                with suppress(ConductorError):
                    self.engine.engine.steering.resume(stored.id)

    def _do_all(self) -> None:
        """Everything that workers, and people, have to do just now."""
        for type_ in (WORKER, "limited"):
            while tasks := self.engine.poll(type_, 100):
                for task in tasks:
                    report(self.engine, task, worker="worker")
        for task in list(self.open_outside()):
            outside = task["taskType"] not in {"SUB_WORKFLOW", "START_WORKFLOW"}
            if outside and not task.get("inputData", {}).get("duration"):
                with suppress(ConductorError):
                    report(self.engine, task)

    def empty(self) -> dict[str, Any]:
        """Let everything leave the store; what is left there."""
        self.calm = True
        for _ in range(30):
            self.clock.advance(seconds=35)
            self.engine.settle()
        partition = self.space.partition(0)
        lanes = [*partition.ready.items(), *partition.delayed.items()]
        left = {
            "executions": [
                (one.id, one.status, load_header(one.fields["h"])) for one in self.stored
            ],
            "queues": [member for _, lane in lanes for member in lane.scores],
            "timers": [m for timers in partition.timers.values() for m in timers.scores],
            "permits": [m for permits in partition.permits.values() for m in permits.scores],
            "admitted": [m for entries in partition.admitted.values() for m in entries.scores],
            "waiting": [m for entries in partition.waiting.values() for m in entries.scores],
            "running": [m for entries in partition.running.values() for m in entries.scores],
            "effects": list(partition.outbox.scores),
        }
        return {what: found for what, found in left.items() if found}


def workflow_(name: str, *tasks: Json) -> Json:
    return {"name": name, "version": 1, "tasks": list(tasks)}


def _refs(definition: Json) -> list[str]:
    found: list[str] = []
    pending = list(definition["tasks"])
    while pending:
        task = pending.pop()
        found.append(task["taskReferenceName"])
        for bodies in (
            *task.get("forkTasks", []),
            *task.get("decisionCases", {}).values(),
            task.get("defaultCase", []),
            task.get("loopOver", []),
        ):
            pending.extend(bodies)
    return found


@contextmanager
def timeless() -> Iterator[None]:
    """Let nothing depend on this machine: how fast it is, what it draws; and let nobody wait."""
    chance = random.Random(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "conductor_py.engine.machine.Machine.token",
            lambda _, size: chance.randbytes(size).hex(),
        )
        patch.setattr("conductor_py.engine.decisions.operations._ANSWER_WAIT_S", 0.0)
        patch.setattr("conductor_py.engine.tasks.results._PAUSES_S", (0.0,))
        yield


__all__ = ["Chaos", "Crash", "Weather", "timeless"]

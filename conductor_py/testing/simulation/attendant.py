"""Clients that start and operate executions, and whoever looks after them when all is calm."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from conductor_py.adapters.memory.space import Execution
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine import Engine
from conductor_py.errors import ConductorError
from conductor_py.model.ids import split_task_id, task_id
from conductor_py.model.requests import RerunRequest, StartRequest, TaskResult, UpgradeRequest
from conductor_py.model.status import TaskStatus
from conductor_py.testing.author import WORKER
from conductor_py.testing.definitions import Json, simple
from conductor_py.testing.simulation.clients import Client
from conductor_py.testing.simulation.long_operators import (
    asked_of_a_task,
    let_run,
    stands_still,
)
from conductor_py.testing.simulation.loop import MS, SECOND
from conductor_py.testing.simulation.process import NoAnswer
from conductor_py.testing.simulation.scenario import Action

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

_KEYED_TRIES: Final = 6
_ROUND: Final = 2 * SECOND
_LONGEST_ROUND: Final = 3_600 * SECOND
_OUTSIDE: Final = frozenset({"HUMAN", "EVENT", "WAIT", "PULL_WORKFLOW_MESSAGES"})


class Customer(Client):
    """Does one action."""

    def __init__(self, world: World, name: str, action: Action) -> None:
        """Be about to do ``action``."""
        super().__init__(world, name)
        self.action = action
        self.is_over = False

    def run(self) -> None:
        """Do it, once; only a start under a key is tried again when no answer comes."""
        try:
            if self.action.verb == "start":
                self._start()
            else:
                self._operate()
        finally:
            self.is_over = True

    def revive(self) -> None:
        """A client that died does not come back."""

    # -- start -------------------------------------------------------------------------------------

    def _start(self) -> None:
        action, world = self.action, self.world
        document = world.scenario.definitions[action.definition]
        name = document["name"]
        if world.scenario.registered:
            request = StartRequest(
                name=name,
                version=document.get("version", 1),
                idempotency_key=action.key or None,
                idempotency_strategy=action.strategy,
                priority=action.choice % 3,
                input=world.scenario.input,
            )
        else:
            request = StartRequest(
                name=name,
                definition=workflow_from_json(document),
                idempotency_key=action.key or None,
                idempotency_strategy=action.strategy,
                input=world.scenario.input,
            )
        for number in range(_KEYED_TRIES if action.key else 1):
            try:
                found = self.ask("start", lambda engine: engine.executions.start(request))
            except NoAnswer:
                self.pause((200 << number) * MS)
            except ConductorError as error:
                world.note(self.name, f"does not start {name}: {error.code}")
                if not error.retryable:
                    return
                self.pause((200 << number) * MS)
            else:
                world.note(self.name, f"is told that {world.names.of_execution(found)} is started")
                world.checks.note_start(found)
                world.checks.note_key(name, action.key, action.strategy, found)
                return

    # -- operate -----------------------------------------------------------------------------------

    def _operate(self) -> None:
        world, verb = self.world, self.action.verb
        chance = random.Random(self.action.choice)
        known = list(world.checks.seen)
        if not known:
            return
        target = chance.choice(known)
        name = world.names.of_execution(target)
        world.note(self.name, f"asks: {verb} {name}")
        act = getattr(self, f"_{verb}")(chance, target)
        if act is None:
            return
        try:
            self.ask(verb, act)
        except NoAnswer:
            world.note(self.name, f"gets no answer to {verb} {name}")
        except ConductorError as error:
            world.note(self.name, f"is refused: {verb} {name}, {error.code}")
        else:
            world.note(self.name, f"is answered: {verb} {name} is done")

    @staticmethod
    def _pause(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.steering.pause(target)

    @staticmethod
    def _resume(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.steering.resume(target)

    @staticmethod
    def _retry(chance: random.Random, target: str) -> Callable[[Engine], Any]:
        resume = chance.random() < 0.5
        return lambda engine: engine.recovery.retry(target, resume_subworkflows=resume)

    @staticmethod
    def _restart(chance: random.Random, target: str) -> Callable[[Engine], Any]:
        latest = chance.random() < 0.3
        return lambda engine: engine.recovery.restart(target, use_latest=latest)

    def _rerun(self, chance: random.Random, target: str) -> Callable[[Engine], Any]:
        def rerun(engine: Engine) -> None:
            tasks: Any = engine.executions.document(target)["tasks"]
            request = RerunRequest()
            if tasks and chance.random() < 0.85:
                request = RerunRequest(from_task=chance.choice(tasks)["taskId"])
            engine.recovery.rerun(target, request)

        return rerun

    def _skip(self, chance: random.Random, target: str) -> Callable[[Engine], Any]:
        ref = self._ref(chance) + chance.choice(("", "", "__1", "__2"))
        return lambda engine: engine.steering.skip(target, ref, task_input={}, task_output={"k": 1})

    def _jump(self, chance: random.Random, target: str) -> Callable[[Engine], Any]:
        ref = self._ref(chance)
        return lambda engine: engine.recovery.jump(target, ref, {})

    @staticmethod
    def _terminate(chance: random.Random, target: str) -> Callable[[Engine], Any]:
        rescue = chance.random() < 0.3
        return lambda engine: engine.executions.terminate(
            target, reason="chance", trigger_failure_workflow=rescue
        )

    @staticmethod
    def _variables(chance: random.Random, target: str) -> Callable[[Engine], Any]:
        value = chance.randrange(3)
        return lambda engine: engine.steering.set_variables(target, {"v": value})

    @staticmethod
    def _signal(chance: random.Random, target: str) -> Callable[[Engine], Any]:
        status = TaskStatus(chance.choice(("COMPLETED", "COMPLETED", "FAILED")))
        return lambda engine: engine.awaiting.signal(target, status, {"s": 1})

    def _complete(self, chance: random.Random, target: str) -> Callable[[Engine], Any] | None:
        stored = self._stored(target)
        tasks = list(open_outside(stored)) if stored is not None else []
        if not tasks:
            return None
        task = chance.choice(tasks)
        status = TaskStatus(chance.choice(("COMPLETED", "COMPLETED", "FAILED", "IN_PROGRESS")))
        result = TaskResult(workflow_id=target, task_id=task, status=status, output={"by": "hand"})
        return lambda engine: engine.tasks.update(result)

    def _contradict(self, chance: random.Random, target: str) -> Callable[[Engine], Any] | None:
        """Two people answer the same task at the same moment, each in another way."""
        stored = self._stored(target)
        tasks = list(open_outside(stored)) if stored is not None else []
        if not tasks:
            return None
        task = chance.choice(tasks)
        first, second = (
            TaskResult(workflow_id=target, task_id=task, status=status, output={"by": status.value})
            for status in chance.sample((TaskStatus.COMPLETED, TaskStatus.FAILED), 2)
        )
        self.post("contradict", _complete(second), chance.randrange(4 * MS))
        if chance.random() < 0.3:
            return lambda engine: engine.awaiting.signal(target, TaskStatus.COMPLETED, {"s": 1})
        return _complete(first)

    def _overrule(self, chance: random.Random, target: str) -> Callable[[Engine], Any] | None:
        """Somebody ends by hand what a worker is to do, or does."""
        stored = self._stored(target)
        tasks = list(open_of(stored, lambda a: bool(a.get("q")))) if stored is not None else []
        if not tasks:
            return None
        status = TaskStatus(chance.choice(("COMPLETED", "COMPLETED", "FAILED")))
        task = chance.choice(tasks)
        result = TaskResult(workflow_id=target, task_id=task, status=status, output={"by": "hand"})
        return _complete(result)

    @staticmethod
    def _message(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.messages.push(target, {"m": 1})

    @staticmethod
    def _reset(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.steering.reset_callbacks(target)

    def _requeue(self, chance: random.Random, target: str) -> Callable[[Engine], Any] | None:
        """Somebody believes a worker to be dead, one or all of a type."""
        stored = self._stored(target)
        tasks = list(open_of(stored, lambda a: bool(a.get("q")))) if stored is not None else []
        if not tasks or stored is None:
            return None
        task = chance.choice(tasks)
        kind = orjson.loads(stored.fields[f"a:{split_task_id(task)[1]}"])["type"]
        if chance.random() < 0.3:
            return lambda engine: engine.open_tasks.requeue_all(kind)
        return lambda engine: engine.open_tasks.requeue(task)

    @staticmethod
    def _decide(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.steering.decide(target)

    def _remove(self, chance: random.Random, target: str) -> Callable[[Engine], Any]:
        archive = chance.random() < 0.6
        if not archive:
            self.world.checks.forgotten.add(target)
        return lambda engine: engine.steering.remove(target, archive=archive)

    @staticmethod
    def _upgrade(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.recovery.upgrade(target, UpgradeRequest(version=2))

    def _redefine(self, chance: random.Random, _: str) -> Callable[[Engine], Any]:
        document = self.world.scenario.definitions[self.action.definition]
        new = {
            **document,
            "version": chance.choice((1, 1, 2)),
            "description": f"edition {self.name}",
            "tasks": longer(chance, document),
        }
        definition = workflow_from_json(new)
        return lambda engine: engine.definitions.register(definition, overwrite=True)

    def _ask_task(self, chance: random.Random, target: str) -> Callable[[Engine], Any] | None:
        stored = self._stored(target)
        return asked_of_a_task(chance, stored) if stored is not None else None

    @staticmethod
    def _read(_: random.Random, target: str) -> Callable[[Engine], Any]:
        return lambda engine: engine.executions.document(target)

    def _ref(self, chance: random.Random) -> str:
        document = self.world.scenario.definitions[self.action.definition]
        return chance.choice(list(references(document)) or ["none"])

    def _stored(self, execution: str) -> Execution | None:
        found = (p.executions.get(execution) for p in self.world.space.partitions)
        return next((one for one in found if one is not None), None)


class Attendant(Client):
    """Resumes what is paused, completes what waits for people, and stops the schedules."""

    def run(self) -> None:
        """Look round again and again."""
        told, rest = False, _ROUND
        while True:
            before = self.counts.total()
            if self.world.calm and not told:
                told = all(
                    self._surely("pause a schedule", _pause_schedule(schedule["name"]))
                    for schedule in self.world.scenario.schedules
                )
            for stored in self.world.running():
                for what, act in list(self._due(stored)):
                    if self.world.calm or self.chance.random() < 0.5:
                        self._surely(what, act)
            idle = self.world.calm and self.counts.total() == before
            longest = min(self.world.scenario.calm_s * SECOND // 100, _LONGEST_ROUND)
            rest = min(rest * 2, longest) if idle else _ROUND
            self.pause(rest)

    def _due(self, stored: Execution) -> Iterator[tuple[str, Callable[[Engine], Any]]]:
        execution = stored.id
        if stored.status == "PAUSED":
            yield "resume", lambda engine: engine.steering.resume(execution)
            return
        for task in open_outside(stored):
            result = TaskResult(
                workflow_id=execution, task_id=task, status=TaskStatus.COMPLETED, output={}
            )
            yield "complete", _complete(result)
        for ref in stands_still(stored):
            yield "resume a task", let_run(execution, ref)

    def _surely(self, what: str, act: Callable[[Engine], Any]) -> bool:
        try:
            self.ask(what, act)
        except (NoAnswer, ConductorError) as error:
            self.world.note(self.name, f"cannot {what} just now: {error}")
            return False
        return True


def _complete(result: TaskResult) -> Callable[[Engine], Any]:
    return lambda engine: engine.tasks.update(result)


def _pause_schedule(name: str) -> Callable[[Engine], Any]:
    return lambda engine: engine.schedules.pause(name, None)


def open_outside(stored: Execution) -> Iterator[str]:
    """List the tasks that somebody outside is to end."""

    def outside(a: Json) -> bool:
        return a["type"] in _OUTSIDE and not a.get("wait") and not a.get("start")

    return open_of(stored, outside)


def open_of(stored: Execution, wanted: Callable[[Json], bool]) -> Iterator[str]:
    """List the open tasks that are wanted, by their ids."""
    for name, text in stored.fields.items():
        if not name.startswith("a:"):
            continue
        a = orjson.loads(text)
        open_ = a["st"] in {"SCHEDULED", "IN_PROGRESS"} and a["gen"] == stored.generation
        if open_ and wanted(a):
            yield task_id(stored.id, int(name[2:]))


def references(document: Mapping[str, Any]) -> Iterator[str]:
    """List the references of a definition."""
    pending: list[Json] = list(document["tasks"])
    while pending:
        task = pending.pop()
        yield task["taskReferenceName"]
        for body in bodies(task):
            pending.extend(body)


def bodies(task: Json) -> Iterator[list[Json]]:
    """List the lists of tasks inside of a task."""
    yield from task.get("forkTasks", [])
    yield from task.get("decisionCases", {}).values()
    yield task.get("defaultCase", [])
    yield task.get("loopOver", [])


def longer(chance: random.Random, document: Json) -> list[Json]:
    """Put one more task somewhere at the top of a definition."""
    tasks: list[Json] = list(document["tasks"])
    at = chance.randrange(len(tasks) + 1)
    if at and tasks[at - 1]["type"] in {"FORK_JOIN", "FORK_JOIN_DYNAMIC"}:
        at -= 1
    return [*tasks[:at], simple("new", name=WORKER), *tasks[at:]]


__all__ = ["Attendant", "Customer", "bodies", "references"]

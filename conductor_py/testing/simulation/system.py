"""Workers of system tasks: the engine's own, whose calls are simulated.

One carries out one call after the other. What its threads do in a deployment is done in between:
while a call takes its time, claims are extended.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from conductor_py.engine.system_worker.lanes import Served
from conductor_py.engine.system_worker.worker import SystemWorker, SystemWorkerOptions
from conductor_py.model.json import JsonObject
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.records import dataclass, field
from conductor_py.testing.definitions import Json, typed
from conductor_py.testing.simulation.loop import MS, SECOND
from conductor_py.testing.simulation.process import Server

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World

CALLED: Final = "HTTP"
"""The type whose tasks they carry out."""
_LEASE_S: Final = 4


class SystemTaskWorker(Server):
    """A process of system tasks."""

    def __init__(self, world: World, name: str) -> None:
        """Hold nothing."""
        super().__init__(world, name)
        self._worker: SystemWorker | None = None

    def run(self) -> None:
        """Carry out, for ever."""
        services = replace(self.running().system_workers, begin=_at_once, rest=self._rest)
        options = SystemWorkerOptions(
            worker=self.name,
            served=Served(slots=self.chance.choice((1, 2, 4))),
            lease_s=_LEASE_S,
            idle_s=20.0,
            find_s=60.0,
        )
        worker = self._worker = services.worker([_Calls(self)], options)
        while True:
            self.tick(partial(_round, worker))

    def last(self, microseconds: int) -> None:
        """Let the time of a call pass, and extend its claim meanwhile."""
        third = _LEASE_S * SECOND // 3
        while microseconds > 0:
            self.pause(min(microseconds, third))
            microseconds -= third
            if self._worker is not None:
                self._worker.keeper.tick()

    def _rest(self, event: threading.Event, seconds: float) -> bool:
        self.last(int(seconds * SECOND))
        return event.is_set()


@dataclass(slots=True)
class _Calls:
    """Calls as the workers of the world behave; some raise an error."""

    process: SystemTaskWorker
    task_type: str = CALLED
    _seen: Counter[str] = field(default_factory=Counter)

    def execute(self, call: SystemCall) -> SystemResult:
        """Take the time that it takes."""
        world = self.process.world
        self._seen[call.task_id] += 1
        polls = self._seen[call.task_id]
        task = {"referenceTaskName": call.ref, "retryCount": call.retry_count, "pollCount": polls}
        behaviour = world.behave(task)
        world.counts["calls of system tasks"] += 1
        self.process.last(max(behaviour.after_ms, 1) * MS)
        if behaviour.is_silent:
            raise LookupError("a fault of the system task")
        output: JsonObject = {"by": self.process.name, "at": world.loop.now, **behaviour.output}
        return SystemResult(
            status=behaviour.status,
            output=output,
            reason=behaviour.reason or None,
            callback_after_s=behaviour.callback_s,
        )

    def close(self) -> None:
        """Keep nothing."""


def with_calls(chance: random.Random, definition: Json) -> Json:
    """Put tasks of the type between those of a definition."""
    tasks = list(definition["tasks"])
    for number in range(chance.choice((1, 2, 3))):
        policy = {
            "name": "call",
            "retryCount": chance.choice((0, 1, 3)),
            "retryDelaySeconds": chance.choice((0, 1)),
            "responseTimeoutSeconds": chance.choice((3, 9)),
            "timeoutSeconds": chance.choice((0, 12)),
        }
        if chance.random() < 0.3:
            policy |= {"name": "call_one", "concurrentExecLimit": 1}
        given = {"http_request": {"uri": "http://example.com", "method": "GET"}}
        call = typed(CALLED, f"call{number}", inputParameters=given, taskDefinition=policy)
        tasks.insert(chance.randrange(len(tasks) + 1), call)
    return {**definition, "tasks": tasks}


def _round(worker: SystemWorker) -> int:
    worker.look_or_wait()
    return 0


def _at_once(_: str, act: Callable[[], None]) -> None:
    act()


__all__ = ["CALLED", "SystemTaskWorker", "with_calls"]

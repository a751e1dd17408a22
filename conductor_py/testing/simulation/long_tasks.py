"""Workers of long tasks: they go on after the newest record, put the next one, heed what is asked.

The stubborn ones go on though they have lost their lease: what they put then must be refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from conductor_py.engine import Engine
from conductor_py.errors import (
    ClaimLost,
    ConductorError,
    Conflict,
    EpochConflict,
    NotesConflict,
    NotFound,
)
from conductor_py.model.checkpoints import KeptPart, KeptPlace, Wanted
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.testing.simulation.clients import Json, Worker
from conductor_py.testing.simulation.loop import MS
from conductor_py.testing.simulation.process import NoAnswer

LONG: Final = "long"
"""The type of long tasks."""
PARTS: Final = ("left", "right")
STOPPED_S: Final = 300
_TRIES: Final = 4
_ROUNDS_OF_A_PAUSE: Final = 20
_PAUSE_MS: Final = 700
_STEP_MS: Final = (1, 20, 300, 1_500, 4_000)
_RETAIN: Final = 3
_NOTED: Final = 0.3


class _LeftError(Exception):
    """The task is another's, or its worker gives up."""


class LongWorker(Worker):
    """A worker that knows long tasks, too."""

    def _work(self, task: Json) -> None:
        if task["taskType"] != LONG:
            super()._work(task)
            return
        try:
            status, output = self._steps(task)
        except _LeftError as why:
            self.world.note(self.name, f"leaves {self.world.names.of_task(task)}: {why}")
            return
        put_off = status is TaskStatus.IN_PROGRESS
        self._report(
            TaskResult(
                workflow_id=task["workflowInstanceId"],
                task_id=task["taskId"],
                status=status,
                output=output,
                claim=task["claimToken"],
                worker=self.name,
                callback_after_s=STOPPED_S if put_off else 0,
            )
        )

    def _steps(self, task: Json) -> tuple[TaskStatus, dict[str, Any]]:
        """Put records until there are as many as the task wants, or somebody asks otherwise."""
        task_id, token = task["taskId"], task["claimToken"]
        kept: KeptPlace = self._surely(
            "acquire", lambda engine: engine.checkpoints.acquire(task_id, token)
        )
        self.world.counts["records found"] += any(part.epoch for part in kept.parts)
        draw = zlib.crc32(f"{self.world.scenario.seed} {task['referenceTaskName']}".encode())
        goal, parts = 2 + draw % 4, PARTS[: 1 + draw // 4 % 2]
        known = {name: kept.part(name) for name in parts}
        wanted = kept.wanted
        while (name := min(known, key=lambda one: _count(known[one]))) and (
            _count(known[name]) < goal
        ):
            ends = self._heed(task, wanted)
            if ends is not None:
                return ends, {}
            step_ms = 1 if self.world.calm else self.chance.choice(_STEP_MS)
            self._keep_on(task, step_ms)
            if not self.world.calm and self.chance.random() < 0.06:
                return TaskStatus.FAILED, {}
            known[name] = self._step(task, known[name])
            wanted = self._surely("wanted", lambda engine: engine.checkpoints.wanted(task_id))
        return TaskStatus.COMPLETED, {"records": goal}

    def _heed(self, task: Json, wanted: Wanted | None) -> TaskStatus | None:
        """How the task ends for now by what somebody asks; ``None``: it goes on."""
        for _ in range(_ROUNDS_OF_A_PAUSE):
            if wanted is None:
                return None
            self.world.counts[f"heeded {wanted.action}"] += 1
            if wanted.action == "STOP":
                return TaskStatus.IN_PROGRESS
            if wanted.action == "CANCEL":
                return TaskStatus.FAILED_WITH_TERMINAL_ERROR
            self._keep_on(task, _PAUSE_MS)
            wanted = self._surely(
                "wanted", lambda engine: engine.checkpoints.wanted(task["taskId"])
            )
        raise _LeftError("its pause does not end")

    def _keep_on(self, task: Json, ms: int) -> None:
        if not (self._do(task, ms) or self._is_stubborn):
            raise _LeftError("its lease is lost")

    def _step(self, task: Json, part: KeptPart) -> KeptPart:
        """Put the next record of a part, now and then with a note before it; returns what the part
        keeps then. What was put meanwhile, or lost with a tail of the store, is gone on from.
        """
        task_id = task["taskId"]
        record: JsonObject = {"count": _count(part) + 1, "by": self.name, "at": self.world.loop.now}
        try:
            if self.chance.random() < _NOTED:
                self._surely("append", partial(_note, task, part))
            self._surely("put", partial(_put, task, part, record))
        except (EpochConflict, NotesConflict):
            found: KeptPart = self._surely(
                "get", lambda engine: engine.checkpoints.part(task_id, part.name)
            )
            return found
        return KeptPart(name=part.name, epoch=part.epoch + 1, record=record)

    def _surely(self, name: str, act: Callable[[Engine], Any]) -> Any:
        """Ask until there is an answer, some times; what was sent again changes nothing more."""
        for number in range(_TRIES):
            try:
                return self.ask(name, act)
            except (EpochConflict, NotesConflict):
                raise
            except (ClaimLost, Conflict, NotFound) as refused:
                raise _LeftError(refused.message) from refused
            except (NoAnswer, ConductorError):
                self.pause((100 << (2 * number)) * MS)
        raise _LeftError("nobody answers")


def _note(task: Json, part: KeptPart, engine: Engine) -> int:
    return engine.checkpoints.append(
        task["taskId"],
        task["claimToken"],
        part.name,
        [{"begun": part.epoch + 1}],
        epoch=part.epoch,
        position=part.note_count,
    )


def _put(task: Json, part: KeptPart, record: JsonObject, engine: Engine) -> str:
    return engine.checkpoints.put(
        task["taskId"],
        task["claimToken"],
        part.name,
        record,
        expected=part.epoch,
        epoch=part.epoch + 1,
        retain=_RETAIN,
    )


def _count(part: KeptPart) -> int:
    """How far a part is: by the record that somebody wants it to go on from, else the newest."""
    record = part.start.record if part.start is not None else part.record
    return 0 if record is None else int(str(record["count"]))


__all__ = ["LONG", "PARTS", "LongWorker"]

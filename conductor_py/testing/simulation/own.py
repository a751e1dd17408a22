"""A user's own workflow under faults: a scenario around it, and workers that behave as they say."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.status import TaskStatus
from conductor_py.records import dataclass, field
from conductor_py.testing.definitions import Json
from conductor_py.testing.simulation.clients import Behave, Behaviour
from conductor_py.testing.simulation.faults import WEATHERS, Kind, draw_faults
from conductor_py.testing.simulation.scenario import Action, Deployment, Scenario

_SPAN_MS: Final = 20_000
_CALM_S: Final = 30 * 24 * 3_600
_MEMBERS: Final = frozenset({"status", "output", "seconds", "failTimes", "failureRate", "reason"})
_DURATIONS_S: Final = (0.001, 0.01, 0.1, 0.5, 2.0)
_FAILURE_RATE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBehaviour:
    """What workers do with the tasks of one reference or name.

    They report ``status`` with ``output`` after ``seconds`` (``None``: a random while); FAILED in
    the first ``fail_times`` tries, and in ``failure_rate`` of the others.
    """

    status: TaskStatus = TaskStatus.COMPLETED
    output: Json = field(default_factory=dict)
    seconds: float | None = None
    fail_times: int = 0
    failure_rate: float = 0.0
    reason: str = "simulated"


def read_behaviours(body: Any) -> dict[str, TaskBehaviour]:
    """Read behaviours by reference or task name (``InvalidInput``)."""
    if not isinstance(body, Mapping):
        raise InvalidInput("The behaviours must be an object: from task to what it does.")
    return {str(name): _behaviour(str(name), given) for name, given in body.items()}


def _behaviour(name: str, given: Any) -> TaskBehaviour:
    path = f"$.{name}"
    if not isinstance(given, Mapping):
        raise _wrong(path, "must be an object")
    for member in given:
        if member not in _MEMBERS:
            raise _wrong(f"{path}.{member}", f"is not one of {', '.join(sorted(_MEMBERS))}")
    ends = [status.value for status in TaskStatus if status.terminal]
    status = given.get("status", "COMPLETED")
    if status not in ends:
        raise _wrong(f"{path}.status", f"must be one of {', '.join(ends)}")
    output = given.get("output", {})
    if not isinstance(output, Mapping):
        raise _wrong(f"{path}.output", "must be an object")
    seconds = given.get("seconds")
    return TaskBehaviour(
        status=TaskStatus(status),
        output=dict(output),
        seconds=None if seconds is None else _number(f"{path}.seconds", seconds, 86_400),
        fail_times=int(_number(f"{path}.failTimes", given.get("failTimes", 0), 1_000)),
        failure_rate=_number(f"{path}.failureRate", given.get("failureRate", 0.0), 1),
        reason=str(given.get("reason", "simulated")),
    )


def _number(path: str, given: Any, most: float) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= most:
        raise _wrong(path, f"must be a number from 0 to {most}")
    return float(given)


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))


def behave_as(behaviours: Mapping[str, TaskBehaviour], seed: int) -> Behave:
    """Make workers that do as they are told; tasks that nothing is said of fail now and then.

    The same try of the same task is always done in the same way.
    """

    def behave(task: Mapping[str, Any]) -> Behaviour:
        ref, tries = str(task["referenceTaskName"]), int(task.get("retryCount", 0))
        place = f"{seed} {ref} {task.get('iteration', 0)} {tries}"
        draw = zlib.crc32(place.encode()) % 1_000 / 1_000
        told = behaviours.get(ref) or behaviours.get(str(task.get("taskDefName", "")))
        told = told or TaskBehaviour(failure_rate=_FAILURE_RATE)
        seconds = told.seconds
        if seconds is None:
            seconds = _DURATIONS_S[zlib.crc32(f"{place} time".encode()) % len(_DURATIONS_S)]
        after_ms = max(int(seconds * 1000), 1)
        fails = tries < told.fail_times or draw < told.failure_rate
        if fails:
            return Behaviour(status=TaskStatus.FAILED, after_ms=after_ms, reason=told.reason)
        reason = "" if told.status.successful else told.reason
        return Behaviour(status=told.status, after_ms=after_ms, output=told.output, reason=reason)

    return behave


def own_scenario(
    definitions: Sequence[Json],
    seed: int,
    *,
    tasks: Iterable[Json] = (),
    given_input: Json | None = None,
    executions: int = 2,
) -> Scenario:
    """Draw a run of the first of these definitions; the others are there for it to start."""
    chance = random.Random(f"own {seed}")
    # The weather without faults first: then it is seen whether the workflow itself is right.
    weather = WEATHERS[seed % len(WEATHERS)]
    kinds = tuple(kind for kind in weather.kinds if kind is not Kind.LOST_TAIL)
    deployment = Deployment(workers=2, schedulers=0, shard_lease_ms=600_000)
    actions = tuple(
        Action(at_ms=number * 50, verb="start", choice=0) for number in range(executions)
    )
    servers = tuple(
        name for kind in ("api", "sweeper", "effects") for name in deployment.names(kind)
    )
    faults = draw_faults(
        chance,
        replace(weather, kinds=kinds),
        servers=servers,
        clients=deployment.names("worker"),
        span_ms=_SPAN_MS,
    )
    return Scenario(
        seed=seed,
        weather=weather.name,
        deployment=deployment,
        definitions=tuple(definitions[:1]),
        others=tuple(definitions[1:]),
        tasks=tuple(tasks),
        schedules=(),
        actions=actions,
        faults=faults,
        span_ms=_SPAN_MS,
        input=given_input or {},
        calm_s=_CALM_S,
    )


__all__ = ["TaskBehaviour", "behave_as", "own_scenario", "read_behaviours"]

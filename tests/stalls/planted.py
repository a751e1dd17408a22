"""Stalls, planted: the ways in which an execution stands still.

A stall of a *task* is one branch of a fork, so that several can be in one execution. A stall of an
*execution* befalls it as a whole. Nobody sweeps, and nobody carries out effects. Each is brought
about ``before`` the start, when it has ``begun``, two minutes ``later``, and ten seconds after
that ``at_last``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

import orjson

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.model.ids import ExecutionId
from conductor_py.model.workers import TaskTypeLoad, WorkerSign
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.testing.serving import served
from tests.builders import (
    Json,
    fork,
    join,
    policy,
    report,
    run_failing,
    simple,
    sub_workflow,
    typed,
    wait,
    workflow,
)

_HOUR: Final = 3_600


@dataclass(slots=True)
class Scene:
    """An engine in memory, and the execution that stands still in it."""

    engine: MemoryEngine
    space: MemorySpace
    clock: FakeClock
    started: str = ""

    @property
    def stored(self) -> Stored:
        return self.space.partition(0).executions[self.started]

    def explained(self) -> Json:
        """What the engine says of it."""
        return dict(self.engine.engine.why.explain(self.started))

    def serve(self) -> AbstractContextManager[str]:
        """Serve the API and the pages; nothing is swept meanwhile."""
        return served(self.engine.engine, self.space, lambda: None)

    def change_header(self, **facts: Any) -> None:
        self.stored.fields["h"] = orjson.dumps({**self.stored.header(), **facts})

    def set_back(self, times: int) -> None:
        """Let deciding on it fail so often."""
        execution, version = ExecutionId(self.started), self.stored.version
        for _ in range(times):
            self.engine.ports.quarantine.set_back(execution, "nobody", version, "it is broken")


Act = Callable[[Scene], object]


def _nothing(_: Scene) -> None:
    """Have nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """One stall: the code that names it, and how it comes about.

    ``task`` is its branch, if it needs one. ``within`` is what else the definition says.
    ``hides`` means that no other cause is named beside it, or not as it would be alone.
    """

    code: str
    task: Json | None = None
    within: Json | None = None
    hides: bool = False
    before: Act = _nothing
    begun: Act = _nothing
    later: Act = _nothing
    at_last: Act = _nothing


def plant(*stalls: Stall) -> Scene:
    """Bring stalls about in one execution."""
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    scene = Scene(memory_engine(clock=clock, space=space), space, clock)
    for stall in stalls:
        stall.before(scene)
    clock.advance(seconds=1)
    scene.started = scene.engine.start(_definition(stalls), task_to_domain={"gpu_only": "gpu"})
    for stall in stalls:
        stall.begun(scene)
    clock.advance(seconds=120)
    for stall in stalls:
        stall.later(scene)
    clock.advance(seconds=10)
    scene.engine.engine.shards.keep(force=True)
    for stall in stalls:
        stall.at_last(scene)
    return scene


def _definition(stalls: tuple[Stall, ...]) -> Json:
    tasks = [stall.task for stall in stalls if stall.task is not None]
    more = {name: value for stall in stalls for name, value in (stall.within or {}).items()}
    if len(tasks) > 1:
        refs = (task["taskReferenceName"] for task in tasks)
        tasks = [fork("f", *([task] for task in tasks)), join("j", *refs)]
    return {**workflow("stands", *(tasks or [typed("HUMAN", "somebody")])), **more}


# -- tasks -----------------------------------------------------------------------------------------


def _polled(task_type: str, **how: Any) -> Act:
    return lambda scene: scene.engine.poll(task_type, **how)


def _taken_by_another(definition: Json) -> Act:
    """Let another execution have the one slot, or use up the window."""

    def take(scene: Scene) -> None:
        scene.engine.start(workflow("other", definition))
        assert scene.engine.poll(definition["name"])

    return take


def _tell(running: int) -> Act:
    """Let a worker of four slots say how busy it is."""
    told = TaskTypeLoad(task_type="busy", capacity=4, running=running)
    sign = WorkerSign(worker="w1", host="h", version="1", sdk="s", task_types=(told,))
    return lambda scene: scene.engine.engine.workers.report(sign)


def _put_off(scene: Scene) -> None:
    (task,) = scene.engine.poll("put_off")
    report(scene.engine, task, status="IN_PROGRESS", callback_after_s=_HOUR)


def _call_made(scene: Scene) -> None:
    """Let a call be made whose result is to come from outside."""
    (task,) = scene.engine.poll("HTTP")
    report(scene.engine, task, status="IN_PROGRESS")


def _grouped(name: str) -> Json:
    given = {"kafka_request": {"topic": "t", "value": "v", "bootStrapServers": "h:1"}}
    task = typed("KAFKA_PUBLISH", name, inputParameters=given)
    return {**task, "taskDefinition": {"name": name, "isolationGroupId": "slow"}}


def _keyed(name: str) -> Json:
    task = typed("SUB_WORKFLOW", name)
    return {**task, "subWorkflowParam": {"name": "child", "version": 1, "idempotencyKey": "k"}}


def _begin_keyed(scene: Scene) -> None:
    scene.started = scene.engine.start(workflow("stands", _keyed("keyed")))


def _register_child(scene: Scene) -> None:
    child = workflow_from_json(workflow("child", simple("in_child")))
    scene.engine.engine.definitions.register(child, overwrite=True)


_CALL: Final = {"http_request": {"uri": "http://example.com", "method": "GET"}}
_LATE: Final = {"responseTimeoutSeconds": 2 * _HOUR}
_LIMITED: Final = policy("limited", concurrentExecLimit=1, **_LATE)
_RATED: Final = policy("rated", rateLimitPerFrequency=1, rateLimitFrequencyInSeconds=_HOUR, **_LATE)
_ALIKE: Final = simple("alike")

OF_TASKS: Final = (
    Stall(code="effect-stuck", task=typed("EVENT", "told", sink="conductor", asyncComplete=True)),
    Stall(code="no-system-worker", task=typed("HTTP", "call", inputParameters=_CALL)),
    Stall(
        code="worker-in-other-domain",
        task=simple("gpu_only"),
        at_last=_polled("gpu_only", domain="cpu"),
    ),
    Stall(code="worker-in-other-group", task=_grouped("grouped"), at_last=_polled("KAFKA_PUBLISH")),
    Stall(code="no-worker-ever", task=simple("nobody")),
    Stall(code="no-worker-since", task=simple("since"), before=_polled("since")),
    Stall(code="worker-lost", task=simple("lost"), later=_polled("lost", lease_s=8)),
    Stall(code="worker-silent", task=simple("silent"), later=_polled("silent", lease_s=13)),
    Stall(code="concurrency-limit", task=_LIMITED, before=_taken_by_another(_LIMITED)),
    Stall(code="rate-limit", task=_RATED, before=_taken_by_another(_RATED)),
    Stall(code="workers-busy", task=simple("busy"), before=_polled("busy"), later=_tell(4)),
    Stall(code="human", task=typed("HUMAN", "person")),
    Stall(code="wait-signal", task=typed("WAIT", "signal")),
    Stall(code="messages", task=typed("PULL_WORKFLOW_MESSAGES", "pull")),
    Stall(
        code="retry-delay",
        task=policy("again", retryCount=2, retryDelaySeconds=_HOUR),
        begun=lambda scene: run_failing(scene.engine, "again"),
    ),
    Stall(code="callback", task=simple("put_off"), begun=_put_off),
    Stall(code="start-delay", task={**simple("delayed"), "startDelay": _HOUR}),
    Stall(code="wait-timer", task=wait("nap", duration="1 hour")),
    Stall(
        code="queued",
        task=_ALIKE,
        before=lambda scene: scene.engine.start(workflow("other", _ALIKE)),
        at_last=_polled("alike"),
    ),
    Stall(code="running", task=policy("long", **_LATE), begun=_polled("long")),
)
"""The most urgent first."""

# -- executions ------------------------------------------------------------------------------------


def _pause(scene: Scene) -> None:
    scene.engine.engine.steering.pause(scene.started)


def _lose_plan(scene: Scene) -> None:
    del scene.space.partition(0).plans[str(scene.stored.header()["plan"])]


def _drop_entry(scene: Scene) -> None:
    (seq,) = (
        int(task["taskId"][37:])
        for task in scene.engine.workflow(scene.started)["tasks"]
        if task["referenceTaskName"] == "dropped"
    )
    scene.space.partition(0).ready["dropped", "s0"].drop(f"{scene.started}-{seq}")


def _complete(scene: Scene) -> None:
    scene.engine.run("done")


_ADMITTED: Final = {"rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1}}

OF_EXECUTIONS: Final = (
    Stall(code="quarantined", hides=True, at_last=lambda scene: scene.set_back(5)),
    Stall(code="unknown-format", hides=True, at_last=lambda scene: scene.change_header(f=99)),
    Stall(code="plan-lost", hides=True, at_last=_lose_plan),
    Stall(code="broken", task=simple("dropped"), at_last=_drop_entry),
    Stall(code="failing", at_last=lambda scene: scene.set_back(1)),
    Stall(code="store-clock", hides=True, at_last=lambda scene: scene.clock.advance(seconds=-600)),
    Stall(code="no-sweeper", task=wait("overdue", duration="5 seconds")),
    Stall(code="paused", at_last=_pause),
)
"""Those that anything else may be in as well, the most urgent first."""

ALONE: Final = (
    Stall(
        code="shard-unserved",
        task=simple("homeless"),
        at_last=lambda scene: scene.engine.engine.shards.release(),
    ),
    Stall(
        code="workflow-rate-limit",
        task=simple("admitted"),
        within=_ADMITTED,
        before=lambda scene: scene.engine.start(
            {**workflow("stands", simple("admitted")), **_ADMITTED}
        ),
    ),
    Stall(
        code="external",
        task=typed("HTTP", "called", inputParameters=_CALL, asyncComplete=True),
        begun=_call_made,
    ),
    Stall(code="start-order", before=_register_child, at_last=_begin_keyed),
    Stall(code="archive-pending", task=simple("done"), begun=_complete),
    Stall(code="human", task=sub_workflow("below", workflow("child", typed("HUMAN", "person")))),
)

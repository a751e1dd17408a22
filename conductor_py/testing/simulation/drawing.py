"""Drawing scenarios from seeds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Final

from conductor_py.testing.author import WORKER
from conductor_py.testing.definitions import Json, fork, join, simple, times, workflow
from conductor_py.testing.simulation.authors import RATED, FaithfulAuthor, SimulationAuthor
from conductor_py.testing.simulation.faults import (
    FAIR,
    WEATHERS,
    Fault,
    Kind,
    Weather,
    draw_faults,
)
from conductor_py.testing.simulation.long_tasks import LONG
from conductor_py.testing.simulation.scenario import Action, Deployment, Scenario
from conductor_py.testing.simulation.system import with_calls

_ROUGH: Final = tuple(kind for kind in Kind if kind not in {Kind.LOST_TAIL, Kind.CLOCK})
VERBS: Final = (
    ("pause", 7),
    ("resume", 6),
    ("retry", 5),
    ("restart", 2),
    ("rerun", 3),
    ("skip", 2),
    ("jump", 1),
    ("terminate", 3),
    ("variables", 3),
    ("signal", 4),
    ("complete", 6),
    ("contradict", 4),
    ("overrule", 3),
    ("message", 2),
    ("reset", 1),
    ("requeue", 2),
    ("decide", 1),
    ("remove", 1),
    ("upgrade", 1),
    ("redefine", 4),
    ("read", 2),
)
"""What clients do besides starting, and how often."""
HARMLESS: Final = ("pause", "pause", "resume", "decide", "read", "reset")
"""What changes nothing in how an execution comes out."""
_LONG_ONE_IN: Final = 20
"""So many seeds are to one of long tasks, and to one of system tasks."""
_ALONE_ONE_IN: Final = 8
"""So many seeds are to one whose sweepers carry effects out themselves."""
_LONG_VERBS: Final = (
    ("ask_task", 12),
    ("pause", 1),
    ("resume", 1),
    ("retry", 3),
    ("restart", 1),
    ("rerun", 2),
    ("terminate", 1),
    ("remove", 1),
    ("overrule", 1),
    ("requeue", 1),
)
"""What people do where tasks are long, and how often. None of it makes a stopped task run again
but that they ask for it.
"""
_KEPT_CALLS: Final = ("checkpoints.acquire", "checkpoints.put", "checkpoints.put", "queues.extend")
_A_DAY_LATER_MS: Final = 26 * 3_600_000
"""Past the time for which definitions are kept that nothing uses."""


def draw_scenario(seed: int) -> Scenario:
    """Draw a run from a seed."""
    chance = random.Random(f"scenario {seed}")
    weather = chance.choice(WEATHERS)
    big = chance.random() < 0.03
    deployment = _deployment(chance, big=big)
    if seed % _ALONE_ONE_IN == _ALONE_ONE_IN - 1:
        deployment = replace(deployment, effects=0, sweep_batch=2)
    if seed % _LONG_ONE_IN == _LONG_ONE_IN - 1:
        return _long_tasks(seed, chance, weather, deployment)
    if chance.random() < 0.15:
        return _faithful(seed, chance, weather, deployment)
    calls = None
    if seed % _LONG_ONE_IN == _LONG_ONE_IN // 2 - 1:
        calls = random.Random(f"calls {seed}")
        deployment = replace(deployment, systems=calls.choice((1, 2)))
    authors = [
        SimulationAuthor(chance, chance.randrange(1, 30 if big else 9))
        for _ in range(chance.choice((1, 1, 2)))
    ]
    definitions = tuple(
        {**author.definition(), "name": f"w{number}"} for number, author in enumerate(authors)
    )
    if calls is not None:
        definitions = tuple(with_calls(calls, definition) for definition in definitions)
    span_ms = chance.choice((4_000, 8_000, 15_000, 30_000))
    schedules = _schedules(chance) if deployment.schedulers else ()
    return Scenario(
        seed=seed,
        weather=weather.name,
        deployment=deployment,
        definitions=definitions,
        schedules=schedules,
        actions=_actions(chance, len(definitions), span_ms, big=big),
        faults=_faults(chance, weather, deployment, span_ms),
        span_ms=span_ms,
        registered=chance.random() < 0.7,
        others=_others(),
        tasks=_task_definitions(chance),
        attended=chance.random() < 0.6,
    )


def _faults(
    chance: random.Random, weather: Weather, deployment: Deployment, span_ms: int
) -> tuple[Fault, ...]:
    if weather is FAIR:
        return ()
    faults = draw_faults(
        chance,
        weather,
        servers=_servers(deployment),
        clients=deployment.names("worker"),
        span_ms=span_ms,
    )
    # A schedule would catch up with the whole day.
    if Kind.CLOCK in weather.kinds and not deployment.schedulers and chance.random() < 0.15:
        at_ms = chance.randrange(span_ms)
        faults = (*faults, Fault(kind=Kind.CLOCK, at_ms=at_ms, ms=_A_DAY_LATER_MS))
    return faults


def _faithful(
    seed: int, chance: random.Random, weather: Weather, deployment: Deployment
) -> Scenario:
    """Draw a run in which nobody interferes, and what comes out depends on no order."""
    span_ms = chance.choice((8_000, 20_000))
    starts = (Action(at_ms=chance.randrange(span_ms // 2), verb="start") for _ in range(2))
    harmless = (
        Action(
            at_ms=chance.randrange(200, span_ms),
            verb=chance.choice(HARMLESS),
            choice=chance.randrange(1 << 30),
        )
        for _ in range(chance.choice((0, 2, 4, 8)))
    )
    deployment = replace(deployment, schedulers=0)
    return Scenario(
        seed=seed,
        weather=weather.name,
        deployment=deployment,
        definitions=(
            {**FaithfulAuthor(chance, chance.randrange(1, 12)).definition(), "name": "w0"},
        ),
        schedules=(),
        actions=tuple(sorted((*starts, *harmless), key=lambda action: action.at_ms)),
        faults=draw_faults(
            chance,
            weather,
            servers=_servers(deployment),
            clients=deployment.names("worker"),
            span_ms=span_ms,
        ),
        span_ms=span_ms,
        faithful=True,
        tasks=(
            {
                "name": WORKER,
                "retryCount": 50,
                "retryDelaySeconds": 0,
                "responseTimeoutSeconds": 12,
            },
        ),
    )


def _long_tasks(
    seed: int, chance: random.Random, weather: Weather, deployment: Deployment
) -> Scenario:
    """Draw a run of long tasks, and of people who stop, pause, cancel and resume them."""
    span_ms = chance.choice((8_000, 20_000, 40_000))
    deployment = replace(deployment, schedulers=0, workers=max(deployment.workers, 2))
    starts = (
        Action(at_ms=chance.randrange(span_ms // 4), verb="start", choice=chance.randrange(1 << 30))
        for _ in range(chance.choice((1, 1, 2)))
    )
    verbs, weights = zip(*_LONG_VERBS, strict=True)
    others = (
        Action(
            at_ms=chance.randrange(200, span_ms),
            verb=chance.choices(verbs, weights=weights)[0],
            choice=chance.randrange(1 << 30),
        )
        for _ in range(chance.choice((0, 4, 8, 16)))
    )
    faults = (
        replace(fault, call=chance.choice(_KEPT_CALLS), number=chance.randint(1, 12))
        if fault.process.startswith("api") and fault.call and chance.random() < 0.5
        else fault
        for fault in _faults(chance, weather, deployment, span_ms)
    )
    return Scenario(
        seed=seed,
        weather=weather.name,
        deployment=deployment,
        definitions=(_long_definition(chance),),
        schedules=(),
        actions=tuple(sorted((*starts, *others), key=lambda action: action.at_ms)),
        faults=tuple(faults),
        span_ms=span_ms,
        attended=chance.random() < 0.6,
    )


def _long_definition(chance: random.Random) -> Json:
    """A long task, one beside it or in a loop, and what comes behind."""
    beside = chance.choice(("fork", "loop", "none"))
    tasks: list[Json] = [_long_task(chance, "l1")]
    if beside == "fork":
        tasks = [fork("f", tasks, [_long_task(chance, "l2")]), join("j", "l1", "l2")]
    elif beside == "loop":
        tasks = [times("d", 2, *tasks)]
    return workflow("w0", *tasks)


def _long_task(chance: random.Random, ref: str) -> Json:
    definition = {
        "name": LONG,
        "retryCount": chance.choice((1, 3, 6)),
        "retryDelaySeconds": 0,
        "responseTimeoutSeconds": chance.choice((3, 6, 15)),
        "timeoutSeconds": 0,
    }
    task = {**simple(ref, name=LONG), "taskDefinition": definition}
    del task["retryCount"]
    return task


def _servers(deployment: Deployment) -> tuple[str, ...]:
    kinds = ("api", "sweeper", "effects", "scheduler", "system")
    return tuple(name for kind in kinds for name in deployment.names(kind))


def draw_day(seed: int, *, hours: int = 24) -> Scenario:
    """Draw a long run: a steady load, schedules, and things that go wrong now and then."""
    chance = random.Random(f"day {seed}")
    span_ms = hours * 3_600_000
    deployment = Deployment(apis=2, sweepers=2, effects=1, schedulers=1, workers=3)
    definitions = tuple(
        {**SimulationAuthor(chance, 5).definition(), "name": f"w{number}"} for number in range(4)
    )
    starts = (
        Action(
            at_ms=at_ms + chance.randrange(60_000),
            verb="start",
            definition=chance.randrange(len(definitions)),
            choice=chance.randrange(1 << 30),
        )
        for at_ms in range(0, span_ms, 300_000)
    )
    weather = Weather("a day", 10 * hours, 10 * hours, _ROUGH)
    faults = draw_faults(
        chance,
        weather,
        servers=_servers(deployment),
        clients=deployment.names("worker"),
        span_ms=span_ms,
        often=True,
    )
    every_minutes = {
        "name": "clock",
        "cronExpression": "0 */10 * * * *",
        "startWorkflowRequest": {"name": "other", "input": {"v": 1}},
    }
    return Scenario(
        seed=seed,
        weather=weather.name,
        deployment=deployment,
        definitions=definitions,
        schedules=(every_minutes,),
        actions=tuple(sorted(starts, key=lambda action: action.at_ms)),
        faults=faults,
        span_ms=span_ms,
        others=_others(),
        tasks=_task_definitions(chance),
    )


def _others() -> tuple[Json, ...]:
    """What definitions start by name: a workflow of one task, and what follows a failure."""
    return (
        workflow("other", simple("x", name=WORKER)),
        workflow("rescue", simple("x", name=WORKER)),
    )


def _deployment(chance: random.Random, *, big: bool) -> Deployment:
    return Deployment(
        apis=chance.choice((1, 2, 2, 3)),
        sweepers=chance.choice((1, 1, 2)),
        effects=chance.choice((1, 1, 2)),
        schedulers=chance.choice((0, 0, 0, 0, 1, 2)),
        workers=chance.choice((1, 2, 3)) + 2 * big,
        partitions=chance.choice((1, 1, 1, 3)),
        local_only=chance.random() < 0.25,
        shard_lease_ms=chance.choice((10_000, 30_000, 30_000)),
        decision_attempts=chance.choice((1_000, 1_000, 1, 3)),
        decision_rounds=chance.choice((4_000, 4_000, 1, 2)),
        remove_after_ms=chance.choice((0, 2_000, 5_000)),
        lease_ms=chance.choice((3_000, 3_000, 600, 150)),
        latency_us=chance.choice((200, 200, 2_000, 20_000, 100_000)),
        is_listened_to=chance.random() < 0.3,
        soft_bytes=chance.choice((1 << 20, 1 << 20, 200)),
    )


def _actions(
    chance: random.Random, definitions: int, span_ms: int, *, big: bool
) -> tuple[Action, ...]:
    starts = chance.choice((1, 2, 2, 3, 4)) * (4 if big else 1)
    found = [_start(chance, definitions, span_ms) for _ in range(starts)]
    verbs, weights = zip(*VERBS, strict=True)
    found += [
        Action(
            at_ms=chance.randrange(200, span_ms),
            verb=chance.choices(verbs, weights=weights)[0],
            choice=chance.randrange(1 << 30),
            definition=chance.randrange(definitions),
        )
        for _ in range(chance.choice((0, 1, 2, 4, 8, 12)))
    ]
    return tuple(sorted(found, key=lambda action: action.at_ms))


def _start(chance: random.Random, definitions: int, span_ms: int) -> Action:
    key, strategy = "", "FAIL"
    if chance.random() < 0.25:
        key = f"key{chance.randrange(2)}"
        strategy = chance.choice(("FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"))
    return Action(
        at_ms=chance.randrange(max(span_ms // 2, 1)),
        verb="start",
        choice=chance.randrange(1 << 30),
        definition=chance.randrange(definitions),
        key=key,
        strategy=strategy,
    )


def _schedules(chance: random.Random) -> tuple[Json, ...]:
    every = chance.choice((2, 5, 7))
    return (
        {
            "name": "clock",
            "cronExpression": f"*/{every} * * * * *",
            "runCatchupScheduleInstances": chance.random() < 0.5,
            "startWorkflowRequest": {"name": "other", "input": {"v": 1}},
        },
    )


def _task_definitions(chance: random.Random) -> tuple[Json, ...]:
    return (
        {"name": WORKER, "retryCount": 1, "retryDelaySeconds": 1, "responseTimeoutSeconds": 12},
        {
            "name": RATED,
            "retryCount": 1,
            "retryDelaySeconds": 0,
            "responseTimeoutSeconds": 10,
            "rateLimitPerFrequency": chance.choice((1, 2)),
            "rateLimitFrequencyInSeconds": chance.choice((1, 3)),
        },
    )


__all__ = ["VERBS", "draw_day", "draw_scenario"]

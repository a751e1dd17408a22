"""Servers over several partitions that die between any two steps, while limits hold over all."""

from contextlib import suppress

import pytest

from tests.anomalies.world import CLAIM_S, LEASE_S, Killed, World
from tests.builders import Json, simple, workflow

pytestmark = [pytest.mark.thorough(target="versions"), pytest.mark.timeout(180)]

_PARTITIONS, _EXECUTIONS, _LIMIT, _ROUNDS = 3, 4, 1, 60
_TASK: Json = {"name": "a", "concurrentExecLimit": _LIMIT, "retryCount": 3, "retryDelaySeconds": 0}
_RATED: Json = {"name": "b", "rateLimitPerFrequency": 4, "rateLimitFrequencyInSeconds": 1}
_STORY = workflow(
    "w",
    simple("a", taskDefinition=_TASK),
    simple("b", taskDefinition=_RATED),
    rateLimitConfig={"concurrentExecLimit": 2, "rateLimitKey": "k"},
)


def _world() -> World:
    return World(partitions=_PARTITIONS)


def _in_use(world: World) -> int:
    """Tasks of the limited definition that somebody holds, in all partitions."""
    return sum(
        until > world.clock.now_ms
        for partition in world.space.partitions
        for until in partition.permits["a"].scores.values()
    )


def _admitted(world: World) -> int:
    return sum(
        not world.space.of(name).executions[name].terminal  # type: ignore[arg-type]
        for partition in world.space.partitions
        for name in partition.admitted["w:k"].scores
        if name in partition.executions
    )


def _check(world: World) -> None:
    assert _in_use(world) <= _LIMIT
    assert _admitted(world) <= 2


def _begin(world: World, server: int) -> None:
    """Start what has not been started, each once."""
    for number in range(_EXECUTIONS):
        world.servers[server].start(_STORY, idempotency_key=f"n{number}", **_EXISTING)
        _check(world)


_EXISTING: Json = {"idempotency_strategy": "RETURN_EXISTING"}


def _work(world: World, server: int) -> bool:
    """One round of work; whether everything has ended."""
    engine = world.servers[server]
    for kind in ("a", "b"):
        for task in engine.poll(kind, 2, lease_s=CLAIM_S):
            _check(world)
            engine.complete(task)
    engine.settle()
    _check(world)
    return not engine.engine.executions.running("w")


def _play(world: World, server: int) -> None:
    _begin(world, server)
    for _ in range(_ROUNDS):
        if _work(world, server):
            return
        world.clock.advance(seconds=0.5)
    raise AssertionError("executions do not end")


def _steps() -> int:
    world = _world()
    before = world.steps(0)
    _play(world, 0)
    return world.steps(0) - before


@pytest.mark.parametrize("first", range(1, 10))
def test_server_that_dies_at_any_step_leaves_limits_that_hold_and_are_not_stuck(
    first: int,
) -> None:
    steps = _steps()
    assert steps > 100
    for step in range(first, steps + 1, 9):
        for after in (False, True):
            world = _world()
            world.kill(0, step, after=after)
            with suppress(Killed):
                _play(world, 0)
            world.clock.advance(seconds=LEASE_S + CLAIM_S + 1)
            for _ in range(3):
                world.servers[1].settle()
            _play(world, 1)
            states = {stored.status for stored in world.stored if stored.id}
            assert states == {"COMPLETED"}, f"killed at step {step}, after it: {after}"
            assert len(world.stored) == _EXECUTIONS

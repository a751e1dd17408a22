"""Pauses at any moment: nothing opens meanwhile, and nothing is lost by them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.codec.execution import load_header
from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict
from tests.builders import Json
from tests.decider.random_definitions import WORKER, definitions
from tests.decider.test_properties import _limits, _seeds, _settings, _World

_STEPS = 600


class _Paused:
    """Pauses and resumes executions of a world; knows how far each was when it was paused."""

    def __init__(self, world: _World) -> None:
        self._world = world
        self._steering = world.engine.engine.steering
        self._next: dict[str, int] = {}

    def step(self) -> None:
        world = self._world
        for stored in world.stored:
            header = load_header(stored.fields["h"])
            if header.status == "PAUSED":
                assert header.next_seq == self._next[stored.id]
        running = [stored for stored in world.stored if not stored.terminal]
        if running and world.chance.random() < 0.3:
            self._turn(world.chance.choice(running))

    def end(self) -> None:
        for stored in self._world.stored:
            if stored.status == "PAUSED":
                self._turn(stored)

    def _turn(self, stored: Stored) -> None:
        try:
            if stored.status == "PAUSED":
                self._steering.resume(stored.id)
            else:
                self._steering.pause(stored.id)
                self._next[stored.id] = load_header(stored.fields["h"]).next_seq
        except Conflict:
            assert stored.terminal


@_settings
@given(definitions(), _seeds, _limits)
def test_nothing_opens_while_paused_and_every_execution_ends(
    definition: Json, seed: int, limits: Limits
) -> None:
    world = _World(definition, seed, limits)
    paused = _Paused(world)
    for _ in range(_STEPS):
        world.step()
        paused.step()
        if world.engine.workflow(world.root)["status"] not in {"RUNNING", "PAUSED"}:
            return
    paused.end()
    world.run()


@pytest.mark.thorough(target="histories")
@_settings
@given(definitions(), _seeds, _limits)
def test_pauses_change_nothing_of_the_outcome(definition: Json, seed: int, limits: Limits) -> None:
    # Which branch sets a variable first is a matter of time, and so is what reads it.
    assume("workflow.variables" not in str(definition))
    world = _World(definition, seed, limits)
    paused = _Paused(world)
    for _ in range(60):
        for task in world.engine.poll(WORKER, 3):
            world.engine.complete(task, {"v": 1})
        paused.step()
        world.clock.advance(milliseconds=700)
        world.engine.settle()
    paused.end()
    found = world.run_well(1000)
    plain = _World(definition, seed, Limits()).run_well(1000)
    assert found["status"] == plain["status"]
    ends, plain_ends = _ends(found), _ends(plain)
    if plain["status"] != "COMPLETED":
        # How far the others had come when it failed is a matter of time.
        both = {
            ref for ref in ends.keys() & plain_ends.keys() if not _cut_off(ref, ends, plain_ends)
        }
        ends, plain_ends = ({ref: each[ref] for ref in both} for each in (ends, plain_ends))
    assert ends == plain_ends


def _ends(document: Json) -> dict[str, str]:
    return {task["referenceTaskName"]: task["status"] for task in document["tasks"]}


def _cut_off(ref: str, *ends: dict[str, str]) -> bool:
    return any(each[ref] == "CANCELED" for each in ends)

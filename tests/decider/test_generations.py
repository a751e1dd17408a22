"""Properties of generations: whatever failed where, taken up again it comes to a sound end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from conductor_py.codec.execution import load_header
from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, InvalidInput, NotFound
from conductor_py.model.requests import RerunRequest
from tests.builders import Json
from tests.decider.random_definitions import definitions
from tests.decider.test_properties import _limits, _open_attempts, _seeds, _settings, _World


def _take_up(world: _World, chance: random.Random) -> None:
    """Retry, rerun or restart the execution or one of its children."""
    recovery = world.engine.engine.recovery
    ended = [stored.id for stored in world.stored if stored.terminal]
    chosen = chance.choice([world.root, world.root, *ended])
    tasks = world.engine.workflow(chosen)["tasks"]
    try:
        match chance.randrange(5):
            case 0:
                recovery.retry(chosen)
            case 1:
                recovery.retry(chosen, resume_subworkflows=True)
            case 2:
                recovery.restart(chosen)
            case 3:
                recovery.rerun(chosen, RerunRequest())
            case _:
                if tasks:
                    task = chance.choice(tasks)["taskId"]
                    recovery.rerun(chosen, RerunRequest(from_task=task))
    except (Conflict, InvalidInput, NotFound):
        return


def _rest(world: _World) -> None:
    for _ in range(8):
        world.clock.advance(seconds=2)
        world.engine.settle()


def _is_sound(world: _World) -> None:
    """Nothing is open in what has ended, and what runs has something that will wake it."""
    for stored in world.stored:
        header = load_header(stored.fields["h"])
        open_ = _open_attempts(stored)
        if header.status.terminal:
            assert not header.drain
            assert open_ == [], (header, open_)
            assert not header.walk
            continue
        containers = [a for a in open_ if a.type in {"JOIN", "DO_WHILE", "EXCLUSIVE_JOIN"}]
        assert header.containers == len(containers), (header, open_)
        assert header.open_attempts == len(open_) - len(containers), (header, open_)
        places = [(a.ref, a.vector) for a in open_]
        assert len(places) == len(set(places))
        assert not [a for a in open_ if a.redo]


@_settings
@given(definitions(), _seeds, _limits)
@pytest.mark.thorough(target="histories")
def test_execution_that_is_taken_up_again_comes_to_a_sound_end(
    definition: Json, seed: int, limits: Limits
) -> None:
    world = _World(definition, seed, limits)
    chance = random.Random(seed)
    for _ in range(3):
        world.run()
        _rest(world)
        _is_sound(world)
        _take_up(world, chance)
        _rest(world)
        _is_sound(world)
    _rest(world)
    found = world.run_well(1500)
    assert found["status"] != "RUNNING", found
    _rest(world)
    _is_sound(world)


@_settings
@given(definitions(), _seeds, _limits)
def test_failed_execution_completes_once_it_is_retried_with_a_worker_that_succeeds(
    definition: Json, seed: int, limits: Limits
) -> None:
    """Unless the definition itself ends it, by a TERMINATE."""
    if "TERMINATE" in str(definition):
        return
    world = _World(definition, seed, limits)
    status = world.run()
    _rest(world)
    for _ in range(3):
        if status == "COMPLETED":
            break
        try:
            world.engine.engine.recovery.retry(world.root, resume_subworkflows=bool(seed % 2))
        except Conflict:
            return
        found = world.run_well(1500)
        status = found["status"]
        assert status == "COMPLETED", found
    _is_sound(world)


@_settings
@given(definitions(), _seeds, _limits)
@pytest.mark.thorough(target="histories")
def test_rerun_from_any_task_of_a_completed_execution_completes(
    definition: Json, seed: int, limits: Limits
) -> None:
    if "TERMINATE" in str(definition):
        return
    world = _World(definition, seed, limits)
    found = world.run_well(1500)
    _rest(world)
    chance = random.Random(seed)
    for _ in range(3):
        task = chance.choice(found["tasks"])
        if task["retried"]:
            continue
        world.engine.engine.recovery.rerun(world.root, RerunRequest(from_task=task["taskId"]))
        found = world.run_well(1500)
        assert found["status"] == "COMPLETED", found
        _rest(world)
        _is_sound(world)
        current = [t["referenceTaskName"] for t in found["tasks"] if not t["retried"]]
        assert len(current) == len(set(current))

"""Everything at once: whatever is done to executions, whenever, and whoever dies while doing it,
what is stored stays sound, all of it comes to an end, and nothing is left over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.testing.author import Author, GraphAuthor, RichAuthor
from conductor_py.testing.recount import complaints
from tests.decider.chaos import Chaos, Weather, timeless
from tests.decider.odd_authors import OddAuthor, OddGraphAuthor

_STEPS = 60
_LIMITS = (Limits(), Limits(attempts=1), Limits(attempts=3, rounds=2), Limits(rounds=1))
_FAIR = Weather()
_ROUGH = Weather(unavailable=0.02, crash=0.03)
_CROWDED = Weather(unavailable=0.02, crash=0.02, intrusion=0.15)
_WILD = Weather(unavailable=0.01, crash=0.01, intrusion=0.4)
_FEW = range(6)
_MANY = 160


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with timeless():
        yield
    logging.disable(logging.NOTSET)


def _live_through(seed: int, weather: Weather, author: type[Author] = RichAuthor) -> None:
    world = Chaos(seed, _LIMITS[seed % len(_LIMITS)], weather, author)
    find_plan = partial(snapshots_of(world.engine.ports).plan, 0)

    def is_sound() -> None:
        found = complaints(world.space.partition(0), find_plan, world.clock.now_ms)
        assert not found, (seed, found[0], world.log[-12:])
        ends = (stored.fields.get("end", b"") for stored in world.stored)
        assert not any(b"Nothing left to do" in one for one in ends), (seed, world.log[-12:])

    for _ in range(_STEPS):
        world.step()
        is_sound()
    world.rest()
    is_sound()
    assert world.finish() == [], (seed, world.log[-12:])
    is_sound()
    assert world.empty() == {}, (seed, world.log[-12:])


@pytest.mark.parametrize("weather", [_FAIR, _ROUGH, _CROWDED, _WILD])
def test_whatever_is_done_stays_sound_ends_and_leaves_nothing(weather: Weather) -> None:
    for seed in _FEW:
        _live_through(seed, weather)


@pytest.mark.parametrize("weather", [_FAIR, _ROUGH, _CROWDED, _WILD])
def test_whatever_is_done_to_dags_stays_sound_ends_and_leaves_nothing(weather: Weather) -> None:
    for seed in _FEW:
        _live_through(seed, weather, GraphAuthor)


@pytest.mark.parametrize("author", [OddAuthor, OddGraphAuthor])
def test_tasks_that_become_something_useless_stay_sound_and_end(author: type[Author]) -> None:
    for seed in _FEW:
        _live_through(seed, _FAIR, author)


@pytest.mark.thorough(target="histories")
@pytest.mark.parametrize("author", [RichAuthor, GraphAuthor, OddAuthor, OddGraphAuthor])
@pytest.mark.parametrize("weather", [_FAIR, _ROUGH, _CROWDED, _WILD])
def test_many_worlds_stay_sound_end_and_leave_nothing(
    weather: Weather, author: type[Author], run_seed: int
) -> None:
    for seed in range(run_seed, run_seed + _MANY):
        _live_through(seed, weather, author)


@pytest.mark.parametrize(
    ("seed", "weather", "author"),
    [
        # A rerun whose task an upgrade had left out was walked for without end.
        (495285074, _FAIR, OddAuthor),
        # A fork that failed when it ran again left its join waiting for branches of before.
        (1359078221, _FAIR, OddAuthor),
        # A jump to a task that was to be skipped left nothing to do.
        (2322300166, _ROUGH, RichAuthor),
        (3222431271, _CROWDED, RichAuthor),
    ],
)
def test_worlds_that_went_wrong_go_well(seed: int, weather: Weather, author: type[Author]) -> None:
    _live_through(seed, weather, author)

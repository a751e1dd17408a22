"""Seeds that everybody runs; ``make simulate`` runs many more."""

from __future__ import annotations

import pytest

from conductor_py.testing.simulation.drawing import draw_day
from conductor_py.testing.simulation.runner import simulate, simulate_seeds

_FIRST = 100_000


@pytest.mark.timeout(600)
@pytest.mark.thorough(target="simulation")
def test_two_hundred_fixed_seeds_hold() -> None:
    assert simulate_seeds(_FIRST, 200).failures == []


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
def test_more_seeds_hold() -> None:
    assert simulate_seeds(_FIRST + 1_000, 600).failures == []


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
def test_a_day_under_load_leaves_the_store_as_small_as_it_was() -> None:
    run = simulate(draw_day(1))
    assert not run.violations, run.violations
    assert run.virtual_ms >= 24 * 3_600_000
    assert run.counts["start OK"] > 300
    assert run.faults.total() > 100
    morning, evening = run.sizes[1:9], run.sizes[-8:]
    assert max(hour.pop("records of schedules") for hour in run.sizes) <= 100
    for what in run.sizes[0]:
        before, after = (max(hour[what] for hour in hours) for hours in (morning, evening))
        assert after <= before + 10, (what, run.sizes)

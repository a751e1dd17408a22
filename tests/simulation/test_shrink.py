"""A failing run is made small, and still fails for the same reason."""

from __future__ import annotations

import pytest

from conductor_py.testing.simulation.drawing import draw_scenario
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.runner import explain, made_small, simulate, simulate_seeds
from conductor_py.testing.simulation.scenario import Scenario
from conductor_py.testing.simulation.shrink import shrink
from tests.simulation.planted import PLANTED
from tests.simulation.scenes import scene


def _noise(count: int) -> tuple[Fault, ...]:
    return tuple(Fault(kind=Kind.DEAF, process="api-1", at_ms=n, ms=50) for n in range(count))


def test_takes_out_what_is_not_needed() -> None:
    needed = Fault(kind=Kind.KILL, process="api-1", at_ms=50)
    whole = scene(*_noise(6), needed, *_noise(5), starts=4)

    def fails(scenario: Scenario) -> bool:
        return needed in scenario.faults and bool(scenario.actions)

    small = shrink(whole, fails, runs=300)
    assert small.faults == (needed,)
    assert len(small.actions) == 1
    assert len(small.definitions[0]["tasks"]) == 1
    assert (small.deployment.apis, small.deployment.workers) == (1, 1)


def test_stops_when_its_runs_are_used_up() -> None:
    asked = []

    def fails(scenario: Scenario) -> bool:
        asked.append(scenario)
        return True

    shrink(scene(*_noise(20)), fails, runs=7)
    assert len(asked) == 7


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
def test_a_planted_bug_ends_in_a_short_trace_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = next(one for one in PLANTED if one.name == "commits_without_comparing_versions")
    bug.plant(monkeypatch)
    ((seed, invariant, _),) = simulate_seeds(0, 400, fail_fast=True).failures
    scenario, run = made_small(seed, runs=50)
    assert run.violations[0].invariant == invariant == "I1"
    whole = draw_scenario(seed)
    assert len(scenario.faults) < len(whole.faults) or len(scenario.actions) < len(whole.actions)
    said = list(explain(scenario, run))
    assert f"seed {seed}" in said[0]
    assert any("commits a decision on E" in line for line in said)
    assert "CHECK" in said[-1] or "CHECK" in said[-2]
    assert simulate(scenario).checksum == run.checksum

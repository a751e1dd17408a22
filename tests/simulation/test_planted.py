"""A check that never fails proves nothing: each planted bug is found, by what it breaks."""

from __future__ import annotations

import pytest

from conductor_py.testing.simulation.runner import simulate_seeds
from tests.simulation.planted import PLANTED, Planted

_PATIENCE = 400
_CHECKED = {*(f"I{number}" for number in range(1, 11)), "I12"}


def test_a_bug_is_planted_for_each_invariant_that_is_checked() -> None:
    assert {invariant for bug in PLANTED for invariant in bug.invariants} >= _CHECKED


@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted_in_the_code_as_it_stands(
    bug: Planted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding it takes long; that what it changes has moved is seen at once."""
    bug.plant(monkeypatch)


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)
def test_finds_a_planted_bug(bug: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.plant(monkeypatch)
    found = simulate_seeds(0, _PATIENCE, fail_fast=True)
    assert found.failures, f"{_PATIENCE} seeds, and nobody noticed that it {bug.name}"
    seed, invariant, sentence = found.failures[0]
    assert invariant in bug.invariants, (seed, invariant, sentence)

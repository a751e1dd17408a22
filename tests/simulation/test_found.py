"""What the simulator has found: each as the small scene that is left of a failing seed."""

from __future__ import annotations

import pytest

from conductor_py.testing.simulation.drawing import draw_scenario
from conductor_py.testing.simulation.faults import Fault, Kind
from conductor_py.testing.simulation.runner import simulate
from conductor_py.testing.simulation.scenario import Action
from tests.builders import workflow
from tests.simulation.scenes import scene, task


@pytest.mark.parametrize("seed", [6, 7, 8])
def test_a_revision_of_definitions_that_was_lost_is_not_given_to_others(seed: int) -> None:
    """A server took a head that was lost for the present one: their revisions were the same."""
    lost = Fault(kind=Kind.LOST_TAIL, at_ms=900, ms=450)
    actions = tuple(
        Action(at_ms=at_ms, verb=verb, choice=seed % 7)
        for at_ms, verb in (
            (500, "redefine"),
            (600, "start"),
            (1_500, "redefine"),
            (1_900, "start"),
        )
    )
    run = simulate(scene(lost, seed=seed, starts=1, actions=actions))
    assert run.violations == []
    assert run.faults == {Kind.LOST_TAIL: 1}


@pytest.mark.parametrize("choice", [0, 5, 7])
def test_what_comes_back_with_a_lost_tail_after_its_removal_is_archived(choice: int) -> None:
    """Removed without a trace, it came back and ran; the index would not take it any more."""
    lost = Fault(kind=Kind.LOST_TAIL, at_ms=900, ms=450)
    remove = Action(at_ms=600, verb="remove", choice=choice)
    two = workflow("w0", task("a"), task("b"))
    run = simulate(scene(lost, starts=1, definition=two, actions=(remove,)), keeps_words=True)
    assert any("removes E1: OK" in entry.what for entry in run.journal.entries)
    assert run.violations == []
    assert [document["status"] for document in run.outcomes.values()] == ["COMPLETED"]


@pytest.mark.parametrize("seed", range(6))
def test_what_had_ended_and_comes_back_after_its_removal_leaves_again(seed: int) -> None:
    """The index had been told to forget it and did not take it; it was kept for ever."""
    lost = Fault(kind=Kind.LOST_TAIL, at_ms=3_000, ms=900)
    remove = Action(at_ms=2_400, verb="remove", choice=5)
    run = simulate(
        scene(lost, seed=seed, starts=1, definition=workflow("w0", task("a")), actions=(remove,))
    )
    assert run.violations == []
    assert run.faults == {Kind.LOST_TAIL: 1}


@pytest.mark.parametrize("seed", range(8))
def test_a_lone_worker_asks_every_server_before_it_rests_longer(seed: int) -> None:
    """Under local-only it asked one of three servers by chance, ever more seldom, for an hour."""
    alone = scene(seed=seed, apis=3, workers=1, sweepers=1, local_only=True)
    run = simulate(alone)
    assert run.violations == []
    assert run.virtual_ms < 60_000


def test_an_execution_older_than_its_archive_after_a_lost_tail_leaves_the_store() -> None:
    """Ended, archived, revived; then the store was as before that, and the archive was ahead."""
    run = simulate(draw_scenario(60_558))
    assert run.faults[Kind.LOST_TAIL] > 0
    assert run.violations == []

"""Virtual time."""

from __future__ import annotations

from conductor_py.testing.simulation.loop import SECOND, Loop


def test_a_strand_that_goes_round_while_no_time_passes_is_told() -> None:
    told: list[str] = []
    loop = Loop(told.append)

    def spin() -> None:
        while not told:
            loop.sleep(1)

    loop.spawn("spinner", spin)
    assert loop.run(60 * SECOND, lambda: bool(told))
    assert "somebody spins" in told[0]
    assert loop.now < SECOND


def test_a_strand_that_waits_between_its_turns_is_not() -> None:
    told: list[str] = []
    loop = Loop(told.append)

    def patient() -> None:
        while True:
            loop.sleep(SECOND // 100)

    loop.spawn("patient", patient)
    assert not loop.run(600 * SECOND, lambda: bool(told))
    assert loop.steps > 50_000

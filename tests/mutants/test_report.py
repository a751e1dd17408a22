"""The page says what was planted, what caught it, and what nothing caught."""

from __future__ import annotations

from tests.mutants.detector import Kind, Verdict
from tests.mutants.mutant import Edit, Mutant
from tests.mutants.report import Outcome, render

_FACTS = {"date": "2026-01-02", "commit": "`abc`", "jobs": "2", "seeds": "200"}


def _mutant(name: str) -> Mutant:
    return Mutant(
        id=name,
        bug="It forgets.",
        breaks=("I4", "A-2"),
        edits=(Edit("conductor_py/adapters/redis/lua/x.lua", "a", "b"),),
        caught_by=("tests/x.py",),
    )


def _verdict(kind: Kind, test: str = "") -> Verdict:
    return Verdict(kind=kind, seconds=1.5, test=test)


def _row(outcome: Outcome) -> str:
    page = render({"Part": [outcome]}, _FACTS, minutes=3)
    (row,) = [line for line in page.splitlines() if line.startswith("| `")]
    return row


def test_row_names_the_test_that_failed_and_all_the_time_it_took() -> None:
    caught = _verdict(Kind.CAUGHT, "tests/a/test_b.py::test_c[valkey-newest]")
    outcome = Outcome(
        mutant=_mutant("one"), verdict=caught, worthless=(_verdict(Kind.HUNG),), alone=None
    )
    assert _row(outcome) == (
        "| `one` | It forgets. | `lua/x.lua` | I4, A-2 | `a/test_b.py::test_c` | 3.0 |  |"
    )


def test_hang_and_broken_module_catch_nothing() -> None:
    for kind in (Kind.GREEN, Kind.HUNG, Kind.BROKEN, Kind.ABSENT):
        outcome = Outcome(mutant=_mutant("one"), verdict=_verdict(kind))
        assert not outcome.caught
        assert f"**nothing** ({kind.value})" in _row(outcome)


def test_simulation_alone_is_told_apart() -> None:
    seen = _verdict(Kind.CAUGHT, "seed 7: I4")
    alone = Outcome(mutant=_mutant("one"), verdict=_verdict(Kind.GREEN), alone=seen)
    blind = Outcome(mutant=_mutant("two"), verdict=seen, alone=_verdict(Kind.GREEN))
    assert "| the simulation | 1.5 | seed 7: I4 |" in _row(alone)
    assert _row(blind).endswith("| no |")
    page = render({"Part": [alone, blind]}, _FACTS, minutes=3)
    assert "**2 planted, 2 caught**" in page
    assert "The simulation alone catches 1 of 2." in page

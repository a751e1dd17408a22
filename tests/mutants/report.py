"""The page of what was planted and what caught it, as ``make mutants`` writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.mutants.detector import Kind, Verdict
from tests.mutants.mutant import Mutant

_HEAD = """\
# Mutants

Written by `make mutants` on {date} at {commit}; do not edit.

A mutant is a bug as a person would make it, planted in a copy of the tree: a comparison left out, a
timer forgotten, two steps where one is needed. Each is planted alone; what ought to notice runs,
quickest first, until the first test fails. A module that cannot be imported, a script that does not
compile and a test that hangs count as nothing. A mutant that survives is a test that is missing,
and fails the run.

**{planted} planted, {caught} caught**, {minutes:.0f} minutes on {jobs} cores.{simulation}

*Breaks* names [invariants](../explanation/invariants.md) and
[known anomalies](compatibility.md). *Alone* says whether the simulation by itself catches the bug,
in {seeds} worlds; it runs the memory adapters, so that bugs in the worker are none of its business.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one mutant: the verdict that counts, those before it that were worth nothing,
    and what the simulation alone said (``None``: it was not asked).
    """

    mutant: Mutant
    verdict: Verdict
    worthless: tuple[Verdict, ...] = ()
    alone: Verdict | None = None

    @property
    def caught(self) -> bool:
        """Whether something noticed."""
        return self.verdict.kind is Kind.CAUGHT or self.alone_caught

    @property
    def alone_caught(self) -> bool:
        """Whether the simulation noticed."""
        return self.alone is not None and self.alone.kind is Kind.CAUGHT

    @property
    def seconds(self) -> float:
        """How long it took to be noticed."""
        return self.verdict.seconds + sum(verdict.seconds for verdict in self.worthless)


def render(
    parts: Mapping[str, Sequence[Outcome]], facts: Mapping[str, str], *, minutes: float
) -> str:
    """Write the page. ``facts``: date, commit, jobs, seeds."""
    every = [outcome for part in parts.values() for outcome in part]
    asked = [outcome for outcome in every if outcome.alone is not None]
    alone = sum(outcome.alone_caught for outcome in asked)
    simulation = f" The simulation alone catches {alone} of {len(asked)}." if asked else ""
    lines = [
        _HEAD.format(
            **facts,
            planted=len(every),
            caught=sum(outcome.caught for outcome in every),
            minutes=minutes,
            simulation=simulation,
        )
    ]
    for part, outcomes in parts.items():
        lines += [
            f"## {part}",
            "",
            "| mutant | bug | in | breaks | caught by | s | alone |",
            "|---|---|---|---|---|---|---|",
            *map(_row, outcomes),
            "",
        ]
    return "\n".join(lines)


def _row(outcome: Outcome) -> str:
    mutant = outcome.mutant
    cells = (
        f"`{mutant.id}`",
        mutant.bug,
        ", ".join(f"`{_short(file)}`" for file in mutant.files),
        ", ".join(mutant.breaks),
        _catcher(outcome),
        f"{outcome.seconds:.1f}",
        _alone(outcome),
    )
    return "| " + " | ".join(cells) + " |"


def _catcher(outcome: Outcome) -> str:
    if outcome.verdict.kind is Kind.CAUGHT:
        return f"`{outcome.verdict.test.removeprefix('tests/').partition('[')[0]}`"
    if outcome.alone_caught:
        return "the simulation"
    return f"**nothing** ({outcome.verdict.kind.value})"


def _alone(outcome: Outcome) -> str:
    if outcome.alone is None:
        return ""
    return outcome.alone.test if outcome.alone_caught else "no"


def _short(file: str) -> str:
    return file.removeprefix("conductor_py/").replace("adapters/redis/lua/", "lua/")

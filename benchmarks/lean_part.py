"""What an execution costs, beside Java's server as it ships and beside an earlier tree of ours."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.compare import ratios, worktree
from benchmarks.figures import Figure
from benchmarks.peers.java import ON_SQLITE
from benchmarks.peers.ours import OURS
from benchmarks.peers.page import median, ratios_of
from benchmarks.peers.peer import Outcome
from benchmarks.peers.run import measure
from benchmarks.turns import measure_turns
from tests.services.cache import Unobtainable

_ROOT = Path(__file__).resolve().parents[1]
_OF_JAVA: Final = "Beside Java's server as it ships, in turns"
_OF_BEFORE: Final = "Beside {} of this server, in turns"
#: What is measured, its name and unit, and the wanted ratio.
_BESIDE_JAVA: Final = (
    ("one_cpu", "CPU of a one-task execution, 1 client", 0.22),
    ("eight_cpu", "CPU of a one-task execution, 8 clients", 0.22),
    ("chain_cpu", "CPU of a task of a chain of ten", 0.15),
    ("fork_1000", "CPU of a branch of a fork of 1,000", None),
)
_BESIDE_BEFORE: Final = (
    ("turn_one_cpu", "CPU of a one-task execution, 1 client", None),
    ("turn_eight_cpu", "CPU of a one-task execution, 8 clients", None),
    ("turn_chain_cpu", "CPU of a task of a chain of ten", None),
    ("turn_fork_1000", "CPU of a branch of a fork of 1,000", 0.6),
)


def measure_beside_java(turns: int) -> list[Figure]:
    """Measure both in so many turns. Raises ``Unobtainable`` when Java's server cannot be had."""
    ours, java = measure((OURS, ON_SQLITE), turns)
    if java.reason:
        raise Unobtainable(java.reason)
    return list(figures_beside_java(ours, java))


def figures_beside_java(ours: Outcome, java: Outcome) -> Iterator[Figure]:
    """What is wanted of the turns."""
    for key, title, target in _BESIDE_JAVA:
        pair = median(ours, key), median(java, key)
        yield Figure(
            key=f"java_{key}",
            part=_OF_JAVA,
            title=_title(title, pair, found := ratios_of(ours, java, key)),
            value=statistics.median(found),
            unit="x",
            target=target,
        )


def measure_beside_before(base: str, turns: int) -> list[Figure]:
    """Measure this tree and that of a commit in so many turns."""
    with worktree(base) as tree:
        before, after = measure_turns((tree, _ROOT), turns)
    return list(figures_beside_before(base, before, after))


def figures_beside_before(
    base: str,
    before: Sequence[Mapping[str, dict[str, Any]]],
    after: Sequence[Mapping[str, dict[str, Any]]],
) -> Iterator[Figure]:
    """What is wanted of the turns."""
    for key, title, target in _BESIDE_BEFORE:
        old = [turn[key]["value"] for turn in before]
        new = [turn[key]["value"] for turn in after]
        pair = statistics.median(new), statistics.median(old)
        yield Figure(
            key=f"before_{key}",
            part=_OF_BEFORE.format(f"`{base}`"),
            title=_title(title, pair, found := ratios(old, new)),
            value=statistics.median(found),
            unit="x",
            target=target,
        )


def _title(title: str, pair: tuple[float, float], found: Sequence[float]) -> str:
    here, there = pair
    span = f"{min(found):.2f} to {max(found):.2f}"
    return f"{title} ({here:.3g} ms) over its ({there:.3g} ms); all turns {span}"

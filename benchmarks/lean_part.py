"""What an execution costs, beside Java's server as it ships, beside an earlier tree of ours, and in
one process beside a process for each part.
"""

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
from benchmarks.turns import measure_servers, measure_turns
from tests.services.cache import Unobtainable

_Turn = Mapping[str, dict[str, Any]]
_Row = tuple[str, str, str, float | None]
_ROOT = Path(__file__).resolve().parents[1]
_HERE: Final = {"PYTHONPATH": str(_ROOT)}
_OF_JAVA: Final = "Beside Java's server as it ships, in turns"
_OF_BEFORE: Final = "Beside {} of this server, in turns"
_OF_SHAPES: Final = "All parts in one process, beside a process for each, in turns"
_ONE_PROCESS: Final = "CONDUCTOR_SERVER_ONEPROCESS"
#: What is measured, its name, its unit where it is not ms, and the wanted ratio.
_BESIDE_JAVA: Final = (
    ("one_cpu", "CPU of a one-task execution, 1 client", 0.22),
    ("eight_cpu", "CPU of a one-task execution, 8 clients", 0.22),
    ("chain_cpu", "CPU of a task of a chain of ten", 0.15),
    ("fork_1000", "CPU of a branch of a fork of 1,000", None),
)
_BESIDE_BEFORE: Final = (
    ("turn_one_cpu", "CPU of a one-task execution, 1 client", "ms", None),
    ("turn_eight_cpu", "CPU of a one-task execution, 8 clients", "ms", None),
    ("turn_chain_cpu", "CPU of a task of a chain of ten", "ms", None),
    ("turn_fork_1000", "CPU of a branch of a fork of 1,000", "ms", 0.6),
)
_BESIDE_APART: Final = (
    *((key, title, unit, None) for key, title, unit, _ in _BESIDE_BEFORE),
    ("turn_one", "one-task executions a second, 1 client", "/s", None),
    ("turn_eight", "one-task executions a second, 8 clients", "/s", None),
    ("turn_handed_p50", "from a result to the next task in a worker's hands, p50", "ms", None),
    ("turn_handed_p95", "from a result to the next task in a worker's hands, p95", "ms", None),
    ("turn_memory", "resident memory of all processes after the load of a turn", "MB", None),
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
            title=_title(title, pair, found := ratios_of(ours, java, key), "ms"),
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
    base: str, before: Sequence[_Turn], after: Sequence[_Turn]
) -> Iterator[Figure]:
    """What is wanted of the turns."""
    return _figures(_OF_BEFORE.format(f"`{base}`"), _BESIDE_BEFORE, before, after)


def measure_shapes(turns: int) -> list[Figure]:
    """Measure a server of one process and one of a process for each part in so many turns."""
    environments = ({_ONE_PROCESS: shape} for shape in ("false", "true"))
    apart, together = measure_servers([_HERE | each for each in environments], turns)
    return list(figures_of_shapes(apart, together))


def figures_of_shapes(apart: Sequence[_Turn], together: Sequence[_Turn]) -> Iterator[Figure]:
    """What one process costs of what processes apart do, how fast it is beside them."""
    return _figures(_OF_SHAPES, _BESIDE_APART, apart, together)


def _figures(
    part: str, rows: Sequence[_Row], there: Sequence[_Turn], here: Sequence[_Turn]
) -> Iterator[Figure]:
    """The medians of the ratios of neighbours, with the medians that they are of."""
    for key, title, unit, target in rows:
        old = [turn[key]["value"] for turn in there]
        new = [turn[key]["value"] for turn in here]
        pair = statistics.median(new), statistics.median(old)
        yield Figure(
            key=key,
            part=part,
            title=_title(title, pair, found := ratios(old, new), unit),
            value=statistics.median(found),
            unit="x",
            target=target,
        )


def _title(title: str, pair: tuple[float, float], found: Sequence[float], unit: str) -> str:
    here, there = pair
    span = f"{min(found):.2f} to {max(found):.2f}"
    return f"{title} ({here:.3g} {unit}) over its ({there:.3g} {unit}); all turns {span}"

"""All parts in one run, the page they make, and the verdict."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    combining_part,
    dag_part,
    engine_part,
    fork_part,
    hostile_part,
    server_part,
    start_part,
)
from benchmarks.figures import Figure, read_floors, shortfalls
from benchmarks.machine import describe, own_version
from benchmarks.place import place
from benchmarks.report import render

_ROOT = Path(__file__).resolve().parents[1]
_FLOORS = _ROOT / "benchmarks" / "floors.json"
_PAGE = _ROOT / "docs" / "reference" / "benchmarks.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of everything."""

    seconds: float
    forks: tuple[int, ...]
    executions: int
    chains: int
    branches: int
    nodes: int
    combining: int
    combining_rounds: int
    hostile_windows: int
    hostile: int
    starts: int


FULL = Sizes(
    seconds=5,
    forks=(10, 1000, 10_000, 100_000),
    executions=3000,
    chains=120,
    branches=3000,
    nodes=10_000,
    combining=10_000,
    combining_rounds=9,
    hostile_windows=10,
    hostile=100,
    starts=9,
)
QUICK = Sizes(
    seconds=2,
    forks=(10, 1000),
    executions=800,
    chains=16,
    branches=1000,
    nodes=400,
    combining=2000,
    combining_rounds=1,
    hostile_windows=2,
    hostile=20,
    starts=3,
)


def measure(sizes: Sizes, *, hostile: bool = True) -> tuple[list[Figure], dict[str, str]]:
    """Run all parts, without the ``hostile`` one if told so; return their figures and what they ran
    on.
    """
    own = own_version()
    with place() as at:
        bare = at.bare.loop(1.0)
        store = at.bare.counters().version
        figures = engine_part.measure_one_task(at, sizes.seconds)
        _tell(figures)
    with place() as at:
        figures += fork_part.measure_forks(at, sizes.forks, least=sizes.branches)
        _tell(figures)
    with place() as at:
        figures += dag_part.measure_dags(at, least=min(1000, sizes.nodes), most=sizes.nodes)
        figures += dag_part.measure_saves(at, min(1000, sizes.nodes))
        _tell(figures)
    with place() as at:
        figures += combining_part.measure_combining(at, sizes.combining, sizes.combining_rounds)
        _tell(figures)
    figures += start_part.measure_starts(sizes.starts)
    _tell(figures)
    with server_part.server() as server:
        figures += server_part.measure_one_task(server, sizes.executions)
        _tell(figures)
        figures += server_part.measure_latencies(server, sizes.chains)
        figures += server_part.measure_forks(server, (10, 100, 1000), sizes.branches)
        _tell(figures)
    if hostile:
        figures += hostile_part.measure_hostile(sizes.hostile_windows, sizes.hostile)
    facts = {
        "command": "make bench",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe(),
        "software": (
            f"Python {platform.python_version()}, {own}, "
            f"Granian {version('granian')}, Redis or Valkey {store}"
        ),
        "bare": f"{bare.loops_per_s:,.0f} `SET` and `GET` pairs a second",
    }
    return figures, facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and fail when a ratio is below its floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything; writes no page")
    parser.add_argument("--json", type=Path, help="write the figures there instead of the page")
    parser.add_argument("--without-hostile", action="store_true", help="no hostile scripts")
    parser.add_argument("--set-floors", type=float, metavar="SHARE", help="floors from this run")
    given = parser.parse_args(arguments)
    figures, facts = measure(QUICK if given.quick else FULL, hostile=not given.without_hostile)
    if given.set_floors:
        _FLOORS.write_text(_floors(figures, given.set_floors))
    floors = read_floors(_FLOORS)
    page = render(figures, floors, facts)
    print(page)
    if given.json:
        given.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1) + "\n")
    if given.json or given.quick:
        return 0
    _PAGE.parent.mkdir(parents=True, exist_ok=True)
    _PAGE.write_text(page)
    failed = shortfalls(figures, floors)
    for sentence in failed:
        print(f"red: {sentence}")
    missed = sum(not figure.is_on_target for figure in figures)
    print(
        f"{len(figures)} figures, {missed} beyond what is wanted, {len(failed)} below their floor"
    )
    return 1 if failed else 0


def _floors(figures: Sequence[Figure], share: float) -> str:
    """Take a share of each ratio that has no floor by itself."""
    floors = {}
    for figure in figures:
        if figure.ratio is None:
            continue
        # Counts are exact, and growth may be what was promised.
        promised = 1.0 if not figure.unit else None
        if figure.unit == "x" and figure.target:
            wanted = figure.target
            promised = wanted if figure.bound == "at least" else round(1 / wanted, 3)
        floors[figure.key] = promised or round(figure.ratio * share, 5)
    return json.dumps(floors, indent=2) + "\n"


def _tell(figures: Sequence[Figure]) -> None:
    print(f"{len(figures)} figures …", file=sys.stderr, flush=True)

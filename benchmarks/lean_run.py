"""Measure whether a server is lean: what ``make bench-lean`` calls, three quarters of an hour.

Its start, its memory after so many executions and after as many again, its CPU while nothing
happens, and what executions cost beside Java's server, beside an earlier tree, and in one process
beside a process for each part. Writes docs/reference/benchmarks-lean.md. What lies beyond what is
wanted fails nothing; an execution that is lost or wrong does.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure
from benchmarks.idle_part import measure_idle, measure_web_server
from benchmarks.lean_part import measure_beside_before, measure_beside_java, measure_shapes
from benchmarks.machine import describe, own_version
from benchmarks.memory_part import figures_of, measure_memory, table
from benchmarks.others import Others
from benchmarks.report import rows
from benchmarks.server_part import server
from benchmarks.start_part import measure_starts

_PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "reference" / "benchmarks-lean.md"
_PARTS: Final = ("start", "memory", "idle", "java", "before", "shapes")
_MANY: Final = 10_000
_SECONDS: Final = 60.0
#: The tree of which half was wanted.
_BASE: Final = "a574d86"
_HEAD: Final = """\
# Benchmarks of a lean server

Written by `make bench-lean` on {date}; do not edit.

- Machine: {machine}
- Meanwhile: {others}
- Software: {software}

One run of {minutes} minutes, part after part. *Wanted* fails nothing; what stands between a figure
that is missed and what was wanted is in
[performance](../explanation/performance.md#what-was-wanted-and-is-not-reached). Servers that are
measured side by side take turns of seconds under the same load; a ratio is the median of those of
neighbours. CPU is of all processes of a server, with what is done after the last answer.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page; a part alone, or less of everything, is printed only."""
    given = _given(arguments)
    others = Others()
    figures: list[Figure] = []
    lines: list[str] = []
    for part in given.only or _PARTS:
        for found in _measured(part, given, lines):
            print(f"{found.title}: {found.value:.4g} {found.unit}", file=sys.stderr, flush=True)
            figures.append(found)
    head = _HEAD.format(
        date=datetime.now(UTC).date().isoformat(),
        machine=describe(),
        others=others.told(),
        software=f"Python {platform.python_version()}, {own_version()}",
        minutes=f"{others.minutes():.0f}",
    )
    page = "\n".join([head, *rows(figures), *lines])
    print(page)
    if given.only is None and given.many == _MANY and given.seconds == _SECONDS:
        _PAGE.write_text(page)
    missed = sum(not figure.is_on_target for figure in figures)
    print(f"{len(figures)} figures, {missed} beyond what is wanted")
    return 0


def _given(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append")
    parser.add_argument("--many", type=int, default=_MANY, help="executions, of each load")
    parser.add_argument("--polls", type=int, default=50, help="long polls of the idle server")
    parser.add_argument("--settle", type=float, default=150, help="seconds after each load")
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="how long it is idle")
    parser.add_argument("--turns", type=int, default=7, help="of servers side by side")
    parser.add_argument("--starts", type=int, default=9, help="of the server")
    parser.add_argument("--base", default=_BASE, help="the commit to measure this tree beside")
    return parser.parse_args(arguments)


def _measured(part: str, given: argparse.Namespace, lines: list[str]) -> Iterator[Figure]:
    """Measure a part, on servers of its own; a table that it has goes to ``lines``."""
    if part == "start":
        yield from measure_starts(given.starts)
    elif part == "memory":
        with server() as at:
            marks = measure_memory(at, given.many, given.settle)
        lines += ["## Memory by process", "", *table(marks), ""]
        yield from figures_of(marks)
    elif part == "idle":
        with server() as at:
            yield from measure_idle(at, given.many, given.polls, given.seconds)
        yield from measure_web_server(given.polls, given.seconds)
    elif part == "java":
        yield from measure_beside_java(given.turns)
    elif part == "before":
        yield from measure_beside_before(given.base, given.turns)
    else:
        yield from measure_shapes(given.turns)


if __name__ == "__main__":
    sys.exit(main())

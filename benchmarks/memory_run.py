"""Measure whether an embedded server is lean: what ``make bench-memory`` calls, eight minutes.

.venv/bin/python benchmarks/memory_run.py [--many N] [--polls N] [--settle S] [--seconds S]

Its memory after so many executions and after as many again, and its CPU while nothing happens. It
prints tables and writes nothing; what lies beyond what is wanted fails nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.figures import Figure  # noqa: E402 - found where this file is
from benchmarks.idle_part import measure_idle, measure_web_server  # noqa: E402
from benchmarks.machine import describe  # noqa: E402
from benchmarks.memory_part import figures_of, measure_memory, table  # noqa: E402
from benchmarks.report import rows  # noqa: E402
from benchmarks.server_part import server  # noqa: E402

_PARTS = ("memory", "idle")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each part on a server of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append")
    parser.add_argument("--many", type=int, default=10_000, help="executions, of each load")
    parser.add_argument("--polls", type=int, default=50, help="long polls of the idle server")
    parser.add_argument("--settle", type=float, default=90, help="seconds after each load")
    parser.add_argument("--seconds", type=float, default=60, help="how long idle CPU is measured")
    given = parser.parse_args(arguments)
    parts = given.only or _PARTS
    figures: list[Figure] = []
    print(f"{describe()}\n")
    if "memory" in parts:
        with server() as at:
            marks = measure_memory(at, given.many, given.settle)
        print("\n".join([*table(marks), ""]))
        figures += figures_of(marks)
    if "idle" in parts:
        with server() as at:
            figures += measure_idle(at, given.many, given.polls, given.seconds)
        figures += measure_web_server(given.polls, given.seconds)
    print("\n".join(rows(figures)))
    missed = sum(not figure.is_on_target for figure in figures)
    print(f"{len(figures)} figures, {missed} beyond what is wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())

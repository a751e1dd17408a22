"""Measure what grows: what ``make bench-scale`` calls, half an hour and more at full size.

Writes docs/reference/benchmarks-scale.md. What lies beyond what is wanted fails nothing; an
execution that is lost or does not end does.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.figures import Figure  # noqa: E402 - found where this file is
from benchmarks.machine import describe, own_version  # noqa: E402
from benchmarks.place import place  # noqa: E402
from benchmarks.report import rows  # noqa: E402
from benchmarks.scale_archive import measure_archive  # noqa: E402
from benchmarks.scale_open import measure_open  # noqa: E402
from benchmarks.scale_timers import measure_timers  # noqa: E402
from benchmarks.scale_wide import measure_wide  # noqa: E402
from benchmarks.server_part import server  # noqa: E402
from conductor_py.decider.limits import Limits  # noqa: E402

_PAGE = _ROOT / "docs" / "reference" / "benchmarks-scale.md"
_PARTS = ("archive", "open", "timers", "wide")
_MILLION = 1_000_000
_TIMERS = 10
_HEAD = """\
# Benchmarks of what grows

Written by `{command}` on {date}; do not edit.

- Machine: {machine}
- Software: {software}

One run. *Wanted* fails nothing. For an execution of a million tasks
`conductor.limits.tasksPerExecution` is raised (by default 200,000). Archived executions are their
documents in the index, which is what a search reads; what the archive keeps of each beside that is
left out.
"""


def measure(parts: Sequence[str], many: int) -> Iterator[Figure]:
    """Measure these parts with so many tasks, executions and archived ones, and a tenth of that in
    timers.
    """
    if "archive" in parts:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            yield from measure_archive(Path(folder), many)
    if "timers" in parts:
        with server() as at:
            yield from measure_timers(at, many // _TIMERS)
    if "open" in parts:
        with place() as where:
            yield from measure_open(where, many)
    if "wide" in parts:
        with place(limits=Limits(tasks=2 * many), in_file=True) as where:
            yield from measure_wide(where, many)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the page; a part alone, or less of everything, is printed only."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append")
    parser.add_argument("--many", type=int, default=_MILLION, help="how many of everything")
    given = parser.parse_args(arguments)
    own = own_version()
    figures = []
    for figure in measure(given.only or _PARTS, given.many):
        print(f"{figure.title}: {figure.value:.4g} {figure.unit}", file=sys.stderr, flush=True)
        figures.append(figure)
    head = _HEAD.format(
        command="make bench-scale",
        date=datetime.now(UTC).date().isoformat(),
        machine=describe(),
        software=f"Python {platform.python_version()}, {own}",
    )
    page = "\n".join([head, *rows(figures)])
    print(page)
    if given.only is None and given.many == _MILLION:
        _PAGE.write_text(page)
    missed = sum(not figure.is_on_target for figure in figures)
    print(f"{len(figures)} figures, {missed} beyond what is wanted")
    return 0


if __name__ == "__main__":
    sys.exit(main())

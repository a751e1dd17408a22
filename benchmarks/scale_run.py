"""Measure what grows: what ``make bench-scale`` calls, three quarters of an hour at full size.

Writes docs/reference/benchmarks-scale.md, of a part alone its section. What lies beyond what is
wanted fails nothing; an execution that is lost or does not end does.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(_ROOT))

from benchmarks.figures import Figure  # noqa: E402 - found where this file is
from benchmarks.machine import describe, own_version  # noqa: E402
from benchmarks.others import Others  # noqa: E402
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
_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_HEAD = """\
# Benchmarks of what grows

Written by `make bench-scale`, each section by one run of its part; do not edit.

*Wanted* fails nothing. For an execution of a million tasks
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
    """Measure, and write the page, or a part's section of it; less of everything is printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS, action="append")
    parser.add_argument("--many", type=int, default=_MILLION, help="how many of everything")
    given = parser.parse_args(arguments)
    own, others = own_version(), Others()
    figures = []
    for figure in measure(given.only or _PARTS, given.many):
        print(f"{figure.title}: {figure.value:.4g} {figure.unit}", file=sys.stderr, flush=True)
        figures.append(figure)
    told = (
        f"{datetime.now(UTC).date().isoformat()}, {own}, Python {platform.python_version()};"
        f"\n{describe()};\n{others.told()}."
    )
    measured = sections("\n".join(rows(figures)))
    found = {heading: f"{told}\n\n{section}" for heading, section in measured.items()}
    print(page_of(found))
    if given.many == _MILLION:
        known = sections(_PAGE.read_text()) if _PAGE.exists() else {}
        _PAGE.write_text(page_of(known | found))
    missed = sum(not figure.is_on_target for figure in figures)
    print(f"{len(figures)} figures, {missed} beyond what is wanted")
    return 0


def sections(page: str) -> dict[str, str]:
    """Return what stands below each heading of a page."""
    parts = (section.partition("\n") for section in _SECTION.split(page)[1:])
    return {heading: section.strip() for heading, _, section in parts}


def page_of(found: Mapping[str, str]) -> str:
    """The page of these sections by their headings."""
    return _HEAD + "".join(f"\n{heading}\n\n{found[heading]}\n" for heading in sorted(found))


if __name__ == "__main__":
    sys.exit(main())

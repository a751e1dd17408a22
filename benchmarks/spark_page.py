"""What was measured, kept in a file beside the page, and the page that is written from it.

Each target is measured by itself, on an hour of its own if need be; the newest result of each
counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.spark_place import Result

_HEAD = """\
# Benchmarks of Spark workers

Written by `make bench-spark`; do not edit. Each target is measured against one plain Spark job (or
against the named other way) in the same session, in turn; a ratio is the median over the pairs.
CPU is that of the worker, its JVM and Spark's Python processes. The data is made from row numbers
and kept in a cache folder: CSV and Parquet files in equal parts. Nothing here fails a build: the
figures are those of one machine, and *missed* says so.

Measure one again, and write the page:

    make bench-spark ONLY=T1,T5 PAIRS=3

"""
_ABOUT = {
    "T1": "Long rounds",
    "T2": "Short rounds",
    "T3": "A round by itself",
    "T4": "Two sinks",
    "T5": "Starts",
    "T6": "A kill",
    "T7": "A run with kills",
    "T8": "Python in tasks",
    "T9": "Several pipelines",
    "T10": "Memory",
    "T11": "From new data to visible rows",
    "T12": "A million splits",
}


def kept(file: Path) -> dict[str, Any]:
    """Return what was measured before, by target."""
    if not file.exists():
        return {}
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def with_results(
    before: Mapping[str, Any], results: Iterable[Result], facts: Mapping[str, str]
) -> dict[str, Any]:
    """Put newly measured targets in the place of what was known of them."""
    after = dict(before)
    fresh: dict[str, list[dict[str, Any]]] = {}
    for each in results:
        figure = {
            "title": each.title,
            "value": each.value,
            "unit": each.unit,
            "wanted": each.wanted,
            "note": each.note,
        }
        fresh.setdefault(each.target, []).append(figure)
    for target, figures in fresh.items():
        after[target] = {**facts, "figures": figures}
    return dict(sorted(after.items(), key=lambda pair: int(pair[0][1:])))


def page(measured: Mapping[str, Any], remarks: Mapping[str, str]) -> str:
    """Write the page; ``remarks`` are what is known about targets that are missed, by target."""
    lines = [_HEAD]
    for target, one in measured.items():
        lines += [
            f"## {target}: {_ABOUT.get(target, '')}",
            "",
            f"On {one['date']}, {one['machine']}; {one['software']}.",
            "",
            "| figure | value | wanted | |",
            "|---|---|---|---|",
            *map(_row, one["figures"]),
            "",
        ]
        lines += [
            f"- {figure['title']}: {figure['note']}" for figure in one["figures"] if figure["note"]
        ]
        if target in remarks:
            lines += ["", remarks[target]]
        lines.append("")
    return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip("\n") + "\n"


def _row(figure: Mapping[str, Any]) -> str:
    wanted = figure["wanted"]
    verdict = "" if wanted is None else "met" if figure["value"] <= wanted else "missed"
    most = "" if wanted is None else f"at most {_number(wanted)}"
    value = f"{_number(figure['value'])} {figure['unit']}"
    return f"| {figure['title']} | {value} | {most} | {verdict} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

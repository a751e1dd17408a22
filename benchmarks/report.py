"""The page of the figures, as the bench itself writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.figures import Figure

_HEAD = """\
# Benchmarks

Written by `{command}` on {date}; do not edit.

- Machine: {machine}
- Software: {software}
- Bare loop: {bare}

One run. Client and server share the cores. *Ratio* is the figure against a bare loop of `SET` and
`GET` on the same Redis, measured next to it, on one connection and without a client library: for a
rate, how much of the loop's rate; for a time, how much of it one loop takes; for counts and growth,
the wanted value over the one found. More is always better. The run fails when a ratio is below its
*floor*. *Wanted* is for the machine of the last release and fails nothing.
"""


def render(figures: Sequence[Figure], floors: Mapping[str, float], facts: Mapping[str, str]) -> str:
    """Write the page. ``facts``: command, date, machine, software, bare."""
    lines = [_HEAD.format(**facts)]
    for part in dict.fromkeys(figure.part for figure in figures):
        lines += [
            f"## {part}",
            "",
            "| figure | value | ratio | floor | wanted |",
            "|---|---|---|---|---|",
            *(_row(figure, floors) for figure in figures if figure.part == part),
            "",
        ]
    return "\n".join(lines)


def _row(figure: Figure, floors: Mapping[str, float]) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3g}"
    floor = floors.get(figure.key)
    wanted = "" if figure.target is None else f"{figure.bound} {_number(figure.target)}"
    if not figure.is_on_target:
        wanted += " (missed)"
    cells = (
        figure.title,
        f"{_number(figure.value)} {figure.unit}".strip(),
        ratio,
        "" if floor is None else f"{floor:.3g}",
        wanted,
    )
    return "| " + " | ".join(cells) + " |"


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"

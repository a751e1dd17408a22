"""The page of the figures, as the bench itself writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


def rows(figures: Sequence[Figure]) -> Iterator[str]:
    """Write a table for each part, of figures that have no ratio and no floor."""
    for part in dict.fromkeys(figure.part for figure in figures):
        yield from (f"## {part}", "", "| figure | value | wanted |", "|---|---|---|")
        for figure in figures:
            if figure.part == part:
                cells = (figure.title, _value(figure), _wanted(figure))
                yield "| " + " | ".join(cells) + " |"
        yield ""


def _row(figure: Figure, floors: Mapping[str, float]) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3g}"
    floor = floors.get(figure.key)
    cells = (
        figure.title,
        _value(figure),
        ratio,
        "" if floor is None else f"{floor:.3g}",
        _wanted(figure),
    )
    return "| " + " | ".join(cells) + " |"


def _value(figure: Figure) -> str:
    return f"{_number(figure.value)} {figure.unit}".strip()


def _wanted(figure: Figure) -> str:
    wanted = "" if figure.target is None else f"{figure.bound} {_number(figure.target)}"
    return wanted if figure.is_on_target else f"{wanted} (missed)"


def _number(value: float) -> str:
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"

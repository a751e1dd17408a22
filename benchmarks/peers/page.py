"""The page of the figures, and its picture, as the run itself writes them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.peers.peer import FIGURES, LOST, REFUSED, Outcome
from benchmarks.peers.plot import Bar, Panel, draw

PICTURE: Final = "../images/benchmarks-peers.svg"
_HEAD = """\
# Benchmarks beside peers

Written by `make bench-peers` on {date}; do not edit.

- Machine: {machine}
- Meanwhile: {others}
- Software: {software}; turns: {turns}

This server and its peers run on one machine at once and take turns of seconds under the same load,
so that what the machine does besides hits all alike. A turn that is not counted warms each up, and
before it thousands of tasks of each shape do so with a JVM. While one is under load, the others
rest.

*ours / peer* is the median over the turns of the ratio of neighbours, with the least and the
greatest. For CPU, times and memory less is better for us; for rates (/s), more. CPU is of all
processes that the first table names, with what is done after the last answer: index, joins,
effects, and with what they use at rest meanwhile: the slower the machine, the more of it. The
load's own processes count for nobody. An execution that is lost, or ends with another
output than the worker gave, fails the run.

![Bars of the medians]({picture})

## Who was measured

| | version | durable | CPU and memory of |
|---|---|---|---|
"""
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "One-task executions": ("one_rate", "one_cpu", "eight_rate", "eight_cpu", "worker_cpu"),
    "Chains of ten, 80 tasks a second": ("chain_cpu", "handed_p50", "handed_p95"),
    "Forks": ("fork_100", "fork_1000"),
}
_DRAWN: Final = {
    "eight_cpu": "CPU of a one-task execution, 8 at once (ms): less is better",
    "eight_rate": "One-task executions a second, 8 at once: more is better",
    "chain_cpu": "CPU of a task of a chain of ten (ms): less is better",
    "fork_1000": "CPU of a branch of a fork of 1,000 (ms): less is better",
}
_FOOT = """\
## At rest, and refusals

CPU of a core in ten seconds without load, before the turns; memory (resident, of all processes that
count) after them; how many requests were refused (5xx) in all turns, so that the client had to
repeat them; and how often a turn was begun anew, as the server had accepted an execution and
nothing more came of it.

| | idle | memory | ours / peer | refused | lost |
|---|---:|---:|---:|---:|---:|
{rest}

## How to repeat it

    make bench-peers [TURNS=4] [ONLY=java,rq]

`ONLY` leaves the other peers out. Peers are fetched once, by pip and Maven, into the cache
that the tests have; each peer of Python gets an environment of its own. It wants a quiet machine,
and {minutes} minutes. The load is in `benchmarks/peers/`, a module a peer.
"""


def render(outcomes: Sequence[Outcome], facts: Mapping[str, str]) -> str:
    """Write the page; the first outcome is ours. ``facts``: date, machine, others, software, turns,
    minutes.
    """
    measured = [each for each in outcomes if not each.reason]
    parts = [
        _HEAD.format(picture=PICTURE, **facts) + "\n".join(map(_who, outcomes)),
        *(_part(title, keys, measured) for title, keys in _PARTS.items()),
        _FOOT.format(rest="\n".join(_at_rest(each, measured[0]) for each in measured), **facts),
    ]
    return "\n\n".join(parts)


def picture(outcomes: Sequence[Outcome]) -> str:
    """Draw the medians."""
    measured = [each for each in outcomes if not each.reason]
    return draw(
        [
            Panel(
                title=title,
                bars=[
                    Bar(
                        label=each.peer.title.replace("`", ""),
                        value=median(each, key),
                        is_ours=each.peer.name == measured[0].peer.name,
                    )
                    for each in measured
                    if _has(each, key)
                ],
            )
            for key, title in _DRAWN.items()
        ]
    )


def _who(each: Outcome) -> str:
    if each.reason:
        return f"| {each.peer.title} | not measured: {each.reason} | | |"
    return f"| {each.peer.title} | {each.version} | {each.peer.keeps} | {each.peer.counted} |"


def _part(title: str, keys: Sequence[str], measured: Sequence[Outcome]) -> str:
    """A table of those who have any of these figures."""
    rows = [each for each in measured if any(_has(each, key) for key in keys)]
    shown = [key for key in keys if any(_has(each, key) for each in rows)]
    heads = [f"{FIGURES[key][0]} ({FIGURES[key][1]}) | ours / peer" for key in shown]
    lines = [
        f"## {title}",
        "",
        f"| | {' | '.join(heads)} |",
        "|---|" + "---:|---:|" * len(shown),
    ]
    for each in rows:
        cells = [cell for key in shown for cell in _cells(each, measured[0], key)]
        lines.append(f"| {each.peer.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(each: Outcome, ours: Outcome, key: str) -> Iterator[str]:
    yield f"{_number(median(each, key))}" if _has(each, key) else ""
    if each is ours or not (_has(each, key) and _has(ours, key)):
        yield ""
        return
    ratios = ratios_of(ours, each, key)
    span = f" ({min(ratios):.2f}-{max(ratios):.2f})" if len(ratios) > 1 else ""
    yield f"{statistics.median(ratios):.2f}{span}"


def ratios_of(ours: Outcome, peer: Outcome, key: str) -> list[float]:
    """Ours over the peer's, turn by turn."""
    pairs = zip(ours.turns, peer.turns, strict=True)
    return [mine[key] / theirs[key] for mine, theirs in pairs]


def _at_rest(each: Outcome, ours: Outcome) -> str:
    ratio = "" if each is ours else f"{ours.resident_mb / each.resident_mb:.2f}"
    memory = f"{each.resident_mb:,.0f} MB"
    counts = " | ".join(_count(each, key) for key in (REFUSED, LOST))
    return f"| {each.peer.title} | {each.idle_percent:.1f} % | {memory} | {ratio} | {counts} |"


def _count(each: Outcome, key: str) -> str:
    return f"{sum(turn[key] for turn in each.turns):.0f}" if _has(each, key) else ""


def _has(each: Outcome, key: str) -> bool:
    return key in each.turns[0]


def median(each: Outcome, key: str) -> float:
    """Of all turns."""
    return statistics.median(turn[key] for turn in each.turns)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

"""What a server keeps in memory: by process, after so many executions and after as many again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.clients import drive
from benchmarks.figures import Figure
from benchmarks.machine import Memory, forget_peaks, memory_by_role
from benchmarks.server_part import Served, await_idle, chain

_PART: Final = "Memory, server as it ships"
_WANTED_MB: Final = 150.0
_WANTED_GROWTH_MB: Final = 5.0
_LONGEST_S: Final = 900.0
_ALL: Final = "**all**"
_ONCE: Final = "**all**, pages that they share counted once"


@dataclass(frozen=True, slots=True)
class Mark:
    """Memory by role after so many executions."""

    executions: int
    by_role: Mapping[str, Memory]

    @property
    def all(self) -> Memory:
        """Of all processes. Their peaks need not have been at the same time."""
        return sum(self.by_role.values(), Memory())


def measure_memory(at: Served, executions: int, settle_s: float) -> list[Mark]:
    """Measure at the start, and after each of two loads of so many one-task executions, when the
    server is at rest and at least ``settle_s`` have passed. What has ended stays in Redis for a
    minute, then it leaves, and then its memory does.
    """
    load = replace(chain(at, "one", 1), executions=executions)
    marks = [Mark(0, memory_by_role(at.pid))]
    for number in (1, 2):
        forget_peaks(at.pid)
        drive(load)
        time.sleep(settle_s)
        await_idle(at.pid, below_ms=at.idle_ms, within_s=_LONGEST_S)
        marks.append(Mark(number * executions, memory_by_role(at.pid)))
    return marks


def figures_of(marks: Sequence[Mark]) -> list[Figure]:
    """What is wanted of the last two marks."""
    once, twice = marks[-2:]
    return [
        Figure(
            key="memory_resident",
            part=_PART,
            title=f"resident memory of all processes at rest after {once.executions:,} executions",
            value=once.all.resident,
            unit="MB",
            target=_WANTED_MB,
        ),
        Figure(
            key="memory_growth",
            part=_PART,
            title=f"what it is more after {twice.executions:,}",
            value=twice.all.resident - once.all.resident,
            unit="MB",
            target=_WANTED_GROWTH_MB,
        ),
    ]


def table(marks: Sequence[Mark]) -> Iterator[str]:
    """A row for each role: megabytes at rest, and the peak on the way there."""
    heads = ["at the start"]
    heads += [f"after {mark.executions:,} (peak)" for mark in marks[1:]]
    yield "| MB resident | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(heads)
    for role in dict.fromkeys(role for mark in marks for role in mark.by_role):
        yield _row(role, [mark.by_role.get(role, Memory()) for mark in marks])
    yield _row(_ALL, [mark.all for mark in marks])
    once = [f"{mark.all.shared_once:.1f}" for mark in marks]
    yield f"| {_ONCE} | " + " | ".join(once) + " |"


def _row(role: str, each: Sequence[Memory]) -> str:
    cells = [f"{each[0].resident:.1f}", *(f"{m.resident:.1f} ({m.peak:.1f})" for m in each[1:])]
    return f"| {role} | " + " | ".join(cells) + " |"

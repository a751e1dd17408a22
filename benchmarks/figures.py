"""Figures: a value, its ratio to a bare loop on the same Redis, and the floor of that ratio.

Every ratio is made so that more is better. A machine that is twice as slow has about the same
ratios, so a floor can be committed; values in seconds cannot.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that was measured.

    ``key`` names it in the floors, ``ratio`` is what the floor bounds. ``bound`` says on which side
    of ``target`` the value is wanted on the machine that the page names; it fails nothing.
    """

    key: str
    part: str
    title: str
    value: float
    unit: str
    ratio: float | None = None
    target: float | None = None
    bound: Literal["at least", "at most"] = "at most"

    @property
    def is_on_target(self) -> bool:
        """Whether the value is on the wanted side; without a target it is."""
        if self.target is None:
            return True
        if self.bound == "at least":
            return self.value >= self.target
        return self.value <= self.target


@dataclass(frozen=True, slots=True)
class Bare:
    """How fast a bare loop of ``SET`` and ``GET`` is, next to what it is compared with."""

    loops_per_s: float

    def rate(self, per_s: float) -> float:
        """The ratio of a rate."""
        return per_s / self.loops_per_s

    def time(self, ms: float) -> float:
        """The ratio of a time: how many of them go into the time of one loop."""
        return 1000 / self.loops_per_s / ms if ms else 1.0


def between(first: Bare, second: Bare) -> Bare:
    """Take the mean of a loop before and one after."""
    return Bare((first.loops_per_s + second.loops_per_s) / 2)


def read_floors(file: Path) -> dict[str, float]:
    """Read the committed floors by key."""
    floors: dict[str, float] = json.loads(file.read_text())
    return floors


def shortfalls(figures: Iterable[Figure], floors: Mapping[str, float]) -> list[str]:
    """Say, a sentence each, which ratios are below their floor, and which floors bound nothing."""
    found = {figure.key: figure for figure in figures}
    said = [
        f"{figure.title}: ratio {figure.ratio:.3g} is below its floor {floors[key]:.3g}"
        for key, figure in found.items()
        if key in floors and figure.ratio is not None and figure.ratio < floors[key]
    ]
    said += [f"{key}: has a floor and was not measured" for key in floors if key not in found]
    said += [
        f"{key}: has a ratio and no floor"
        for key, figure in found.items()
        if figure.ratio is not None and key not in floors
    ]
    return said


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which ``share`` of all lie."""
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))]

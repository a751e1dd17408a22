"""Memory of the processes of a server over time, and whether it grows.

A page that several of them share counts once, in parts: while the embedded Redis writes its file
anew it is two processes with the same pages.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.deployment import with_descendants

_ROLES = ("api", "sweeper", "system-worker", "effects", "scheduler", "server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Megabytes by role at a moment, in seconds since some beginning."""

    at_s: float
    mb: Mapping[str, float]


def sample(root: int, began: float) -> Sample:
    """Read what a server and all below it hold now."""
    held: dict[str, float] = defaultdict(float)
    for pid in with_descendants(root):
        place = Path(f"/proc/{pid}")
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
            pages = (place / "smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has ended, or has nothing any more
            continue
        held[_role(words)] += int(pages.partition("\nPss:")[2].split()[0]) / 1024
    return Sample(at_s=time.monotonic() - began, mb=dict(held))


def _role(words: Sequence[str]) -> str:
    if any("quickjs" in word for word in words):
        return "scripts"
    if "redis" in words[0] or "valkey" in words[0]:
        return "redis"
    return next((role for role in _ROLES if role in words), "other")


def growth_mb_a_minute(samples: Sequence[Sample], role: str) -> float:
    """The slope of the straight line that lies nearest to the samples."""
    times = [each.at_s / 60 for each in samples]
    values = [each.mb.get(role, 0.0) for each in samples]
    middle = sum(times) / len(times)
    mean = sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    return sum((at - middle) * (mb - mean) for at, mb in zip(times, values, strict=True)) / spread


def together(samples: Sequence[Sample], roles: Sequence[str], name: str) -> list[Sample]:
    """Sum up some roles under one name."""
    return [
        Sample(at_s=each.at_s, mb={name: sum(each.mb.get(role, 0.0) for role in roles)})
        for each in samples
    ]

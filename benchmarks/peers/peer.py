"""Somebody who takes turns, and what was measured of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

#: What a turn may have, by key: title and unit. Not every peer does everything.
FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "one_rate": ("1 client", "/s"),
    "one_cpu": ("CPU, 1 client", "ms"),
    "eight_rate": ("8 at once", "/s"),
    "eight_cpu": ("CPU, 8 at once", "ms"),
    "worker_cpu": ("CPU of its worker", "ms"),
    "chain_cpu": ("CPU for a task of a chain of ten", "ms"),
    "handed_p50": ("from result to next task, p50", "ms"),
    "handed_p95": ("p95", "ms"),
    "fork_100": ("CPU for a branch of 100", "ms"),
    "fork_1000": ("CPU for a branch of 1,000", "ms"),
}

#: In a turn beside them: how many requests the server refused (5xx), so that they were repeated.
REFUSED: Final = "refused"
#: How often it was begun anew, as the server had lost an execution; only where one does.
LOST: Final = "lost"

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A peer that runs and is warm: what it is, its processes that count, and how to take a turn.

    A turn raises ``RuntimeError`` when an execution is lost or wrong.
    """

    version: str
    pids: tuple[int, ...]
    turn: Callable[[], Figures]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Who it is, and how it is started; ``start`` raises ``Unobtainable`` when it cannot be had.

    ``name`` is what ``ONLY`` names; several may share one. ``keeps`` says how durable it is here,
    ``counted`` whose CPU and memory its figures are.
    """

    name: str
    title: str
    keeps: str
    counted: str
    start: Callable[[], AbstractContextManager[Ready]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was measured of a peer, or ``reason``: why nothing was.

    ``idle_percent`` is of one core, before the turns; ``resident_mb`` is after them.
    """

    peer: Peer
    reason: str = ""
    version: str = ""
    turns: Sequence[Figures] = ()
    idle_percent: float = 0.0
    resident_mb: float = 0.0

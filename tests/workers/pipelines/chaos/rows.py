"""The rows of the matrix: which point, who is struck there, and with how many cores it goes on.

A row is written as ``point pass strike before after wake scene``: an attempt on ``before`` cores is
held the ``pass``-th time that it reaches ``point``, is struck, and another one on ``after`` cores
ends the job of the scene. ``wake`` is that of frozen ones: ``early``, as soon as the task is
another's, or ``late``, when that one is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Strike(StrEnum):
    """What happens to an attempt while it is held at a point."""

    DRIVER = "driver"
    """kill -9 of the Python process that has the task: its coordinators, its lease."""
    JVM = "jvm"
    """kill -9 of the JVM of Spark's driver."""
    WORKER = "worker"
    """kill -9 of all processes of the worker at once."""
    SERVER = "server"
    """kill -9 of the engine, which is started again; with other cores of the worker, too."""
    FREEZE = "freeze"
    """SIGSTOP of all processes of the worker, SIGCONT after another one has the task."""
    TWICE = "twice"
    """As ``DRIVER``, and its successor dies before it has decided anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; see the module."""

    point: str
    nth: int
    strike: Strike
    before: int
    after: int
    wake: str
    scene: str

    @classmethod
    def parse(cls, text: str) -> Row:
        """Read what ``str`` writes."""
        point, nth, strike, before, after, wake, scene = text.split()
        return cls(
            point=point,
            nth=int(nth),
            strike=Strike(strike),
            before=int(before),
            after=int(after),
            wake=wake,
            scene=scene,
        )

    def __str__(self) -> str:
        change = f"{self.before} {self.after} {self.wake}"
        return f"{self.point} {self.nth} {self.strike} {change} {self.scene}"

    @property
    def fault(self) -> str:
        """What arms it."""
        return f"{self.point}#{self.nth}:hold"


_EVERY: Final = tuple(f"F{number}" for number in range(1, 16))
_STRUCK: Final = (Strike.DRIVER, Strike.JVM, Strike.WORKER, Strike.SERVER, Strike.FREEZE)
#: The points that a scene reaches: one sink has no other after it, a table no renames, and only a
#: table has a transaction. Keyed state is the business of those that keep some.
POINTS: Final = {
    "one-file": tuple(point for point in _EVERY if point not in ("F4", "F10", "F14")),
    "one-table": ("F10",),
    "bounded": _EVERY,
    "event-time": tuple(point for point in _EVERY if point != "F13"),
}
#: Reached often enough to be met later than at first, when there is something to lose. By event
#: time there are three pipelines, and queries have state when most points are reached a fifth time.
_PASSES: Final = {
    "one-file": {"F3": 6, "F9": 3, "F12": 1},
    "one-table": {},
    "bounded": {"F3": 12, "F9": 3, "F12": 1, "F13": 3},
    "event-time": dict.fromkeys(_EVERY, 5) | {"F3": 20, "F4": 2, "F10": 2, "F12": 1, "F14": 9},
}
#: Where an epoch is decided and not yet published, or published and not yet known to be.
TWICE: Final = ("F8", "F11", "F15")
_SAME_FEWER_MORE: Final = ((2, 2), (2, 1), (1, 3))


def rows() -> Iterator[Row]:
    """List the matrix: each change of cores for each point and strike of the scenes of files and
    tables; one in turn by event time, and for what dies twice.
    """
    for scene in ("one-file", "one-table", "bounded"):
        for number, (point, strike) in enumerate(_met(scene, _STRUCK)):
            for change, cores in enumerate(_SAME_FEWER_MORE):
                yield _row(scene, point, strike, cores, early=bool((number + change) % 2))
    turns = [("bounded", point, Strike.TWICE) for point in TWICE]
    turns += [
        ("event-time", *met) for met in _met("event-time", (Strike.DRIVER, Strike.FREEZE))
    ] + [("event-time", point, Strike.TWICE) for point in TWICE]
    for number, (scene, point, strike) in enumerate(turns):
        cores = _SAME_FEWER_MORE[number % len(_SAME_FEWER_MORE)]
        yield _row(scene, point, strike, cores, early=bool(number // 2 % 2))


def _row(scene: str, point: str, strike: Strike, cores: tuple[int, int], *, early: bool) -> Row:
    woken = "early" if early else "late"
    return Row(
        point=point,
        nth=_PASSES[scene].get(point, 2),
        strike=strike,
        before=cores[0],
        after=cores[1],
        wake=woken if strike is Strike.FREEZE else "-",
        scene=scene,
    )


def _met(scene: str, strikes: tuple[Strike, ...]) -> Iterator[tuple[str, Strike]]:
    for point in POINTS[scene]:
        for strike in strikes:
            yield point, strike

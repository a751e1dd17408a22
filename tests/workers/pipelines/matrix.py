"""Every fault point, killed and frozen, with another parallelism afterwards: the matrix.

    python -m tests.workers.pipelines.matrix [--only F8,F9] [--scene event-time] [--all]

A row is ``point pass action before after wake scene``: a first attempt on ``before`` cores meets
the fault, a second one on ``after`` cores ends the job of the scene: ``bounded`` (``scenes``) or
``event-time`` (``event_scene``). A frozen worker is woken ``early``, as soon as the task is
another's, or ``late``, when that one is done; it must find itself fenced. With ``twice`` the second
attempt is killed before it has decided anything, and a third one ends the job. A row is right when
the outputs equal the truth (``oracle``), and when the last attempt has read what was not done and
nothing else, by Spark's own figures (``reads``).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from pyspark.sql import SparkSession

from tests.workers.pipelines.crews import AttemptProcess, Crew
from tests.workers.pipelines.event_scene import EventScene
from tests.workers.pipelines.host import FENCED, FINISHED, OTHERWISE
from tests.workers.pipelines.jobs import Job
from tests.workers.pipelines.judging import judging_session
from tests.workers.pipelines.scenes import Left, Scene
from tests.workers.pipelines.stores import Keeper

_EVERY: Final = tuple(f"F{number}" for number in range(1, 16))
#: Nothing is listed page by page for a generator.
POINTS: Final = {
    "bounded": _EVERY,
    "event-time": tuple(point for point in _EVERY if point != "F13"),
}
#: Reached often enough to be met later than at first, when there is something to lose. By event
#: time there are three pipelines, and queries have state when most points are reached a fifth time.
_PASSES: Final = {
    "bounded": {"F3": 12, "F9": 3, "F12": 1, "F13": 3},
    "event-time": dict.fromkeys(_EVERY, 5) | {"F3": 20, "F4": 2, "F10": 2, "F12": 1, "F14": 9},
}
#: Where an epoch is decided and not yet published, or published and not yet known to be.
TWICE: Final = ("F8", "F11", "F15")
_BEFORE_ITS_DECISION: Final = "F5#1:kill"
#: How SQLite says that another process has the database.
_LOCKED: Final = "database is locked"
_CHANGES = ((2, 1), (1, 3), (3, 2))


class Setting(Protocol):
    """A job with its inputs and its truth: what a row needs of a scene."""

    def job(self, place: Path) -> Job:
        """The job that writes below that place."""

    def left(self, keeper: Keeper) -> Left:
        """Tell what the next attempt has to read."""

    def misread(self, left: Left, result: dict[str, Any]) -> list[str]:
        """Compare what was read with what was left to read."""

    def mismatches(self, place: Path, crew: Crew) -> list[str]:
        """Compare what is below that place with the truth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; see the module."""

    point: str
    nth: int
    action: str
    before: int
    after: int
    wake: str
    scene: str

    @classmethod
    def parse(cls, text: str) -> Row:
        """Read what ``str`` writes."""
        point, nth, action, before, after, wake, scene = text.split()
        return cls(
            point=point,
            nth=int(nth),
            action=action,
            before=int(before),
            after=int(after),
            wake=wake,
            scene=scene,
        )

    def __str__(self) -> str:
        change = f"{self.before} {self.after} {self.wake}"
        return f"{self.point} {self.nth} {self.action} {change} {self.scene}"

    @property
    def fault(self) -> str:
        """What arms it."""
        return f"{self.point}#{self.nth}:{'freeze' if self.action == 'freeze' else 'kill'}"


def rows(*, everything: bool) -> Iterator[Row]:
    """List the matrix: each change of parallelism for each point and action, or one in turn."""
    number = 0
    for scene, point, action in _met():
        changes = _CHANGES if everything else (_CHANGES[number % len(_CHANGES)],)
        for before, after in changes:
            number += 1
            yield Row(
                point=point,
                nth=_PASSES[scene].get(point, 2),
                action=action,
                before=before,
                after=after,
                wake="early" if number // 2 % 2 else "late",
                scene=scene,
            )


def _met() -> Iterator[tuple[str, str, str]]:
    for scene, points in POINTS.items():
        for point in points:
            for action in ("kill", "freeze", *(("twice",) if point in TWICE else ())):
                yield scene, point, action


def settings(spark: SparkSession, inputs: Path) -> Mapping[str, Setting]:
    """Make the scenes, by name."""
    return {"bounded": Scene.made(spark, inputs), "event-time": EventScene.made(spark)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong after a row, and what the successor had left to read."""

    wrong: list[str]
    left: Left | None = None


def played(scene: Setting, place: Path, row: Row) -> Verdict:
    """Play a row and judge what is there afterwards, and what was read again."""
    with Crew(place, scene.job(place)) as crew:
        first = crew.start(1, cores=row.before, fault=row.fault)
        if row.action == "freeze":
            if not crew.await_frozen(first):
                return Verdict(wrong=[f"the fault was not met: {first.said()}"])
        elif first.ended() >= 0 or not crew.fault_happened(1):
            return Verdict(wrong=[f"the fault was not met: {first.said()}"])
        token = 2
        if row.action == "twice":
            second, token = crew.start(2, cores=row.before, fault=_BEFORE_ITS_DECISION), 3
            if second.ended() >= 0 or not crew.fault_happened(2):
                return Verdict(wrong=[f"the second was not killed: {second.said()}"])
        left = scene.left(crew.server.keeper)
        if row.point == "F15" and row.action != "twice":
            crew.server.keeper.lose_last()
        zombie = first if row.action == "freeze" else None
        found, locked = _succeeded(crew, row, token, zombie)
        if locked:
            # It stood still while it held the table: the engine would give the task once more.
            left, token = scene.left(crew.server.keeper), token + 1
            found += _succeeded(crew, row, token, None)[0]
        if not found:
            found = scene.misread(left, crew.result(token)) + scene.mismatches(place, crew)
        return Verdict(wrong=found, left=left)


def _succeeded(
    crew: Crew, row: Row, token: int, zombie: AttemptProcess | None
) -> tuple[list[str], bool]:
    """Carry the job to its end; say what was wrong, and whether a frozen one held the table."""
    successor = crew.start(token, cores=row.after)
    if zombie is not None and row.wake == "early":
        crew.await_taken(token)
        zombie.wake()
    code = successor.ended()
    locked = zombie is not None and code == OTHERWISE and _LOCKED in successor.said()
    found = []
    if code != FINISHED and not locked:
        found.append(f"the successor ended with {code}: {successor.said()}")
    if zombie is not None:
        zombie.wake()
        code = zombie.ended()
        if code != FENCED:
            found.append(f"the one that woke ended with {code}: {zombie.said()}")
    return found, locked


def main() -> int:
    """Play the matrix and print it; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="points, separated by commas")
    parser.add_argument("--scene", choices=tuple(POINTS), help="one of the scenes")
    parser.add_argument("--all", action="store_true", help="each change of parallelism each time")
    asked = parser.parse_args()
    only = tuple(filter(None, asked.only.split(",")))
    place = Path(tempfile.mkdtemp(prefix="chaos-spark-"))
    played_rows = bad = 0
    with judging_session(place) as spark:
        scenes = settings(spark, place / "inputs")
        for number, row in enumerate(rows(everything=asked.all)):
            if (only and row.point not in only) or asked.scene not in (None, row.scene):
                continue
            began, room = time.monotonic(), place / f"row-{number}"
            room.mkdir()
            try:
                verdict = played(scenes[row.scene], room, row)
            except AssertionError as error:
                verdict = Verdict(wrong=[str(error)])
            played_rows, bad = played_rows + 1, bad + bool(verdict.wrong)
            took = time.monotonic() - began
            told = "WRONG" if verdict.wrong else f"right; {verdict.left}"
            sys.stdout.write(f"{row!s:<36} {took:5.0f} s  {told}\n")
            for sentence in verdict.wrong:
                sys.stdout.write(f"red: {row}: {sentence}\n")
            sys.stdout.flush()
            shutil.rmtree(room, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)
    sys.stdout.write(f"{played_rows} rows, {bad} with mismatches\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

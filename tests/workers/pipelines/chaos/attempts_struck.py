"""Plays rows whose attempts are struck; the engine is a keeper that nothing happens to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.workers.pipelines.chaos.oracle import disorder
from tests.workers.pipelines.chaos.rows import Row, Strike
from tests.workers.pipelines.chaos.setting import Left, Setting, is_compared
from tests.workers.pipelines.crews import AttemptProcess, Crew, Victim
from tests.workers.pipelines.host import FENCED, FINISHED, LOST, OTHERWISE

_BEFORE_ITS_DECISION: Final = "F5#1:kill"
#: How SQLite says that another process has the database.
_LOCKED: Final = "database is locked"
#: Where no job of Spark may be left to run: at the end, and in the last renames before it.
_AT_THE_END: Final = ("F9", "F12")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong after a row, and what the successor had left to read, if that was compared."""

    wrong: list[str]
    left: Left | None = None


def played(scene: Setting, place: Path, row: Row) -> Verdict:
    """Play a row and judge what is there afterwards, and what was read again."""
    with Crew(place, scene.job(place)) as crew:
        first = crew.start(1, cores=row.before, fault=row.fault)
        if not first.met():
            return Verdict(wrong=[f"the fault was not met: {first.said()}"])
        if row.strike is Strike.FREEZE:
            first.freeze()
        else:
            twice = row.strike is Strike.TWICE
            first.kill(Victim.DRIVER if twice else Victim(row.strike))
            code = first.ended()
            # Without its JVM a driver may still do what needs no Spark, the end of a job included.
            left_alive = (LOST, FINISHED) if row.point in _AT_THE_END else (LOST,)
            if code >= 0 and not (row.strike is Strike.JVM and code in left_alive):
                return Verdict(wrong=[f"the one that was struck ended with {code}: {first.said()}"])
        token = 2
        if row.strike is Strike.TWICE:
            second, token = crew.start(2, cores=row.before, fault=_BEFORE_ITS_DECISION), 3
            if second.ended() >= 0:
                return Verdict(wrong=[f"the second was not killed: {second.said()}"])
        left = scene.left(crew.server.keeper)
        if row.point == "F15" and row.strike is not Strike.TWICE:
            crew.server.keeper.lose_last()
        zombie = first if row.strike is Strike.FREEZE else None
        found, locked = _succeeded(crew, row, token, zombie)
        if locked:
            # It stood still while it held the table: the engine would give the task once more.
            left, token = scene.left(crew.server.keeper), token + 1
            found += _succeeded(crew, row, token, None)[0]
        if found:
            return Verdict(wrong=found)
        result = crew.result(token)
        found = scene.misread(left, result) + scene.mismatches(place)
        found += disorder(crew.server.keeper)
        return Verdict(wrong=found, left=left if is_compared(result) else None)


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

"""What a row of the matrix is played with: a job, its inputs and its truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.workers.pipelines.jobs import Job
from tests.workers.pipelines.stores import Keeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What has not been read: ``rows`` of the files that Spark reads itself, if there are any, and
    what is ``done`` of each source, in splits; ``ended``: transforms that let go what they held.
    """

    done: dict[str, int]
    rows: int | None = None
    ended: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """Say it in a few words."""
        told = f"{sum(self.done.values())} splits done and not read again"
        return told if self.rows is None else f"{told}; {self.rows} rows of files were left"


class Setting(Protocol):
    """What a row needs of a scene."""

    def job(self, place: Path) -> Job:
        """The job that writes below that place."""

    def left(self, keeper: Keeper) -> Left:
        """Tell what the next attempt has to read, by what the engine keeps now."""

    def misread(self, left: Left, result: dict[str, Any]) -> list[str]:
        """Compare what Spark says that was read with what was left to read."""

    def mismatches(self, place: Path) -> list[str]:
        """Compare what is below that place with the truth."""


def is_compared(result: dict[str, Any]) -> bool:
    """Say whether each pipeline's reading was compared: none has redone a round that failed."""
    return all(not pipeline["lastError"] for pipeline in result["document"]["pipelines"])

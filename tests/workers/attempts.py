"""A running attempt under the test's control."""

from __future__ import annotations

from threading import Event

from conductor_py.model.json import JsonObject
from conductor_workers.attempt import Claim


def claim(token: int, *, task: str = "task-1", owner: str = "execution-1/load") -> Claim:
    """A claim on a task."""
    return Claim(task_id=task, token=token, owner=owner)


class FakeAttempt:
    """Does what ``Attempt`` promises, and remembers what it was told."""

    def __init__(self, given: JsonObject, held: Claim | None = None) -> None:
        """Run for that input; the engine confirms the claim until ``supersede``."""
        self.claim = held or claim(1)
        self.input = given
        self.cancelled = Event()
        self.progress: list[JsonObject] = []
        self.lines: list[str] = []
        self.confirmations = 0
        self._ours = True

    def supersede(self) -> None:
        """Let the engine say from now on that the claim has moved."""
        self._ours = False

    def report_progress(self, progress: JsonObject) -> None:
        """Remember it."""
        self.progress.append(progress)

    def confirm(self) -> bool:
        """Answer for the engine."""
        self.confirmations += 1
        return self._ours

    def log(self, sentence: str) -> None:
        """Remember it."""
        self.lines.append(sentence)

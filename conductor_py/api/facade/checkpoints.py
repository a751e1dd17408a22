"""What the HTTP front needs of what long tasks keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from conductor_py.model.checkpoints import KeptPart, KeptPlace, Wanted
from conductor_py.model.json import JsonObject


class Checkpoints(Protocol):
    """Records, notes, savepoints and requests."""

    def acquire(self, task_id: str, token: int, /) -> KeptPlace:
        """Refuse all lower tokens, and read everything; ``ClaimLost``, ``NotFound``."""

    def append(
        self,
        task_id: str,
        token: int,
        part: str,
        notes: Sequence[JsonObject],
        /,
        *,
        epoch: int | None,
        position: int | None,
    ) -> int:
        """Append notes, and count them; ``EpochConflict``, ``NotesConflict``, ``ClaimLost``."""

    def put(
        self,
        task_id: str,
        token: int,
        part: str,
        record: JsonObject,
        /,
        *,
        expected: int,
        epoch: int,
        retain: int,
    ) -> str:
        """Replace the newest record, and tell its hash; ``EpochConflict``, ``ClaimLost``."""

    def read(self, task_id: str, /) -> KeptPlace:
        """Read everything; ``NotFound``."""

    def part(self, task_id: str, part: str, /) -> KeptPart:
        """Read one part; ``NotFound``."""

    def record(self, task_id: str, part: str, at: int | str, /) -> JsonObject:
        """Read the record of an epoch or savepoint; ``NotFound``."""

    def wanted(self, task_id: str, /) -> Wanted | None:
        """Tell what somebody asks of a task."""

    def listed(self, workflow_id: str, /) -> Mapping[str, KeptPlace]:
        """Read what the tasks of an execution keep, by reference; ``NotFound``."""

    def ask(
        self,
        workflow_id: str,
        reference: str,
        action: str,
        /,
        *,
        savepoint: str,
        at_once: bool,
        part: str,
        epoch: int | None,
        rewind: bool,
    ) -> int:
        """Ask something of a task; ``Conflict``, ``NotFound``."""

    def drop_savepoint(self, workflow_id: str, reference: str, savepoint: str, /) -> None:
        """Forget a savepoint; ``Conflict``, ``NotFound``."""

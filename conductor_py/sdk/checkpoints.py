"""What a long task keeps, as its function sees it: parts with a record each, and notes since.

Everything is under the claim of the attempt: once another attempt holds the task, every verb raises
``ClaimLost``, and will for ever. A verb that was not answered may have been carried out; it is sent
again, which changes nothing more.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol, cast

from conductor_py.errors import ConfigurationError
from conductor_py.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.task import Task


class CheckpointServer(Protocol):
    """The part of the client that is used."""

    def acquire_checkpoints(self, task_id: str, claim_token: int) -> JsonObject:
        """As ``Client.acquire_checkpoints``."""
        ...

    def append_notes(
        self,
        task_id: str,
        claim_token: int,
        part: str,
        notes: Sequence[Mapping[str, object]],
        *,
        epoch: int | None = None,
        position: int | None = None,
    ) -> int:
        """As ``Client.append_notes``."""
        ...

    def put_checkpoint(
        self,
        task_id: str,
        claim_token: int,
        part: str,
        record: Mapping[str, object],
        *,
        expected: int,
        epoch: int,
        retain: int | None = None,
        resend: bool = True,
    ) -> JsonObject:
        """As ``Client.put_checkpoint``."""
        ...

    def get_checkpoint(self, task_id: str, part: str) -> JsonObject:
        """As ``Client.get_checkpoint``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What somebody asks of a task: ``STOP``, ``PAUSE`` or ``CANCEL``; ``number`` grows.

    ``now``: without finishing what is under way. ``savepoint`` will hold the last records.
    """

    action: str
    number: int
    now: bool = False
    savepoint: str = ""

    @classmethod
    def from_json(cls, found: object) -> TaskRequest | None:
        """Read what the server says; ``None`` when nothing is asked."""
        if not isinstance(found, dict):
            return None
        return cls(
            action=str(found.get("action")),
            number=int(found.get("number") or 0),
            now=found.get("now") is True,
            savepoint=str(found.get("savepoint") or ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingPoint:
    """An older record that somebody wants a part to go on from: of an epoch or a savepoint."""

    record: JsonObject
    epoch: int | None = None
    savepoint: str = ""
    rewind: bool = False
    """Whether what came after it may be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a part keeps: its newest record (``None``: there is none) and the notes since.

    ``resume_from`` is there until the next record is put; the epochs go on from ``epoch`` all the
    same.
    """

    epoch: int = 0
    record: JsonObject | None = None
    notes: tuple[JsonObject, ...] = ()
    resume_from: StartingPoint | None = None

    @classmethod
    def from_json(cls, found: JsonObject) -> Checkpoint:
        """Read what the server says of a part."""
        return cls(
            epoch=cast("int", found.get("epoch") or 0),
            record=cast("JsonObject | None", found.get("record")),
            notes=tuple(cast("list[JsonObject]", found.get("notes") or [])),
            resume_from=_starting_point(found.get("resumeFrom")),
        )


class Checkpoints:
    """The records and notes of one task, for one attempt. Threads may share it, if each part is one
    thread's.
    """

    def __init__(
        self,
        server: CheckpointServer,
        task: Task,
        *,
        asked: Callable[[TaskRequest | None], object],
    ) -> None:
        """Work under the claim of a polled task; ``asked`` hears what somebody asks of it."""
        self._server = server
        self._task = task
        self._asked = asked
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, int]] = {}  # by part: epoch, notes since
        self._line = 0

    @property
    def token(self) -> int:
        """The claim token; larger than that of every attempt before."""
        if self._task.claim_token is None:
            message = "the server hands out no claim tokens, so nothing can be kept"
            raise ConfigurationError(message)
        return self._task.claim_token

    @property
    def line(self) -> int:
        """What all attempts share that go on from one another, once ``acquire`` was called; those
        after a restart, which find nothing, have a larger number.
        """
        return self._line

    def acquire(self) -> dict[str, Checkpoint]:
        """Refuse all attempts before from now on; return what they have kept, by part."""
        kept = self._server.acquire_checkpoints(self._task.task_id, self.token)
        parts = cast("dict[str, JsonObject]", kept.get("parts") or {})
        found = {name: Checkpoint.from_json(part) for name, part in parts.items()}
        with self._lock:
            self._known = {name: (part.epoch, len(part.notes)) for name, part in found.items()}
            self._line = cast("int", kept.get("line") or 0)
        self._asked(TaskRequest.from_json(kept.get("request")))
        return found

    def get(self, part: str) -> Checkpoint:
        """Return what a part keeps now."""
        found = Checkpoint.from_json(self._server.get_checkpoint(self._task.task_id, part))
        with self._lock:
            self._known[part] = (found.epoch, len(found.notes))
        return found

    def append(self, part: str, notes: Sequence[Mapping[str, object]]) -> None:
        """Add notes, each once, to what a part will find beside its newest record."""
        with self._lock:
            epoch, position = self._known.get(part, (0, 0))
        kept = self._server.append_notes(
            self._task.task_id, self.token, part, notes, epoch=epoch, position=position
        )
        with self._lock:
            self._known[part] = (epoch, kept)

    def put(
        self,
        part: str,
        record: Mapping[str, object],
        *,
        expected: int,
        epoch: int,
        retain: int | None = None,
        resend: bool = True,
    ) -> None:
        """Replace the record of the epoch ``expected`` and delete the notes; ``epoch`` is that or
        one more; ``resend`` as in ``Client.put_checkpoint``. Raises ``EpochConflict`` when another
        epoch is there.
        """
        self._server.put_checkpoint(
            self._task.task_id,
            self.token,
            part,
            record,
            expected=expected,
            epoch=epoch,
            retain=retain,
            resend=resend,
        )
        with self._lock:
            self._known[part] = (epoch, 0)


def _starting_point(found: object) -> StartingPoint | None:
    if not isinstance(found, dict) or not isinstance(found.get("record"), dict):
        return None
    return StartingPoint(
        record=found["record"],
        epoch=found.get("epoch"),
        savepoint=str(found.get("savepoint") or ""),
        rewind=found.get("rewind") is True,
    )

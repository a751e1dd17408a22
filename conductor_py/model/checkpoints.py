"""What a long task keeps between its attempts: records, notes, savepoints, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A record of the history: its epoch, when it came, how large it is, the hash of its text."""

    epoch: int
    at_ms: int
    bytes: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartingPoint:
    """An older record to go on from: that of an epoch, or what a savepoint holds.

    ``rewind``: what came after it may be taken back.
    """

    epoch: int | None = None
    savepoint: str = ""
    record: JsonObject | None = None
    rewind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPart:
    """A part: its newest record, the notes since, and its history, newest first.

    ``record`` and ``notes`` are there where they were asked for; epoch 0 without a history: there
    is no record.
    """

    name: str
    epoch: int = 0
    token: int = 0
    hash: str = ""
    record: JsonObject | None = None
    notes: tuple[JsonObject, ...] = ()
    note_count: int = 0
    note_bytes: int = 0
    start: StartingPoint | None = None
    history: tuple[Past, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A name for records that stay: epochs by part."""

    name: str
    at_ms: int
    epochs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody asks of the task: ``STOP``, ``PAUSE`` or ``CANCEL``.

    ``savepoint`` follows a stop's last records; ``at_once``: without finishing what is under way.
    """

    action: str
    number: int
    at_ms: int
    savepoint: str = ""
    at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlace:
    """Everything that one reference and iteration keeps; ``token`` is the highest that was seen,
    ``root`` the first attempt of the line that kept it, 0 where nothing is kept.
    """

    token: int = 0
    root: int = 0
    parts: tuple[KeptPart, ...] = ()
    savepoints: tuple[Savepoint, ...] = ()
    wanted: Wanted | None = None

    def part(self, name: str) -> KeptPart:
        """Find a part; one that is not there has kept nothing."""
        return next((part for part in self.parts if part.name == name), KeptPart(name=name))

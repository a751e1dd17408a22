"""The field ``v`` of an execution, as ``lua/include/record.lua`` writes it, and ``q``, what is
counted against its version. Either may be damaged: then it is told to be, and nothing fails.
"""

from __future__ import annotations

from typing import Final

from conductor_py.adapters.redis.names import number_of, shown
from conductor_py.ports.inspector import Setback
from conductor_py.records import dataclass

DAMAGED: Final = "the field v cannot be read"
_WORDS: Final = 8


@dataclass(frozen=True, slots=True)
class Record:
    """What the store itself knows of an execution."""

    version: int
    terminal: bool
    generation: int
    first_event: int
    home: str
    status: str


def record_of(text: bytes) -> Record | None:
    """Read the field ``v``; ``None`` when it is damaged."""
    words = text.split(b" ")
    if len(words) != _WORDS:
        return None
    version, generation, first = (number_of(words[at]) for at in (0, 2, 3))
    if version is None or generation is None or first is None or words[1] not in {b"0", b"1"}:
        return None
    return Record(version, words[1] == b"1", generation, first, shown(words[4]), shown(words[7]))


def setback_of(text: bytes | None, version: int) -> Setback | None:
    """Read the field ``q``; what it says of another version is over, and what is damaged is
    counted anew.
    """
    of_version, tries, since_ms, reason = [*(text or b"").split(b" ", 3), b"", b"", b""][:4]
    counted, since = number_of(tries), number_of(since_ms)
    if number_of(of_version) != version or counted is None or since is None:
        return None
    return Setback(tries=counted, since_ms=since, reason=shown(reason))

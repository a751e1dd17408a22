"""What goes first of the effects: those that executions stand still for, so nobody waits for an
index first, and then what others outside are told.

They are ordered with a head start: each is taken before others that have been due for up to so
long, and behind those that have waited longer. So the others are late by that much at most, however
many of these come.

While timers are behind in a process that also carries effects out, only those with a head start
are: a WAIT that ends late delays what somebody has planned, an index that is late nothing. The
others give way for a minute at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from conductor_py.ports.outbox import Pending

AWAITED: Final = ("start", "post", "admit")
"""The kinds that executions stand still for."""
TOLD: Final = ("notify", "publish")
"""The kinds that somebody outside is told by."""
HEAD_START_MS: Final = 600_000
GIVES_WAY_MS: Final = 60_000


def due_of(kind: str) -> int:
    """When an effect that is wanted now is due, as ``Effect.due_ms``."""
    if kind in AWAITED:
        return -HEAD_START_MS
    return -GIVES_WAY_MS if kind in TOLD else 0


def kind_of(effect: Pending) -> str:
    """Read its kind; empty for a document that cannot be read."""
    try:
        return str(orjson.loads(effect.document).get("kind", ""))
    except (AttributeError, ValueError):
        return ""


def parted(effects: Sequence[Pending]) -> tuple[list[str], list[str]]:
    """The ids of what somebody stands still for, and of the others."""
    awaited: list[str] = []
    others: list[str] = []
    for effect in effects:
        is_first = kind_of(effect) in AWAITED
        (awaited if is_first else others).append(effect.id)
    return awaited, others


def wanted_at(due_ms: int, ordered_ms: int) -> int:
    """The instant from which on an effect is late, without its head start."""
    return min(max(due_ms, ordered_ms), due_ms + HEAD_START_MS)

"""What goes first of the effects: those that executions stand still for, so nobody waits for an
index first.

They are ordered with a head start: each is taken before others that have been due for up to so
long, and behind those that have waited longer. So the others are late by that much at most, however
many of these come.

Timers that are behind go before what can wait (``ports.outbox.CAN_WAIT``), where one process has
both to do: a WAIT that ends late delays what somebody has planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from conductor_py.ports.outbox import Pending

AWAITED: Final = ("start", "post", "admit")
"""The kinds that executions stand still for."""
HEAD_START_MS: Final = 600_000
PATIENCE_MS: Final = 60_000
"""For how long what can wait gives way to timers that are behind."""


def due_of(kind: str) -> int:
    """When an effect that is wanted now is due, as ``Effect.due_ms``."""
    return -HEAD_START_MS if kind in AWAITED else 0


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

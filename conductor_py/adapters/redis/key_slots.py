"""The slot of a cluster that a command belongs to, by the key that routes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from redis.crc import key_slot

from conductor_py.adapters.redis.connection import Argument

_WITHOUT_KEY: Final = frozenset({"CLUSTER", "INFO", "PING", "ROLE", "TIME"})
_BEHIND: Final = frozenset({"EVALSHA", "SCAN", "EVAL"})
"""Their key stands behind two other arguments; that of SCAN is the first pattern."""
_REMEMBERED: Final = 10_000


class KeySlots:
    """Slots of keys, remembered by hash tag: there are few of those. Safe for threads."""

    def __init__(self, home: str) -> None:
        """What names no key goes where ``home`` is, a key."""
        self._home = home
        self._known: dict[str, int] = {}

    def of(self, arguments: Sequence[Argument]) -> int:
        """Tell the slot of one command."""
        name = arguments[0]
        if name in _BEHIND:
            key = arguments[3]
        elif name in _WITHOUT_KEY or len(arguments) < 2:
            key = self._home
        else:
            key = arguments[1]
        tag = key if isinstance(key, str) else str(key)
        end = tag.find("}") + 1
        tag = tag[:end] if end else tag
        slot = self._known.get(tag)
        if slot is None:
            slot = int(key_slot(tag.encode()))
            if len(self._known) < _REMEMBERED:
                self._known[tag] = slot
        return slot

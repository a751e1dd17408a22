"""Erasure: what was removed stays in the files of a store until they are written anew."""

from __future__ import annotations

from typing import Protocol

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    """Instants in ms by the store's clock; 0: never."""

    removed_ms: int = 0
    """When something was removed last."""
    erased_ms: int = 0
    """What was removed before that is in no file any more."""


class RemovalRecord(Protocol):
    """Remembers both, for all servers. Every method raises ``StoreUnavailable``."""

    def read(self) -> Removals:
        """Read both."""

    def removed(self, at_ms: int) -> None:
        """Note that something has just been removed."""

    def erased(self, as_of_ms: int) -> None:
        """Note that what was removed before is in no file any more."""


class Eraser(Protocol):
    """Files of a store."""

    def erase(self) -> bool:
        """Take one bounded step; whether what was removed before the first step of this round is
        gone from the files.

        Call it again until then; the call after that begins a new round. ``StoreUnavailable`` when
        it cannot be done now: the next call begins anew.
        """

"""Who needs a payload: the record by which it leaves its storage with the last of them.

A holder is a name that says where to look whether it is still there. It enters the record before
what it is to keep names the payload, so a payload that is in use has a holder that is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

PRESENT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is known of one payload: for each holder since when it is gone, in epoch ms, or
    ``PRESENT``. ``version`` grows with each change.
    """

    version: int
    gone_since: Mapping[str, int]


class PayloadHolders(Protocol):
    """Records by path; one store for all partitions. Every method raises ``StoreUnavailable`` when
    it is away.
    """

    def hold(self, holder: str, paths: Sequence[str], check_ms: int) -> None:
        """Let a holder have payloads; one that nobody had is to be looked at at ``check_ms``."""

    def let_go(self, holder: str, now_ms: int, check_ms: int) -> int:
        """Note that a holder is gone from all it has, and when to look at those, at the latest;
        returns how many they are.
        """

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        """List payloads that are to be looked at, the longest overdue first."""

    def read(self, path: str) -> Held | None:
        """Read one record."""

    def settle(self, path: str, version: int, gone_since: Mapping[str, int], check_ms: int) -> bool:
        """Note what a look at that version has found, and when to look again; whether it still was
        that version.
        """

    def drop(self, path: str, version: int) -> bool:
        """Forget one payload, if it is still in that version."""

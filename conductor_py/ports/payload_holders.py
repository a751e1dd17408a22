"""Who needs a payload: the record by which it leaves its storage with the last of them.

A record begins when the payload is stored, or a URL to send it to is made. What has no record, as
everything that was stored before there were records, is never removed. A holder is a name that says
where to look whether it is still there. It enters the record before what it is to keep names the
payload, so a payload that is in use has a holder that is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from conductor_py.records import dataclass

PRESENT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is known of one payload: for each holder ``PRESENT``, the epoch ms at which it said that
    it goes, or minus the epoch ms at which it was first missed. ``version`` grows with each change.
    A payload that is ``leaving`` gets no further holders.
    """

    version: int
    holders: Mapping[str, int]
    leaving: bool = False


class PayloadHolders(Protocol):
    """Records by path; one store for all partitions. Every method raises ``StoreUnavailable`` when
    it is away.
    """

    def begin(self, path: str, check_ms: int) -> None:
        """Begin a record, without holders; it is to be looked at at ``check_ms``."""

    def hold(self, holder: str, paths: Sequence[str]) -> bool:
        """Let a holder have payloads; those without a record stay without. False, and nothing is
        held, when one of them is leaving.
        """

    def let_go(self, holder: str, now_ms: int, check_ms: int) -> int:
        """Note that a holder is gone from all it has, and when to look at those, at the latest;
        returns how many they are.
        """

    def due(self, now_ms: int, limit: int) -> tuple[str, ...]:
        """List payloads that are to be looked at, the longest overdue first."""

    def read(self, path: str) -> Held | None:
        """Read one record."""

    def settle(
        self,
        path: str,
        version: int,
        *,
        found: Mapping[str, int],
        forgotten: Sequence[str],
        check_ms: int,
        leaving: bool = False,
    ) -> bool:
        """Note what a look at that version has found of some holders, forget others, and say when
        to look again; whether it still was that version. With ``leaving`` nobody comes any more.
        """

    def forget(self, paths: Sequence[str]) -> None:
        """End records: nothing is known of these payloads, and they are not looked at."""

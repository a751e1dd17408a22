"""Quarantine: an execution that cannot be decided costs nobody else anything, and is not forgotten.

A decision that fails is *set back*: counted with the version it was made on, and tried again after
a wait that doubles. After so many setbacks of one version the execution is in quarantine: its lease
belongs to the quarantine, so that whatever comes for it is kept and nobody decides. It is tried
again after a long wait, which doubles too, or when somebody releases it. Any commit ends it all:
the version has moved.

A decider that vanishes with the lease in its hand is a setback as well, seen by the next firing of
the timer. An execution with two setbacks or more, of which that was the last, is handed out alone
from then on: should it be what kills its deciders, it kills no decision of others with itself.
"""

from __future__ import annotations

from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Effect, Loaded, Outcome
from conductor_py.records import dataclass

BACKOFF_MS: Final = 1_000
"""The first wait after a setback; each further one is twice as long, a minute at most."""
LONGEST_BACKOFF_MS: Final = 60_000
LONGEST_MS: Final = 86_400_000
"""The longest wait in quarantine."""
SUSPECT: Final = 2
"""Setbacks from which on an execution whose deciders vanish is handed out alone."""
VANISHED: Final = "whoever decided on it vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineBounds:
    """``tries`` are the setbacks of one version that lead into quarantine; ``wait_ms`` is how long
    it is before the next try.
    """

    tries: int = 5
    wait_ms: int = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """An execution in quarantine: since when its decisions fail, how many did, why the last did,
    and when the next is made (epoch ms).
    """

    execution: ExecutionId
    since_ms: int
    tries: int
    reason: str
    again_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinePlace:
    """Where one stands in a walk: since when it fails, as the walk is ordered by it, and which."""

    since_ms: int
    execution: ExecutionId


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinePage:
    """Some of those in quarantine; the next page begins at ``following`` (``None``: there is none).
    ``left`` counts those of this page and all behind them.
    """

    found: tuple[QuarantinePlace, ...]
    following: QuarantinePlace | None
    left: int


class QuarantineStore(Protocol):
    """Setbacks and quarantine. ``StoreUnavailable`` when the store does not answer."""

    def set_back(
        self, execution: ExecutionId, holder: str, version: int, reason: str
    ) -> tuple[Outcome, bool]:
        """Count a failed decision on ``version``, give up its lease, arm its timer; OK and whether
        it is in quarantine now. STALE: it has moved on; BUSY: somebody else decides; GONE.
        """

    def get(self, execution: ExecutionId) -> Quarantined | None:
        """Read one that is in quarantine."""

    def setbacks(self, execution: ExecutionId) -> int:
        """Count the failed decisions on the present version, whether it is in quarantine or not; 0
        when a commit came after them, and for one that is not in the store.
        """

    def listed(self, start: int, limit: int) -> tuple[tuple[Quarantined, ...], int]:
        """List those in quarantine, of all partitions, longest failing first, with their number. At
        most ``limit`` beginning at the ``start``-th.
        """

    def walk(self, start: QuarantinePlace | None, limit: int) -> QuarantinePage:
        """List those in quarantine, one partition after the other, in each longest failing first:
        at most ``limit``, beginning at ``start``, or at the first. Those before it are not read.
        When it has left quarantine, those come that fail as long as it did. One that a try puts
        back keeps its place.
        """

    def take(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        """Take one out of quarantine, and its lease; ``None`` when it is not in quarantine.

        Its setbacks stay counted until a commit: the next one takes it back. ``StoreDamaged`` when
        it cannot be read.
        """

    def header(self, execution: ExecutionId) -> bytes:
        """Read what stands where its header should, as it is stored; empty when nothing does."""

    def drop_unreadable(
        self,
        execution: ExecutionId,
        header: bytes,
        *,
        is_readable: bool = False,
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        """Delete one for ever that is in quarantine, still has this ``header``, and whose record
        cannot be read, or whose header nobody can read (not ``is_readable``); false for any other.
        It goes as with its timer (``DamageStore.drop``).
        """

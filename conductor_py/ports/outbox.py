"""The outbox: effects wait here, from the commit that ordered them until their handler confirms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from conductor_py.model.ids import is_execution_id
from conductor_py.ports.touched import EFFECT as TASKS
from conductor_py.records import dataclass

OF_EXECUTIONS: Final = frozenset({"index", "remove", "forget"})
"""Kinds whose ids are the execution that they are about, and the kind."""
CAN_WAIT: Final = OF_EXECUTIONS | {TASKS}
"""The kinds of effects of which a minute's delay harms nobody."""


def can_wait(effect: str) -> bool:
    """Whether an effect of this id is of such a kind: one of an execution, or of a partition."""
    execution, _, kind = effect.rpartition(":")
    return kind in CAN_WAIT and (not execution or is_execution_id(execution))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An effect taken for delivery. ``stamp`` tells one order under an id from the next."""

    id: str
    stamp: int
    document: bytes


class Outbox(Protocol):
    """Effects of one partition. Delivery is at least once; handlers are idempotent by effect id."""

    def take(
        self, partition: int, limit: int, lease_ms: int, *, patience_ms: int = 0
    ) -> tuple[Pending, ...]:
        """Take due effects, oldest first; each is due again after ``lease_ms`` unless confirmed
        before. With ``patience_ms`` what can wait (``CAN_WAIT``) is left alone until it has been
        due for so long, and of the others all are taken that are among the thousand newest.
        """

    def due(self) -> tuple[int, ...]:
        """Tell which partitions have a due effect: one look at all. Those that do not answer are
        left out; ``StoreUnavailable`` when none does.
        """

    def next_due_ms(self, partition: int) -> int:
        """Tell when the earliest effect is due, 0 when there is none."""

    def life(self, partition: int) -> str:
        """Name the life of the server that keeps them: another after a restart or a failover."""

    def confirm(self, partition: int, done: Sequence[tuple[str, int]], life: str = "") -> int:
        """Drop effects by (id, stamp). One that was ordered anew meanwhile stays, and so does the
        removal of an execution that stands as it did then: a store that lost its last writes has
        brought it back; that of touched attempts (``ports/touched.py``) comes again while some are
        left. Nothing goes in another ``life`` than that, if one is given: what they did
        in it may be lost with its last writes. Returns how many went.
        """

    def postpone(self, partition: int, later: Sequence[tuple[str, int, int]]) -> int:
        """Make effects due again at an instant, by (id, stamp, due in epoch ms), rather than when
        their lease ends; returns how many.
        """

    def put_aside(self, partition: int, unreadable: Sequence[tuple[str, int, str]]) -> int:
        """Put effects aside that cannot be read, by (id, stamp, what is wrong): each is damaged
        (``ports/damage.py``) until it is confirmed or put off. Returns how many.
        """

    def order(self, partition: int, effects: Sequence[tuple[str, bytes]]) -> int:
        """Order effects, by (id, document), outside of a commit; one whose id waits already is left
        as it is. Returns how many were new.
        """

    def size(self, partition: int) -> int:
        """Count the effects that wait."""

    def read(self, partition: int, ids: Sequence[str]) -> tuple[Pending, ...]:
        """Read effects by id, those that are gone left out (a job carries ids only)."""

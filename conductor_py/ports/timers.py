"""Timers: time wakes exactly what is due, and a firing never loses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.ports.store import Loaded


class Timers(Protocol):
    """The due sets of one partition, one a home shard."""

    def claim_due(
        self, partition: int, shard: str, limit: int, holder: str, lease_ms: int
    ) -> tuple[Loaded, ...]:
        """Fire up to ``limit`` due timers and bring the executions whose lease was won.

        An entry is never popped: it moves to now + 30 s, or to now + lease for an execution, and
        goes only when its attempt or execution has ended. The timer of an attempt appends ``due``
        (with the claim and the deadline it saw, once a deadline) to the inbox: ``<seq>
        {"t":"due","k":<claim>,"d":<claim end>}``; the timer of an execution appends nothing.
        """

    def due(self, shards: Sequence[str]) -> tuple[tuple[int, str], ...]:
        """Tell which (partition, shard) have a due timer: one look at all partitions. Those that do
        not answer are left out; ``StoreUnavailable`` when none does.
        """

    def next_due_ms(self, partition: int, shard: str) -> int:
        """Tell when the earliest timer of the shard is due, 0 when there is none."""

    def late_spans(self, partition: int, home: str) -> tuple[tuple[int, int], ...]:
        """Tell when timers of a home that were due were not taken for a second, and effects of the
        partition that were ordered with a head start (executions stand still for them): (began,
        ended) in epoch ms, of the last hour. Those of timers may overlap those of effects.

        Noted by ``claim_due`` and by the outbox's ``take``.
        """

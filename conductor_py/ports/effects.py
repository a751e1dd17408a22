"""Effects on their way to whoever carries them out, outside the critical path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EffectQueue(Protocol):
    """Hands ids over, and nothing else: what an effect is stands in the outbox.

    Losing what was handed over is harmless. The outbox keeps every effect until it is confirmed and
    offers it again after its lease; handlers are idempotent by effect id.
    """

    def has_room(self) -> bool:
        """Whether those who carry effects out want more. As long as they are behind, what is due
        stays in the outbox, the oldest first: what is handed over and not reached within its lease
        would be handed over again and again, in no order. ``StoreUnavailable`` as below.
        """

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        """Hand over effects of one partition, as one batch.

        A queue that is full drops the batch: it comes again. ``StoreUnavailable`` when the queue
        does not answer, ``StoreFull`` when it has no memory left.
        """

    def enqueue_first(self, partition: int, ids: Sequence[str]) -> None:
        """Hand over a batch that executions stand still for: it goes before those that wait, yet
        now and then one waits for its turn, so that the others have theirs.
        """

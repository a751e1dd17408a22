"""Effects on their way to whoever carries them out, outside the critical path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EffectQueue(Protocol):
    """Hands ids over, and nothing else: what an effect is stands in the outbox.

    Losing what was handed over is harmless. The outbox keeps every effect until it is confirmed and
    offers it again after its lease; handlers are idempotent by effect id.
    """

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        """Hand over effects of one partition, as one batch.

        A queue that is full drops the batch: it comes again. ``StoreUnavailable`` when the queue
        does not answer.
        """

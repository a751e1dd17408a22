"""Collection of plans: definitions are stored once for all executions of a partition, and go when
none of those is left and nobody asked for a day. Bounded ticks, nothing remembered.
"""

from __future__ import annotations

import logging
from typing import Final

from conductor_py.ports.metadata import PlanStore

_LOG = logging.getLogger(__name__)

UNUSED_MS: Final = 24 * 3_600_000
"""How long a plan stays that nothing uses: far longer than a start or a decision takes."""


class Collector:
    """Drops plans that nothing uses. Any number may run, on any number of servers."""

    def __init__(self, plans: PlanStore, *, partitions: int, batch: int = 500) -> None:
        """``batch`` bounds what one tick looks at in one partition."""
        self._plans = plans
        self._partitions = partitions
        self._batch = batch

    def tick(self) -> int:
        """Look at one batch of every partition; returns in how many there is more to look at."""
        unfinished = dropped = 0
        for partition in range(self._partitions):
            looked_at, gone = self._plans.collect_unused(partition, UNUSED_MS, self._batch)
            unfinished += looked_at == self._batch
            dropped += gone
        if dropped:
            _LOG.info(
                "Plans that nothing uses were dropped",
                extra={"action": "plans_dropped", "count": dropped},
            )
        return unfinished

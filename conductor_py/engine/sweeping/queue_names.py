"""Names of queues that nothing is in any more are forgotten: who starts a workflow can invent some,
and everybody who lists queues reads them all.
"""

from __future__ import annotations

from conductor_py.engine.sweeping.ticking import Partitions
from conductor_py.ports.queues import TaskQueues


class QueueNames:
    """Goes through the names of all partitions, a piece of each at a time."""

    def __init__(
        self, queues: TaskQueues, *, partitions: int, piece: int = 1_000, keep: int = 1_000
    ) -> None:
        """``piece`` bounds, roughly, how many names of a partition one tick looks at; ``keep`` may
        stay: people want to see that a queue of theirs is empty.
        """
        self._queues = queues
        self._keep = keep
        self._piece = piece
        self._walk = Partitions()
        self._cursors = dict.fromkeys(range(partitions), "")

    def tick(self) -> int:
        """Look at the next names; returns how many were forgotten."""
        if len(self._cursors) == 1:
            return self._go_on(0)
        return self._walk.each(tuple(self._cursors), self._go_on)

    def _go_on(self, partition: int) -> int:
        self._cursors[partition], gone = self._queues.forget_empty(
            partition, self._cursors[partition], self._piece, keep=self._keep
        )
        return gone

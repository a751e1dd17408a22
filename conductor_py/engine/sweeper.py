"""The sweeper: fires due timers of this server's shards and hands due effects on. Bounded ticks,
nothing remembered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from conductor_py.engine.executor import Executor
from conductor_py.engine.shards import Shards
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.timers import Timers

_LOG = logging.getLogger(__name__)

Enqueue = Callable[[int, Sequence[str]], object]
"""Hand the ids of due effects of a partition to whoever carries them out."""


class Sweeper:
    """Due timers and expired claims of the shards that this server holds."""

    def __init__(
        self,
        timers: Timers,
        executor: Executor,
        shards: Shards,
        *,
        partitions: int,
        batch: int = 50,
    ) -> None:
        """``batch`` bounds what one tick takes from one shard."""
        self._timers = timers
        self._executor = executor
        self._shards = shards
        self._partitions = partitions
        self._batch = batch

    def tick(self) -> int:
        """Fire what is due, once over all partitions and own shards; returns how many executions
        were decided.
        """
        decided = 0
        for partition in range(self._partitions):
            for shard in self._shards.own:
                decided += self._shard(partition, shard)
        return decided

    def _shard(self, partition: int, shard: str) -> int:
        holder = self._executor.name()
        due = self._timers.claim_due(partition, shard, self._batch, holder, self._executor.lease_ms)
        for loaded in due:
            try:
                driven = self._executor.drive(loaded, holder)
                self._executor.follow(driven.touched)
            except StoreUnavailable:
                raise
            except Exception:  # noqa: BLE001 - one execution must not stop the others
                _LOG.exception(
                    "An execution cannot be decided; its timer comes again",
                    extra={"action": "decide_failed", "workflow_id": loaded.execution},
                )
        return len(due)


class Relay:
    """Takes due effects out of the outboxes and hands their ids on; they come again until
    confirmed.
    """

    def __init__(
        self,
        outbox: Outbox,
        enqueue: Enqueue,
        *,
        partitions: int,
        batch: int = 500,
        lease_ms: int = 30_000,
    ) -> None:
        """``batch`` bounds one hand-over, ``lease_ms`` is how long it may take until the effects
        come again.
        """
        self._outbox = outbox
        self._enqueue = enqueue
        self._partitions = partitions
        self._batch = batch
        self._lease_ms = lease_ms

    def tick(self) -> int:
        """Hand over what is due; returns how many effects."""
        handed = 0
        for partition in range(self._partitions):
            due = self._outbox.take(partition, self._batch, self._lease_ms)
            if due:
                self._enqueue(partition, [effect.id for effect in due])
                handed += len(due)
        return handed


def run_ticks(
    tick: Callable[[], int], stop: threading.Event, *, busy_s: float = 0.0, idle_s: float = 0.2
) -> None:
    """Tick until stopped: at once after a tick that found work, after ``idle_s`` otherwise.

    One of the loops that must survive: what goes wrong is logged with its traceback and tried
    again.
    """
    failures = 0
    while not stop.is_set():
        try:
            found = tick()
            failures = 0
            wait_s = busy_s if found else idle_s
        except StoreUnavailable:
            failures += 1
            wait_s = min(0.2 * 2 ** min(failures, 5), 5.0)
            _LOG.warning("The store is away", extra={"action": "store_away"})
        except Exception:  # noqa: BLE001 - this loop must survive; it logs and tries again
            failures += 1
            wait_s = min(0.2 * 2 ** min(failures, 5), 5.0)
            _LOG.exception("A tick failed", extra={"action": "tick_failed"})
        if wait_s:
            stop.wait(wait_s)

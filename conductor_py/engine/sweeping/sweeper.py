"""The sweeper: fires due timers of the shards that are its own and hands due effects on.

Bounded ticks. What its decisions have filled and it had no time for comes first in its next tick:
without that a long chain of executions would wait for the fallback timer at every stretch. Nothing
is lost with it.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from conductor_py.engine.decisions.executor import Executor
from conductor_py.engine.decisions.precedence import PATIENCE_MS, parted
from conductor_py.engine.shards import Shards
from conductor_py.engine.sweeping.ticking import Partitions
from conductor_py.errors import StoreFull, StoreUnavailable
from conductor_py.model.homes import homes_of, is_of_chains
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.outbox import Outbox
from conductor_py.ports.timers import Timers

_LOG = logging.getLogger(__name__)
_MOST_LEFT = 1_000
_SAY_MS = 10_000
_BEHIND_S = 2.0
"""Longer than a batch takes: what gives way does not come back between two."""
_NEVER_MS = 1 << 53

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
        now_ms: Callable[[], int],
        partitions: int,
        batch: int = 50,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``now_ms`` is the store's time, ``batch`` bounds what one tick takes from one shard."""
        self._timers = timers
        self._executor = executor
        self._shards = shards
        self._now_ms = now_ms
        self._partitions = partitions
        self._walk = Partitions()
        self._batch = batch
        self._monotonic = monotonic
        self._said_ms = 0
        self._left: deque[ExecutionId] = deque(maxlen=_MOST_LEFT)
        self._left_of_chains: deque[ExecutionId] = deque(maxlen=_MOST_LEFT)
        self._much_s = -_BEHIND_S

    def is_behind(self) -> bool:
        """Whether there was much to do in a shard, a moment ago."""
        return self._monotonic() - self._much_s < _BEHIND_S

    def tick(self) -> int:
        """Fire what is due, once over all partitions and its shards; returns how many executions
        were decided.
        """
        decided = self._go_on()
        if self._partitions == 1:
            return decided + sum(self._home(0, home) for home in self._homes())
        due = self._timers.due(self._homes())
        return decided + self._walk.each(due, lambda place: self._home(*place))

    def due_in_s(self) -> float:
        """Tell how long until the next timer of its shards; 0 where partitions have clocks of
        their own.
        """
        if self._partitions > 1:
            return 0.0
        instants = (self._timers.next_due_ms(0, home) for home in self._homes())
        return _until(instants, self._now_ms())

    def _homes(self) -> list[str]:
        return [home for shard in self._shards.to_sweep() for home in homes_of(shard)]

    def _go_on(self) -> int:
        """Follow what the ticks before have left."""
        followed = 0
        for kept in (self._left, self._left_of_chains):
            left: list[ExecutionId] = []
            while kept:
                with suppress(IndexError):  # another thread was quicker
                    left.append(kept.popleft())
            kept.extend(self._executor.follow(left))
            followed += len(left)
        return followed

    def _follow(self, touched: Sequence[ExecutionId]) -> None:
        self._left.extend(self._executor.follow(touched))

    def _home(self, partition: int, home: str) -> int:
        holder = self._executor.name()
        due = self._timers.claim_due(partition, home, self._batch, holder, self._executor.lease_ms)
        # What executions set going is not followed at once: it would take its time from others.
        follow = self._left_of_chains.extend if is_of_chains(home) else self._follow
        waiting = 0
        for loaded in due:
            try:
                driven = self._executor.drive(loaded, holder, patient=False)
                follow(driven.touched)
            except StoreFull:
                waiting += 1
            except StoreUnavailable as away:
                self._executor.ask_store()
                _LOG.warning(
                    "What an execution needs does not answer; its timer comes again",
                    extra={
                        "action": "decide_later",
                        "workflow_id": loaded.execution,
                        "reason": str(away),
                    },
                )
            except Exception:  # noqa: BLE001 - one execution must not stop the others
                _LOG.exception(
                    "An execution cannot be decided; its timer comes again",
                    extra={"action": "decide_failed", "workflow_id": loaded.execution},
                )
        if not waiting and 2 * len(due) >= self._batch:
            self._much_s = self._monotonic()  # not while what can wait is what makes room
        if waiting and self._now_ms() - self._said_ms > _SAY_MS:
            self._said_ms = self._now_ms()
            _LOG.warning(
                "Executions go on when Redis has room for what they add",
                extra={"action": "store_full", "count": waiting},
            )
        return len(due)


def always() -> bool:
    """There is room."""
    return True


def never() -> bool:
    """Nothing is behind."""
    return False


class Relay:
    """Takes due effects out of the outboxes and hands their ids on; they come again until
    confirmed.
    """

    def __init__(
        self,
        outbox: Outbox,
        enqueue: Enqueue,
        *,
        now_ms: Callable[[], int],
        enqueue_first: Enqueue | None = None,
        carry_out: Enqueue | None = None,
        partitions: int,
        batch: int = 500,
        lease_ms: int = 30_000,
        has_room: Callable[[], bool] = always,
        gives_way: Callable[[], bool] = never,
    ) -> None:
        """``now_ms`` is the store's time. ``batch`` bounds one hand-over, ``lease_ms`` is how long
        it may take until the effects come again. Nothing is handed on while those who take it have
        no room, and what can wait not yet while it ``gives_way``. What executions stand
        still for goes by ``enqueue_first``, if there is one, before the others. When the queue has
        no memory left, ``carry_out`` does it here: it may be what makes room.
        """
        self._outbox = outbox
        self._enqueue = enqueue
        self._now_ms = now_ms
        self._enqueue_first = enqueue_first
        self._carry_out = carry_out
        self._partitions = partitions
        self._walk = Partitions()
        self._batch = batch
        self._lease_ms = lease_ms
        self._has_room = has_room
        self._gives_way = gives_way
        self.hurried = False
        """Whether executions stand still for something of the last tick, or more may be due."""

    def tick(self) -> int:
        """Hand over what is due; returns how many effects."""
        self.hurried = False
        if not self._has_room():
            return 0
        if self._partitions == 1:
            return self._hand_over(0)
        return self._walk.each(self._outbox.due(), self._hand_over)

    def due_in_s(self) -> float:
        """Tell how long until the next effect, as ``Sweeper`` does."""
        if self._partitions > 1 or not self._has_room():
            return 0.0
        return _until((self._outbox.next_due_ms(0),), self._now_ms())

    def _hand_over(self, partition: int) -> int:
        patience_ms = PATIENCE_MS if self._gives_way() else 0
        due = self._outbox.take(partition, self._batch, self._lease_ms, patience_ms=patience_ms)
        awaited, others = parted(due)
        self.hurried = self.hurried or bool(awaited) or len(due) >= self._batch
        if self._enqueue_first is None:
            others = [effect.id for effect in due]
        elif awaited:
            self._put(self._enqueue_first, partition, awaited)
        if others:
            self._put(self._enqueue, partition, others)
        return len(due)

    def _put(self, enqueue: Enqueue, partition: int, ids: Sequence[str]) -> None:
        try:
            enqueue(partition, ids)
        except StoreFull:
            if self._carry_out is None:
                raise
            self._carry_out(partition, ids)


def _until(instants: Iterable[int], now_ms: int) -> float:
    return (min((each for each in instants if each), default=_NEVER_MS) - now_ms) / 1000

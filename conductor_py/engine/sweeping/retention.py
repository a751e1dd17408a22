"""Retention: what ended long ago leaves the archive, in bounded ticks.

An execution that is still in the store stays in the archive as well: leaving the store needs it.
Those that cannot leave the store keep no others: the next tick goes on behind them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.model.ids import ExecutionId
from conductor_py.model.search import ArchivedId
from conductor_py.ports.search import Search
from conductor_py.ports.store import ExecutionStore

_LOG = logging.getLogger(__name__)

FOREVER: Final = 0


class Retention:
    """Removes archived executions. Any number may run, on any number of servers."""

    def __init__(
        self,
        search: Search,
        store: ExecutionStore,
        clock: StoreClock,
        *,
        keep_ms: int = FOREVER,
        batch: int = 200,
        left: Callable[[str], None],
    ) -> None:
        """``keep_ms`` counts from the end of an execution; ``batch`` bounds one tick; ``left``
        hears of executions that are gone for good.
        """
        self._search = search
        self._store = store
        self._clock = clock
        self._keep_ms = keep_ms
        self._batch = batch
        self._left = left
        self._after: ArchivedId | None = None

    def tick(self) -> int:
        """Remove one batch of what is too old, the oldest first; returns how many."""
        if self._keep_ms == FOREVER:
            return 0
        removed = 0
        before = self._clock.now_ms() - self._keep_ms
        found = self._search.ended_before(before, self._batch, self._after)
        for old in found:
            if self._store.load(ExecutionId(old.execution_id), ["h"]) is not None:
                continue
            if self._search.delete(old.execution_id, old.version):
                self._left(old.execution_id)
                removed += 1
        # From the first again at the end: what stayed may have left the store meanwhile.
        self._after = found[-1] if len(found) == self._batch else None
        if self._after and not removed:
            _LOG.warning(
                "Old executions stay in the archive, because the store still has them",
                extra={"action": "archive_kept", "count": len(found)},
            )
        if removed:
            _LOG.info(
                "Old executions were removed from the archive",
                extra={"action": "archive_removed", "count": removed},
            )
        return removed

"""Retention: what ended long ago leaves the archive, in bounded ticks; nothing is remembered.

An execution that is still in the store stays in the archive as well: leaving the store needs it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.model.ids import ExecutionId
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

    def tick(self) -> int:
        """Remove one batch of what is too old, the oldest first; returns how many."""
        if self._keep_ms == FOREVER:
            return 0
        removed = 0
        for old in self._search.ended_before(self._clock.now_ms() - self._keep_ms, self._batch):
            if self._store.load(ExecutionId(old.execution_id), ["h"]) is not None:
                continue
            if self._search.delete(old.execution_id, old.version):
                self._left(old.execution_id)
                removed += 1
        if removed:
            _LOG.info(
                "Old executions were removed from the archive",
                extra={"action": "archive_removed", "count": removed},
            )
        return removed

"""Erasure: some time after a removal, the stores write their files without what was removed.

Many removals share one round, since a round reads and writes files whole. What fails comes again;
any number of servers may do it at once.
"""

from __future__ import annotations

import logging
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.port_set import ErasurePorts
from conductor_py.errors import ConductorError
from conductor_py.ports.erasure import Eraser

_LOG = logging.getLogger(__name__)

NEVER: Final = 0
_AGAIN_MS: Final = 600_000


class Erasure:
    """Hears of removals and erases what they leave."""

    def __init__(
        self, ports: ErasurePorts | None, clock: StoreClock, *, interval_ms: int = NEVER
    ) -> None:
        """``interval_ms`` lies between two rounds at least. Without ``ports`` no files are ours."""
        self._ports = ports if interval_ms != NEVER else None
        self._clock = clock
        self._interval_ms = interval_ms
        self._as_of_ms = 0
        self._waiting: list[Eraser] = []
        self._has_failed = False
        self._not_before_ms = 0

    def removed(self) -> None:
        """Note that something has just been removed."""
        if self._ports is not None:
            self._ports.record.removed(self._clock.now_ms())

    def tick(self) -> int:
        """Take one step of a round that is due; 1 while there is more to do."""
        if self._ports is None:
            return 0
        if not self._waiting and not self._begun(self._ports):
            return 0
        try:
            is_done = self._waiting[0].erase()
        except ConductorError as error:
            is_done = self._has_failed = True
            _LOG.warning(
                "What was removed stays in the files of a store until the next try",
                extra={"action": "erasure_failed", "error": error.message},
            )
        if is_done:
            del self._waiting[0]
        if not self._waiting:
            self._end(self._ports)
        return len(self._waiting[:1])

    def _end(self, ports: ErasurePorts) -> None:
        if self._has_failed:
            self._not_before_ms = self._clock.now_ms() + min(_AGAIN_MS, self._interval_ms)
            return
        ports.record.erased(self._as_of_ms)
        _LOG.info(
            "What was removed is in no file of the stores any more",
            extra={"action": "erased", "as_of_ms": self._as_of_ms},
        )

    def _begun(self, ports: ErasurePorts) -> bool:
        now_ms, removals = self._clock.now_ms(), ports.record.read()
        is_due = (
            removals.removed_ms > 0
            and removals.removed_ms >= removals.erased_ms
            and now_ms - removals.erased_ms >= self._interval_ms
            and now_ms >= self._not_before_ms
        )
        if is_due:
            self._as_of_ms, self._waiting = now_ms, list(ports.erasers)
            self._has_failed = False
        return bool(self._waiting)

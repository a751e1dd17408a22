"""Retention of payloads: each leaves some time after the last that needs it, in bounded ticks.

Nothing has to be told that a holder is gone, though it makes it faster: each payload is looked at
from time to time. Two looks have to find nobody, a grace period apart: an index that is empty
because it is being restored has cost nothing by then. The bytes go before the record does, so
nothing is left that nobody knows of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payload_holding import GRACE_MS, NOBODY
from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.ports.payload_holders import PRESENT, Held, PayloadHolders
from conductor_py.ports.payloads import Payloads

_LOG = logging.getLogger(__name__)

LOOK_MS: Final = 7 * 24 * 3_600_000
"""How often a payload is looked at whose holders nobody has called gone."""
_AGAIN_MS: Final = 3_600_000
_UNREADABLE: Final = (ConductorError, KeyError, TypeError, ValueError)
"""What a holder that is damaged, or of another format, may raise."""


class PayloadRetention:
    """Removes payloads that nobody needs. Any number may run, on any number of servers."""

    def __init__(
        self,
        holders: PayloadHolders | None,
        payloads: Payloads,
        clock: StoreClock,
        *,
        is_there: Callable[[str, str], bool],
        grace_ms: int = GRACE_MS,
        batch: int = 100,
    ) -> None:
        """``is_there`` tells whether a holder still needs a path; ``batch`` bounds one tick.
        Without ``holders`` nothing is removed.
        """
        self._holders = holders
        self._payloads = payloads
        self._clock = clock
        self._is_there = is_there
        self._grace_ms = grace_ms
        self._batch = batch

    def tick(self) -> int:
        """Look at one batch of payloads that are due; returns how many."""
        if self._holders is None:
            return 0
        looked_at = removed = 0
        for path in self._holders.due(self._clock.now_ms(), self._batch):
            held = self._holders.read(path)
            if held is None:
                continue
            looked_at += 1
            try:
                removed += self._look_at(self._holders, path, held)
            except StoreUnavailable:
                raise
            except _UNREADABLE:
                _LOG.exception(
                    "A payload cannot be looked at, and stays",
                    extra={"action": "payload_unreadable", "path": path},
                )
                self._holders.settle(path, held.version, {}, self._clock.now_ms() + LOOK_MS)
        if removed:
            _LOG.info(
                "Payloads that nobody needs any more were removed",
                extra={"action": "payloads_removed", "count": removed},
            )
        return looked_at

    def _look_at(self, holders: PayloadHolders, path: str, held: Held) -> bool:
        """Look at one payload; whether it is gone."""
        now_ms = self._clock.now_ms()
        found = self._found(path, held.gone_since, now_ms)
        last_gone_ms = max(found.values())
        if PRESENT in found.values():
            holders.settle(path, held.version, found, now_ms + LOOK_MS)
        elif last_gone_ms + self._grace_ms > now_ms:
            holders.settle(path, held.version, found, last_gone_ms + self._grace_ms)
        elif self._is_deleted(path):
            return holders.drop(path, held.version)
        else:
            holders.settle(path, held.version, {}, now_ms + _AGAIN_MS)
        return False

    def _found(self, path: str, known: Mapping[str, int], now_ms: int) -> dict[str, int]:
        """Since when each holder is gone. One that is there is enough."""
        found = dict(known)
        for holder, since in known.items():
            if holder == NOBODY:
                found[holder] = since or now_ms - self._grace_ms  # it is due since that
            elif self._is_there(holder, path):
                return {**found, holder: PRESENT}
            else:
                found[holder] = since or now_ms
        return found

    def _is_deleted(self, path: str) -> bool:
        try:
            self._payloads.delete(path)
        except ConductorError as error:
            _LOG.warning(
                "A payload that nobody needs cannot be removed now",
                extra={"action": "payload_kept", "path": path, "error": error.message},
            )
            return False
        return True

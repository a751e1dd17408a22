"""Retention of payloads: each leaves some time after the last that needs it, in bounded ticks.

Nothing has to be told that a holder is gone, though it makes it faster: each payload is looked at
from time to time. An execution that nobody called gone is missed for a month first: its index may
be away, or empty because it is being restored. Before a payload goes, all of them are asked again,
as one may have been looked for before it was there, and the index whether anything names it all the
same. From then on nobody can hold it; the bytes go, and then the record, so nothing is left that
nobody knows of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payloads.holding import GRACE_MS
from conductor_py.errors import ConductorError, StoreUnavailable
from conductor_py.model.ids import is_execution_id
from conductor_py.ports.payload_holders import PRESENT, Held, PayloadHolders
from conductor_py.ports.payloads import Payloads

_LOG = logging.getLogger(__name__)

LOOK_MS: Final = 7 * 24 * 3_600_000
"""How often a payload is looked at whose holders nobody has called gone."""
MISSED_MS: Final = 30 * 24 * 3_600_000
"""How long an execution must be missed that nobody has called gone."""
_AGAIN_MS: Final = 3_600_000
_LOOKUPS: Final = 200
"""Holders that one look at a payload asks for."""
_FORGOTTEN: Final = 500
"""Holders that a look at a payload that stays forgets."""


class _Look(Enum):
    """How a look at a payload ended."""

    KEPT = "kept"
    REMOVED = "removed"
    OVERTAKEN = "overtaken"
    """Somebody changed the record meanwhile; it is looked at again."""


class PayloadRetention:
    """Removes payloads that nobody needs. Any number may run, on any number of servers."""

    def __init__(
        self,
        holders: PayloadHolders | None,
        payloads: Payloads,
        clock: StoreClock,
        *,
        is_there: Callable[[str, str], bool],
        named_by: Callable[[str], str | None],
        grace_ms: int = GRACE_MS,
        batch: int = 100,
    ) -> None:
        """``is_there`` tells whether a holder still needs a path, ``named_by`` an execution that
        the index has under it; ``batch`` bounds one tick. Without ``holders`` nothing is removed.
        """
        self._holders = holders
        self._payloads = payloads
        self._clock = clock
        self._is_there = is_there
        self._named_by = named_by
        self._grace_ms = grace_ms
        self._batch = batch

    def tick(self) -> int:
        """Look at one batch of payloads that are due; returns how many.

        Raises ``StoreUnavailable`` in the end when something was away; the others were looked at.
        """
        if self._holders is None:
            return 0
        looks: list[_Look] = []
        away: StoreUnavailable | None = None
        for path in self._holders.due(self._clock.now_ms(), self._batch):
            held = self._holders.read(path)
            if held is None:
                self._holders.forget([path])
                continue
            try:
                looks.append(self._look_at(self._holders, path, held))
            except StoreUnavailable as error:
                away = error
                self._put_off(self._holders, path, held)
            except Exception:  # noqa: BLE001 - whatever a damaged holder raises costs it alone
                _LOG.exception(
                    "A payload cannot be looked at, and stays",
                    extra={"action": "payload_unreadable", "path": path},
                )
                self._put_off(self._holders, path, held)
        if removed := looks.count(_Look.REMOVED):
            _LOG.info(
                "Payloads that nobody needs any more were removed",
                extra={"action": "payloads_removed", "count": removed},
            )
        if away is not None:
            raise away
        return len(looks) - looks.count(_Look.OVERTAKEN)

    def _look_at(self, holders: PayloadHolders, path: str, held: Held) -> _Look:
        if held.leaving:
            return self._remove(holders, path, held.version)
        now_ms = self._clock.now_ms()
        present = [holder for holder, since in held.holders.items() if since == PRESENT]
        missed: dict[str, int] = {}
        for holder in present[:_LOOKUPS]:
            if self._is_there(holder, path):
                return self._keep(holders, path, held, holder, now_ms)
            missed[holder] = -now_ms if is_execution_id(holder) else now_ms
        if len(present) > _LOOKUPS:  # the others are asked for next
            return self._settled(holders, path, held.version, missed, now_ms)
        leaves_ms = self._leaves_ms({**held.holders, **missed})
        if leaves_ms > now_ms:
            return self._settled(holders, path, held.version, missed, leaves_ms)
        return self._leave(holders, path, held, now_ms)

    def _leave(self, holders: PayloadHolders, path: str, held: Held, now_ms: int) -> _Look:
        """All have been gone long enough: unless one is there all the same, it leaves."""
        gone = [holder for holder, since in held.holders.items() if since != PRESENT]
        for holder in gone[:_LOOKUPS]:
            if self._is_there(holder, path):
                return self._keep(holders, path, held, holder, now_ms)
        if len(gone) > _LOOKUPS:  # the others are asked again next
            done = holders.settle(
                path, held.version, found={}, forgotten=gone[:_LOOKUPS], check_ms=now_ms
            )
            return _Look.KEPT if done else _Look.OVERTAKEN
        found = self._named_by(path)
        if found is not None:
            holders.hold(found, [path])
            return self._settled(holders, path, held.version + 1, {}, now_ms + LOOK_MS)
        again_ms = now_ms + _AGAIN_MS
        if not holders.settle(
            path, held.version, found={}, forgotten=(), check_ms=again_ms, leaving=True
        ):
            return _Look.OVERTAKEN
        return self._remove(holders, path, held.version + 1)

    def _keep(
        self, holders: PayloadHolders, path: str, held: Held, holder: str, now_ms: int
    ) -> _Look:
        """One that is there is enough; those that are gone long enough are forgotten."""
        gone = [
            each
            for each, since in held.holders.items()
            if each != holder and since != PRESENT and self._leaves_ms({each: since}) <= now_ms
        ]
        done = holders.settle(
            path,
            held.version,
            found={holder: PRESENT},
            forgotten=gone[:_FORGOTTEN],
            check_ms=now_ms + LOOK_MS,
        )
        return _Look.KEPT if done else _Look.OVERTAKEN

    def _leaves_ms(self, holders: Mapping[str, int]) -> int:
        """When the last of them has been gone, or missed, for long enough."""
        return max(
            (
                since + self._grace_ms if since > 0 else MISSED_MS - since
                for since in holders.values()
            ),
            default=0,
        )

    def _remove(self, holders: PayloadHolders, path: str, version: int) -> _Look:
        """Delete what is leaving; when that fails, it may be held again."""
        try:
            self._payloads.delete(path)
        except ConductorError as error:
            _LOG.warning(
                "A payload that nobody needs cannot be removed now",
                extra={"action": "payload_kept", "path": path, "error": error.message},
            )
            return self._settled(holders, path, version, {}, self._clock.now_ms() + _AGAIN_MS)
        holders.forget([path])
        return _Look.REMOVED

    def _put_off(self, holders: PayloadHolders, path: str, held: Held) -> None:
        self._settled(holders, path, held.version, {}, self._clock.now_ms() + _AGAIN_MS)

    @staticmethod
    def _settled(
        holders: PayloadHolders, path: str, version: int, found: Mapping[str, int], check_ms: int
    ) -> _Look:
        done = holders.settle(path, version, found=found, forgotten=(), check_ms=check_ms)
        return _Look.KEPT if done else _Look.OVERTAKEN

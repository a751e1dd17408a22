"""How many bytes the next round takes: little at first, then what the target time needs.

The slow start matters after a restart: if rounds were large at once, kills that come more often
than a large round takes would let nothing ever be finished.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Self

from conductor_py.pipelines.spec import RoundRule
from conductor_py.records import dataclass

_WEIGHT: Final = 0.3
"""Of the newest round in the average of bytes per second."""
_TELLING: Final = 0.5
"""Of what a round might have taken; one that took less tells its fixed cost and not the speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundSize:
    """``bytes`` for the next round; ``rate`` in bytes per second once one has been seen."""

    rule: RoundRule
    bytes: int
    rate: float | None = None
    growing: bool = True

    @classmethod
    def start(cls, rule: RoundRule) -> Self:
        """Begin small, after every start and restart."""
        return cls(rule=rule, bytes=rule.min_bytes)

    def succeeded(self, *, bytes_read: int, seconds: float) -> RoundSize:
        """Learn from a round that was committed."""
        rate = self.rate
        if seconds > 0 and (rate is None or bytes_read >= self.bytes * _TELLING):
            seen = bytes_read / seconds
            rate = seen if rate is None else rate + _WEIGHT * (seen - rate)
        wanted = self._within(self.rule.target_s * rate) if rate else self.rule.max_bytes
        doubled = self._within(2 * self.bytes)
        if self.growing and doubled < wanted:
            return replace(self, bytes=doubled, rate=rate)
        return replace(self, bytes=wanted, rate=rate, growing=False)

    def failed(self) -> RoundSize:
        """Halve, and grow from there again."""
        return replace(self, bytes=self._within(self.bytes / 2), growing=True)

    def _within(self, wanted: float) -> int:
        return int(max(self.rule.min_bytes, min(self.rule.max_bytes, wanted)))

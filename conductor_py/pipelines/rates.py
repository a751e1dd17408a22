"""How fast a source may be read: buckets of tokens that fill with time.

What a round took is known when it was planned, so it is taken off then. A split larger than what is
left is read all the same and paid for by a longer wait, so the rate holds over time and no split is
too large to be read. Instants are seconds of a clock that only goes on, given by the caller.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from conductor_py.pipelines.picking import Allowance
from conductor_py.pipelines.spec import Rate
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """``level`` tokens at the instant ``at``, at most ``most``; less than none is a debt."""

    per_second: float
    most: float
    level: float
    at: float

    @classmethod
    def start(cls, per_second: float, *, burst_s: float, now: float) -> Self:
        """Begin with what one second brings, at most what ``burst_s`` seconds do."""
        most = per_second * burst_s
        return cls(per_second=per_second, most=most, level=min(per_second, most), at=now)

    def filled(self, now: float) -> Bucket:
        """Add what has come until now; a clock that steps back adds nothing."""
        passed = max(0.0, now - self.at)
        level = min(self.most, self.level + passed * self.per_second)
        return replace(self, level=level, at=max(now, self.at))

    def spent(self, tokens: float) -> Bucket:
        """Take tokens off."""
        return replace(self, level=self.level - tokens)

    def wait_s(self) -> float:
        """Return the seconds from ``at`` until something is left again."""
        return max(0.0, -self.level / self.per_second) if self.level <= 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRate:
    """The buckets of one source; ``None`` is no bound."""

    rows: Bucket | None = None
    bytes: Bucket | None = None

    @classmethod
    def start(cls, rate: Rate, job_rate: Rate, *, burst_s: float, now: float) -> Self:
        """Begin with a source's own bounds, or the job's for those that it has not."""
        rows = rate.rows_per_second or job_rate.rows_per_second
        size = rate.bytes_per_second or job_rate.bytes_per_second
        return cls(
            rows=Bucket.start(rows, burst_s=burst_s, now=now) if rows else None,
            bytes=Bucket.start(size, burst_s=burst_s, now=now) if size else None,
        )

    def filled(self, now: float) -> SourceRate:
        """Add what has come until now."""
        return SourceRate(
            rows=self.rows and self.rows.filled(now), bytes=self.bytes and self.bytes.filled(now)
        )

    def allowance(self) -> Allowance:
        """Return what the next round may take."""
        return Allowance(
            rows=self.rows.level if self.rows else None,
            bytes=self.bytes.level if self.bytes else None,
        )

    def took(self, *, rows: float, bytes_read: float) -> SourceRate:
        """Take off what a round was given."""
        return SourceRate(
            rows=self.rows and self.rows.spent(rows),
            bytes=self.bytes and self.bytes.spent(bytes_read),
        )

    def wait_s(self) -> float:
        """Return the seconds until something may be taken again."""
        return max((each.wait_s() for each in (self.rows, self.bytes) if each), default=0.0)

"""How far a pipeline is, for whoever looks while it runs: exact where the record says it.

What is left, and when it will be done, are estimates of the sources. An unbounded pipeline never is
done: it has a *lag* instead, for each source what is known of it and not decided, and for how many
seconds the oldest part of that has been known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.record import Record
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.splits import Amount

_SMOOTHING = 0.4


@dataclass(slots=True)
class View:
    """One pipeline's; written by its coordinator, read by the job's reporter.

    Every member is replaced, never changed in place, so a reader sees whole values.
    """

    pipeline: str
    parallelism: int
    guarantees: Mapping[str, str]
    unbounded: bool = False
    clock: Callable[[], float] = time.monotonic
    state: str = "NEW"
    restarts: int = 0
    error: Mapping[str, str] | None = None
    record: Record | None = None
    splits: Mapping[str, Any] = field(default_factory=dict)
    left: Mapping[str, Amount] = field(default_factory=dict)
    oldest: Mapping[str, float] = field(default_factory=dict)
    """When the oldest split that is left was found, by source, on the clock."""
    round: Mapping[str, Any] | None = None
    round_began: float = 0.0
    group: str = ""
    rows_per_s: float = 0.0
    bytes_per_s: float = 0.0
    splits_per_s: float = 0.0
    decided_at: float | None = None
    event_time: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How far the streaming queries are, by transform."""
    found: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """Up to which split a source was known, and since when; what is done is forgotten."""

    def count(self, accounts: Mapping[str, Account], left: Mapping[str, Amount]) -> None:
        """Look at the accounts, and at what is left by them."""
        self.left = left
        self.oldest = dict(self._oldest(accounts))
        self.splits = {
            "discovered": sum(each.discovered for each in accounts.values()),
            "complete": all(each.complete for each in accounts.values()),
            "done": sum(len(each.done) for each in accounts.values()),
            "assigned": sum(len(each.assigned) for each in accounts.values()),
            "pending": sum(len(each.pending) for each in accounts.values()),
            "quarantined": sum(len(each.quarantined) for each in accounts.values()),
        }

    def begin(self, epoch: int, splits: int, group: str) -> None:
        """Say that a round runs."""
        self.group, self.round_began = group, self.clock()
        self.round = {"epoch": epoch, "splits": splits}

    def decided(self, record: Record, rows: int, size: int) -> None:
        """Say that a round's epoch is decided."""
        seconds = max(self.clock() - self.round_began, 1e-3)
        self.rows_per_s = _smoothed(self.rows_per_s, rows / seconds)
        self.bytes_per_s = _smoothed(self.bytes_per_s, size / seconds)
        splits = 0 if self.round is None else self.round["splits"]
        self.splits_per_s = _smoothed(self.splits_per_s, splits / seconds)
        self.record, self.decided_at, self.round = record, self.clock(), None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        record, now = self.record, self.clock()
        counters = record.counters if record else {}
        done_bytes = int(counters.get("bytes_read", 0))
        left = sum(each.bytes for each in self.left.values())
        running = self.round
        return {
            "id": self.pipeline,
            "state": self.state,
            "epoch": record.epoch if record else 0,
            "published": record.published if record else 0,
            "stage": record.stage if record else 0,
            "restarts": self.restarts,
            "parallelism": self.parallelism,
            "splits": dict(self.splits),
            "bytes": {"read": done_bytes, "estimatedTotal": done_bytes + left},
            "rows": {
                "read": sum(counters.get("rows_read", {}).values()),
                "bad": int(counters.get("bad_rows", 0)),
            },
            "sinks": {
                name: {
                    "rows": int(counters.get("rows_written", {}).get(name, 0)),
                    "guarantee": guarantee,
                }
                for name, guarantee in self.guarantees.items()
            },
            "round": running and {**running, "seconds": round(now - self.round_began, 1)},
            "rate": {
                "rowsPerSecond": round(self.rows_per_s),
                "bytesPerSecond": round(self.bytes_per_s),
            },
            "etaSeconds": self._eta_s(left),
            "lag": self._lag(now),
            "sinceCheckpointSeconds": (
                None if self.decided_at is None else round(now - self.decided_at, 1)
            ),
            "lastError": self.error,
            **({"eventTime": self._event_time(counters)} if self.event_time else {}),
        }

    def _event_time(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        late = counters.get("late_rows", {})
        return {
            name: {**told, "lateRows": int(late.get(name, 0))}
            for name, told in self.event_time.items()
        }

    def _oldest(self, accounts: Mapping[str, Account]) -> Iterator[tuple[str, float]]:
        now = self.clock()
        for name, account in accounts.items():
            found = self.found.setdefault(name, [])
            if account.discovered > (found[-1][0] if found else 0):
                found.append((account.discovered, now))
            open_ones = (account.all - (account.done | account.quarantined)).spans
            if open_ones:
                first = open_ones[0][0]
                while found[0][0] <= first:
                    del found[0]
                yield name, found[0][1]

    def _eta_s(self, left: int) -> int | None:
        """Return the seconds until what is known is done: by bytes, or by splits without sizes."""
        if left and self.bytes_per_s:
            return round(left / self.bytes_per_s)
        splits = sum(each.splits for each in self.left.values())
        return round(splits / self.splits_per_s) if splits and self.splits_per_s else None

    def _lag(self, now: float) -> dict[str, Any]:
        if not self.unbounded:
            return {}
        return {
            name: {
                "splits": each.splits,
                "rows": each.rows,
                "bytes": each.bytes,
                "seconds": round(now - self.oldest.get(name, now), 1),
            }
            for name, each in self.left.items()
        }


def _smoothed(before: float, now: float) -> float:
    return now if not before else (1 - _SMOOTHING) * before + _SMOOTHING * now

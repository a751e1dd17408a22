"""Keeps the sources of a pipeline together in event time.

A source's time is that of its newest event before its first split that is not done. Splits that
were finished out of turn do not count yet: one that was given back is still to bring older rows,
and they must not be late. The slowest live source is the minimum; a finished or idle one leaves it,
or it would hold the others for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.spec import EventTime
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class EventClock:
    """How far one source is. ``time`` in seconds since 1970, ``None`` before the first event;
    ``ahead`` are newest times of splits that were finished out of turn.
    """

    time: float | None = None
    ahead: Mapping[int, float] = field(default_factory=dict)

    def committed(self, newest: Mapping[int, float], account: Account) -> EventClock:
        """Take the newest event times of the splits of an epoch, after the account has them done.

        A split without rows has no time and holds nothing up.
        """
        ahead = {**self.ahead, **newest}
        settled = _settled(account)
        reached = [time for at, time in ahead.items() if at < settled]
        if self.time is not None:
            reached.append(self.time)
        return replace(
            self,
            time=max(reached, default=None),
            ahead={at: time for at, time in ahead.items() if at >= settled},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One source at this moment. ``waiting_since_s`` is for how long it has had nothing to read,
    0 while it has.
    """

    time: float | None
    rule: EventTime
    finished: bool = False
    waiting_since_s: float = 0.0

    @property
    def live(self) -> bool:
        """Whether the others wait for it."""
        return not self.finished and (
            self.waiting_since_s == 0 or self.waiting_since_s < self.rule.idle_after_s
        )


def watermark(sources: Mapping[str, Progress]) -> float | None:
    """Return the minimum over the live sources; ``None``: there is none, or one has not begun."""
    times = [each.time for each in sources.values() if each.live]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


def held_back(sources: Mapping[str, Progress]) -> frozenset[str]:
    """Return the sources that must wait for a slower one."""
    return frozenset(
        name
        for name, each in sources.items()
        if each.time is not None and _ahead(each, _others(sources, name))
    )


def _others(sources: Mapping[str, Progress], name: str) -> list[Progress]:
    return [each for other, each in sources.items() if other != name and each.live]


def _ahead(source: Progress, others: list[Progress]) -> bool:
    assert source.time is not None
    limit = source.time - source.rule.max_drift_s
    return any(each.time is None or each.time < limit for each in others)


def _settled(account: Account) -> int:
    """Return the ord of the first split that is neither done nor quarantined."""
    settled: Intervals = account.done | account.quarantined
    first = settled.spans[0] if settled.spans else (0, -1)
    return first[1] + 1 if first[0] == 0 else 0

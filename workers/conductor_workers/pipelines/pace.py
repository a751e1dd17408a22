"""When a pipeline does what: how large its rounds are, which sources wait, when it begins again.

The rules are pure and lie in ``conductor_py.pipelines``; this keeps their states for one pipeline,
and tells them the time. It begins anew with every restore, but for the count of restarts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from conductor_py.pipelines import spec
from conductor_py.pipelines.accounts import Account, Splits, each_ord
from conductor_py.pipelines.alignment import EventClock, Progress, held_back
from conductor_py.pipelines.picking import Budget
from conductor_py.pipelines.rates import SourceRate
from conductor_py.pipelines.record import SourceState, SplitDescriptor
from conductor_py.pipelines.restarts import Restarts
from conductor_py.pipelines.round_size import RoundSize
from conductor_py.pipelines.suspicion import Suspicion, Verdict, is_alone, judge, suspects_in

_NEVER: Final = float("-inf")
_REST_S: Final = 0.5

Accounts = Mapping[str, Account]
Found = Mapping[str, Sequence[SplitDescriptor]]


class Pace:
    """One pipeline's; lives in its coordinator's thread. Instants are of a monotonic clock."""

    def __init__(self, job: spec.Job, names: frozenset[str]) -> None:
        """Keep the pace of the sources of these names."""
        self._job = job
        self._sources = {each.id: each for each in job.sources if each.id in names}
        self._restarts = Restarts()
        self._size = RoundSize.start(job.env.round)
        self._suspicion = Suspicion()
        self._rates: dict[str, SourceRate] = {}
        self._clocks: dict[str, EventClock] = {}
        self._looked: dict[str, float] = {}
        self._dry_since: dict[str, float] = {}
        self._began = _NEVER

    def begin(self, accounts: Accounts, states: Mapping[str, SourceState]) -> None:
        """Start slowly, after a restore."""
        self._size = RoundSize.start(self._job.env.round)
        self._suspicion = suspects_in(accounts, self._job.env.errors)
        self._clocks = {name: EventClock(time=each.event_time) for name, each in states.items()}

    def look(self, name: str, now: float) -> bool:
        """Say whether a source is to be looked at now, and take it as done."""
        every = float(self._sources[name].settings.get("poll_s", 0))
        if self._job.mode == "bounded" or now - self._looked.get(name, _NEVER) >= every:
            self._looked[name] = now
            return True
        return False

    def budget(self, accounts: Accounts, now: float) -> Budget:
        """Return what the next round may take."""
        for name, account in accounts.items():
            if account.pending:
                self._dry_since.pop(name, None)
            else:
                self._dry_since.setdefault(name, now)
        limits = {name: self._rate(name, now) for name in accounts if name in self._sources}
        return Budget(
            bytes=self._size.bytes,
            splits=self._job.env.round.max_splits,
            by_source={name: each.allowance() for name, each in limits.items()},
            held=held_back(dict(self._progress(accounts, now))),
        )

    def within(self) -> Splits | None:
        """Return what the next round is confined to: splits that are suspected."""
        return self._suspicion.next_group

    def early_s(self, now: float) -> float:
        """Return how long the next round of an unbounded job must wait, in seconds."""
        if self._job.mode == "bounded":
            return 0.0
        return max(0.0, self._began + self._job.env.round.min_s - now)

    def rest_s(self, now: float) -> float:
        """Return how long to wait when nothing may be taken, in seconds."""
        waits = [self._rate(name, now).wait_s() for name in self._sources]
        return min([wait for wait in waits if wait > 0] + [_REST_S])

    def took(self, found: Found, now: float) -> None:
        """Count what a round was given."""
        self._began = now
        for name, splits in found.items():
            if name in self._sources:
                self._rates[name] = self._rate(name, now).took(
                    rows=sum(split.rows for split in splits),
                    bytes_read=sum(split.bytes for split in splits),
                )

    def succeeded(self, picked: Splits, *, size: int, seconds: float) -> None:
        """Learn from a round that was decided."""
        self._size = self._size.succeeded(bytes_read=size, seconds=seconds)
        self._restarts = self._restarts.committed(self._job.env.restart)
        self._suspicion = self._suspicion.cleared(picked)

    def failed(self, accounts: Accounts, picked: Splits) -> Verdict:
        """Learn from a round that failed, after the accounts have blamed its splits."""
        self._size = self._size.failed()
        if not is_alone(picked):
            self._suspicion = self._suspicion.failed(picked)
            return Verdict.RETRY
        ((name, number),) = each_ord(picked)
        verdict = judge(accounts[name].blame[number], self._job.env.errors)
        if verdict is Verdict.RETRY:
            self._suspicion = self._suspicion.failed(picked)
        else:
            self._suspicion = self._suspicion.cleared(picked)
        return verdict

    def restart(self) -> float | None:
        """Return the seconds until the pipeline begins again; None: not any more."""
        self._restarts, delay = self._restarts.failed(self._job.env.restart)
        return delay

    def reached(
        self, name: str, newest: float | None, picked: Splits, account: Account
    ) -> float | None:
        """Take a round's newest event time of a source; returns the source's time."""
        ords = picked.get(name)
        clock = self._clocks.get(name, EventClock())
        if newest is not None and ords:
            # A round's splits are done together, so its time stands behind the last of them.
            clock = clock.committed({max(ords): newest}, account)
            self._clocks[name] = clock
        return clock.time

    def _progress(self, accounts: Accounts, now: float) -> Iterator[tuple[str, Progress]]:
        for name, account in accounts.items():
            node = self._sources.get(name)
            if node is None or node.event_time is None:
                continue
            dry = self._dry_since.get(name)
            yield (
                name,
                Progress(
                    time=self._clocks.get(name, EventClock()).time,
                    rule=node.event_time,
                    finished=account.finished,
                    waiting_since_s=0.0 if dry is None else now - dry,
                ),
            )

    def _rate(self, name: str, now: float) -> SourceRate:
        known = self._rates.get(name)
        if known is None:
            burst = self._job.env.round.target_s
            rate = self._sources[name].rate
            known = SourceRate.start(rate, self._job.env.rate, burst_s=burst, now=now)
        self._rates[name] = known.filled(now)
        return self._rates[name]

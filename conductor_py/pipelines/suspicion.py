"""Finds the splits that make rounds fail, by halves, without holding up the others for long.

A round that failed is a suspect group: its halves run alone, the halves of a half that fails again,
until one split stands alone. A split that was alone and failed often enough is judged. Rounds whose
worker died blame all their splits a little, because most deaths have other causes: such splits
become suspects only when they were in too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from conductor_py.pipelines.accounts import Account, Splits, each_ord
from conductor_py.pipelines.intervals import NOTHING, Intervals
from conductor_py.pipelines.record import Blame
from conductor_py.pipelines.spec import ErrorRule
from conductor_py.records import dataclass

_DEATHS: Final = 4
"""Deaths that weigh as much as one failure."""


class Verdict(StrEnum):
    """What becomes of a split that failed alone."""

    RETRY = "retry"
    FAIL = "fail"
    QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Groups of splits that must run alone, the next one first."""

    groups: tuple[Splits, ...] = ()

    @property
    def next_group(self) -> Splits | None:
        """What the next round must consist of; ``None``: it may be any."""
        return self.groups[0] if self.groups else None

    def failed(self, splits: Splits) -> Suspicion:
        """Suspect the splits of a failed round, in halves."""
        others = self.cleared(splits).groups
        return Suspicion(groups=(*_halves(splits), *others))

    def cleared(self, splits: Splits) -> Suspicion:
        """Suspect these no more: they are done, or judged."""
        groups = (
            {name: rest for name, ords in group.items() if (rest := ords - _of(splits, name))}
            for group in self.groups
        )
        return Suspicion(groups=tuple(group for group in groups if group))


def judge(blame: Blame, rule: ErrorRule) -> Verdict:
    """Judge a split whose round had no other and failed."""
    if blame.failures < rule.split_attempts and blame.deaths < _DEATHS * rule.split_attempts:
        return Verdict.RETRY
    return Verdict.FAIL if rule.poison_split == "fail" else Verdict.QUARANTINE


def suspects_in(accounts: Mapping[str, Account], rule: ErrorRule) -> Suspicion:
    """Go on with the search after a restore, from what the accounts blame.

    Splits of the smallest group that failed have the most failures, so those with as many are a
    group, the most blamed first. However often it is restarted, the search narrows.
    """
    by_weight: dict[int, list[tuple[str, int]]] = {}
    for name, account in accounts.items():
        pending = account.pending
        for number, blame in account.blame.items():
            weight = blame.failures + blame.deaths // (_DEATHS * rule.split_attempts)
            if weight and number in pending:
                by_weight.setdefault(weight, []).append((name, number))
    groups = [_grouped(by_weight[weight]) for weight in sorted(by_weight, reverse=True)]
    return Suspicion(groups=tuple(half for group in groups for half in _halves(group)))


def is_alone(splits: Splits) -> bool:
    """Tell whether a round has a single split."""
    return sum(map(len, splits.values())) == 1


def _halves(splits: Splits) -> tuple[Splits, ...]:
    listed = list(each_ord(splits))
    middle = len(listed) // 2
    return tuple(_grouped(half) for half in (listed[:middle], listed[middle:]) if half)


def _grouped(listed: list[tuple[str, int]]) -> Splits:
    names = dict.fromkeys(name for name, _ in listed)
    return {name: Intervals.of(at for each, at in listed if each == name) for name in names}


def _of(splits: Splits, name: str) -> Intervals:
    return splits.get(name, NOTHING)

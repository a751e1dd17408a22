"""Which splits the next round takes: in their order, the sources taking turns, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from conductor_py.pipelines.accounts import Account, Splits
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field

SplitOf = Callable[[str, int], SplitDescriptor]
"""The descriptor of a source's split, by source and ord."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a source may still give in this round; ``None`` is no bound.

    A split is taken while something is left, so the last one may go over; whoever keeps the
    allowance takes that off the next.
    """

    bytes: float | None = None
    rows: float | None = None

    def spent(self, split: SplitDescriptor) -> Allowance:
        """Take a split off."""
        return Allowance(
            bytes=None if self.bytes is None else self.bytes - split.bytes,
            rows=None if self.rows is None else self.rows - split.rows,
        )

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return (self.bytes is not None and self.bytes <= 0) or (
            self.rows is not None and self.rows <= 0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How large a round may be. Sources in ``held`` wait; ``by_source`` bounds single ones."""

    bytes: int
    splits: int
    by_source: Mapping[str, Allowance] = field(default_factory=dict)
    held: frozenset[str] = frozenset()


def pick(
    accounts: Mapping[str, Account],
    split_of: SplitOf,
    budget: Budget,
    *,
    within: Splits | None = None,
) -> dict[str, Intervals]:
    """Choose pending splits; ``{}`` when there are none, or all of them wait.

    The first split is taken whatever its size: a round that could take none would never end. A
    split that no longer fits ends its source's turn in this round, so that order is kept.
    ``within`` narrows the choice to these.
    """
    queues = {
        name: iter(pending)
        for name, account in accounts.items()
        if name not in budget.held
        and (pending := account.pending & within.get(name, _NONE) if within else account.pending)
    }
    taken: dict[str, list[int]] = {}
    left, count = budget.bytes, 0
    for name, split in _turns(queues, split_of, dict(budget.by_source)):
        if count and (split.bytes > left or count >= budget.splits):
            queues.pop(name, None)
            continue
        taken.setdefault(name, []).append(split.ord)
        left, count = left - split.bytes, count + 1
    return {name: Intervals.of(ords) for name, ords in taken.items()}


def _turns(
    queues: dict[str, Iterator[int]], split_of: SplitOf, allowances: dict[str, Allowance]
) -> Iterator[tuple[str, SplitDescriptor]]:
    """Offer one split of each source in turn; whoever refuses one removes its queue."""
    while queues:
        for name in tuple(queues):
            allowance = allowances.get(name)
            number = None if allowance and allowance.over else next(queues[name], None)
            if number is None:
                del queues[name]
                continue
            split = split_of(name, number)
            if allowance is not None:
                allowances[name] = allowance.spent(split)
            yield name, split


_NONE = Intervals()

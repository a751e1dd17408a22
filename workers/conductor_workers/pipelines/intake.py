"""The account of a pipeline's splits while it runs: discovered, taken, given back, done.

Lives in the coordinator's thread. What it learns is noted in the engine before anything follows
from it; what it has at an epoch's end goes into that epoch's record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from conductor_py.pipelines.accounts import Account, Restored, Splits, nothing_left
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.picking import Budget, pick
from conductor_py.pipelines.record import Note, NoteKind, SourceState, SplitDescriptor
from conductor_workers.pipelines.connectors import Extending, SplitEnumerator, going_on
from conductor_workers.pipelines.rounds import Ground
from conductor_workers.pipelines.splits import Amount, SplitTable

_PAGE: Final = 500


class Intake:
    """See the module."""

    def __init__(self, ground: Ground, came_back: Restored, table: SplitTable) -> None:
        """Go on from what was restored."""
        self._ground = ground
        self._table = table
        self._accounts = dict(came_back.accounts)
        self._states = dict(came_back.states)
        self._enumerators: dict[str, SplitEnumerator] = {}
        for name in tuple(self._extended()):
            self._accounts[name] = replace(self._accounts[name], complete=False)
            self._states[name] = replace(self._states[name], complete=False)
        table.load(self._states)

    @property
    def accounts(self) -> Mapping[str, Account]:
        """By source and by exchange."""
        return self._accounts

    @property
    def table(self) -> SplitTable:
        """All descriptors."""
        return self._table

    def state(self, name: str) -> SourceState:
        """Return a source's state as the newest record should have it."""
        return self._states.get(name, SourceState())

    def pin(self, name: str, state: SourceState) -> None:
        """Keep a source's state (its schema)."""
        self._states[name] = state
        self._accounts.setdefault(name, Account.of(state))

    def begin(self, name: str, state: SourceState) -> None:
        """Account for an exchange, unless that was done before."""
        if name not in self._accounts:
            self.pin(name, state)
            self._table.add(name, state.pages)

    def adopt(self, states: Mapping[str, SourceState]) -> None:
        """Go on with these states."""
        self._states = dict(states)

    def in_stage(self, names: Sequence[str]) -> dict[str, Account]:
        """Return the accounts of these."""
        return {name: self._accounts[name] for name in names}

    def finished(self, names: Sequence[str]) -> bool:
        """Say whether these have nothing left."""
        return nothing_left(self.in_stage(names))

    def left(self, names: Sequence[str]) -> dict[str, Amount]:
        """Return how much of these is discovered, and neither done nor set aside."""
        accounts = self.in_stage(names)
        return {
            name: self._table.amount(name, each.all - (each.done | each.quarantined))
            for name, each in accounts.items()
        }

    def discover(self, names: Sequence[str], *, epoch: int, wanted: int) -> Note | None:
        """Look for splits where fewer than ``wanted`` are pending; None when there is nothing to
        note: none was found, and a successor would go on looking from the same place.

        Raises ``SourceProblem``.
        """
        pages: dict[str, tuple[SplitDescriptor, ...]] = {}
        snapshots, complete = {}, []
        for name in names:
            account = self._accounts[name]
            if account.complete or len(account.pending) >= wanted:
                continue
            enumerator = self._enumerator(name)
            page = enumerator.discover(first_ord=account.discovered, limit=_PAGE)
            snapshot = enumerator.snapshot()
            if not (page.found or page.complete) and snapshot == self._states[name].enumerator:
                continue
            pages[name], snapshots[name] = page.found, snapshot
            if page.complete:
                complete.append(name)
            self._found(name, page.found, complete=page.complete)
        if not snapshots:
            return None
        return Note(
            kind=NoteKind.DISCOVER,
            epoch=epoch,
            token=self._ground.token,
            pages=pages,
            enumerators=snapshots,
            complete=tuple(complete),
        )

    def pick(
        self, names: Sequence[str], budget: Budget, within: Splits | None
    ) -> dict[str, Intervals]:
        """Choose what the next round takes; nothing is assigned yet."""
        return pick(self.in_stage(names), self._table.of, budget, within=within)

    def assign(self, splits: Splits) -> None:
        """Take them."""
        for name, ords in splits.items():
            self._accounts[name] = self._accounts[name].assign(ords)

    def finish(self, splits: Splits) -> None:
        """Have them done."""
        for name, ords in splits.items():
            self._accounts[name] = self._accounts[name].finish(ords)

    def fail(self, splits: Splits) -> None:
        """Have them pending again, one failure the more."""
        for name, ords in splits.items():
            self._accounts[name] = self._accounts[name].fail(ords)

    def give_back(self, splits: Splits) -> None:
        """Have them pending again."""
        for name, ords in splits.items():
            self._accounts[name] = self._accounts[name].give_back(ords)

    def quarantine(self, splits: Splits) -> None:
        """Set them aside for good."""
        for name, ords in splits.items():
            self._accounts[name] = self._accounts[name].quarantine(ords)

    def descriptors(self, splits: Splits) -> dict[str, tuple[SplitDescriptor, ...]]:
        """Return what the readers need."""
        return {
            name: tuple(self._table.of(name, number) for number in ords)
            for name, ords in splits.items()
        }

    def kept(self, *, epoch: int, inline: int) -> dict[str, SourceState]:
        """Return all sources as the record of that epoch has them."""
        for name, account in self._accounts.items():
            state = account.kept_in(self._states[name])
            self._states[name] = self._table.packed(name, state, limit=inline, epoch=epoch)
        return dict(self._states)

    def close(self) -> None:
        """Close all enumerators."""
        for enumerator in self._enumerators.values():
            enumerator.close()
        self._enumerators.clear()

    def _extended(self) -> Iterator[str]:
        """The sources that were complete before the job named more to list."""
        for name, state in self._states.items():
            source: object = self._ground.sources.get(name)
            if not (state.complete and isinstance(source, Extending)):
                continue
            if source.extends(state.enumerator):
                yield name

    def _enumerator(self, name: str) -> SplitEnumerator:
        if name not in self._enumerators:
            source, snapshot = self._ground.sources[name], self._states[name].enumerator
            self._enumerators[name] = going_on(source, snapshot, self._table.all_of(name))
        return self._enumerators[name]

    def _found(self, name: str, found: tuple[SplitDescriptor, ...], *, complete: bool) -> None:
        self._table.add(name, found)
        self._accounts[name] = self._accounts[name].discover(len(found), complete=complete)
        state = self._states[name]
        self._states[name] = replace(
            state,
            discovered=state.discovered + len(found),
            complete=complete,
            pages=(*state.pages, *found),
            enumerator=self._enumerators[name].snapshot(),
        )

"""Where each split of a source is: pending, assigned, done or quarantined; in exactly one of them.

An account changes by making the next one. What would lose a split or have it twice raises
``AccountViolated``: that is an error of the program, and nothing of the round may be decided.
Every operation costs what the intervals cost, not what the splits are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Self

from conductor_py.pipelines.intervals import NOTHING, Intervals
from conductor_py.pipelines.record import Blame, Note, NoteKind, Record, SourceState
from conductor_py.records import dataclass, field

Splits = Mapping[str, Intervals]
"""Ords by source."""


class AccountViolated(RuntimeError):
    """A split would be lost, or be in two places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The splits of one source. Those below ``discovered`` that are nowhere else are pending."""

    discovered: int = 0
    complete: bool = False
    assigned: Intervals = NOTHING
    done: Intervals = NOTHING
    quarantined: Intervals = NOTHING
    blame: Mapping[int, Blame] = field(default_factory=dict)

    @classmethod
    def of(cls, state: SourceState) -> Self:
        """Open the account that a record keeps; nothing is assigned in it."""
        return cls(
            discovered=state.discovered,
            complete=state.complete,
            done=state.done,
            quarantined=state.quarantined,
            blame=state.blame,
        )

    def kept_in(self, state: SourceState) -> SourceState:
        """Write the account into a record; what is assigned is pending there."""
        return replace(
            state,
            discovered=self.discovered,
            complete=self.complete,
            done=self.done,
            quarantined=self.quarantined,
            blame=self.blame,
        )

    @property
    def all(self) -> Intervals:
        """All that was discovered."""
        return Intervals.range(0, self.discovered)

    @property
    def pending(self) -> Intervals:
        """What the next rounds may take."""
        return self.all - (self.assigned | self.done | self.quarantined)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do, and nothing will come."""
        return self.complete and len(self.done) + len(self.quarantined) == self.discovered

    def discover(self, count: int, *, complete: bool) -> Account:
        """Add splits behind the last; ``complete`` cannot be taken back."""
        if count < 0 or (self.complete and (count or not complete)):
            raise AccountViolated(f"{count} splits found in a source that has {self.discovered}")
        return replace(self, discovered=self.discovered + count, complete=complete)

    def assign(self, ords: Intervals) -> Account:
        """Take pending splits for a round."""
        self._demand(ords, self.pending, "pending")
        return replace(self, assigned=self.assigned | ords)

    def give_back(self, ords: Intervals) -> Account:
        """Make assigned splits pending again, and blame nobody."""
        self._demand(ords, self.assigned, "assigned")
        return replace(self, assigned=self.assigned - ords)

    def fail(self, ords: Intervals) -> Account:
        """Make assigned splits pending again, one failure the more."""
        return replace(self.give_back(ords), blame=_more(self.blame, ords, Blame(failures=1)))

    def die(self, ords: Intervals) -> Account:
        """Make assigned splits of a vanished worker pending again, one death the more."""
        return replace(self.give_back(ords), blame=_more(self.blame, ords, Blame(deaths=1)))

    def finish(self, ords: Intervals) -> Account:
        """Have assigned splits done."""
        self._demand(ords, self.assigned, "assigned")
        return replace(
            self,
            assigned=self.assigned - ords,
            done=self.done | ords,
            blame=_without(self.blame, ords),
        )

    def quarantine(self, ords: Intervals) -> Account:
        """Set pending splits aside for good."""
        self._demand(ords, self.pending, "pending")
        return replace(self, quarantined=self.quarantined | ords, blame=_without(self.blame, ords))

    def _demand(self, ords: Intervals, among: Intervals, what: str) -> None:
        if strangers := ords - among:
            raise AccountViolated(f"splits {strangers} are not {what}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a successor begins with: the accounts by source, and the snapshots of enumerators.

    ``states`` are the record's, with what the notes say was discovered since.
    """

    accounts: Mapping[str, Account]
    states: Mapping[str, SourceState]
    attempt: int = 1
    """Which attempt the next round of the coming epoch is."""
    began_ms: int | None = None
    """When its first one was taken, in milliseconds since 1970."""


def restored(record: Record, notes: Iterable[Note]) -> Restored:
    """Take up a record and the notes since: what had been assigned is pending again (P10).

    Notes of epochs that the record has decided say nothing new. A discovery in the notes counts
    only when its enumerator's snapshot is there too; otherwise it is made again.
    """
    states = dict(record.sources)
    accounts = {name: Account.of(state) for name, state in states.items()}
    attempt, began_ms = 0, None
    for note in notes:
        if note.epoch <= record.epoch:
            continue
        if note.kind is NoteKind.DISCOVER:
            states |= _discovered(states, note)
            accounts |= {
                name: replace(
                    accounts.get(name, Account()),
                    discovered=states[name].discovered,
                    complete=states[name].complete,
                )
                for name in note.enumerators
            }
            continue
        attempt += note.kind is NoteKind.ASSIGN
        began_ms = note.at_ms if began_ms is None else began_ms
        accounts |= _followed(accounts, note)
    open_ones = {name: each.die(each.assigned) for name, each in accounts.items()}
    return Restored(accounts=open_ones, states=states, attempt=attempt + 1, began_ms=began_ms)


def _discovered(states: Mapping[str, SourceState], note: Note) -> dict[str, SourceState]:
    changed = {}
    for name, snapshot in note.enumerators.items():
        state = states.get(name, SourceState())
        found = tuple(each for each in note.pages.get(name, ()) if each.ord >= state.discovered)
        changed[name] = replace(
            state,
            discovered=state.discovered + len(found),
            complete=name in note.complete,  # what is complete is looked at only if it was extended
            pages=(*state.pages, *found),
            enumerator=snapshot,
        )
    return changed


def _followed(accounts: Mapping[str, Account], note: Note) -> dict[str, Account]:
    changed = {}
    for name, ords in note.splits.items():
        account = accounts.get(name, Account())
        known = ords & account.all
        if note.kind is NoteKind.ASSIGN:
            # An attempt that died before it could note anything leaves its splits assigned.
            account = account.die(account.assigned & known)
            changed[name] = account.assign(known & account.pending)
        elif note.kind is NoteKind.FAILED:
            changed[name] = account.fail(known & account.assigned)
        else:
            changed[name] = account.give_back(known & account.assigned)
    return changed


def nothing_left(accounts: Mapping[str, Account]) -> bool:
    """Say whether all splits of all sources are done or quarantined, and no more will come."""
    return all(account.finished for account in accounts.values())


def _more(blame: Mapping[int, Blame], ords: Intervals, more: Blame) -> Mapping[int, Blame]:
    added = {}
    for number in ords:
        had = blame.get(number, Blame())
        added[number] = Blame(
            failures=had.failures + more.failures, deaths=had.deaths + more.deaths
        )
    return {**blame, **added}


def _without(blame: Mapping[int, Blame], ords: Intervals) -> Mapping[int, Blame]:
    if not blame:
        return blame
    return {number: each for number, each in blame.items() if number not in ords}


def each_ord(splits: Splits) -> Iterator[tuple[str, int]]:
    """List splits one by one: source and ord."""
    for name, ords in splits.items():
        for number in ords:
            yield name, number

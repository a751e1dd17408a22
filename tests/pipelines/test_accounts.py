"""Accounts of splits against a model that keeps five plain sets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor_py.pipelines.accounts import Account, AccountViolated, nothing_left, restored
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.picking import Allowance, Budget, pick
from conductor_py.pipelines.record import (
    Blame,
    Note,
    NoteKind,
    Record,
    SourceState,
    SplitDescriptor,
)

_VERBS = ("discover", "assign", "give_back", "fail", "die", "finish", "quarantine")


class _Sets:
    """The same account, as sets of single numbers."""

    def __init__(self):
        self.pending, self.assigned, self.done, self.quarantined = set(), set(), set(), set()
        self.blame = {}

    def carry_out(self, verb, ords):
        if verb == "discover":
            first = len(self.pending | self.assigned | self.done | self.quarantined)
            self.pending |= set(range(first, first + len(ords)))
            return True
        source = self.pending if verb in {"assign", "quarantine"} else self.assigned
        if not ords <= source:
            return False
        source -= ords
        target = {"assign": self.assigned, "finish": self.done, "quarantine": self.quarantined}
        target.get(verb, self.pending).update(ords)
        for number in ords:
            failures, deaths = self.blame.get(number, (0, 0))
            if verb in {"fail", "die"}:
                self.blame[number] = (failures + (verb == "fail"), deaths + (verb == "die"))
            elif verb in {"finish", "quarantine"}:
                self.blame.pop(number, None)
        return True


_operations = st.lists(
    st.tuples(st.sampled_from(_VERBS), st.sets(st.integers(0, 30), max_size=12)), max_size=40
)


@given(_operations)
def test_each_split_is_in_exactly_one_place_after_any_operations(operations):
    account, model = Account(), _Sets()
    for verb, ords in operations:
        expected = model.carry_out(verb, ords)
        if verb == "discover":
            account = account.discover(len(ords), complete=False)
            continue
        try:
            account = getattr(account, verb)(Intervals.of(ords))
        except AccountViolated:
            assert not expected
        else:
            assert expected
        places = (account.pending, account.assigned, account.done, account.quarantined)
        assert [set(place) for place in places] == [
            model.pending,
            model.assigned,
            model.done,
            model.quarantined,
        ]
        assert sum(map(len, places)) == account.discovered
        blamed = {number: (each.failures, each.deaths) for number, each in account.blame.items()}
        assert blamed == model.blame


def _sized(size):
    return lambda source, number: SplitDescriptor(
        ord=number, descriptor={"of": source}, bytes=size[source], rows=10
    )


def _open(**counts):
    return {name: Account(discovered=count, complete=True) for name, count in counts.items()}


def test_sources_take_turns_in_the_order_of_their_splits():
    taken = pick(_open(a=9, b=2), _sized({"a": 1, "b": 1}), Budget(bytes=100, splits=6))
    assert taken == {"a": Intervals.range(0, 4), "b": Intervals.range(0, 2)}


def test_split_larger_than_the_budget_is_taken_alone():
    taken = pick(_open(a=3, b=3), _sized({"a": 500, "b": 500}), Budget(bytes=100, splits=6))
    assert taken == {"a": Intervals.of([0])}


def test_split_that_no_longer_fits_leaves_room_for_a_smaller_source():
    taken = pick(_open(a=3, b=30), _sized({"a": 60, "b": 10}), Budget(bytes=100, splits=90))
    assert taken == {"a": Intervals.of([0]), "b": Intervals.range(0, 4)}


def test_held_source_waits_and_a_spent_allowance_ends_its_turn():
    budget = Budget(
        bytes=10**9, splits=90, held=frozenset("a"), by_source={"b": Allowance(rows=25)}
    )
    sizes = {"a": 1, "b": 1, "c": 1}
    taken = pick(_open(a=9, b=9, c=5), _sized(sizes), budget)
    assert taken == {"b": Intervals.range(0, 3), "c": Intervals.range(0, 5)}


def test_nothing_is_picked_outside_of_what_is_asked_for():
    within = {"a": Intervals.of([4, 6])}
    taken = pick(
        _open(a=9, b=9), _sized({"a": 1, "b": 1}), Budget(bytes=9, splits=9), within=within
    )
    assert taken == within


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 20), min_size=1),
    st.integers(1, 60),
    st.integers(1, 12),
)
def test_rounds_of_any_size_finish_every_split_once(counts, size, most):
    accounts, seen = _open(**counts), []
    while taken := pick(accounts, _sized(dict.fromkeys("abc", 7)), Budget(bytes=size, splits=most)):
        assert sum(map(len, taken.values())) <= max(1, min(most, size // 7))
        for name, ords in taken.items():
            seen += [(name, number) for number in ords]
            accounts[name] = accounts[name].assign(ords).finish(ords)
    assert sorted(seen) == [(name, at) for name in sorted(counts) for at in range(counts[name])]
    assert nothing_left(accounts)


def test_source_that_may_still_find_splits_is_not_finished():
    account = Account().discover(1, complete=False)
    one = Intervals.of([0])
    assert not account.assign(one).finish(one).finished
    assert account.assign(one).finish(one).discover(0, complete=True).finished


def test_complete_source_finds_no_more():
    with pytest.raises(AccountViolated):
        Account(complete=True).discover(1, complete=True)


# ----------------------------------------------------------------------------------- restoring


def _note(kind, ords, **more):
    return Note(kind=kind, epoch=4, token=1, splits={"a": Intervals.of(ords)}, **more)


_RECORD = Record(
    pipeline="p",
    plan_hash="h",
    epoch=3,
    sources={"a": SourceState(discovered=6, done=Intervals.of([0, 1]), complete=True)},
)


def test_splits_of_a_vanished_worker_are_pending_again_one_death_the_more():
    found = restored(_RECORD, [_note(NoteKind.ASSIGN, [2, 3])])
    assert set(found.accounts["a"].pending) == {2, 3, 4, 5}
    assert found.accounts["a"].blame == {2: Blame(deaths=1), 3: Blame(deaths=1)}
    assert found.attempt == 2


def test_failed_and_returned_rounds_are_told_apart():
    notes = [
        _note(NoteKind.ASSIGN, [2, 3]),
        _note(NoteKind.FAILED, [2, 3]),
        _note(NoteKind.ASSIGN, [2]),
        _note(NoteKind.RETURNED, [2]),
        _note(NoteKind.ASSIGN, [3]),
    ]
    assert restored(_RECORD, notes).accounts["a"].blame == {
        2: Blame(failures=1),
        3: Blame(failures=1, deaths=1),
    }


def test_notes_of_decided_epochs_change_nothing():
    old = Note(kind=NoteKind.ASSIGN, epoch=3, token=1, splits={"a": Intervals.of([0, 2])})
    assert restored(_RECORD, [old]).accounts["a"].blame == {}


def test_noted_discovery_goes_on_from_its_snapshot():
    record = Record(pipeline="p", plan_hash="h")
    page = tuple(SplitDescriptor(ord=number, descriptor={"path": f"{number}"}) for number in (0, 1))
    notes = [
        Note(
            kind=NoteKind.DISCOVER,
            epoch=1,
            token=1,
            pages={"a": page},
            enumerators={"a": {"after": "1"}},
        ),
        Note(kind=NoteKind.ASSIGN, epoch=1, token=1, splits={"a": Intervals.of([1])}),
    ]
    found = restored(record, notes)
    assert found.states["a"] == SourceState(discovered=2, pages=page, enumerator={"after": "1"})
    assert set(found.accounts["a"].pending) == {0, 1}
    assert found.accounts["a"].blame == {1: Blame(deaths=1)}


def test_record_keeps_the_blame_that_its_commit_takes_from_the_notes():
    account = restored(_RECORD, [_note(NoteKind.ASSIGN, [2, 3])]).accounts["a"]
    two = Intervals.of([2])
    kept = account.assign(two).finish(two).kept_in(_RECORD.sources["a"])
    assert kept.blame == {3: Blame(deaths=1)}
    assert Account.of(kept).pending == Intervals.range(3, 6)


@settings(max_examples=20)
@given(st.integers(1, 200))
def test_million_splits_cost_what_their_intervals_cost(holes):
    spots = Intervals.of(range(0, 1_000_000, 1_000_000 // holes))
    account = Account(discovered=1_000_000, done=Intervals.range(0, 1_000_000) - spots)
    taken = pick({"a": account}, _sized({"a": 1}), Budget(bytes=10**9, splits=256))["a"]
    account = account.assign(taken).finish(taken)
    assert len(account.pending) == len(spots) - len(taken)
    assert len(account.pending.spans) + len(account.done.spans) <= 3 * len(spots) + 3

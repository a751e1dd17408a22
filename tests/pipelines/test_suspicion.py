"""Bad splits are found by halves; the good ones beside them are done."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.pipelines.accounts import Account
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.picking import Budget, pick
from conductor_py.pipelines.record import Blame, SplitDescriptor
from conductor_py.pipelines.spec import ErrorRule
from conductor_py.pipelines.suspicion import Suspicion, Verdict, is_alone, judge, suspects_in

_RULE = ErrorRule(split_attempts=3, poison_split="quarantine")


def _split(source, number):
    return SplitDescriptor(ord=number, descriptor={}, bytes=1)


def _run(accounts, poison, *, restart_every=None):
    """Run rounds, those with a poisoned split fail; return accounts, and how many rounds failed."""
    suspicion, failed = Suspicion(), 0
    for number in range(2_000):
        if restart_every and number % restart_every == restart_every - 1:
            suspicion = suspects_in(accounts, _RULE)
        within = suspicion.next_group
        taken = pick(accounts, _split, Budget(bytes=10**9, splits=64), within=within)
        if not taken:
            return accounts, failed
        for name, ords in taken.items():
            accounts[name] = accounts[name].assign(ords)
        if not any((name, at) in poison for name, ords in taken.items() for at in ords):
            for name, ords in taken.items():
                accounts[name] = accounts[name].finish(ords)
            suspicion = suspicion.cleared(taken)
            continue
        failed += 1
        for name, ords in taken.items():
            accounts[name] = accounts[name].fail(ords)
        suspicion = suspicion.failed(taken)
        if is_alone(taken):
            ((name, ords),) = taken.items()
            if judge(accounts[name].blame[next(iter(ords))], _RULE) is Verdict.QUARANTINE:
                accounts[name] = accounts[name].quarantine(ords)
                suspicion = suspicion.cleared(taken)
    pytest.fail("the rounds never end")


_poison = st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 49)), max_size=6)


@given(_poison)
def test_all_good_splits_are_done_and_all_bad_ones_set_aside(poison):
    accounts = {name: Account(discovered=50, complete=True) for name in "ab"}
    accounts, failed = _run(accounts, poison)
    for name, account in accounts.items():
        assert {(name, at) for at in account.quarantined} == {p for p in poison if p[0] == name}
        assert account.finished
    assert failed <= len(poison) * (math.ceil(math.log2(64)) + 1 + _RULE.split_attempts)


@given(_poison, st.integers(1, 8))
def test_search_goes_on_after_restarts(poison, restart_every):
    accounts = {name: Account(discovered=50, complete=True) for name in "ab"}
    accounts, _ = _run(accounts, poison, restart_every=restart_every)
    assert {(n, at) for n, each in accounts.items() for at in each.quarantined} == poison


@pytest.mark.parametrize(
    ("blame", "verdict"),
    [
        (Blame(failures=2), Verdict.RETRY),
        (Blame(failures=3), Verdict.QUARANTINE),
        (Blame(deaths=11), Verdict.RETRY),
        (Blame(deaths=12), Verdict.QUARANTINE),
    ],
)
def test_split_is_judged_by_its_failures_and_by_many_deaths(blame, verdict):
    assert judge(blame, _RULE) is verdict


def test_pipeline_fails_unless_it_may_set_aside():
    assert judge(Blame(failures=3), ErrorRule()) is Verdict.FAIL


def test_single_death_of_a_worker_makes_no_suspect():
    ords = Intervals.range(0, 4)
    account = Account(discovered=4).assign(ords).die(ords)
    assert suspects_in({"a": account}, _RULE).next_group is None

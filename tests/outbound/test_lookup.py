"""Resolvers that hang hold up their own calls, and no more threads than there may be."""

import threading

import pytest

from conductor_py.outbound.lookup import LookupLate, Lookups
from tests.waiting import PATIENCE_S


def test_a_resolver_that_hangs_is_left_in_time() -> None:
    release = threading.Event()
    with pytest.raises(LookupLate):
        Lookups().within(lambda: release.wait(PATIENCE_S), 0.05)
    release.set()


def test_lookups_that_hang_take_no_more_threads_than_there_may_be() -> None:
    release, begun = threading.Event(), threading.Semaphore(0)
    lookups = Lookups(most=2)

    def hang() -> None:
        begun.release()
        release.wait(PATIENCE_S)

    for _ in range(5):
        with pytest.raises(LookupLate):
            lookups.within(hang, 0.05)
    started = 0
    while begun.acquire(blocking=False):
        started += 1
    assert started <= 2
    release.set()
    assert lookups.within(lambda: "found", PATIENCE_S) == "found", "a slot is free again"


def test_what_a_lookup_raises_is_raised_to_its_caller() -> None:
    def fail() -> None:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(OSError, match="Name or service"):
        Lookups().within(fail, PATIENCE_S)

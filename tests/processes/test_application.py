"""What a process says of its stores when it begins."""

from __future__ import annotations

import itertools
import threading

import pytest

from conductor_py.engine.health import Check
from conductor_py.errors import StoreUnavailable
from conductor_py.processes.application import say_what_is_not_well


def _away() -> None:
    raise StoreUnavailable("nobody listens")


def test_an_index_that_is_away_at_the_start_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    checks = [Check(name="store", ask=lambda: 1), Check(name="search", ask=_away, vital=False)]
    say_what_is_not_well(checks, threading.Event(), pause_s=0)
    (record,) = caplog.records
    assert record.getMessage().startswith("The index is away: executions go on")
    assert record.__dict__["reason"] == "nobody listens"


def test_one_that_only_needs_a_moment_is_not(caplog: pytest.LogCaptureFixture) -> None:
    tries = itertools.count()

    def ask() -> None:
        if next(tries) < 2:
            _away()

    say_what_is_not_well([Check(name="search", ask=ask)], threading.Event(), pause_s=0)
    assert not caplog.records

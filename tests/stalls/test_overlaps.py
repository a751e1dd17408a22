"""Two stalls at once: both are named, and the headline is what somebody has to act on first."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.builders import Json
from tests.stalls.planted import OF_EXECUTIONS, OF_TASKS, Stall, plant


def _named(*stalls: Stall) -> tuple[str, list[str]]:
    found: Json = plant(*stalls).explained()
    return found["cause"]["code"], [cause["code"] for cause in found["causes"]]


@pytest.mark.parametrize("first", OF_TASKS[:-1], ids=lambda stall: stall.code)
def test_of_two_tasks_that_stand_still_the_more_urgent_is_the_headline(first: Stall) -> None:
    for second in OF_TASKS[OF_TASKS.index(first) + 1 :]:
        assert _named(second, first) == (first.code, [first.code, second.code, "join"])


@pytest.mark.parametrize("whole", OF_EXECUTIONS, ids=lambda stall: stall.code)
def test_what_befalls_the_execution_goes_before_what_its_tasks_wait_for(whole: Stall) -> None:
    for task in OF_TASKS:
        headline, causes = _named(whole, task)
        assert headline == whole.code, task.code
        if not whole.hides and (whole.code, task.code) != ("paused", "queued"):
            assert task.code in causes, (whole.code, task.code)


def test_of_two_things_that_befall_an_execution_the_more_urgent_is_the_headline() -> None:
    for first, second in combinations(OF_EXECUTIONS, 2):
        headline, causes = _named(second, first)
        assert headline == first.code, (first.code, second.code)
        assert first.hides or second.hides or second.code in causes

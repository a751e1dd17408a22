"""A bounded run of the chaos program: real processes, killed about once a second."""

from __future__ import annotations

import sys

import pytest

from tests.chaos.run import Plan, run
from tests.chaos.table import table
from tests.services import absent
from tests.services.cache import Unobtainable

# A deployment of a dozen processes each: one after the other.
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.xdist_group("chaos"),
    pytest.mark.timeout(400),
]


@pytest.mark.parametrize(
    ("shape", "fsync"), [("apart", "always"), ("apart", "everysec"), ("server", "always")]
)
def test_nothing_is_lost_twice_or_stuck_while_processes_are_killed(
    shape: str, fsync: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(seconds=30, per_s=5, fsync=fsync, seed=5, quiet_s=180, shape=shape)
    lines: list[str] = []
    try:
        outcome = run(plan, lines.append)
    except Unobtainable as error:
        absent(str(error))
    with capsys.disabled():
        sys.stdout.write(f"\n{table(outcome)}\n")

    assert outcome.violations == []
    assert outcome.executions >= 100
    assert outcome.kills >= 10

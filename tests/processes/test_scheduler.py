"""Where schedules are fired: in the sweeper of a server, or in processes of their own."""

import threading

import pytest

from conductor_py.config import load
from conductor_py.processes.scheduler import scheduler_loops
from conductor_py.processes.server import _children
from conductor_py.testing import memory_engine


def names(**flags: str) -> list[str]:
    given = {f"conductor.{key.replace('__', '.')}": value for key, value in flags.items()}
    return [child.name for child in _children(load(flags=given), {}, "server-1")]


@pytest.mark.parametrize(
    ("flags", "own"),
    [
        ({}, False),
        ({"app__sweeper__enabled": "false"}, True),
        ({"app__sweeper__enabled": "false", "scheduler__enabled": "false"}, False),
    ],
)
def test_server_without_a_sweeper_has_a_scheduler_of_its_own(
    flags: dict[str, str], own: bool
) -> None:
    assert ("scheduler" in names(**flags)) == own


def test_loops_fire_schedules_until_they_are_stopped() -> None:
    settings = load(flags={"conductor.scheduler.pollingThreadCount": "3"})
    stop = threading.Event()
    loops = scheduler_loops(settings, memory_engine().engine, stop)
    for loop in loops:
        loop.start()
    stop.set()
    for loop in loops:
        loop.join(5)
    assert [loop.is_alive() for loop in loops] == [False] * 3

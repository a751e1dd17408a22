"""Where schedules are fired: in the sweeper of a server, or in processes of their own."""

import threading
from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.model.schedules import RunFilter, Schedule
from conductor_py.processes.scheduler import scheduler_loops
from conductor_py.processes.server import _children
from conductor_py.testing import memory_engine
from tests.waiting import PATIENCE_S, until

_WORKFLOW: dict[str, Any] = {
    "name": "report",
    "tasks": [{"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}],
}


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


def test_loops_fire_schedules_until_they_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    kit = memory_engine()
    kit.engine.definitions.register(workflow_from_json(_WORKFLOW), overwrite=True)
    tick, request = kit.engine.scheduler.tick, {"name": "report"}
    kit.engine.schedules.save(
        Schedule(name="n", cron_expression="0 * * * * *", start_workflow_request=request)
    )
    ticked: set[str] = set()

    def noted() -> int:
        ticked.add(threading.current_thread().name)
        return tick()

    def states() -> list[object]:
        found = kit.engine.schedules.runs(RunFilter(), start=0, size=9, sort=())
        return [run["state"] for run in found.results]

    monkeypatch.setattr(kit.engine.scheduler, "tick", noted)
    settings = load(flags={"conductor.scheduler.pollingThreadCount": "3"})
    stop = threading.Event()
    loops = scheduler_loops(settings, kit.engine, stop)
    for loop in loops:
        loop.start()
    for minute in range(1, 3):
        kit.clock.advance(seconds=60)
        until(lambda: states() == ["EXECUTED"] * minute, what="it is fired")  # noqa: B023
    until(lambda: ticked == {loop.name for loop in loops}, what="every loop has had its turn")
    stop.set()
    for loop in loops:
        loop.join(PATIENCE_S)
    assert [loop.is_alive() for loop in loops] == [False] * 3
    assert len(kit.engine.executions.running("report")) == 2

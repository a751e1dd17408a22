"""Queues of system tasks that executions invent leave the workers that found them."""

from __future__ import annotations

from conductor_py.decider.scheduling import LIMITED
from conductor_py.engine.system_worker.lanes import MOST_FOUND, Lanes, Served
from conductor_py.ports.system_tasks import SystemCall, SystemResult


class _Http:
    task_type = "HTTP"

    def execute(self, _: SystemCall) -> SystemResult:
        return SystemResult()

    def close(self) -> None:
        """Nothing is kept."""


def _lanes(served: Served) -> Lanes:
    return Lanes({"HTTP": _Http()}, served)


def _invented(number: int, kind: str = LIMITED) -> list[str]:
    return [f"HTTP{kind}invented-{each}" for each in range(number)]


def test_queues_of_invented_definitions_are_left_when_nothing_is_in_them() -> None:
    lanes = _lanes(Served(groups=("mine",)))
    lanes.find(_invented(MOST_FOUND + 1))
    lanes.find([f"HTTP{LIMITED}kept"])
    assert set(lanes.by_queue) == {"HTTP", "HTTP-mine", f"HTTP{LIMITED}kept"}


def test_a_queue_that_was_found_is_served_on_while_there_are_few() -> None:
    lanes = _lanes(Served())
    lanes.find(_invented(MOST_FOUND))
    lanes.find([])
    assert len(lanes.by_queue) == 1 + MOST_FOUND


def test_a_call_of_a_queue_that_was_left_keeps_its_slot() -> None:
    lanes = _lanes(Served(every_group=True))
    lanes.find(_invented(MOST_FOUND + 1, "-"))
    slots = lanes.by_queue["HTTP-invented-7"].slots
    slots.begin(0.0)
    lanes.find([])
    assert (list(lanes.by_queue), lanes.in_use()) == (["HTTP"], 1)
    lanes.find(["HTTP-invented-7"])
    assert lanes.by_queue["HTTP-invented-7"].slots is slots

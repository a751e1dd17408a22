"""Names of queues are forgotten by and by, whatever was invented, and no task with them."""

from __future__ import annotations

from typing import cast

from conductor_py.engine.sweeping.queue_names import QueueNames
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.queues import TaskQueues
from conductor_py.testing import MemoryEngine
from tests.builders import simple, workflow


def test_names_that_executions_invented_leave_with_them(engine: MemoryEngine) -> None:
    started = [engine.start(workflow("w", simple(f"invented-{n}"))) for n in range(9)]
    kept = started.pop(4)
    for one in started:
        engine.engine.executions.terminate(one, reason="over")
    names = QueueNames(engine.ports.queues, partitions=1, piece=2, keep=0)
    assert sum(names.tick() for _ in range(9)) == len(started)
    assert engine.ports.queues.names(None) == {"invented-4"}
    engine.run("invented-4")
    assert engine.workflow(kept)["status"] == "COMPLETED"


def test_queues_that_are_few_are_shown_though_nothing_is_in_them(engine: MemoryEngine) -> None:
    for number in range(9):
        started = engine.start(workflow("w", simple(f"task-{number}")))
        engine.engine.executions.terminate(started, reason="over")
    names = QueueNames(engine.ports.queues, partitions=1, keep=5)
    assert sum(names.tick() for _ in range(9)) == 4
    assert len(engine.ports.queues.names(None)) == 5


class _Partitions:
    """Two partitions; what is asked of them, and the first is away."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    def forget_empty(
        self, partition: int, cursor: str, limit: int, *, keep: int
    ) -> tuple[str, int]:
        assert (limit, keep) == (3, 7)
        if partition == 0:
            raise StoreUnavailable("away")
        self.asked.append((partition, cursor))
        return {"": "a", "a": "b", "b": ""}[cursor], 1


def test_each_tick_goes_on_where_the_last_one_ended_beside_a_partition_that_is_away() -> None:
    queues = _Partitions()
    names = QueueNames(cast("TaskQueues", queues), partitions=2, piece=3, keep=7)
    assert [names.tick() for _ in range(4)] == [1, 1, 1, 1]
    assert queues.asked == [(1, ""), (1, "a"), (1, "b"), (1, "")]

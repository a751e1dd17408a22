"""Limits belong to the registered task definition, whatever running executions remember."""

from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import task_def_from_json
from conductor_py.model.requests import PollRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import simple, typed, workflow


def _register(engine: MemoryEngine, name: str = "a", **limits: Any) -> None:
    definition = task_def_from_json({"name": name, **limits})
    engine.engine.definitions.register_tasks([definition])


def _start(engine: MemoryEngine, count: int = 6) -> None:
    for _ in range(count):
        engine.start(workflow("w", simple("a")))


@pytest.mark.oracle(50)
def test_limit_that_is_raised_holds_from_the_next_poll_on(engine: MemoryEngine) -> None:
    _register(engine, concurrentExecLimit=1)
    _start(engine)
    assert len(engine.poll("a", 10)) == 1
    _register(engine, concurrentExecLimit=3)
    assert len(engine.poll("a", 10)) == 2


def test_limit_that_is_lowered_holds_from_the_next_poll_on(engine: MemoryEngine) -> None:
    _register(engine, concurrentExecLimit=3)
    _start(engine)
    held = engine.poll("a", 2)
    _register(engine, concurrentExecLimit=1)
    assert not engine.poll("a", 10)
    engine.complete(held[0])
    assert not engine.poll("a", 10)
    engine.complete(held[1])
    assert len(engine.poll("a", 10)) == 1


def test_limit_that_is_taken_away_holds_nobody_back(engine: MemoryEngine) -> None:
    _register(engine, concurrentExecLimit=1, rateLimitPerFrequency=1)
    _start(engine)
    assert len(engine.poll("a", 10)) == 1
    _register(engine)
    assert len(engine.poll("a", 10)) == 5


def test_rate_that_is_changed_holds_from_the_next_poll_on(engine: MemoryEngine) -> None:
    _register(engine, rateLimitPerFrequency=1, rateLimitFrequencyInSeconds=10)
    _start(engine)
    assert len(engine.poll("a", 10)) == 1
    _register(engine, rateLimitPerFrequency=4, rateLimitFrequencyInSeconds=10)
    assert len(engine.poll("a", 10)) == 3


def test_snapshot_says_what_holds_once_the_definition_is_deleted(engine: MemoryEngine) -> None:
    _register(engine, concurrentExecLimit=1)
    _start(engine)
    _register(engine, concurrentExecLimit=2)
    engine.engine.definitions.delete_task("a")
    assert len(engine.poll("a", 10)) == 1


def test_change_on_another_server_is_noticed_within_seconds() -> None:
    space = MemorySpace(clock=(clock := FakeClock()))
    one = memory_engine(space=space, clock=clock)
    two = memory_engine(space=space, clock=clock, server="server-2")
    _register(one, concurrentExecLimit=1)
    _start(one)
    assert len(two.poll("a", 10)) == 1
    _register(one, concurrentExecLimit=2)
    clock.advance(seconds=3)
    assert len(two.poll("a", 10)) == 1


def test_polls_do_not_read_the_definition_each_time(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    tasks = type(engine.ports.metadata).tasks

    def counted(store: Any, names: Any) -> Any:
        asked.append(names)
        return tasks(store, names)

    monkeypatch.setattr(type(engine.ports.metadata), "tasks", counted)
    for _ in range(20):
        engine.poll("a")
    assert asked == [("a",)]


def test_tasks_of_a_system_type_keep_their_own_limits(engine: MemoryEngine) -> None:
    _register(engine, "HTTP", concurrentExecLimit=1)
    for _ in range(3):
        engine.start(workflow("w", typed("HTTP", "call", inputParameters={"uri": "u"})))
    assert len(engine.poll("HTTP", 10)) == 3


def _own_type(name: str) -> Any:
    return workflow("w", typed("FOO", name) | {"name": name})


def test_tasks_of_ones_own_type_keep_the_limits_of_their_definitions(engine: MemoryEngine) -> None:
    _register(engine, "foo_a", concurrentExecLimit=1)
    _register(engine, "FOO")
    for _ in range(3):
        engine.start(_own_type("foo_a"))
    (first,) = engine.poll("FOO", 10)
    assert not engine.poll("FOO", 10)
    engine.complete(first)
    assert len(engine.poll("FOO", 10)) == 1


def test_a_limit_holds_over_the_types_of_its_definitions_tasks(engine: MemoryEngine) -> None:
    _register(engine, "warehouse", concurrentExecLimit=2)
    for own_type in ("LOAD", "READ", "LOAD", "READ"):
        engine.start(workflow("w", typed(own_type, "a") | {"name": "warehouse"}))
    engine.start(workflow("w", simple("warehouse")))
    (first, _) = engine.poll("LOAD", 10)
    assert not engine.poll("READ", 10)
    assert not engine.poll("warehouse", 10)
    engine.complete(first)
    assert len(engine.poll("READ", 10)) == 1
    assert not engine.poll("warehouse", 10)


def test_a_definition_at_its_limit_holds_up_no_other_of_its_type(engine: MemoryEngine) -> None:
    _register(engine, "foo_a", concurrentExecLimit=1)
    started = []
    for name in ("foo_a", "foo_a", "foo_b"):
        started.append(engine.start(_own_type(name)))
        engine.clock.advance(seconds=1)
    claimed = engine.poll("FOO") + engine.poll("FOO", 10)
    assert [task["workflowInstanceId"] for task in claimed] == [started[0], started[2]]


def test_queue_of_a_system_tasks_definition_has_the_limits_of_that_definition(
    engine: MemoryEngine,
) -> None:
    _register(engine, "charge", concurrentExecLimit=1)
    task = {**typed("HTTP", "charge", inputParameters={"uri": "u"}), "name": "charge"}
    for _ in range(3):
        engine.start(workflow("w", task))
    assert len(_claimed(engine, "HTTP#charge")) == 1
    _register(engine, "charge", concurrentExecLimit=2)
    assert len(_claimed(engine, "HTTP#charge")) == 1
    _register(engine, "charge")
    assert len(_claimed(engine, "HTTP#charge")) == 1


def _claimed(engine: MemoryEngine, queue: str) -> tuple[Any, ...]:
    """Claim as the server does that carries the tasks of a queue out."""
    wanted = PollRequest(task_type=queue, worker="server", count=10)
    return engine.engine.tasks.take(wanted, "HTTP")[0]

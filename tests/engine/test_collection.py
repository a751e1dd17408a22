"""Plans of definitions and fragments go when nothing uses them, and come back when asked for."""

from functools import partial
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine.definitions import snapshots
from conductor_py.engine.definitions.collection import UNUSED_MS, Collector
from conductor_py.engine.definitions.plan_cache import PlanCache
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine


def simple(name: str = "inline", ref: str = "t") -> dict[str, Any]:
    """A definition of one worker task."""
    task = {"name": "task", "taskReferenceName": ref, "type": "SIMPLE"}
    return {"name": name, "version": 1, "ownerEmail": "a@b.c", "tasks": [task]}


def forking() -> dict[str, Any]:
    """A definition whose input names the branches."""
    parameters = {"tasks": "${workflow.input.tasks}", "inputs": "${workflow.input.inputs}"}
    fork = {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN_DYNAMIC",
        "inputParameters": parameters,
        "dynamicForkTasksParam": "tasks",
        "dynamicForkTasksInputParamName": "inputs",
    }
    join = {"name": "join", "taskReferenceName": "join", "type": "JOIN"}
    return {**simple("forking"), "tasks": [fork, join]}


def stored(made: MemoryEngine) -> int:
    return made.ports.plans.count(0)


def leave(made: MemoryEngine) -> None:
    """Let what has ended leave the store."""
    made.settle()
    made.clock.advance(seconds=61)
    made.settle()


def sweep(made: MemoryEngine) -> None:
    """Let a day pass and collect until there is nothing more."""
    made.clock.advance(milliseconds=UNUSED_MS)
    while made.engine.collector.tick():
        pass


def test_plans_of_inline_definitions_go_after_their_executions() -> None:
    made = memory_engine()
    for number in range(20):
        made.start(simple(ref=f"t{number}"))
        made.run("task")
    running = made.start(simple(ref="waiting"))
    leave(made)
    assert stored(made) == 21
    sweep(made)
    assert stored(made) == 1
    made.run("task")
    assert made.workflow(running)["status"] == "COMPLETED"
    leave(made)
    sweep(made)
    assert stored(made) == 0


def test_definition_whose_plan_was_dropped_starts_again() -> None:
    made = memory_engine()
    made.start(simple())
    made.run("task")
    leave(made)
    sweep(made)
    assert stored(made) == 0
    again = made.start(simple())
    made.run("task")
    assert made.workflow(again)["status"] == "COMPLETED"


def test_plan_that_this_process_keeps_with_its_definition_only_is_stored_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshots, "PlanCache", partial(PlanCache, plans=2))
    made = memory_engine()
    made.engine.definitions.register(workflow_from_json(simple("registered")), overwrite=False)
    made.start("registered")
    made.run("task")
    leave(made)
    for number in range(3):
        made.start(simple(ref=f"t{number}"))
    sweep(made)
    again = made.start("registered")
    assert made.workflow(again)["status"] == "RUNNING"


def test_fragment_of_a_running_execution_outlives_the_day() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    made = memory_engine(space=space, clock=clock)
    branches = [{"name": "task", "taskReferenceName": f"b{n}", "type": "SIMPLE"} for n in (1, 2)]
    execution = made.start(forking(), input={"tasks": branches, "inputs": {}})
    made.settle()
    assert stored(made) == 2
    sweep(made)
    sweep(made)
    assert stored(made) == 2
    other = memory_engine(space=space, clock=clock, server="server-2")
    for _ in branches:
        other.run("task")
    assert other.workflow(execution)["status"] == "COMPLETED"
    leave(other)
    sweep(other)
    assert stored(other) == 0


def test_plan_of_a_running_child_outlives_its_parent() -> None:
    made = memory_engine()
    params = {"name": "child", "version": 1, "workflowDefinition": simple("child")}
    call = {
        "name": "call",
        "taskReferenceName": "call",
        "type": "SUB_WORKFLOW",
        "subWorkflowParam": params,
    }
    made.start({**simple("parent"), "tasks": [call]})
    sweep(made)
    assert stored(made) == 2
    made.run("task")
    leave(made)
    sweep(made)
    assert stored(made) == 0


def test_tick_says_whether_a_partition_has_more_to_look_at() -> None:
    made = memory_engine()
    for number in range(3):
        made.ports.plans.put(0, f"p{number}", b"{}", {})
    made.clock.advance(milliseconds=UNUSED_MS)
    collector = Collector(made.ports.plans, partitions=1, batch=2)
    assert (collector.tick(), stored(made)) == (1, 1)
    assert (collector.tick(), stored(made)) == (0, 0)

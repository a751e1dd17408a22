"""Snapshots: what an execution was started with is what it runs (I9)."""

import gc
from typing import Any

import pytest

from conductor_py.codec.definitions import task_def_from_json, workflow_from_json
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.errors import NotFound
from conductor_py.model.definitions import WorkflowDef
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    fork_inputs,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    tasks_of,
    workflow,
)

_MIB = 1 << 20


def _register(engine: MemoryEngine, definition: dict[str, Any], *, overwrite: bool = False) -> None:
    engine.engine.definitions.register(workflow_from_json(definition), overwrite=overwrite)


def _register_task(engine: MemoryEngine, **facts: Any) -> None:
    engine.engine.definitions.register_tasks([task_def_from_json(facts)])


def _named(ref: str) -> dict[str, Any]:
    return {"name": ref, "taskReferenceName": ref, "type": "SIMPLE"}


@pytest.mark.oracle(50)
def test_overwritten_workflow_does_not_reach_a_running_execution(engine: MemoryEngine) -> None:
    """Oracle row 50."""
    _register(engine, workflow("w", simple("a"), simple("b")))
    started = engine.start("w")
    _register(engine, workflow("w", simple("a"), simple("other")), overwrite=True)
    engine.run("a")
    assert set(engine.statuses(started)) == {"a", "b"}
    names = [t["name"] for t in engine.workflow(started)["workflowDefinition"]["tasks"]]
    assert names == ["a", "b"]


@pytest.mark.oracle(50)
def test_changed_task_definition_does_not_reach_a_running_execution(engine: MemoryEngine) -> None:
    """Oracle row 50."""
    _register_task(engine, name="a", retryCount=1, retryDelaySeconds=0)
    _register(engine, workflow("w", _named("a")))
    started = engine.start("w")
    _register_task(engine, name="a", retryCount=9, retryDelaySeconds=999)
    run_failing(engine, "a")
    run_failing(engine, "a")
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "a")) == 2


def test_deleted_workflow_runs_on(engine: MemoryEngine) -> None:
    _register(engine, workflow("w", simple("a"), simple("b")))
    started = engine.start("w")
    engine.engine.definitions.delete("w", 1)
    engine.run("a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    with pytest.raises(NotFound):
        engine.start("w")


def test_change_reaches_the_next_start(engine: MemoryEngine) -> None:
    _register_task(engine, name="a", retryCount=0)
    _register(engine, workflow("w", _named("a")))
    engine.start("w")
    _register_task(engine, name="a", retryCount=5, retryDelaySeconds=0)
    second = engine.start("w")
    for task in engine.poll("a", 2):
        engine.complete(task, status="FAILED")
    assert status_of(engine, second) == "RUNNING"


def test_change_on_another_server_reaches_the_next_start(engine: MemoryEngine) -> None:
    from conductor_py.adapters.memory.space import MemorySpace

    space = MemorySpace(clock=engine.clock)
    here = memory_engine(clock=engine.clock, space=space, server="one")
    there = memory_engine(clock=engine.clock, space=space, server="two")
    _register(here, workflow("w", simple("a")))
    there.start("w")
    _register(here, workflow("w", simple("b")), overwrite=True)
    assert set(there.statuses(there.start("w"))) == {"b"}


def test_latest_version_is_the_largest(engine: MemoryEngine) -> None:
    for version in (9, 10, 2):
        _register(engine, {**workflow("w", simple("a")), "version": version})
    assert engine.workflow(engine.start("w"))["workflowVersion"] == 10
    assert engine.workflow(engine.start("w", version=2))["workflowVersion"] == 2


def test_thousand_executions_of_one_definition_store_one_snapshot(engine: MemoryEngine) -> None:
    _register(engine, workflow("w", simple("a")))
    for _ in range(1000):
        engine.start("w")
    assert engine.ports.plans.count(0) == 1


def test_equal_inline_definitions_store_one_snapshot(engine: MemoryEngine) -> None:
    for _ in range(20):
        engine.start(workflow("w", simple("a")))
    assert engine.ports.plans.count(0) == 1


def test_fragment_leaves_with_its_execution(engine: MemoryEngine) -> None:
    definition = workflow("w", fork_inputs("f", [1, 2], forkTaskName="x"), join("j"))
    started = engine.start(definition)
    assert engine.ports.plans.count(0) == 2
    engine.run("x")
    engine.run("x")
    pass_time(engine, seconds=1)
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(started) is None
    assert engine.ports.plans.count(0) == 1


def test_lost_plan_leaves_the_execution_alone(engine: MemoryEngine) -> None:
    """Another server without a cache finds no snapshot: it must not end the execution."""
    from conductor_py.adapters.memory.space import MemorySpace

    space = MemorySpace(clock=engine.clock)
    here = memory_engine(clock=engine.clock, space=space, server="one")
    started = here.start(workflow("w", simple("a"), simple("b")))
    (task,) = here.poll("a")
    plans = dict(space.partition(0).plans)
    space.partition(0).plans.clear()
    there = memory_engine(clock=engine.clock, space=space, server="two")
    there.complete(task)
    assert status_of(here, started) == "RUNNING"
    space.partition(0).plans.update(plans)
    pass_time(here, seconds=5)
    assert here.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}


def test_a_start_reads_the_tags_of_its_definition_and_of_no_other(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    tags = engine.ports.metadata.tags

    def counted(*given: str) -> dict[str, bytes]:
        asked.append(given)
        return tags(*given)

    monkeypatch.setattr(engine.ports.metadata, "tags", counted)
    _register(engine, workflow("w", simple("a")))
    engine.start("w")
    assert asked == [("workflow", "w")]


def _reads_of(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the definitions that the store is asked for, from here on."""
    asked: list[str] = []
    read = engine.ports.metadata.workflow

    def counted(name: str, version: int | None) -> bytes | None:
        asked.append(name)
        return read(name, version)

    monkeypatch.setattr(engine.ports.metadata, "workflow", counted)
    return asked


def test_a_start_of_a_definition_that_is_remembered_reads_and_compiles_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _register(engine, workflow("w", simple("a")))
    snapshots = snapshots_of(engine.ports)
    asked = _reads_of(engine, monkeypatch)
    first = snapshots.registered("w", None, 0)
    assert asked == ["w"]

    again = snapshots.registered("w", None, 0)
    assert asked == ["w"]
    assert again[0] is first[0]
    assert again[1] == first[1]


def test_plans_of_registered_definitions_are_remembered_within_the_bound_of_all_plans(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = {"description": "x" * _MIB}
    for at in range(20):
        _register(engine, {**workflow(f"w{at}", simple("a")), **large})
    snapshots = snapshots_of(engine.ports)
    plans = [snapshots.registered(f"w{at}", None, 0)[0].hash for at in range(20)]
    asked = _reads_of(engine, monkeypatch)

    assert snapshots.registered("w19", None, 0)[0].hash == plans[19]
    assert asked == []
    assert snapshots.registered("w0", None, 0)[0].hash == plans[0]
    assert asked == ["w0"]
    assert snapshots.registered("w0", None, 0)[0].hash == plans[0]
    assert asked == ["w0"]


def test_inline_definitions_are_remembered_by_their_size(engine: MemoryEngine) -> None:
    snapshots = snapshots_of(engine.ports)
    for _ in range(100):
        large = {**workflow("large_inline", simple("a")), "description": "x" * _MIB}
        snapshots.inline(workflow_from_json(large), 0)

    gc.collect()
    definitions = (one for one in gc.get_objects() if isinstance(one, WorkflowDef))
    # Sixteen at most of 1 MB: each as it came, and made whole in its plan.
    assert 1 <= sum(one.name == "large_inline" for one in definitions) <= 2 * 16

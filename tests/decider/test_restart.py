"""Restart, and rerun from the beginning: nothing that happened before is there any more."""

from contextlib import suppress

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.execution import load_header
from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.requests import RerunRequest
from conductor_py.ports.store import Commit, CommitReply
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    fork,
    join,
    pass_time,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    times,
    workflow,
)


def _restart(engine: MemoryEngine, started: str, **how: bool) -> None:
    engine.engine.recovery.restart(started, **how)


@pytest.mark.anomaly("A-41")
def test_restart_begins_with_the_definitions_variables_and_no_tasks(engine: MemoryEngine) -> None:
    definition = workflow(
        "w",
        set_variable("s", v="changed"),
        simple("a"),
        variables={"v": "first"},
        timeoutSeconds=60,
        timeoutPolicy="TIME_OUT_WF",
    )
    started = engine.start(definition, input={"n": 1})
    run_failing(engine, "a")
    assert engine.workflow(started)["failedReferenceTaskNames"] == ["a"]
    engine.clock.advance(seconds=90)
    _restart(engine, started)
    found = engine.workflow(started)
    assert (found["status"], found["input"], found["endTime"]) == ("RUNNING", {"n": 1}, 0)
    assert found["createTime"] == engine.clock()
    assert found["lastRetriedTime"] == 0
    assert found["failedReferenceTaskNames"] == []
    assert [t["referenceTaskName"] for t in found["tasks"]] == ["s", "a"]
    assert [t["retryCount"] for t in found["tasks"]] == [0, 0]
    assert found["variables"] == {"v": "changed"}
    pass_time(engine, seconds=30)
    assert status_of(engine, started) == "RUNNING"
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-41")
def test_variables_are_those_of_the_definition_again(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), set_variable("s", v=2), simple("b"), variables={"v": 1})
    started = engine.start(definition)
    engine.run("a")
    run_failing(engine, "b")
    _restart(engine, started)
    assert engine.workflow(started)["variables"] == {"v": 1}


def test_running_execution_cannot_be_restarted(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    with pytest.raises(Conflict):
        _restart(engine, started)
    assert engine.statuses(started) == {"a": "SCHEDULED"}


def test_completed_execution_that_is_not_restartable(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), restartable=False))
    engine.run("a")
    with pytest.raises(NotFound, match="not restartable"):
        _restart(engine, started)


def test_failed_execution_that_is_not_restartable_is_restarted(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), restartable=False))
    run_failing(engine, "a")
    _restart(engine, started)
    assert status_of(engine, started) == "RUNNING"


def test_end_in_the_middle_of_clearing_up_leaves_nothing_of_before() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, limits=Limits(attempts=1))
    tasks = [set_variable(f"v{number}", n=number) for number in range(20)]
    started = engine.start(workflow("w", *tasks, simple("z")))
    engine.settle()
    first = engine.workflow(started)["tasks"]
    run_failing(engine, "z")
    engine.settle()
    store = engine.ports.store
    commit, left = store.commit, 3

    def die_soon(wanted: Commit) -> CommitReply:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoreUnavailable("gone")
        return commit(wanted)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "commit", die_soon)
        with suppress(StoreUnavailable):
            _restart(engine, started)
    assert load_header(space.partition(0).executions[started].fields["h"]).walk
    engine.clock.advance(seconds=4)
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    fields = space.partition(0).executions[started].fields
    assert "walk" not in fields
    assert not load_header(fields["h"]).walk
    assert min((int(n[2:]) for n in fields if n.startswith("a:")), default=99) > first[-1]["seq"]


@pytest.mark.parametrize("attempts", [1, 4, 1000])
def test_nothing_of_before_is_left_in_the_store(attempts: int) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, limits=Limits(attempts=attempts))
    loop = times("l", 3, fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(workflow("w", loop, simple("z")))
    for _ in range(3):
        engine.settle()
        engine.run("a")
        engine.run("b")
    engine.settle()
    first = engine.workflow(started)["tasks"]
    run_failing(engine, "z")
    engine.settle()
    _restart(engine, started)
    engine.settle()
    fields = space.partition(0).executions[started].fields
    seqs = {int(name[2:]) for name in fields if name[:2] in {"a:", "i:", "o:", "c:"}}
    assert min(seqs) > first[-1]["seq"]
    assert not [name for name in fields if name.startswith("r:") and "#2" in name]
    assert "walk" not in fields
    for _ in range(3):
        engine.run("a")
        engine.run("b")
        engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_result_of_a_task_of_before_is_not_found(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    engine.engine.executions.terminate(started, reason="enough")
    _restart(engine, started)
    with pytest.raises(NotFound):
        engine.complete(task)
    assert engine.statuses(started) == {"a": "SCHEDULED"}


def test_restart_with_the_latest_definition(engine: MemoryEngine) -> None:
    from conductor_py.codec.definitions import workflow_from_json

    define = engine.engine.definitions.register
    define(workflow_from_json(workflow("w", simple("a"))), overwrite=True)
    started = engine.start("w")
    run_failing(engine, "a")
    define(workflow_from_json(workflow("w", simple("b"), version=2)), overwrite=True)
    _restart(engine, started)
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    run_failing(engine, "a")
    _restart(engine, started, use_latest=True)
    found = engine.workflow(started)
    assert (found["workflowVersion"], engine.statuses(started)) == (2, {"b": "SCHEDULED"})
    assert [t["name"] for t in found["workflowDefinition"]["tasks"]] == ["b"]
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_latest_definition_that_is_gone(engine: MemoryEngine) -> None:
    started = engine.start(workflow("inline-only", simple("a")))
    run_failing(engine, "a")
    with pytest.raises(NotFound):
        _restart(engine, started, use_latest=True)
    assert status_of(engine, started) == "FAILED"


def test_children_of_before_are_forgotten(engine: MemoryEngine) -> None:
    child = workflow("c", simple("x"))
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    engine.run("x")
    engine.settle()
    run_failing(engine, "z")
    before = task_of(engine, started, "s")["subWorkflowId"]
    _restart(engine, started)
    engine.settle()
    after = task_of(engine, started, "s")["subWorkflowId"]
    assert before != after
    engine.run("x")
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_rerun_from_the_beginning_takes_a_new_input(engine: MemoryEngine) -> None:
    task = simple("a", inputParameters={"n": "${workflow.input.n}"})
    started = engine.start(workflow("w", task), input={"n": 1}, correlation_id="one")
    created = engine.workflow(started)["createTime"]
    engine.run("a")
    engine.clock.advance(seconds=5)
    request = RerunRequest(workflow_input={"n": 2}, correlation_id="two")
    assert engine.engine.recovery.rerun(started, request) == started
    found = engine.workflow(started)
    assert (found["input"], found["correlationId"]) == ({"n": 2}, "two")
    assert found["createTime"] == created
    assert task_of(engine, started, "a")["inputData"] == {"n": 2}
    assert len(found["tasks"]) == 1


@pytest.mark.anomaly("A-40")
def test_rerun_of_an_old_execution_does_not_time_out_at_once(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", simple("a"), timeoutSeconds=10, timeoutPolicy="TIME_OUT_WF")
    )
    engine.run("a")
    engine.clock.advance(seconds=3600)
    engine.engine.recovery.rerun(started, RerunRequest())
    pass_time(engine, seconds=9)
    assert status_of(engine, started) == "RUNNING"


def test_execution_without_tasks_completes_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    _restart(engine, started)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"

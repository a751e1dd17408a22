"""Workflow rate limits: executions beyond the limit wait for their turn, or are turned away."""

from typing import Any

import pytest

from conductor_py.codec.event import dump_event
from conductor_py.errors import LimitExceeded
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine
from tests.builders import (
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    workflow,
)


def _limited(limit: int = 1, *, tasks: Any = None, name: str = "w", **more: Any) -> dict[str, Any]:
    config = {"concurrentExecLimit": limit, "rateLimitKey": "k", **more}
    return workflow(name, *(tasks or [simple("a")]), rateLimitConfig=config)


def _waits(engine: MemoryEngine, execution: str) -> bool:
    shown = engine.workflow(execution)
    return bool(shown["rateLimited"]) and shown["status"] == "RUNNING" and not shown["tasks"]


def test_executions_beyond_the_limit_wait_with_nothing_scheduled(engine: MemoryEngine) -> None:
    first, second, third = (engine.start(_limited(2)) for _ in range(3))
    assert [_waits(engine, one) for one in (first, second, third)] == [False, False, True]
    assert engine.workflow(third)["rateLimitKey"] == "k"
    pass_time(engine, seconds=3600)
    assert _waits(engine, third)
    assert len(engine.poll("a", 5)) == 2


def test_those_that_wait_begin_in_the_order_they_came(engine: MemoryEngine) -> None:
    first, *others = (engine.start(_limited()) for _ in range(5))
    begun = [engine.run("a")["workflowInstanceId"] for _ in others]
    assert begun == [first, *others[:-1]]
    assert not _waits(engine, others[-1])


def test_one_that_is_terminated_and_restarted_while_it_waits_counts_though_one_decision_does_both(
    engine: MemoryEngine,
) -> None:
    first, second, third = (engine.start(_limited()) for _ in range(3))
    store = engine.ports.store
    for verb in ("terminate", "restart"):
        asked = dump_event(Operation(id=verb, name=verb, arguments={}))
        store.send(ExecutionId(third), verb, asked, "who dies of it", 1_000)
    pass_time(engine, seconds=2)
    assert not _waits(engine, third), "opened again it counts at once, above the limit"
    for begun in (first, third):
        assert _waits(engine, second)
        assert engine.run("a")["workflowInstanceId"] == begun
        engine.settle()
    assert not _waits(engine, second)


@pytest.mark.parametrize("way", ["complete", "fail", "terminate", "time out"])
def test_every_end_lets_the_next_one_begin(engine: MemoryEngine, way: str) -> None:
    definition = _limited() | {"timeoutSeconds": 60, "timeoutPolicy": "TIME_OUT_WF"}
    first = engine.start(definition)
    pass_time(engine, seconds=30)
    second = engine.start(definition)
    if way == "complete":
        engine.run("a")
    elif way == "fail":
        run_failing(engine, "a")
    elif way == "terminate":
        engine.engine.executions.terminate(first, reason=None)
    else:
        pass_time(engine, seconds=31)
    engine.settle()
    assert status_of(engine, first) != "RUNNING"
    assert status_of(engine, second) == "RUNNING"
    assert not _waits(engine, second)


def test_one_that_is_terminated_while_it_waits_takes_no_turn(engine: MemoryEngine) -> None:
    first, second, third = (engine.start(_limited()) for _ in range(3))
    engine.engine.executions.terminate(second, reason=None)
    assert not engine.workflow(second)["rateLimited"]
    assert engine.run("a")["workflowInstanceId"] == first
    assert engine.run("a")["workflowInstanceId"] == third


def test_keys_are_resolved_and_each_has_its_own_limit(engine: MemoryEngine) -> None:
    definition = _limited(rateLimitKey="tenant-${workflow.input.tenant}")
    mine, yours, mine_too = (
        engine.start(definition, input={"tenant": tenant}) for tenant in ("x", "y", "x")
    )
    assert [_waits(engine, one) for one in (mine, yours, mine_too)] == [False, False, True]
    assert engine.workflow(yours)["rateLimitKey"] == "tenant-y"


def test_without_a_key_the_limit_is_the_workflows(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), rateLimitConfig={"concurrentExecLimit": 1})
    other = workflow("v", simple("a"), rateLimitConfig={"concurrentExecLimit": 1})
    executions = [engine.start(one) for one in (definition, definition, other)]
    assert [_waits(engine, one) for one in executions] == [False, True, False]


def test_reject_refuses_the_start_and_leaves_nothing(engine: MemoryEngine) -> None:
    engine.start(_limited(policy="REJECT"))
    with pytest.raises(LimitExceeded, match="w"):
        engine.start(_limited(policy="REJECT"))
    assert len(engine.engine.executions.running("w")) == 1
    engine.run("a")
    engine.start(_limited(policy="REJECT"))


def test_rejected_sub_workflow_fails_its_task(engine: MemoryEngine) -> None:
    child = _limited(name="child", policy="REJECT")
    engine.start(child)
    parent = engine.start(workflow("p", sub_workflow("s", child)))
    engine.settle()
    assert status_of(engine, parent) == "FAILED"
    assert "Rate limit" in engine.workflow(parent)["reasonForIncompletion"]


def test_sub_workflows_wait_for_their_turn(engine: MemoryEngine) -> None:
    child = _limited(name="child")
    first = engine.start(child)
    parent = engine.start(workflow("p", sub_workflow("s", child)))
    engine.settle()
    assert engine.run("a")["workflowInstanceId"] == first
    engine.settle()
    engine.run("a")
    engine.settle()
    assert status_of(engine, parent) == "COMPLETED"


def test_sub_workflow_of_the_same_limit_shares_its_parents_place(engine: MemoryEngine) -> None:
    inner = _limited()
    outer = _limited(tasks=[sub_workflow("s", inner)])
    parent = engine.start(outer)
    engine.settle()
    engine.run("a")
    engine.settle()
    assert status_of(engine, parent) == "COMPLETED"
    assert not _waits(engine, engine.start(inner))


def test_limit_of_zero_is_none(engine: MemoryEngine) -> None:
    executions = [engine.start(_limited(0)) for _ in range(3)]
    assert not any(_waits(engine, one) for one in executions)


@pytest.mark.parametrize("verb", ["retry", "restart"])
def test_ended_execution_that_is_opened_again_counts(engine: MemoryEngine, verb: str) -> None:
    first = engine.start(_limited())
    run_failing(engine, "a")
    second = engine.start(_limited())
    getattr(engine.engine.recovery, verb)(first)
    engine.settle()
    third = engine.start(_limited())
    assert not _waits(engine, first)
    assert _waits(engine, third)
    for _ in range(2):
        engine.run("a")
        engine.settle()
    assert {status_of(engine, one) for one in (first, second)} == {"COMPLETED"}
    assert not _waits(engine, third)


def test_removed_execution_frees_its_place(engine: MemoryEngine) -> None:
    first, second = engine.start(_limited()), engine.start(_limited())
    engine.engine.steering.remove(first, archive=False)
    engine.settle()
    assert not _waits(engine, second)


def test_paused_execution_keeps_its_turn(engine: MemoryEngine) -> None:
    engine.start(_limited())
    second, third = engine.start(_limited()), engine.start(_limited())
    engine.engine.steering.pause(second)
    engine.run("a")
    engine.settle()
    assert not engine.poll("a")
    engine.engine.steering.resume(second)
    engine.settle()
    assert engine.run("a")["workflowInstanceId"] == second
    engine.settle()
    assert not _waits(engine, third)


def test_one_that_times_out_waiting_and_is_restarted_at_once_runs_and_ends(
    engine: MemoryEngine,
) -> None:
    """End and restart are one decision: what the first run waited for is not waited for again."""
    first = engine.start(_limited())
    timed = {"timeoutSeconds": 60, "timeoutPolicy": "TIME_OUT_WF"}
    second = engine.start(_limited() | timed)
    assert _waits(engine, second)
    engine.clock.advance(seconds=61)
    engine.engine.recovery.restart(second)
    assert not engine.workflow(second)["rateLimited"]
    tasks = engine.poll("a", 2)
    assert {task["workflowInstanceId"] for task in tasks} == {first, second}
    for task in tasks:
        engine.complete(task)
    engine.settle()
    assert status_of(engine, second) == "COMPLETED"


def test_rejected_execution_that_is_opened_again_counts(engine: MemoryEngine) -> None:
    first = engine.start(_limited())
    child = _limited(name="w", policy="REJECT")
    parent = engine.start(workflow("p", sub_workflow("s", child)))
    rejected = engine.workflow(parent)["tasks"][0]["subWorkflowId"]
    engine.engine.recovery.restart(rejected)
    engine.engine.executions.terminate(first, reason=None)
    third = engine.start(_limited())
    assert _waits(engine, third)
    engine.engine.executions.terminate(rejected, reason=None)
    engine.settle()
    assert not _waits(engine, third)

"""SUB_WORKFLOW with an idempotency key: which execution the task waits for, wherever that is."""

from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine.decisions.operations import Operations
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.inspector import QUARANTINE
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    pass_time,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    workflow,
)

_CHILD = workflow("child", simple("c"), outputParameters={"by": "${c.output.by}"})


def keyed(ref: str = "s", key: Any = "k", strategy: str | None = None, **more: Any) -> Any:
    task = sub_workflow(ref, more.pop("child", _CHILD), **more)
    task["subWorkflowParam"] |= {"idempotencyKey": key, "idempotencyStrategy": strategy}
    return task


def child_of(engine: MemoryEngine, workflow_id: str, ref: str = "s") -> str:
    return str(task_of(engine, workflow_id, ref)["subWorkflowId"])


def started(engine: MemoryEngine, *tasks: Any, **request: Any) -> str:
    execution = engine.start(workflow("w", *tasks), **request)
    pass_time(engine, seconds=1)
    return execution


@pytest.fixture
def partitioned() -> MemoryEngine:
    """An engine whose executions live in 16 partitions."""
    clock = FakeClock()
    return memory_engine(clock=clock, space=MemorySpace(partitions=16, clock=clock))


@pytest.fixture(params=["engine", "partitioned"])
def world(request: pytest.FixtureRequest) -> MemoryEngine:
    found: MemoryEngine = request.getfixturevalue(request.param)
    return found


def test_the_child_holds_the_key_and_ends_the_task(world: MemoryEngine) -> None:
    parent = started(world, keyed(key="order-${workflow.input.n}"), input={"n": 7})
    child = child_of(world, parent)
    found = world.workflow(child)
    assert found["idempotencyKey"] == "order-7"
    assert (found["parentWorkflowId"], found["input"]) == (parent, {})
    world.run("c", {"by": "me"})
    pass_time(world, seconds=1)
    assert status_of(world, parent) == "COMPLETED"
    assert task_of(world, parent, "s")["outputData"] == {"by": "me", "subWorkflowId": child}


def test_children_with_a_key_reach_their_parents_in_any_partition(
    partitioned: MemoryEngine,
) -> None:
    parents = [
        started(partitioned, keyed(key=f"k{n}", inputParameters={"n": n})) for n in range(12)
    ]
    children = [child_of(partitioned, parent) for parent in parents]
    abroad = [
        partition_of(ExecutionId(one)) != partition_of(ExecutionId(other))
        for one, other in zip(parents, children, strict=True)
    ]
    assert any(abroad)
    for task in partitioned.poll("c", 12):
        partitioned.complete(task, {"by": task["workflowInstanceId"]})
    pass_time(partitioned, seconds=1)
    for parent, child in zip(parents, children, strict=True):
        assert task_of(partitioned, parent, "s")["outputData"]["by"] == child
        assert partitioned.workflow(child)["input"] in [{"n": n} for n in range(12)]


def test_without_a_value_there_is_no_key(engine: MemoryEngine) -> None:
    parents = [started(engine, keyed(key="${workflow.input.none}")) for _ in range(2)]
    assert len({child_of(engine, parent) for parent in parents}) == 2


@pytest.mark.parametrize("strategy", [None, "FAIL", "FAIL_ON_RUNNING"])
def test_a_key_in_use_fails_the_task(world: MemoryEngine, strategy: str | None) -> None:
    first = started(world, keyed(strategy=strategy))
    second = started(world, keyed(strategy=strategy))
    assert status_of(world, second) == "FAILED"
    reason = task_of(world, second, "s")["reasonForIncompletion"]
    assert reason == f"Idempotency key 'k' is in use by workflow {child_of(world, first)}"
    assert status_of(world, first) == "RUNNING"


def test_a_key_whose_execution_has_ended_is_free_when_only_running_ones_hold_it(
    engine: MemoryEngine,
) -> None:
    first = started(engine, keyed(strategy="FAIL_ON_RUNNING"))
    engine.run("c")
    second = started(engine, keyed(strategy="FAIL_ON_RUNNING"))
    assert child_of(engine, second) != child_of(engine, first)
    assert status_of(engine, second) == "RUNNING"


def test_an_existing_execution_is_followed_to_its_end(world: MemoryEngine) -> None:
    first = started(world, keyed(strategy="RETURN_EXISTING"))
    second = started(world, keyed(strategy="RETURN_EXISTING"))
    assert child_of(world, second) == child_of(world, first)
    pass_time(world, seconds=30)
    assert status_of(world, second) == "RUNNING"
    (task,) = world.poll("c", 5)
    world.complete(task, {"by": "one"})
    pass_time(world, seconds=60)
    for parent in (first, second):
        assert status_of(world, parent) == "COMPLETED"
        assert task_of(world, parent, "s")["outputData"]["by"] == "one"


def test_an_existing_execution_that_has_ended_ends_the_task_at_once(world: MemoryEngine) -> None:
    before = world.start(_CHILD, idempotency_key="k")
    world.run("c", {"by": "early"})
    parent = started(world, keyed(strategy="RETURN_EXISTING"))
    assert status_of(world, parent) == "COMPLETED"
    assert task_of(world, parent, "s")["outputData"] == {"by": "early", "subWorkflowId": before}


def test_one_that_is_followed_is_never_ended_from_here(world: MemoryEngine) -> None:
    existing = world.start(_CHILD, idempotency_key="k")
    parent = started(world, keyed(strategy="RETURN_EXISTING"))
    world.engine.executions.terminate(parent, reason="enough")
    pass_time(world, seconds=120)
    assert status_of(world, parent) == "TERMINATED"
    assert status_of(world, existing) == "RUNNING"


def test_a_child_ends_with_its_parent(world: MemoryEngine) -> None:
    for key in "abcdef":
        parent = started(world, keyed(key=key))
        child = child_of(world, parent)
        world.engine.executions.terminate(parent, reason="enough")
        pass_time(world, seconds=1)
        assert status_of(world, child) == "TERMINATED"


def test_a_parent_that_ends_before_its_order_is_carried_out_leaves_no_child(
    engine: MemoryEngine,
) -> None:
    parent = engine.start(workflow("w", keyed()))
    engine.engine.executions.terminate(parent, reason="enough")
    pass_time(engine, seconds=1)
    assert engine.engine.executions.running("child") == ()


def test_failure_of_one_that_is_followed_fails_the_task(world: MemoryEngine) -> None:
    existing = world.start(_CHILD, idempotency_key="k")
    parent = started(world, keyed(strategy="RETURN_EXISTING"))
    run_failing(world, "c", "broken")
    pass_time(world, seconds=60)
    assert status_of(world, parent) == "FAILED"
    reason = task_of(world, parent, "s")["reasonForIncompletion"]
    assert reason == f"Sub workflow {existing} FAILED: Task c (c) failed: broken"


def test_a_retry_resumes_a_failed_child_wherever_it_is(world: MemoryEngine) -> None:
    for key in "abcdef":
        parent = started(world, keyed(key=key))
        child = child_of(world, parent)
        run_failing(world, "c", "broken")
        pass_time(world, seconds=1)
        assert status_of(world, parent) == "FAILED"
        world.engine.recovery.retry(parent, resume_subworkflows=True)
        pass_time(world, seconds=1)
        assert child_of(world, parent) == child
        world.run("c")
        pass_time(world, seconds=1)
        assert status_of(world, parent) == "COMPLETED"


def test_a_task_that_waits_for_its_own_execution_fails(world: MemoryEngine) -> None:
    recursion = switch("again", "yes", {"yes": [keyed(strategy="RETURN_EXISTING", child="w")]})
    definition = workflow_from_json(workflow("w", recursion))
    world.engine.definitions.register(definition, overwrite=True)
    parent = world.start("w", idempotency_key="k")
    pass_time(world, seconds=1)
    assert status_of(world, parent) == "FAILED"
    reason = task_of(world, parent, "s")["reasonForIncompletion"]
    assert reason.endswith(f"{parent}, which waits for this task")


def test_a_key_that_is_no_text_fails_the_task(engine: MemoryEngine) -> None:
    parent = started(engine, keyed(key="${workflow.input.k}"), input={"k": {"a": 1}})
    task = task_of(engine, parent, "s")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert task["reasonForIncompletion"] == (
        "subWorkflowParam.idempotencyKey does not yield a text"
    )


def test_what_is_masked_for_readers_reaches_the_child(engine: MemoryEngine) -> None:
    parent = workflow("w", keyed(inputParameters={"token": "s3cret"}), maskedFields=["token"])
    execution = engine.start(parent)
    pass_time(engine, seconds=1)
    assert engine.workflow(child_of(engine, execution))["input"] == {"token": "s3cret"}


def test_two_tasks_of_one_execution_share_no_key(engine: MemoryEngine) -> None:
    parent = started(
        engine,
        set_variable("v", n=1),
        keyed(key="k-${v.input.n}", optional=True),
        keyed("t", key="k-${v.input.n}", optional=True),
    )
    engine.run("c")
    pass_time(engine, seconds=1)
    assert task_of(engine, parent, "t")["status"] == "COMPLETED_WITH_ERRORS"
    assert len(tasks_of(engine, parent, "s")) == 1


def test_a_crash_behind_the_start_starts_nothing_twice(
    world: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(Operations, "carry_out", _away)
        parent = started(world, keyed(strategy="RETURN_EXISTING"))
        assert task_of(world, parent, "s").get("subWorkflowId") is None
        world.run("c", {"by": "quick"})
    pass_time(world, seconds=60)
    assert status_of(world, parent) == "COMPLETED"
    assert task_of(world, parent, "s")["outputData"]["by"] == "quick"
    assert world.workflow(child_of(world, parent))["parentWorkflowId"] == parent


def test_a_crash_behind_the_start_of_a_parent_that_then_ends_leaves_no_child(
    world: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(Operations, "carry_out", _away)
        parent = started(world, keyed())
    (child,) = world.engine.executions.running("child")
    world.engine.executions.terminate(parent, reason="enough")
    pass_time(world, seconds=60)
    assert status_of(world, child) == "TERMINATED"


def _away(*_: Any, **__: Any) -> bool:
    raise StoreUnavailable("away")


def test_a_child_with_a_key_is_about_the_same_instant(world: MemoryEngine) -> None:
    parent = started(world, keyed(), business_at=1_000_000, zone="Asia/Shanghai")
    child = world.workflow(child_of(world, parent))
    assert (child["businessTime"], child["zoneId"]) == (1_000_000, "Asia/Shanghai")


def test_a_parent_in_another_partition_hears_why_its_child_was_dropped(
    partitioned: MemoryEngine,
) -> None:
    parents = [started(partitioned, keyed(key=f"k{n}")) for n in range(12)]
    children = [ExecutionId(child_of(partitioned, parent)) for parent in parents]
    dropped = [
        (parent, child)
        for parent, child in zip(parents, children, strict=True)
        if partition_of(ExecutionId(parent)) != partition_of(child)
    ]
    assert dropped
    for _, child in dropped:
        stored = partitioned.space.of(child).executions[child]
        stored.fields["h"] = stored.fields["h"].replace(b'"f":', b'"lost":')
        stored.holder = QUARANTINE
        assert partitioned.engine.quarantine.end(child, "enough")
    pass_time(partitioned, seconds=1)
    for parent, child in dropped:
        assert status_of(partitioned, parent) == "TERMINATED"
        found = task_of(partitioned, parent, "s")
        assert found["status"] == "CANCELED"
        assert "an operator has dropped it" in found["reasonForIncompletion"]
        assert found["outputData"] == {"subWorkflowId": child}

"""What stands in a loop when it ends before its body, and what a loop keeps of its past."""

from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider.workspace import Limits
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    do_while,
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    policy,
    report,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    typed,
    wait,
    workflow,
)

_LIMITS = pytest.mark.parametrize(
    "limits", [Limits(), Limits(attempts=1), Limits(rounds=1)], ids=["whole", "one", "rounds"]
)


def _bad(ref: str = "bad") -> dict[str, Any]:
    return simple(ref, permissive=True)


@_LIMITS
def test_optional_loop_that_fails_early_cancels_its_open_tasks(limits: Limits) -> None:
    engine = memory_engine(limits=limits)
    loop = for_each("l", [1, 2], fork("f", [_bad()], [simple("other")]), join("j"), optional=True)
    started = engine.start(workflow("w", loop, simple("z")))
    engine.settle()
    run_failing(engine, "bad")
    engine.settle()
    found = engine.statuses(started)
    assert found["other__1"] == "CANCELED"
    assert found["j__1"] in {"CANCELED", "COMPLETED"}
    assert found["l"] == "COMPLETED_WITH_ERRORS"
    assert engine.poll("other") == []
    engine.run("z")
    engine.settle()
    assert status_of(engine, started) == "FAILED", "a permissive task failed"


@_LIMITS
def test_everything_at_any_depth_is_cancelled_with_the_loop(limits: Limits) -> None:
    engine = memory_engine(limits=limits)
    deep = times("inner", 2, switch("s", "a", {"a": [simple("deep")]}))
    spread = fork_inputs("g", [1, 2, 3], forkTaskName="wide")
    child = sub_workflow("c", workflow("child", simple("in_child")))
    body = fork("f", [_bad()], [deep], [spread, join("gj")], [child], [wait("t")])
    loop = times("l", 2, body, join("j", "bad", "inner", "gj", "c", "t"), optional=True)
    started = engine.start(workflow("w", loop, simple("z")))
    engine.settle()
    (held,) = engine.poll("deep")
    child_id = task_of(engine, started, "c__1")["subWorkflowId"]
    run_failing(engine, "bad")
    engine.settle()
    left = {ref: status for ref, status in engine.statuses(started).items() if ref != "z"}
    assert set(left.values()) <= {"CANCELED", "COMPLETED", "FAILED", "COMPLETED_WITH_ERRORS"}
    assert left["deep__1__1"] == left["inner__1"] == left["c__1"] == left["t__1"] == "CANCELED"
    assert status_of(engine, child_id) == "TERMINATED"
    assert engine.poll("wide", 9) == []
    engine.complete(held)
    assert engine.statuses(started)["deep__1__1"] == "CANCELED"
    engine.run("z")
    engine.settle()
    assert status_of(engine, started) == "FAILED", "a permissive task failed"


def test_loop_that_is_reported_on_from_outside_leaves_nothing_open(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 3, simple("a")), simple("z")))
    report(engine, task_of(engine, started, "l"), output={"by": "hand"})
    assert engine.statuses(started) == {"l": "COMPLETED", "a__1": "CANCELED", "z": "SCHEDULED"}


def test_retry_of_a_body_task_dies_with_the_loop(engine: MemoryEngine) -> None:
    slow = policy("slow", retryCount=3, retryDelaySeconds=60)
    loop = times("l", 2, fork("f", [_bad()], [slow]), join("j", "bad", "slow"), optional=True)
    started = engine.start(workflow("w", loop))
    run_failing(engine, "slow")
    run_failing(engine, "bad")
    engine.clock.advance(seconds=120)
    engine.settle()
    assert engine.poll("slow") == []
    assert status_of(engine, started) == "FAILED", "a permissive task failed"


def _fields(space: MemorySpace, started: str) -> set[str]:
    return set(space.partition(0).executions[started].fields)


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_a_loop_keeps_its_last_iterations_only(keep: int) -> None:
    engine = memory_engine()
    body = inline("i", "$.n", n="${l.output.iteration}")
    started = engine.start(
        workflow("w", times("l", 5, body, inputParameters={"keepLastN": keep}), simple("z"))
    )
    output = task_of(engine, started, "l")["outputData"]
    kept = range(5 - keep + 1, 6)
    assert output == {"iteration": 5, **{str(n): {"i": {"result": n}} for n in kept}}
    refs = [ref for ref in engine.statuses(started) if ref.startswith("i__")]
    assert refs == [f"i__{n}" for n in kept]


@_LIMITS
def test_what_is_forgotten_leaves_the_store_at_any_depth(limits: Limits) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space, limits=limits)
    spread = fork_inputs("g", [1, 2], forkTaskName="wide", forkTaskType="NOOP")
    inner = for_each("inner", [1, 2], simple("deep"))
    loop = times("l", 4, spread, join("gj"), inner, inputParameters={"keepLastN": 1})
    started = engine.start(workflow("w", loop, simple("z")))
    for _ in range(8):
        engine.settle()
        engine.run("deep")
    engine.settle()
    refs = set(engine.statuses(started))
    assert refs == {
        *("l", "z", "g__4", "gj__4", "inner__4", "_g_wide_0__4", "_g_wide_1__4"),
        *("deep__4__1", "deep__4__2"),
    }
    stale = {name for name in _fields(space, started) if "#" in name and "#4" not in name}
    assert stale == set()


def test_a_retried_task_is_forgotten_with_all_its_attempts(engine: MemoryEngine) -> None:
    loop = times("l", 3, policy("a", retryCount=1), inputParameters={"keepLastN": 1})
    started = engine.start(workflow("w", loop))
    for _ in range(3):
        run_failing(engine, "a")
        engine.clock.advance(seconds=1)
        engine.settle()
        engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert [t["referenceTaskName"] for t in engine.workflow(started)["tasks"]] == [
        *("l", "a__3", "a__3")
    ]


@pytest.mark.anomaly("A-36")
@pytest.mark.parametrize("keep", ["${workflow.input.n}", "many", -1, 0, 1.5, [1], {"a": 1}])
def test_a_keep_last_n_that_is_no_number_fails_the_loop(engine: MemoryEngine, keep: Any) -> None:
    loop = do_while("l", "false", simple("a"), inputParameters={"keepLastN": keep})
    started = engine.start(workflow("w", loop), input={"n": "none"})
    assert engine.statuses(started)["l"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "keepLastN" in engine.workflow(started)["reasonForIncompletion"]


@pytest.mark.parametrize("optional", [False, True])
def test_a_loop_that_is_made_anew_behind_what_failed_in_it_fails(*, optional: bool) -> None:
    """A retry has made the loop after the first task of its body, whose rerun comes first then."""
    engine = memory_engine(limits=Limits(attempts=1))
    body = [typed("SET_VARIABLE", "v"), {**dynamic_fork("f"), "permissive": True}, join("j")]
    loop = {**typed("DO_WHILE", "l", loopCondition="false", loopOver=body), "optional": optional}
    started = engine.start(workflow("w", loop), input={"branches": "none"})
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()
    engine.engine.recovery.rerun(started, RerunRequest(from_ref="v"))
    engine.settle()
    assert engine.statuses(started)["l"] == ("COMPLETED_WITH_ERRORS" if optional else "FAILED")
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert "Task f__1 (FORK) failed: Input 'branches'" in found["reasonForIncompletion"]

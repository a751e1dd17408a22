"""A recovery that an end cuts off before it has made anew all that it was to: the next one does."""

from collections.abc import Callable
from functools import partial

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider.workspace import Limits
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.errors import Conflict
from conductor_py.model.requests import ForceRequest, RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.recount import complaints
from tests.builders import (
    Json,
    dag,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    workflow,
)
from tests.decider.cutting import cut_off

_NAMES = "abc"


def _graph() -> Json:
    return dag("w", [simple(name) for name in _NAMES], "a > b", "b > c")


def _list() -> Json:
    return workflow("w", *(simple(name) for name in _NAMES))


def _completed(engine: MemoryEngine, definition: Json) -> str:
    started = engine.start(definition)
    engine.settle()
    for name in _NAMES:
        engine.run(name)
        engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    return started


def _sound(space: MemorySpace, engine: MemoryEngine) -> None:
    find_plan = partial(snapshots_of(engine.ports).plan, 0)
    assert complaints(space.partition(0), find_plan, engine.clock.now_ms) == []


@pytest.mark.parametrize(
    ("make", "commits"),
    [*((_graph, commits) for commits in range(1, 5)), *((_list, n) for n in range(1, 6))],
)
def test_a_retry_goes_on_with_a_rerun_wherever_it_was_cut_off(
    make: Callable[[], Json], commits: int
) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(limits=Limits(attempts=1, rounds=1), space=space, clock=clock)
    started = _completed(engine, make())
    rerun = partial(
        engine.engine.recovery.rerun, started, RerunRequest(from_ref="b", task_input={"n": 1})
    )
    cut_off(engine, commits, rerun)
    assert not engine.poll("b")
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    _sound(space, engine)
    cut_off(engine, 1, partial(engine.engine.recovery.retry, started))
    _sound(space, engine)
    engine.settle()
    assert engine.run("b")["inputData"] == {"n": 1}
    engine.settle()
    _sound(space, engine)
    engine.run("c")
    engine.settle()
    _sound(space, engine)
    assert status_of(engine, started) == "COMPLETED"
    assert not engine.poll("a")


@pytest.mark.parametrize("commits", range(3, 12))
def test_a_retry_goes_on_with_the_child_that_a_dag_was_about_to_wait_for(commits: int) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(limits=Limits(attempts=1, rounds=1), space=space, clock=clock)
    middle = dag("m", [sub_workflow("s", workflow("c", simple("x"))), simple("y")], "s > y")
    root = engine.start(workflow("w", sub_workflow("m", middle), simple("z")))
    engine.settle()
    for name in "xyz":
        engine.run(name)
        engine.settle()
    graph = task_of(engine, root, "m")["subWorkflowId"]
    child = task_of(engine, graph, "s")["subWorkflowId"]
    named = RerunRequest(from_task=task_of(engine, child, "x")["taskId"])
    cut_off(engine, commits, partial(engine.engine.recovery.rerun, root, named))
    if status_of(engine, graph) == "RUNNING":
        engine.engine.executions.terminate(graph, reason="enough")
        engine.settle()
        engine.engine.recovery.retry(graph, resume_subworkflows=True)
    engine.settle()
    assert [status_of(engine, each) for each in (root, graph, child)] == ["RUNNING"] * 3
    for name in "xyz":
        engine.run(name)
        engine.settle()
    assert status_of(engine, root) == "COMPLETED"
    _sound(space, engine)


def _failed() -> tuple[MemorySpace, MemoryEngine, str]:
    """A DAG whose second task has failed, decided in the smallest pieces."""
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(limits=Limits(attempts=1, rounds=1), space=space, clock=clock)
    started = engine.start(_graph())
    engine.settle()
    engine.run("a")
    engine.settle()
    run_failing(engine, "b", "sour")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    return space, engine, started


@pytest.mark.parametrize("commits", range(1, 6))
def test_a_task_that_a_retry_is_about_to_make_anew_cannot_be_forced(commits: int) -> None:
    space, engine, started = _failed()
    cut_off(engine, commits, partial(engine.engine.recovery.retry, started))
    with pytest.raises(Conflict, match="Task b may still succeed"):
        engine.engine.recovery.force_success(started, "b", ForceRequest())
    engine.settle()
    _sound(space, engine)
    engine.run("b")
    engine.settle()
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("commits", range(1, 6))
def test_a_task_that_is_forced_is_no_more_to_be_made_anew_by_a_retry_that_was_cut_off(
    commits: int,
) -> None:
    space, engine, started = _failed()
    cut_off(engine, commits, partial(engine.engine.recovery.retry, started))
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.force_success(started, "b", ForceRequest())
    engine.settle()
    _sound(space, engine)
    engine.run("c")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    _sound(space, engine)

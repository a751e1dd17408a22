"""Jump: a running execution goes on at a task that it has not reached yet."""

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, InvalidInput, NotFound
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    fork,
    fork_inputs,
    join,
    pass_time,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    times,
    workflow,
)


@pytest.fixture(params=[1, 1000])
def engine(request: pytest.FixtureRequest) -> MemoryEngine:
    return memory_engine(limits=Limits(attempts=request.param))


def _jump(engine: MemoryEngine, started: str, ref: str, given: Json | None = None) -> None:
    engine.engine.recovery.jump(started, ref, given or {})
    engine.settle()


def test_open_task_is_canceled_and_those_in_between_are_skipped(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c"), simple("d")))
    _jump(engine, started, "c", {"n": 7})
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["CANCELED", "SKIPPED"]
    assert engine.statuses(started) == {"a": "SKIPPED", "b": "SKIPPED", "c": "SCHEDULED"}
    assert task_of(engine, started, "c")["inputData"] == {"n": 7}
    assert not engine.poll("a")
    engine.run("c")
    engine.run("d")
    assert status_of(engine, started) == "COMPLETED"


def test_task_that_was_to_be_skipped_runs_for_whoever_jumps_to_it(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    engine.engine.steering.skip(started, "b", task_input={}, task_output={})
    _jump(engine, started, "b")
    assert engine.statuses(started) == {"a": "SKIPPED", "b": "SCHEDULED"}
    engine.run("b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_late_result_of_a_canceled_task_is_ignored(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    (held,) = engine.poll("a")
    _jump(engine, started, "c")
    engine.complete(held, {"late": 1})
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_what_is_done_stays_done(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    engine.run("a", {"v": 1})
    _jump(engine, started, "c")
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SKIPPED", "c": "SCHEDULED"}


def test_open_fork_with_its_join_and_children_is_left_behind(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    started = engine.start(
        workflow("w", fork("f", [simple("a")], [child]), join("j", "a", "s"), simple("z"))
    )
    engine.settle()
    started_child = task_of(engine, started, "s")["subWorkflowId"]
    _jump(engine, started, "z")
    pass_time(engine, seconds=2)
    assert status_of(engine, started_child) == "TERMINATED"
    assert [t["status"] for t in tasks_of(engine, started, "j")] == ["CANCELED", "SKIPPED"]
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_dynamic_fork_is_left_behind(engine: MemoryEngine) -> None:
    spread = fork_inputs("g", list(range(20)), forkTaskName="work")
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    engine.settle()
    _jump(engine, started, "z")
    assert not engine.poll("work")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_branches_beside_the_target_go_on(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("b"), simple("c")], [simple("d")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "c", "d")))
    engine.settle()
    _jump(engine, started, "c")
    assert engine.statuses(started)["d"] == "SCHEDULED"
    engine.run("d")
    engine.run("c")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_join_of_a_task_that_is_passed_over_does_not_wait_for_it(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("b")], [simple("d")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b", "d")))
    engine.settle()
    _jump(engine, started, "b")
    engine.run("d")
    engine.run("b")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_target_in_the_present_iteration_of_a_loop(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("a"), simple("b"), simple("c"))))
    engine.settle()
    _jump(engine, started, "c")
    assert engine.statuses(started)["c__1"] == "SCHEDULED"
    engine.run("c")
    engine.settle()
    for ref in ("a", "b", "c"):
        engine.run(ref)
        engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_task_of_a_choice_that_is_under_way(engine: MemoryEngine) -> None:
    choice = switch("s", "1", {"1": [simple("a"), simple("b")], "2": [simple("c")]})
    started = engine.start(workflow("w", choice))
    engine.settle()
    with pytest.raises(Conflict, match="not under way"):
        _jump(engine, started, "c")
    _jump(engine, started, "b")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_what_cannot_be_jumped_to(engine: MemoryEngine) -> None:
    inner = fork("f", [simple("x")])
    started = engine.start(workflow("w", simple("a"), simple("b"), inner, join("j", "x")))
    engine.run("a")
    before = engine.workflow(started)
    with pytest.raises(InvalidInput, match="no task of reference"):
        _jump(engine, started, "nobody")
    with pytest.raises(Conflict, match="reached already"):
        _jump(engine, started, "a")
    with pytest.raises(Conflict, match="not under way"):
        _jump(engine, started, "x")
    with pytest.raises(NotFound):
        _jump(engine, "00000000-0000-0000-0000-000000000000", "a")
    assert engine.workflow(started)["tasks"] == before["tasks"]
    engine.engine.executions.terminate(started, reason="over")
    with pytest.raises(Conflict):
        _jump(engine, started, "j")


def _rerun(engine: MemoryEngine, started: str, ref: str) -> None:
    """Again from the newest task of a reference."""
    task_id = tasks_of(engine, started, ref)[-1]["taskId"]
    engine.engine.recovery.rerun(started, RerunRequest(from_task=task_id))
    engine.settle()


@pytest.mark.parametrize("first", ["a", "b"])
def test_rerun_within_what_a_jump_passed_over_comes_to_all_of_it(
    engine: MemoryEngine, first: str
) -> None:
    choice = switch("s", "1", {"1": [simple("a"), simple("b"), simple("c")]})
    started = engine.start(workflow("w", choice, simple("z")))
    engine.run("a")
    _jump(engine, started, "z")
    engine.run("z")
    _rerun(engine, started, first)
    for ref in "abcz"["abcz".index(first) :]:
        assert engine.run(ref), ref
    assert status_of(engine, started) == "COMPLETED"


def test_rerun_in_a_fork_that_a_jump_passed_over_waits_for_all_branches(
    engine: MemoryEngine,
) -> None:
    branches = [simple("a"), simple("b")], [simple("c"), simple("d")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b", "d"), simple("z")))
    engine.settle()
    engine.run("c")
    _jump(engine, started, "z")
    engine.run("z")
    _rerun(engine, started, "a")
    assert engine.run("a")
    assert engine.run("b")
    assert engine.statuses(started)["c"] == "COMPLETED"
    assert not engine.poll("z")
    assert engine.run("d")
    engine.settle()
    assert engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_rerun_beside_a_branch_that_a_jump_has_led_on_leaves_it_as_it_is(
    engine: MemoryEngine,
) -> None:
    inner = fork("g", [simple("x")], [simple("y")])
    branches = [inner, join("k", "x", "y"), simple("z")], [simple("p")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "z", "p")))
    engine.settle()
    _jump(engine, started, "z")
    engine.run("z")
    engine.run("p")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    _rerun(engine, started, "p")
    assert [engine.poll(ref) for ref in "xyz"] == [[], [], []]
    engine.run("p")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_rerun_in_a_loop_that_a_jump_passed_over_goes_on_with_it(engine: MemoryEngine) -> None:
    choice = switch("s", "1", {"1": [simple("a"), simple("b")]})
    started = engine.start(workflow("w", times("l", 2, choice), simple("z")))
    engine.settle()
    engine.run("a")
    _jump(engine, started, "z")
    engine.run("z")
    _rerun(engine, started, "b__1")
    for ref in ("b", "a", "b", "z"):
        assert engine.run(ref), ref
        engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_child_that_begins_anew_beside_what_a_jump_passed_over(engine: MemoryEngine) -> None:
    child = sub_workflow("s", workflow("c", simple("x")))
    branches = [child], [simple("a"), simple("b")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "s", "b"), simple("z")))
    engine.settle()
    engine.run("x")
    engine.run("a")
    engine.settle()
    _jump(engine, started, "z")
    engine.engine.recovery.restart(task_of(engine, started, "s")["subWorkflowId"])
    engine.settle()
    assert engine.run("x")
    engine.settle()
    assert not engine.poll("z")
    assert engine.run("b")
    engine.settle()
    assert engine.run("z")
    assert status_of(engine, started) == "COMPLETED"

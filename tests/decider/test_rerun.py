"""Rerun from a task: what follows it is done again, what stands beside it stays."""

from typing import Any

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, InvalidInput
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    times,
    typed,
    wait,
    workflow,
)


@pytest.fixture(params=[1, 2, 1000])
def engine(request: pytest.FixtureRequest) -> MemoryEngine:
    return memory_engine(limits=Limits(attempts=request.param))


def _rerun(engine: MemoryEngine, started: str, ref: str, **how: Any) -> None:
    task = task_of(engine, started, ref)["taskId"]
    engine.engine.recovery.rerun(started, RerunRequest(from_task=task, **how))
    engine.settle()


def _run(engine: MemoryEngine, *refs: str) -> None:
    for ref in refs:
        engine.settle()
        engine.run(ref, {"of": ref})
    engine.settle()


def _present(engine: MemoryEngine, started: str) -> dict[str, str]:
    """What counts by reference: superseded attempts aside."""
    tasks: list[Json] = engine.workflow(started)["tasks"]
    return {t["referenceTaskName"]: t["status"] for t in tasks if not t["retried"]}


def test_task_and_what_follows_it_run_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("c")))
    _run(engine, "a", "b", "c")
    old = task_of(engine, started, "b")
    _rerun(engine, started, "b", task_input={"new": 1})
    assert _present(engine, started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    new = task_of(engine, started, "b")
    assert (new["inputData"], new["retriedTaskId"], new["retryCount"]) == (
        {"new": 1},
        old["taskId"],
        0,
    )
    _run(engine, "b", "c")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "a")) == 1


def test_what_runs_again_reads_the_new_outputs(engine: MemoryEngine) -> None:
    last = simple("c", inputParameters={"b": "${b.output.n}"})
    started = engine.start(workflow("w", simple("a"), simple("b"), last))
    _run(engine, "a")
    engine.run("b", {"n": 1})
    _run(engine, "c")
    _rerun(engine, started, "b")
    engine.run("b", {"n": 2})
    engine.settle()
    assert task_of(engine, started, "c")["inputData"] == {"b": 2}


def test_execution_under_way_cannot_be_rerun(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    with pytest.raises(Conflict):
        _rerun(engine, started, "a")


def test_task_that_is_none_of_the_execution(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    other = engine.start(workflow("w", simple("b")))
    _run(engine, "a", "b")
    before = engine.workflow(started)
    foreign = task_of(engine, other, "b")["taskId"]
    for unknown in ("nobody", f"{started}-99", foreign):
        with pytest.raises(InvalidInput):
            engine.engine.recovery.rerun(started, RerunRequest(from_task=unknown))
    assert engine.workflow(started) == before


@pytest.mark.anomaly("A-40")
def test_task_that_was_skipped_before_it_was_reached(engine: MemoryEngine) -> None:
    loop = for_each("l", [1, 2, 3], simple("a"))
    started = engine.start(workflow("w", loop, simple("z")))
    engine.engine.steering.skip(started, "a__3", task_input={}, task_output={})
    run_failing(engine, "a")
    (ahead,) = [t for t in engine.workflow(started)["tasks"] if t["status"] == "SKIPPED"]
    with pytest.raises(InvalidInput, match="skipped before"):
        engine.engine.recovery.rerun(started, RerunRequest(from_task=ahead["taskId"]))
    engine.engine.recovery.retry(started)
    for _ in range(2):
        engine.run("a")
        engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-40")
def test_branch_of_a_fork_runs_again_beside_the_others(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("b")], [simple("c"), simple("d")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b", "d"), simple("z")))
    _run(engine, "a", "c", "b", "d", "z")
    assert status_of(engine, started) == "COMPLETED"
    _rerun(engine, started, "a")
    assert _present(engine, started) == {
        "f": "COMPLETED",
        "a": "SCHEDULED",
        "c": "COMPLETED",
        "d": "COMPLETED",
        "j": "IN_PROGRESS",
    }
    _run(engine, "a", "b", "z")
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "j")["outputData"] == {"b": {"of": "b"}, "d": {"of": "d"}}
    assert len(tasks_of(engine, started, "d")) == 1


@pytest.mark.anomaly("A-40")
def test_fork_itself_opens_all_its_branches_again(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    )
    _run(engine, "a", "b")
    _rerun(engine, started, "f")
    _run(engine, "a", "b")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "a")) == 2


@pytest.mark.anomaly("A-40")
def test_join_alone_ends_again(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"), simple("z"))
    )
    _run(engine, "a", "b", "z")
    _rerun(engine, started, "j")
    assert _present(engine, started)["j"] == "COMPLETED"
    _run(engine, "z")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "a")) == 1


@pytest.mark.anomaly("A-40")
def test_switch_chooses_again(engine: MemoryEngine) -> None:
    choice = switch("s", "${a.output.of}", {"a": [simple("x")]}, [simple("y")])
    started = engine.start(workflow("w", simple("a"), choice, simple("z")))
    _run(engine, "a", "x", "z")
    _rerun(engine, started, "s")
    assert _present(engine, started) == {"a": "COMPLETED", "s": "COMPLETED", "x": "SCHEDULED"}
    _run(engine, "x", "z")
    assert status_of(engine, started) == "COMPLETED"


def test_task_in_a_switch(engine: MemoryEngine) -> None:
    choice = switch("s", "1", {"1": [simple("x"), simple("y")]})
    started = engine.start(workflow("w", choice, simple("z")))
    _run(engine, "x", "y", "z")
    _rerun(engine, started, "y")
    assert _present(engine, started) == {"s": "COMPLETED", "x": "COMPLETED", "y": "SCHEDULED"}
    _run(engine, "y", "z")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-40")
def test_wait_waits_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="10s")))
    pass_time(engine, seconds=11)
    _rerun(engine, started, "t")
    pass_time(engine, seconds=5)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=6)
    assert status_of(engine, started) == "COMPLETED"


def test_iteration_of_a_loop_runs_again_and_the_later_ones_with_it(engine: MemoryEngine) -> None:
    loop = times("l", 3, simple("a"), simple("b"))
    started = engine.start(workflow("w", loop, simple("z")))
    _run(engine, "a", "b", "a", "b", "a", "b", "z")
    _rerun(engine, started, "b__2")
    assert _present(engine, started) == {
        "l": "IN_PROGRESS",
        "a__1": "COMPLETED",
        "b__1": "COMPLETED",
        "a__2": "COMPLETED",
        "b__2": "SCHEDULED",
    }
    assert task_of(engine, started, "l")["iteration"] == 2
    _run(engine, "b", "a", "b", "z")
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    output = task_of(engine, started, "l")["outputData"]
    assert output["iteration"] == 3
    assert sorted(output["3"]) == ["a", "b"]


def test_loop_itself_begins_with_its_first_iteration(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("a")), simple("z")))
    _run(engine, "a", "a", "z")
    _rerun(engine, started, "l")
    assert _present(engine, started) == {"l": "IN_PROGRESS", "a__1": "SCHEDULED"}
    _run(engine, "a", "a", "z")
    assert status_of(engine, started) == "COMPLETED"


def test_nested_loops(engine: MemoryEngine) -> None:
    inner = times("i", 2, simple("a"))
    started = engine.start(workflow("w", times("o", 2, inner, simple("b")), simple("z")))
    _run(engine, "a", "a", "b", "a", "a", "b", "z")
    _rerun(engine, started, "a__1__2")
    _run(engine, "a", "b", "a", "a", "b", "z")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "a__1__1")) == 1
    assert len(tasks_of(engine, started, "a__2__1")) == 2


def test_branch_of_a_dynamic_fork(engine: MemoryEngine) -> None:
    spread = fork_inputs("g", [1, 2, 3], forkTaskName="work")
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    _run(engine, "work", "work", "work", "z")
    _rerun(engine, started, "_g_work_1")
    assert _present(engine, started)["j"] == "IN_PROGRESS"
    _run(engine, "work")
    joined = task_of(engine, started, "j")
    assert (joined["status"], len(joined["outputData"])) == ("COMPLETED", 3)
    _run(engine, "z")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "_g_work_0")) == 1


def test_dynamic_fork_itself(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", fork_inputs("g", [1, 2], forkTaskName="work"), join("j")))
    _run(engine, "work", "work")
    _rerun(engine, started, "g")
    _run(engine, "work", "work")
    assert status_of(engine, started) == "COMPLETED"


def test_dynamic_task_is_resolved_again(engine: MemoryEngine) -> None:
    named = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters={"n": "work"})
    started = engine.start(workflow("w", {**named, "retryCount": 0}, simple("z")))
    _run(engine, "work", "z")
    _rerun(engine, started, "d")
    assert _present(engine, started) == {"d": "SCHEDULED"}
    _run(engine, "work", "z")
    assert status_of(engine, started) == "COMPLETED"


def test_sibling_that_the_end_canceled_is_tried_again(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("b")], [simple("c")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "b", "c")))
    _run(engine, "a")
    run_failing(engine, "b")
    engine.settle()
    _rerun(engine, started, "a")
    assert _present(engine, started) == {
        "f": "COMPLETED",
        "a": "SCHEDULED",
        "c": "SCHEDULED",
        "j": "IN_PROGRESS",
    }
    _run(engine, "c", "a", "b")
    assert status_of(engine, started) == "COMPLETED"


def test_sub_workflow_task_starts_another_child(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    _run(engine, "x")
    before = task_of(engine, started, "s")["subWorkflowId"]
    _rerun(engine, started, "s")
    assert task_of(engine, started, "s")["subWorkflowId"] != before
    _run(engine, "x")
    assert status_of(engine, started) == "COMPLETED"


def test_task_of_a_sub_workflow_revives_what_is_above(engine: MemoryEngine) -> None:
    leaf = workflow("leaf", simple("x"), simple("y"))
    middle = workflow("middle", sub_workflow("n", leaf))
    started = engine.start(workflow("w", sub_workflow("s", middle), simple("z")))
    _run(engine, "x", "y", "z")
    assert status_of(engine, started) == "COMPLETED"
    child = task_of(engine, started, "s")["subWorkflowId"]
    grandchild = task_of(engine, child, "n")["subWorkflowId"]
    task = task_of(engine, grandchild, "y")["taskId"]
    engine.engine.recovery.rerun(started, RerunRequest(from_task=task))
    engine.settle()
    assert status_of(engine, grandchild) == status_of(engine, child) == "RUNNING"
    assert status_of(engine, started) == "RUNNING"
    assert task_of(engine, started, "s")["subWorkflowId"] == child
    _run(engine, "y", "z")
    assert status_of(engine, started) == "COMPLETED"


def test_earlier_run_of_a_task_cannot_be_gone_back_to(engine: MemoryEngine) -> None:
    choice = switch("s", "${a.output.of}", {"a": [simple("x")]}, [simple("y")])
    started = engine.start(workflow("w", simple("a"), choice))
    _run(engine, "a", "x")
    gone = task_of(engine, started, "x")["taskId"]
    _rerun(engine, started, "a")
    engine.run("a", {"of": "other"})
    _run(engine, "y")
    with pytest.raises(InvalidInput, match="present run"):
        engine.engine.recovery.rerun(started, RerunRequest(from_task=gone))


def test_fork_that_fails_when_it_runs_again_leaves_its_join_nothing_of_before(
    engine: MemoryEngine,
) -> None:
    ends, waits = typed("TERMINATE", "t"), typed("HUMAN", "h")
    branch = [dynamic_fork("f", permissive=True), join("j"), simple("z")]
    definition = workflow("w", fork("o", [simple("b")], branch), join("oj", "b", "z"))
    started = engine.start(definition, input={"branches": [ends, waits], "inputs": {}})
    assert status_of(engine, started) == "FAILED"
    _rerun(engine, started, "f", task_input={"branches": "none", "inputs": {}})
    assert engine.statuses(started)["z"] == "SCHEDULED"
    engine.run("b")
    engine.run("z")
    assert status_of(engine, started) == "FAILED"

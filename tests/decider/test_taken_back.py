"""A child is taken up again whose parent has gone on: what has followed it comes after it again."""

from collections.abc import Callable, Iterable

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    dynamic_fork,
    fork,
    join,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    tasks_of,
    times,
    workflow,
)
from tests.decider.cutting import cut_off

_READS = {"v": "${s.output.n}"}


def _child() -> Json:
    return sub_workflow("s", workflow("c", simple("x"), outputParameters={"n": "${x.output.n}"}))


def _in_a_row() -> list[Json]:
    return [_child(), simple("y", inputParameters=_READS)]


def _in_a_branch() -> list[Json]:
    branch = [_child(), simple("y", inputParameters=_READS)]
    return [fork("f", [simple("b")], branch), join("j", "b", "y")]


def _in_two_forks() -> list[Json]:
    inner = [fork("g", [_child()], [simple("e")]), join("k", "s", "e")]
    outer = fork("f", [simple("b")], [*inner, simple("y", inputParameters=_READS)])
    return [outer, join("j", "b", "y")]


def _in_a_dynamic_fork() -> list[Json]:
    read = {"v": "${j.output.s.n}"}
    return [dynamic_fork("f"), join("j"), simple("y", inputParameters=read)]


def _in_a_loop() -> list[Json]:
    return [times("l", 2, _child(), simple("y", inputParameters=_READS))]


def _in_a_choice() -> list[Json]:
    return [switch("c", "yes", {"yes": _in_a_row()})]


def _in_a_child() -> list[Json]:
    tasks = [_child(), simple("e", inputParameters=_READS)]
    middle = workflow("m", *tasks, outputParameters={"n": "${e.output.n}"})
    return [sub_workflow("o", middle), simple("y", inputParameters={"v": "${o.output.n}"})]


def _newest(engine: MemoryEngine, started: str, ref: str) -> Json:
    """The last task of a reference, in the last iteration of a loop."""
    tasks: list[Json] = engine.workflow(started)["tasks"]
    return [task for task in tasks if task["referenceTaskName"].split("__")[0] == ref][-1]


_SHAPES = (
    _in_a_row,
    _in_a_branch,
    _in_two_forks,
    _in_a_dynamic_fork,
    _in_a_loop,
    _in_a_choice,
    _in_a_child,
)
_BESIDE = {_in_a_branch: "b", _in_two_forks: "be", _in_a_dynamic_fork: "b"}


def _restart(engine: MemoryEngine, root: str, child: str) -> None:
    engine.engine.recovery.restart(child)


def _rerun(engine: MemoryEngine, root: str, child: str) -> None:
    engine.engine.recovery.rerun(child, RerunRequest(from_ref="x"))


def _rerun_through_the_parent(engine: MemoryEngine, root: str, child: str) -> None:
    task = task_of(engine, child, "x")["taskId"]
    engine.engine.recovery.rerun(root, RerunRequest(from_task=task))


def _work(engine: MemoryEngine, names: Iterable[str], n: int) -> None:
    """Complete what there is to do of these types with this output, until there is nothing."""
    tasks = [True]
    while tasks:
        tasks = [task for name in names for task in engine.poll(name, count=5)]  # type: ignore[misc]
        for task in tasks:
            engine.complete(task, {"n": n})  # type: ignore[arg-type]
        engine.settle()


def _started(engine: MemoryEngine, shape: Callable[[], list[Json]]) -> str:
    branches = [_child(), simple("b")]
    tasks = [*shape(), simple("z", inputParameters={"v": "${y.output.n}"}), simple("last")]
    started = engine.start(workflow("w", *tasks), input={"branches": branches, "inputs": {}})
    engine.settle()
    return started


def _parent_of(engine: MemoryEngine, started: str) -> str:
    """The execution that the task ``s`` stands in."""
    if not tasks_of(engine, started, "o"):
        return started
    return str(task_of(engine, started, "o")["subWorkflowId"])


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(attempts=1), Limits(rounds=1)], ids=["whole", "one", "rounds"]
)
@pytest.mark.parametrize("has_ended", [True, False], ids=["ended", "running"])
@pytest.mark.parametrize("again", [_restart, _rerun, _rerun_through_the_parent])
@pytest.mark.parametrize("shape", _SHAPES)
def test_what_follows_a_child_that_runs_again_runs_after_it_with_its_new_output(
    shape: Callable[[], list[Json]],
    again: Callable[[MemoryEngine, str, str], None],
    has_ended: bool,
    limits: Limits,
) -> None:
    engine = memory_engine(limits=limits)
    started = _started(engine, shape)
    done = ["x", "b", "e", "y", "z"]
    _work(engine, [*done, "last"] if has_ended else done, 1)
    assert status_of(engine, started) == ("COMPLETED" if has_ended else "RUNNING")
    parent = _parent_of(engine, started)
    before = {ref: len(tasks_of(engine, started, ref)) for ref in "be"}
    again(engine, parent, _newest(engine, parent, "s")["subWorkflowId"])
    engine.settle()
    assert status_of(engine, started) == "RUNNING"
    assert _newest(engine, parent, "s")["status"] == "IN_PROGRESS"
    assert not [name for name in ("b", "e", "y", "z", "last") if engine.poll(name)]
    _work(engine, [*done, "last"], 2)
    assert status_of(engine, started) == "COMPLETED"
    assert [_newest(engine, started, ref)["inputData"] for ref in "yz"] == [{"v": 2}, {"v": 2}]
    for ref in _BESIDE.get(shape, ""):
        assert len(tasks_of(engine, started, ref)) == before[ref]
    assert not [name for name in (*done, "last") if engine.poll(name)]


def _two_children() -> list[Json]:
    def branch(name: str) -> list[Json]:
        inner = workflow(f"c{name}", simple(name), outputParameters={"n": f"${{{name}.output.n}}"})
        return [sub_workflow(f"s{name}", inner)]

    both = {"v": "${sp.output.n} ${sq.output.n}"}
    tasks = [fork("f", branch("p"), branch("q")), join("j", "sp", "sq")]
    return [*tasks, simple("z", inputParameters=both)]


@pytest.mark.parametrize("paused", [True, False], ids=["paused", "running"])
@pytest.mark.parametrize("limits", [Limits(), Limits(rounds=1)], ids=["whole", "rounds"])
def test_two_children_that_run_again_at_once_are_both_waited_for(
    limits: Limits, paused: bool
) -> None:
    engine = memory_engine(limits=limits)
    started = engine.start(workflow("w", *_two_children()))
    engine.settle()
    _work(engine, "pq", 1)
    (task,) = engine.poll("z")
    assert task["inputData"] == {"v": "1 1"}
    if paused:
        engine.engine.steering.pause(started)
    for ref in ("sp", "sq"):
        engine.engine.recovery.restart(task_of(engine, started, ref)["subWorkflowId"])
    engine.settle()
    _work(engine, "p", 2)
    if paused:
        engine.engine.steering.resume(started)
        engine.settle()
    assert task_of(engine, started, "z")["status"] == "CANCELED"
    assert not engine.poll("z")
    _work(engine, "q", 2)
    assert engine.run("z")["inputData"] == {"v": "2 2"}
    assert status_of(engine, started) == "COMPLETED"


def test_what_follows_is_canceled_with_its_own_child(engine: MemoryEngine) -> None:
    """One that runs again while the parent waits for another; which is started anew."""
    behind = sub_workflow("o", workflow("d", simple("y")))
    started = engine.start(workflow("w", _child(), behind))
    _work(engine, "x", 1)
    old = task_of(engine, started, "o")["subWorkflowId"]
    engine.engine.recovery.restart(task_of(engine, started, "s")["subWorkflowId"])
    engine.settle()
    assert status_of(engine, old) == "TERMINATED"
    _work(engine, "xy", 2)
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "o")["subWorkflowId"] != old


def test_a_join_that_waits_still_is_there_again_and_the_one_before_counts_no_more(
    engine: MemoryEngine,
) -> None:
    tasks = [fork("f", [_child()], [simple("b")]), join("j", "s", "b"), simple("z")]
    started = engine.start(workflow("w", *tasks))
    _work(engine, "x", 1)
    engine.engine.recovery.restart(task_of(engine, started, "s")["subWorkflowId"])
    engine.settle()
    joins = tasks_of(engine, started, "j")
    assert [(one["status"], one["retried"]) for one in joins] == [
        ("CANCELED", True),
        ("IN_PROGRESS", False),
    ]
    _work(engine, "b", 1)
    assert not engine.poll("z")
    _work(engine, "xz", 2)
    assert status_of(engine, started) == "COMPLETED"


def test_a_parent_that_ends_while_it_waits_again_ends_its_child(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _child(), simple("z")))
    _work(engine, "x", 1)
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.recovery.restart(child)
    engine.settle()
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert status_of(engine, child) == "TERMINATED"


def _at_once() -> Json:
    return sub_workflow("s", workflow("c", set_variable("v", n=1)))


@pytest.mark.parametrize("limits", [Limits(), Limits(rounds=1)], ids=["whole", "rounds"])
@pytest.mark.parametrize(
    "tasks",
    [
        [times("l", 1, _at_once()), simple("z")],
        [times("l", 2, times("k", 1, _at_once()), simple("y")), simple("z")],
        [times("l", 1, fork("f", [_at_once()], [simple("y")]), join("j", "s", "y")), simple("z")],
    ],
    ids=["loop", "nested", "fork"],
)
def test_a_child_that_ends_at_once_lets_what_follows_its_loop_run_again(
    tasks: list[Json], limits: Limits
) -> None:
    engine = memory_engine(limits=limits)
    started = engine.start(workflow("w", *tasks, simple("last")))
    engine.settle()
    _work(engine, "yz", 1)
    engine.engine.recovery.restart(_newest(engine, started, "s")["subWorkflowId"])
    engine.settle()
    assert not engine.poll("last")
    _work(engine, ["y", "z", "last"], 2)
    assert status_of(engine, started) == "COMPLETED"
    assert [task["status"] for task in tasks_of(engine, started, "z")] == ["COMPLETED"] * 2


def test_a_child_in_a_loop_that_failed_is_not_waited_for_again(engine: MemoryEngine) -> None:
    """What the end of the loop has canceled would not run: only a recovery of all brings it."""
    child = {**_child(), "permissive": True}
    body = [fork("f", [child], [simple("b")]), join("j", "s", "b")]
    started = engine.start(workflow("w", times("l", 1, *body, optional=True), simple("z")))
    run_failing(engine, "x")
    engine.settle()
    assert engine.statuses(started)["l"] == "COMPLETED_WITH_ERRORS"
    engine.engine.recovery.restart(_newest(engine, started, "s")["subWorkflowId"])
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "FAILED"  # a permissive task of it did


@pytest.mark.parametrize("commits", range(2, 9))
@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("done", [True, False])
def test_a_retry_goes_on_with_a_take_back_that_an_end_has_cut_off(
    commits: int, resume: bool, done: bool
) -> None:
    engine = memory_engine(limits=Limits(attempts=1, rounds=1))
    tasks = [_child(), simple("y", inputParameters=_READS), simple("z", inputParameters=_READS)]
    started = engine.start(workflow("w", *tasks, simple("last")))
    engine.settle()
    _work(engine, "xyz", 1)
    child = task_of(engine, started, "s")["subWorkflowId"]
    cut_off(engine, commits, lambda: engine.engine.recovery.restart(child))
    if done:
        for task in engine.poll("x"):
            engine.complete(task, {"n": 2})
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert status_of(engine, started) == "TERMINATED"
    assert status_of(engine, child) in {"TERMINATED", "COMPLETED"}
    engine.engine.recovery.retry(started, resume_subworkflows=resume)
    engine.settle()
    if not done:
        assert not [name for name in ("y", "z", "last") if engine.poll(name)]
    _work(engine, ["x", "y", "z", "last"], 2)
    assert status_of(engine, started) == "COMPLETED"
    assert [_newest(engine, started, ref)["inputData"] for ref in "yz"] == [{"v": 2}, {"v": 2}]


def test_what_was_not_counted_before_a_pause_is_not_taken_back(engine: MemoryEngine) -> None:
    """A child ends while its parent is paused, and is restarted before the parent goes on."""
    child = {**_child(), "permissive": True}
    branches = fork("f", [child], [simple("b", permissive=True)])
    started = engine.start(workflow("w", branches, join("j", "s", "b"), simple("z")))
    run_failing(engine, "b")
    engine.engine.steering.pause(started)
    run_failing(engine, "x")
    engine.engine.recovery.restart(task_of(engine, started, "s")["subWorkflowId"])
    engine.settle()
    engine.engine.steering.resume(started)
    engine.settle()
    _work(engine, "xz", 2)
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["failedReferenceTaskNames"] == ["b", "j"]


def test_no_iteration_begins_before_what_a_pause_has_put_off_is_taken_back(
    engine: MemoryEngine,
) -> None:
    body = [_child(), simple("y", inputParameters=_READS)]
    started = engine.start(workflow("w", times("l", 2, *body)))
    _work(engine, "x", 1)
    (task,) = engine.poll("y")
    engine.engine.steering.pause(started)
    engine.engine.recovery.restart(_newest(engine, started, "s")["subWorkflowId"])
    engine.settle()
    engine.complete(task, {"n": 1})
    engine.settle()
    _work(engine, "x", 2)
    engine.engine.steering.resume(started)
    engine.settle()
    (again,) = engine.poll("y")
    assert (again["iteration"], again["inputData"]) == (1, {"v": 2})
    engine.complete(again)
    _work(engine, "xy", 3)
    assert status_of(engine, started) == "COMPLETED"


def test_a_parent_that_ends_before_it_waits_again_ends_the_child(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", _child(), simple("z")))
    _work(engine, "x", 1)
    child = task_of(engine, started, "s")["subWorkflowId"]
    engine.engine.steering.pause(started)
    engine.engine.recovery.restart(child)
    engine.settle()
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert status_of(engine, child) == "TERMINATED"
    engine.engine.recovery.retry(started, resume_subworkflows=True)
    engine.settle()
    assert not engine.poll("z")
    _work(engine, "xz", 2)
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "s")["subWorkflowId"] == child

"""Parts of a DAG run again: one task alone, or with what comes before it."""

from collections.abc import Iterable

import pytest

from conductor_py.errors import Conflict, InvalidInput
from conductor_py.model.requests import RerunPreview, RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    conditions,
    dag,
    do_while,
    pass_time,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    typed,
    workflow,
)


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _started(engine: MemoryEngine, tasks: Iterable[Json], *edges: str, **more: object) -> str:
    return engine.start(dag("w", list(tasks), *edges, **more))


def _done(engine: MemoryEngine, names: str, *edges: str) -> str:
    """A graph whose tasks have run in this order."""
    started = _started(engine, _tasks(names), *edges)
    for name in names:
        engine.run(name, {"of": 1})
    assert status_of(engine, started) == "COMPLETED"
    return started


def _rerun(
    engine: MemoryEngine, started: str, ref: str, mode: str = "TASK_POST", **how: Json
) -> None:
    request = RerunRequest(from_ref=ref, mode=mode, **how)  # type: ignore[arg-type]
    engine.engine.recovery.rerun(started, request)
    engine.settle()


def _preview(engine: MemoryEngine, started: str, ref: str, mode: str) -> tuple[str, str, str]:
    request = RerunRequest(from_ref=ref, mode=mode)
    found = engine.engine.recovery.preview_rerun(started, request)
    return "".join(found.runs_again), "".join(found.kept), "".join(found.stale)


def _stale(engine: MemoryEngine, started: str) -> str:
    tasks = engine.workflow(started)["tasks"]
    return "".join(sorted(task["referenceTaskName"] for task in tasks if task.get("stale")))


def _open(engine: MemoryEngine, started: str) -> str:
    tasks = engine.workflow(started)["tasks"]
    opened = [task["referenceTaskName"] for task in tasks if task["status"] == "SCHEDULED"]
    return "".join(sorted(opened))


_DIAMOND = ("a > b", "a > x", "b > z", "x > z")


def test_only_the_task_runs_and_what_comes_behind_it_is_stale(engine: MemoryEngine) -> None:
    started = _done(engine, "abxz", *_DIAMOND)
    assert _preview(engine, started, "b", "TASK_ONLY") == ("b", "ax", "z")
    _rerun(engine, started, "b", "TASK_ONLY", task_input={"n": 2})
    assert _open(engine, started) == "b"
    assert engine.run("b", {"of": 2})["inputData"] == {"n": 2}
    assert status_of(engine, started) == "COMPLETED"
    assert _stale(engine, started) == "z"
    assert task_of(engine, started, "z")["outputData"] == {"of": 1}


def test_with_what_comes_before_it_a_task_runs_and_nothing_behind_or_beside(
    engine: MemoryEngine,
) -> None:
    started = _done(engine, "abxz", *_DIAMOND)
    assert _preview(engine, started, "b", "TASK_PRE") == ("ab", "", "xz")
    _rerun(engine, started, "b", "TASK_PRE")
    assert _open(engine, started) == "a"
    engine.run("a")
    assert _open(engine, started) == "b"
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    assert _stale(engine, started) == "xz"


def test_what_comes_behind_runs_again_by_default_and_nothing_is_stale(engine: MemoryEngine) -> None:
    started = _done(engine, "abxz", *_DIAMOND)
    assert _preview(engine, started, "b", "TASK_POST") == ("bz", "ax", "")
    _rerun(engine, started, "b")
    assert (_open(engine, started), _stale(engine, started)) == ("b", "z")
    engine.run("b")
    engine.run("z")
    assert (status_of(engine, started), _stale(engine, started)) == ("COMPLETED", "")


def test_what_is_stale_is_so_until_it_runs_again(engine: MemoryEngine) -> None:
    started = _done(engine, "abc", "a > b", "b > c")
    _rerun(engine, started, "a", "TASK_ONLY")
    engine.run("a")
    assert _stale(engine, started) == "bc"
    assert _preview(engine, started, "c", "TASK_ONLY") == ("c", "a", "b")
    _rerun(engine, started, "c", "TASK_ONLY")
    engine.run("c")
    assert _stale(engine, started) == "b"
    _rerun(engine, started, "b")
    engine.run("b")
    engine.run("c")
    assert _stale(engine, started) == ""


def test_a_blocked_task_stays_blocked_when_only_what_blocks_it_runs_again(
    engine: MemoryEngine,
) -> None:
    started = _started(engine, _tasks("abc"), "a > b", "b > c")
    run_failing(engine, "a", "sour")
    _rerun(engine, started, "a", "TASK_ONLY")
    engine.run("a")
    assert engine.statuses(started) == {"a": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert reason == "Task b has not run: only a part of the workflow was run again"


def test_a_retry_runs_what_was_held_back(engine: MemoryEngine) -> None:
    """No task of it has failed."""
    started = _started(engine, _tasks("abc"), "a > b", "b > c")
    run_failing(engine, "a")
    _rerun(engine, started, "a", "TASK_ONLY")
    engine.run("a")
    engine.engine.recovery.retry(started)
    engine.run("b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"
    with pytest.raises(Conflict):
        engine.engine.recovery.retry(started)


def test_the_only_failed_task_at_the_end_makes_the_whole_complete(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    engine.run("a")
    run_failing(engine, "b")
    _rerun(engine, started, "b", "TASK_ONLY")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_a_failure_that_is_held_back_keeps_its_reason(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"))
    run_failing(engine, "a", "sour")
    engine.run("b")
    _rerun(engine, started, "b", "TASK_ONLY")
    engine.run("b")
    assert status_of(engine, started) == "FAILED"
    assert engine.workflow(started)["reasonForIncompletion"] == "Task a (a) failed: sour"


@pytest.mark.parametrize("mode", ["TASK_ONLY", "TASK_PRE"])
def test_a_failure_that_is_held_back_ends_nothing(engine: MemoryEngine, mode: str) -> None:
    started = _started(engine, _tasks("abx"), "a > b", failureStrategy="END")
    run_failing(engine, "a", "sour")
    engine.settle()
    assert engine.statuses(started) == {"a": "FAILED", "x": "CANCELED"}
    _rerun(engine, started, "x", mode)
    engine.run("x")
    assert engine.statuses(started) == {"a": "FAILED", "x": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


def test_what_runs_again_ends_on_its_failure_as_ever(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("pqj"), "p > j", "q > j", failureStrategy="END")
    for name in "pqj":
        engine.run(name)
    _rerun(engine, started, "j", "TASK_PRE")
    run_failing(engine, "q")
    engine.settle()
    assert engine.statuses(started) == {"p": "CANCELED", "q": "FAILED", "j": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"
    assert _stale(engine, started) == "j"


def test_a_task_that_was_not_chosen_runs_when_it_is_named(engine: MemoryEngine) -> None:
    choice = typed("SWITCH", "s", evaluatorType="value-param", expression="case")
    choice |= {"inputParameters": {"case": "left"}}
    edges = ("s -case:left> l", "s -case:right> r", "l > j", "r > j")
    started = _started(engine, [choice, *_tasks("lrj")], *edges)
    engine.run("l")
    engine.run("j")
    assert _preview(engine, started, "r", "TASK_POST") == ("rj", "sl", "")
    _rerun(engine, started, "r", task_input={"n": 1})
    assert engine.run("r")["inputData"] == {"n": 1}
    engine.run("j")
    assert status_of(engine, started) == "COMPLETED"


def test_a_task_that_was_named_counts_until_something_before_it_runs_again(
    engine: MemoryEngine,
) -> None:
    choice = typed("SWITCH", "s", evaluatorType="value-param", expression="case")
    choice |= {"inputParameters": {"case": "left"}}
    reader = simple("j", inputParameters={"v": "${r.output.v}"})
    edges = ("s -case:left> l", "s -case:right> r", "l > j", "r > j")
    started = _started(engine, [choice, *_tasks("lr"), reader], *edges)
    engine.run("l")
    engine.run("j")
    _rerun(engine, started, "r")
    engine.run("r", {"v": 7})
    run_failing(engine, "j")
    engine.engine.recovery.retry(started)
    assert engine.run("j")["inputData"] == {"v": 7}
    assert status_of(engine, started) == "COMPLETED"
    _rerun(engine, started, "s")
    engine.run("l")
    assert engine.run("j")["inputData"] == {"v": None}
    assert status_of(engine, started) == "COMPLETED"


def test_a_blocked_task_that_is_named_alone_runs(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a", "sour")
    assert _preview(engine, started, "b", "TASK_ONLY") == ("b", "a", "")
    _rerun(engine, started, "b", "TASK_ONLY")
    engine.run("b")
    assert engine.statuses(started) == {"a": "FAILED", "b": "COMPLETED"}
    assert status_of(engine, started) == "FAILED"


@pytest.mark.parametrize("mode", ["TASK_POST", "TASK_PRE"])
def test_what_runs_again_before_it_decides_whether_a_named_task_does(
    engine: MemoryEngine, mode: str
) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a")
    assert _preview(engine, started, "b", mode) == ("ab", "", "")
    _rerun(engine, started, "b", mode)
    assert _open(engine, started) == "a"
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "FAILED"}
    _rerun(engine, started, "b", mode)
    engine.run("a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_conditions_that_run_alone_judge_by_what_is_there(engine: MemoryEngine) -> None:
    """Their other side was never chosen: it has not run, and does not now."""
    edges = ("a -test> c", "c -success> s", "c -failure> f")
    started = _started(engine, [*_tasks("asf"), conditions("c")], *edges)
    run_failing(engine, "a")
    engine.run("f")
    _rerun(engine, started, "a", "TASK_ONLY")
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert _stale(engine, started) == "cf"
    _rerun(engine, started, "c", "TASK_ONLY")
    assert task_of(engine, started, "c")["outputData"]["conditionResult"] is True
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started)["f"] == "COMPLETED"


def test_a_loop_runs_again_as_a_whole_and_is_named_by_itself(engine: MemoryEngine) -> None:
    loop = do_while("d", "$.d['iteration'] < 2", simple("body"))
    started = _started(engine, [loop, *_tasks("z")], "d > z")
    for name in ("body", "body", "z"):
        engine.run(name)
    with pytest.raises(InvalidInput) as refused:
        _rerun(engine, started, "body", "TASK_ONLY")
    (violation,) = refused.value.violations
    assert violation.path == "$.reRunFromTaskReferenceName"
    assert violation.message == "a loop of a DAG runs again as a whole: name 'd'"
    _rerun(engine, started, "d", "TASK_ONLY")
    engine.run("body")
    engine.run("body")
    assert status_of(engine, started) == "COMPLETED"
    assert _stale(engine, started) == "z"


def test_a_sub_workflow_runs_anew_when_its_task_does(engine: MemoryEngine) -> None:
    child = workflow("child", simple("inner"))
    started = _started(engine, [sub_workflow("s", child), simple("z")], "s > z")
    engine.run("inner")
    engine.run("z")
    first = task_of(engine, started, "s")["subWorkflowId"]
    _rerun(engine, started, "s", "TASK_ONLY")
    engine.run("inner")
    assert task_of(engine, started, "s")["subWorkflowId"] != first
    assert status_of(engine, started) == "COMPLETED"


def test_a_task_of_a_dag_below_is_named_by_its_id(engine: MemoryEngine) -> None:
    child = dag("child", _tasks("ab"), "a > b")
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    for name in "abz":
        engine.run(name)
    below = task_of(engine, started, "s")["subWorkflowId"]
    task = task_of(engine, below, "a")["taskId"]
    request = RerunRequest(from_task=task, mode="TASK_ONLY")
    found = engine.engine.recovery.preview_rerun(started, request)
    assert found == RerunPreview(runs_again=("a",), kept=(), stale=("b",))
    engine.engine.recovery.rerun(started, request)
    engine.run("a")
    engine.settle()
    assert _stale(engine, below) == "b"
    engine.run("z")
    assert (status_of(engine, below), status_of(engine, started)) == ("COMPLETED", "COMPLETED")


def test_a_prohibited_task_is_passed_through_when_it_is_named(engine: MemoryEngine) -> None:
    started = _started(engine, [simple("a"), simple("p", prohibited=True)], "a > p")
    engine.run("a")
    _rerun(engine, started, "p", "TASK_ONLY")
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "p")["outputData"] == {"prohibited": True}


def test_what_runs_cannot_be_rerun(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    for mode in ("TASK_POST", "TASK_ONLY", "TASK_PRE"):
        with pytest.raises(Conflict):
            _rerun(engine, started, "a", mode)
        with pytest.raises(Conflict):
            _preview(engine, started, "a", mode)


def test_a_reference_that_is_none_is_refused_with_its_path(engine: MemoryEngine) -> None:
    started = _done(engine, "ab", "a > b")
    with pytest.raises(InvalidInput) as refused:
        _rerun(engine, started, "c")
    assert [each.path for each in refused.value.violations] == ["$.reRunFromTaskReferenceName"]


def test_only_dags_are_run_in_part(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a")
    engine.run("b")
    for mode in ("TASK_ONLY", "TASK_PRE"):
        with pytest.raises(InvalidInput) as refused:
            _rerun(engine, started, "a", mode)
        assert [each.path for each in refused.value.violations] == ["$.mode"]
    with pytest.raises(InvalidInput):
        _preview(engine, started, "a", "TASK_POST")
    _rerun(engine, started, "b")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_what_is_archived_is_previewed_where_it_is(engine: MemoryEngine) -> None:
    started = _done(engine, "ab", "a > b")
    pass_time(engine, seconds=120)
    assert engine.engine.executions.view(started) is None
    before = engine.workflow(started)
    assert _preview(engine, started, "a", "TASK_ONLY") == ("a", "", "b")
    assert engine.engine.executions.view(started) is None
    assert engine.workflow(started) == before
    _rerun(engine, started, "a", "TASK_ONLY")
    engine.run("a")
    assert _stale(engine, started) == "b"
    pass_time(engine, seconds=120)
    assert _stale(engine, started) == "b"


def test_without_a_task_everything_runs_again(engine: MemoryEngine) -> None:
    started = _done(engine, "ab", "a > b")
    found = engine.engine.recovery.preview_rerun(started, RerunRequest())
    assert found == RerunPreview(runs_again=("a", "b"), kept=(), stale=())

"""A failed task of a DAG that counts as done because somebody says so."""

from collections.abc import Iterable

import pytest

from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.errors import Conflict, InvalidInput, PayloadTooLarge
from conductor_py.model.requests import ForceRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    conditions,
    dag,
    do_while,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    workflow,
)


def _tasks(names: str) -> list[Json]:
    return [simple(name) for name in names]


def _started(engine: MemoryEngine, tasks: Iterable[Json], *edges: str, **more: object) -> str:
    return engine.start(dag("w", list(tasks), *edges, **more))


def _force(engine: MemoryEngine, started: str, ref: str, **how: object) -> None:
    request = ForceRequest(**how)  # type: ignore[arg-type]
    engine.engine.recovery.force_success(started, ref, request)
    engine.settle()


def _refused(engine: MemoryEngine, started: str, ref: str) -> str:
    before = engine.workflow(started)
    with pytest.raises((Conflict, InvalidInput)) as refused:
        _force(engine, started, ref)
    assert engine.workflow(started) == before | {
        "updateTime": engine.workflow(started)["updateTime"]
    }
    return str(refused.value)


def test_what_a_failure_had_blocked_runs_in_a_new_generation(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abcx"), "a > b", "b > c", "x > c")
    engine.run("x")
    run_failing(engine, "a", "sour")
    assert status_of(engine, started) == "FAILED"
    _force(engine, started, "a", output={"v": 1}, by="ann", reason="loaded by hand")
    forced = task_of(engine, started, "a")
    assert (forced["status"], forced["outputData"]) == ("COMPLETED", {"v": 1})
    assert forced["reasonForIncompletion"] == "forced by ann: loaded by hand"
    engine.run("b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "x")) == 1


def test_the_failed_attempt_stays_as_it_was(engine: MemoryEngine) -> None:
    """I2."""
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a", "sour")
    before = task_of(engine, started, "a")
    _force(engine, started, "a")
    failed, forced = tasks_of(engine, started, "a")
    assert failed == before | {"retried": True}
    assert (forced["retriedTaskId"], forced["status"]) == (before["taskId"], "COMPLETED")


def test_what_comes_behind_reads_the_output_that_was_said(engine: MemoryEngine) -> None:
    reader = simple("b", inputParameters={"v": "${a.output.v}"})
    started = _started(engine, [simple("a"), reader], "a > b")
    run_failing(engine, "a")
    _force(engine, started, "a", output={"v": 7})
    assert engine.run("b")["inputData"] == {"v": 7}


def test_without_an_output_it_keeps_what_it_had_given(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    (task,) = engine.poll("a")
    engine.complete(task, {"partly": 1}, status="FAILED")
    _force(engine, started, "a")
    forced = task_of(engine, started, "a")
    assert forced["outputData"] == {"partly": 1}
    assert forced["reasonForIncompletion"] == "forced by an operator"


def test_another_failure_stays_one(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abcd"), "a > b", "c > d")
    run_failing(engine, "a", "sour")
    run_failing(engine, "c", "bitter")
    _force(engine, started, "a")
    engine.run("b")
    assert status_of(engine, started) == "FAILED"
    assert engine.workflow(started)["reasonForIncompletion"] == "Task c (c) failed: bitter"
    assert len(tasks_of(engine, started, "c")) == 1
    _force(engine, started, "c")
    engine.run("d")
    assert status_of(engine, started) == "COMPLETED"


def test_the_last_failure_makes_the_whole_complete_at_once(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    engine.run("a")
    run_failing(engine, "b")
    _force(engine, started, "b")
    assert status_of(engine, started) == "COMPLETED"


def test_what_an_end_had_canceled_goes_on(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abx"), "a > b", failureStrategy="END")
    run_failing(engine, "a")
    engine.settle()
    assert engine.statuses(started) == {"a": "FAILED", "x": "CANCELED"}
    _force(engine, started, "a")
    engine.run("b")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_a_canceled_task_of_what_was_terminated_can_be_forced(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abc"), "a > c", "b > c")
    engine.run("a")
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    _force(engine, started, "b")
    engine.run("c")
    assert status_of(engine, started) == "COMPLETED"


def test_what_looked_at_the_failure_runs_again(engine: MemoryEngine) -> None:
    edges = ("a -test> c", "c -success> s", "c -failure> f", "a > b", "b -always> k")
    started = _started(engine, [*_tasks("asfbk"), conditions("c")], *edges)
    run_failing(engine, "a")
    engine.run("f")
    engine.run("k")
    assert status_of(engine, started) == "FAILED"
    _force(engine, started, "a")
    assert task_of(engine, started, "c")["outputData"]["conditionResult"] is True
    for ref in "sbk":
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"
    present = {
        task["referenceTaskName"]
        for task in engine.workflow(started)["tasks"]
        if not task["retried"]
    }
    assert "f" not in present


def test_what_runs_is_unblocked_in_its_own_generation(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abcx"), "a > b", "b > c", "x > c")
    run_failing(engine, "a", "sour")
    assert engine.statuses(started) == {"a": "FAILED", "x": "SCHEDULED"}
    _force(engine, started, "a")
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED", "x": "SCHEDULED"}
    for ref in "xbc":
        engine.run(ref)
    assert status_of(engine, started) == "COMPLETED"
    assert "reasonForIncompletion" not in engine.workflow(started)


def test_another_failure_of_what_runs_stays_one(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abcx"), "a > b", "c > b")
    run_failing(engine, "a", "sour")
    run_failing(engine, "c", "bitter")
    _force(engine, started, "a")
    engine.run("x")
    assert status_of(engine, started) == "FAILED"
    assert engine.workflow(started)["reasonForIncompletion"] == "Task c (c) failed: bitter"


def test_one_that_waits_for_any_is_unblocked(engine: MemoryEngine) -> None:
    tasks = [*_tasks("pqx"), simple("j", triggerRule="ANY_LIVE")]
    started = _started(engine, tasks, "p > j", "q > j")
    run_failing(engine, "p")
    run_failing(engine, "q")
    _force(engine, started, "q")
    engine.run("j")
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_what_has_run_because_of_the_failure_is_left_to_the_end(engine: MemoryEngine) -> None:
    edges = ("a > b", "b -always> k")
    started = _started(engine, _tasks("abkx"), *edges)
    run_failing(engine, "a")
    assert "Task k has been chosen" in _refused(engine, started, "a")
    engine.run("k")
    assert "Task k has been chosen" in _refused(engine, started, "a")
    engine.run("x")
    _force(engine, started, "a")
    engine.run("b")
    engine.run("k")
    assert status_of(engine, started) == "COMPLETED"


def test_a_task_that_is_tried_again_may_still_succeed(engine: MemoryEngine) -> None:
    started = _started(engine, [policy("a", retryCount=1), simple("b")], "a > b")
    assert "may still succeed" in _refused(engine, started, "a")
    run_failing(engine, "a")
    assert "may still succeed" in _refused(engine, started, "a")
    pass_time(engine, seconds=1)
    run_failing(engine, "a")
    _force(engine, started, "a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_what_is_done_or_has_not_run_is_refused(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("abcx"), "a > b", "b > c")
    engine.run("a")
    run_failing(engine, "b")
    assert _refused(engine, started, "a") == "Task a is COMPLETED already."
    assert "Task c has not run" in _refused(engine, started, "c")
    assert "no task 'z'" in _refused(engine, started, "z")


def test_what_is_complete_or_paused_or_ends_on_failure_is_refused(engine: MemoryEngine) -> None:
    edges = ("a -test> c", "c -success> s", "c -failure> f")
    tasks = [*_tasks("asf"), conditions("c")]
    started = _started(engine, tasks, *edges)
    run_failing(engine, "a")
    engine.engine.steering.pause(started)
    assert "is PAUSED: resume it first" in _refused(engine, started, "a")
    engine.engine.steering.resume(started)
    engine.run("f")
    assert "is COMPLETED: rerun" in _refused(engine, started, "a")
    ending = _started(engine, tasks, *edges, failureStrategy="END")
    run_failing(engine, "a")
    assert "ends on its first failure" in _refused(engine, ending, "a")


def test_what_is_no_dag_is_told_its_own_verbs(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    run_failing(engine, "a")
    refused = _refused(engine, started, "a")
    assert "is no DAG" in refused
    assert "retry" in refused
    assert "skip" in refused


def test_a_loop_is_forced_as_a_whole(engine: MemoryEngine) -> None:
    loop = do_while("d", "$.d['iteration'] < 2", simple("body"))
    started = _started(engine, [loop, *_tasks("z")], "d > z")
    engine.run("body")
    run_failing(engine, "body")
    assert "force the loop, 'd'" in _refused(engine, started, "body")
    _force(engine, started, "d", output={"iteration": 2})
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_a_sub_workflow_is_forced_in_its_parent_and_stays_failed(engine: MemoryEngine) -> None:
    child = workflow("child", simple("inner"))
    started = _started(engine, [sub_workflow("s", child), simple("z")], "s > z")
    failed = run_failing(engine, "inner")
    _force(engine, started, "s")
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    assert status_of(engine, failed["workflowInstanceId"]) == "FAILED"


def test_a_dag_below_goes_on_and_takes_its_parent_along(engine: MemoryEngine) -> None:
    child = dag("child", _tasks("ab"), "a > b")
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    failed = run_failing(engine, "a")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    _force(engine, failed["workflowInstanceId"], "a")
    engine.run("b")
    engine.settle()
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_what_is_archived_comes_back(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a")
    pass_time(engine, seconds=120)
    assert engine.engine.executions.view(started) is None
    _force(engine, started, "a")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_forced_tasks_are_kept_by_a_retry_and_run_again_by_a_rerun(engine: MemoryEngine) -> None:
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a")
    _force(engine, started, "a")
    run_failing(engine, "b")
    engine.engine.recovery.retry(started)
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"
    assert len(tasks_of(engine, started, "a")) == 2


def test_an_output_that_is_too_large_is_refused() -> None:
    engine = memory_engine(
        payload_limits=PayloadLimits(task_output_soft=2_000, task_output_hard=3_000)
    )
    started = _started(engine, _tasks("ab"), "a > b")
    run_failing(engine, "a")
    with pytest.raises(PayloadTooLarge):
        _force(engine, started, "a", output={"v": "x" * 5_000})
    assert engine.statuses(started) == {"a": "FAILED"}
    assert status_of(engine, started) == "FAILED"


@pytest.mark.thorough(target="histories")
def test_a_failure_of_very_many_is_taken_back_in_one_decision(engine: MemoryEngine) -> None:
    names = [f"t{number}" for number in range(1_200)]
    edges = [f"a > {name}" for name in names]
    started = _started(engine, [simple(name) for name in ("a", "x", *names)], *edges)
    run_failing(engine, "a")
    _force(engine, started, "a")
    assert len(engine.statuses(started)) == 1_202
    assert engine.poll(names[-1])

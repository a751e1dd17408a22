"""Retry: what failed is tried again in a new generation."""

from contextlib import suppress

import pytest

from conductor_py.decider.workspace import Limits
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    do_while,
    dynamic_fork,
    fail,
    fork,
    fork_inputs,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    status_of,
    switch,
    task_of,
    tasks_of,
    terminate,
    times,
    wait,
    workflow,
)


def _retry(engine: MemoryEngine, started: str, **how: bool) -> None:
    engine.engine.recovery.retry(started, **how)


def test_failed_task_gets_a_new_attempt_that_names_the_failed_one(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b"), simple("z")))
    engine.run("a", {"x": 1})
    failed = run_failing(engine, "b", "boom")
    engine.clock.advance(seconds=5)
    _retry(engine, started)
    found = engine.workflow(started)
    assert (found["status"], found["endTime"], found["output"]) == ("RUNNING", 0, {})
    assert "reasonForIncompletion" not in found
    assert found["failedReferenceTaskNames"] == []
    assert found["lastRetriedTime"] == engine.clock()
    old, new = tasks_of(engine, started, "b")
    assert (old["taskId"], old["retried"]) == (failed["taskId"], True)
    assert (new["retriedTaskId"], new["retryCount"], new["status"]) == (
        failed["taskId"],
        1,
        "SCHEDULED",
    )
    engine.run("b")
    engine.run("z")
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert found["failedReferenceTaskNames"] == []
    assert len(tasks_of(engine, started, "a")) == 1


@pytest.mark.oracle(38)
def test_completed_execution_has_nothing_to_retry(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    before = engine.workflow(started)
    with pytest.raises(Conflict, match="There are no retryable tasks! Use restart"):
        _retry(engine, started)
    assert engine.workflow(started) == before


@pytest.mark.oracle(39)
def test_running_execution_cannot_be_retried(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    with pytest.raises(NotFound):
        _retry(engine, started)
    engine.engine.steering.pause(started)
    with pytest.raises(NotFound):
        _retry(engine, started)
    with pytest.raises(NotFound):
        _retry(engine, "00000000-0000-0000-0000-000000000000")


def test_delay_of_the_retry_policy_does_not_hold_it(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1, retryDelaySeconds=60)))
    run_failing(engine, "a")
    pass_time(engine, seconds=60)
    run_failing(engine, "a")
    _retry(engine, started)
    assert task_of(engine, started, "a")["retryCount"] == 2
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-41")
def test_total_timeout_counts_from_the_retry(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", policy("a", retryCount=0, totalTimeoutSeconds=10, timeoutPolicy="RETRY"))
    )
    run_failing(engine, "a")
    pass_time(engine, seconds=30)
    _retry(engine, started)
    pass_time(engine, seconds=9)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=2)
    assert status_of(engine, started) != "RUNNING"


@pytest.mark.anomaly("A-41")
def test_workflow_timeout_counts_from_the_retry(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", simple("a"), timeoutSeconds=10, timeoutPolicy="TIME_OUT_WF")
    )
    run_failing(engine, "a")
    pass_time(engine, seconds=30)
    _retry(engine, started)
    pass_time(engine, seconds=9)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "TIMED_OUT"
    _retry(engine, started)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_timed_out_execution_whose_tasks_are_fine_goes_on() -> None:
    engine = memory_engine(limits=Limits(attempts=1))
    steps = [set_variable(f"s{n}", n=n) for n in range(5)]
    started = engine.start(
        workflow("w", simple("a"), *steps, timeoutSeconds=10, timeoutPolicy="TIME_OUT_WF")
    )
    engine.clock.advance(seconds=11)
    engine.settle()
    assert status_of(engine, started) == "TIMED_OUT"
    _retry(engine, started)
    engine.run("a")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("attempts", [1, 3, 1000])
def test_join_counts_what_had_settled_and_what_is_tried_again(attempts: int) -> None:
    engine = memory_engine(limits=Limits(attempts=attempts))
    branches = [simple("a")], [simple("b")], [simple("c"), simple("d")]
    started = engine.start(
        workflow("w", fork("f", *branches), join("j", "a", "b", "d"), simple("z"))
    )
    engine.settle()
    engine.run("a", {"v": 1})
    run_failing(engine, "b")
    engine.settle()
    _retry(engine, started)
    engine.settle()
    assert task_of(engine, started, "j")["status"] == "IN_PROGRESS"
    engine.run("b", {"v": 2})
    assert task_of(engine, started, "j")["status"] == "IN_PROGRESS"
    engine.run("c")
    engine.run("d", {"v": 4})
    joined = task_of(engine, started, "j")
    assert joined["status"] == "COMPLETED"
    assert joined["outputData"] == {"a": {"v": 1}, "b": {"v": 2}, "d": {"v": 4}}
    assert len(tasks_of(engine, started, "a")) == 1
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("attempts", [1, 1000])
def test_loop_goes_on_in_its_iteration(attempts: int) -> None:
    engine = memory_engine(limits=Limits(attempts=attempts))
    started = engine.start(workflow("w", times("l", 3, simple("a"), simple("b")), simple("z")))
    for ref in ("a", "b", "a"):
        engine.run(ref)
        engine.settle()
    run_failing(engine, "b")
    engine.settle()
    _retry(engine, started)
    engine.settle()
    loop = task_of(engine, started, "l")
    assert (loop["status"], loop["iteration"]) == ("IN_PROGRESS", 2)
    assert not engine.poll("a")
    for ref in ("b", "a", "b"):
        engine.run(ref)
        engine.settle()
    engine.run("z")
    found = engine.workflow(started)
    assert found["status"] == "COMPLETED"
    assert task_of(engine, started, "l")["outputData"]["iteration"] == 3
    assert [t["referenceTaskName"] for t in found["tasks"] if t["retryCount"]] == ["l", "b__2"]


def test_loop_condition_that_failed_is_asked_again(engine: MemoryEngine) -> None:
    condition = "if ($.v.deep.er < 1) { true } else { false }"
    loop = do_while("l", condition, simple("a"), inputParameters={"v": "${workflow.variables.v}"})
    started = engine.start(workflow("w", loop))
    engine.run("a")
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "a__1")) == 1
    assert len(tasks_of(engine, started, "l")) == 2


@pytest.mark.anomaly("A-41")
def test_failed_switch_is_evaluated_again_with_its_branches(engine: MemoryEngine) -> None:
    broken = {
        **switch("s", "x", {"x": [simple("a")]}),
        "evaluatorType": "javascript",
        "expression": "$.v.deep.er",
        "inputParameters": {"v": "${workflow.variables.v}"},
    }
    started = engine.start(
        workflow("w", fork("f", [broken], [simple("b")]), join("j", "a", "b"), simple("z"))
    )
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "s")) == 2
    assert task_of(engine, started, "s")["retryCount"] == 1


def test_what_the_end_cut_off_is_opened(engine: MemoryEngine) -> None:
    """Two results in one decision: the second fails the workflow before what follows the first."""
    engine = memory_engine(limits=Limits(attempts=1))
    steps = [set_variable(f"s{n}", n=n) for n in range(4)]
    started = engine.start(
        workflow("w", fork("f", [simple("a"), *steps], [simple("b")]), join("j", "s3", "b"))
    )
    engine.settle()
    (first,) = engine.poll("a")
    (second,) = engine.poll("b")
    fail(engine, second)
    engine.complete(first)
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    engine.settle()
    engine.run("b")
    engine.run("a")
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("attempts", [7, 1000])
def test_dynamic_fork_whose_branches_failed(attempts: int) -> None:
    engine = memory_engine(limits=Limits(attempts=attempts))
    spread = fork_inputs("g", list(range(30)), forkTaskName="work")
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    engine.settle()
    held = engine.poll("work", 30)
    for task in held[:10]:
        engine.complete(task, {"n": 1})
    engine.complete(held[10], status="FAILED_WITH_TERMINAL_ERROR")
    engine.settle()
    _retry(engine, started)
    engine.settle()
    again = engine.poll("work", 30)
    assert len(again) == 20
    for task in again:
        engine.complete(task, {"n": 2})
    joined = task_of(engine, started, "j")
    assert (joined["status"], len(joined["outputData"])) == ("COMPLETED", 30)
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"


def test_dynamic_fork_that_was_cut_while_it_opened(engine: MemoryEngine) -> None:
    engine = memory_engine(limits=Limits(attempts=50))
    spread = fork_inputs("g", list(range(700)), forkTaskName="work")
    started = engine.start(workflow("w", spread, join("j")))
    for task in engine.poll("work", 1):
        engine.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    engine.settle()
    done = 0
    while tasks := engine.poll("work", 100):
        done += len(tasks)
        for task in tasks:
            engine.complete(task)
        engine.settle()
    assert (done, status_of(engine, started)) == (700, "COMPLETED")


def test_dynamic_fork_that_was_refused_is_resolved_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", dynamic_fork("g"), join("j")), input={"branches": 3})
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    assert len(tasks_of(engine, started, "g")) == 2


def test_permissive_failure_is_retried_and_what_followed_it_is_not(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a", permissive=True), simple("b")))
    run_failing(engine, "a")
    engine.run("b")
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    engine.run("a")
    assert not engine.poll("b")
    assert status_of(engine, started) == "COMPLETED"


def test_wait_begins_anew(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", fork("f", [wait("t", duration="10s")], [simple("a")]), join("j", "t", "a"))
    )
    pass_time(engine, seconds=4)
    run_failing(engine, "a")
    _retry(engine, started)
    engine.run("a")
    pass_time(engine, seconds=9)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "COMPLETED"


def test_script_that_failed_runs_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", inline("i", "throw new Error('no')"), simple("z")))
    _retry(engine, started)
    assert len(tasks_of(engine, started, "i")) == 2


def test_end_by_a_terminate_task_is_not_retried(engine: MemoryEngine) -> None:
    started = engine.start(
        workflow("w", fork("f", [terminate("t", "FAILED")], [simple("a")]), join("j", "t", "a"))
    )
    assert status_of(engine, started) == "FAILED"
    with pytest.raises(Conflict, match="no retryable tasks"):
        _retry(engine, started)


def test_terminated_execution_goes_on_where_it_was(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a")
    (held,) = engine.poll("b")
    engine.engine.executions.terminate(started, reason="enough")
    _retry(engine, started)
    engine.complete(held, {"late": 1})
    old, new = tasks_of(engine, started, "b")
    assert (old["status"], old["outputData"], new["status"]) == ("CANCELED", {}, "SCHEDULED")
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_retry_waits_for_the_clean_up_of_the_end(engine: MemoryEngine) -> None:
    branches = [[simple(f"b{n}")] for n in range(1200)]
    refs = [f"b{n}" for n in range(1200)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    run_failing(engine, "b3")
    _retry(engine, started)
    engine.settle()
    assert sum(engine.engine.tasks.queue_sizes(None).values()) == 1200
    for ref in refs:
        engine.run(ref)
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_retry_in_the_middle_of_the_clean_up_waits_for_its_end(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I3: what the clean-up has not come to would keep its queue entries."""
    refs = [f"b{n}" for n in range(1200)]
    branches = [[simple(ref)] for ref in refs]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    with monkeypatch.context() as patch, suppress(StoreUnavailable):
        patch.setattr("conductor_py.engine.decisions.operations._ANSWER_WAIT_S", 0.0)
        patch.setattr("conductor_py.engine.decisions.executor._SERVE_OTHERS_S", -1.0)
        run_failing(engine, "b3")
        _retry(engine, started)
    engine.settle()
    assert status_of(engine, started) == "RUNNING"
    assert sum(engine.engine.tasks.queue_sizes(None).values()) == 1200


def test_retry_again_and_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    for _ in range(5):
        run_failing(engine, "a")
        _retry(engine, started)
    engine.run("a")
    assert [t["retryCount"] for t in tasks_of(engine, started, "a")] == [0, 1, 2, 3, 4, 5]
    assert status_of(engine, started) == "COMPLETED"


def test_index_says_that_it_runs_again(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    run_failing(engine, "a")
    pass_time(engine, seconds=2)
    _retry(engine, started)
    pass_time(engine, seconds=2)
    page = engine.engine.executions.search(
        query="status = 'RUNNING'", free_text="*", sort="", start=0, size=10
    )
    assert [found["workflowId"] for found in page.results] == [started]
    pass_time(engine, seconds=120)
    assert status_of(engine, started) == "RUNNING"
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_events_that_come_during_the_first_pass_wait_behind_it() -> None:
    """A terminate does not: it cuts the walk, and a later retry begins another."""
    engine = memory_engine(limits=Limits(attempts=1))
    branches = [[simple(f"b{n}")] for n in range(6)]
    refs = [f"b{n}" for n in range(6)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    engine.settle()
    run_failing(engine, "b2")
    engine.settle()
    _retry(engine, started)
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    assert status_of(engine, started) == "TERMINATED"
    _retry(engine, started)
    engine.settle()
    for ref in refs:
        engine.run(ref)
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


def test_permissive_failure_in_an_optional_loop_is_retried_in_its_loop(
    engine: MemoryEngine,
) -> None:
    loop = {**times("l", 2, simple("a", permissive=True)), "optional": True}
    started = engine.start(workflow("w", loop, simple("b")))
    engine.run("a")
    run_failing(engine, "a")
    engine.run("b")
    assert engine.statuses(started)["l"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert engine.poll("b") == []


def test_permissive_failure_in_an_iteration_that_is_over_fails_no_later_generation(
    engine: MemoryEngine,
) -> None:
    """Nobody can try it again: the loop around went on."""
    inner = {**times("i", 1, simple("a", permissive=True)), "optional": True}
    started = engine.start(workflow("w", times("l", 2, inner), simple("b")))
    run_failing(engine, "a")
    engine.run("a")
    run_failing(engine, "b")
    assert status_of(engine, started) == "FAILED"
    _retry(engine, started)
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"

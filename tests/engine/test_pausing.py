"""Pause and resume: attempts end, nothing opens, and all goes on in order."""

import pytest

from conductor_py.errors import Conflict, NotFound
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    sub_workflow,
    switch,
    task_of,
    times,
    wait,
    workflow,
)


def _pause(engine: MemoryEngine, started: str) -> None:
    engine.engine.steering.pause(started)


def _resume(engine: MemoryEngine, started: str) -> None:
    engine.engine.steering.resume(started)
    engine.settle()


@pytest.mark.oracle(37)
def test_successor_of_what_completes_while_paused_is_scheduled_at_resume(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held, {"v": 1})
    engine.settle()
    assert status_of(engine, started) == "PAUSED"
    assert engine.statuses(started) == {"a": "COMPLETED"}
    _resume(engine, started)
    assert engine.statuses(started) == {"a": "COMPLETED", "b": "SCHEDULED"}
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.oracle(36)
def test_no_task_of_a_paused_execution_is_handed_out(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    _pause(engine, started)
    assert engine.poll("a") == []
    _resume(engine, started)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_thousands_of_parked_tasks_come_back(engine: MemoryEngine) -> None:
    branches = [[simple("a", taskReferenceName=f"a{n}")] for n in range(2100)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a0")))
    engine.settle()
    _pause(engine, started)
    while engine.engine.tasks.queue_sizes(["a"])["a"]:
        assert engine.poll("a", count=500) == []
    _resume(engine, started)
    pass_time(engine, seconds=1)
    assert engine.engine.tasks.queue_sizes(["a"])["a"] == 2100


def test_join_counts_what_ended_meanwhile(engine: MemoryEngine) -> None:
    branches = [[simple(f"b{n}")] for n in range(700)]
    refs = [f"b{n}" for n in range(700)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs), simple("z")))
    engine.settle()
    held = [engine.poll(ref)[0] for ref in refs]
    _pause(engine, started)
    for task in held:
        engine.complete(task)
    engine.settle()
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    _resume(engine, started)
    assert engine.statuses(started)["j"] == "COMPLETED"
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_loop_goes_on_at_resume(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", times("l", 2, simple("x"))))
    (held,) = engine.poll("x")
    _pause(engine, started)
    engine.complete(held)
    assert "x__2" not in engine.statuses(started)
    _resume(engine, started)
    engine.run("x")
    assert status_of(engine, started) == "COMPLETED"


def test_failure_is_retried_at_resume(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1)))
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held, status="FAILED")
    assert len(engine.workflow(started)["tasks"]) == 1
    _resume(engine, started)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_failure_for_good_ends_the_execution_at_resume(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held, status="FAILED", reason="why")
    assert status_of(engine, started) == "PAUSED"
    _resume(engine, started)
    found = engine.workflow(started)
    assert (found["status"], found["reasonForIncompletion"]) == ("FAILED", "Task a (a) failed: why")


def test_wait_ends_at_its_time_and_its_successor_waits(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="10s"), simple("a")))
    _pause(engine, started)
    pass_time(engine, seconds=60)
    ended = task_of(engine, started, "t")
    assert ended["status"] == "COMPLETED"
    assert ended["endTime"] <= engine.clock.now_ms
    assert "a" not in engine.statuses(started)
    _resume(engine, started)
    assert engine.statuses(started)["a"] == "SCHEDULED"


def test_children_go_on_and_their_end_is_taken_up_at_resume(engine: MemoryEngine) -> None:
    child = workflow("c", simple("x"), simple("y"))
    started = engine.start(workflow("w", sub_workflow("s", child), simple("z")))
    _pause(engine, started)
    engine.run("x")
    engine.run("y")
    engine.settle()
    assert engine.statuses(started) == {"s": "COMPLETED"}
    _resume(engine, started)
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_task_timeouts_wait_for_the_resume(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=5, retryCount=1)))
    engine.poll("a")
    _pause(engine, started)
    pass_time(engine, seconds=60)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    _resume(engine, started)
    pass_time(engine, seconds=1)
    attempts = [task["status"] for task in engine.workflow(started)["tasks"]]
    assert attempts == ["TIMED_OUT", "SCHEDULED"]


def test_poll_timeout_begins_anew_at_resume(engine: MemoryEngine) -> None:
    definition = policy("a", pollTimeoutSeconds=10, retryCount=0, timeoutPolicy="TIME_OUT_WF")
    started = engine.start(workflow("w", definition))
    pass_time(engine, seconds=5)
    _pause(engine, started)
    pass_time(engine, seconds=60)
    _resume(engine, started)
    pass_time(engine, seconds=9)
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    pass_time(engine, seconds=2)
    assert status_of(engine, started) == "TIMED_OUT"


def test_timeout_of_the_workflow_runs_on_and_begins_anew_at_resume(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), timeoutSeconds=60, timeoutPolicy="TIME_OUT_WF")
    started, other = engine.start(definition), engine.start(definition)
    _pause(engine, started)
    _pause(engine, other)
    pass_time(engine, seconds=50)
    _resume(engine, started)
    pass_time(engine, seconds=20)
    assert status_of(engine, started) == "RUNNING"
    assert status_of(engine, other) == "TIMED_OUT"
    pass_time(engine, seconds=41)
    assert status_of(engine, started) == "TIMED_OUT"


def test_continuations_of_a_large_fork_stop_and_go_on(engine: MemoryEngine) -> None:
    branches = [[simple(f"b{n}")] for n in range(2500)]
    refs = [f"b{n}" for n in range(2500)]
    started = engine.start(workflow("w", simple("a"), fork("f", *branches), join("j", *refs)))
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held)
    engine.settle()
    assert len(engine.workflow(started)["tasks"]) == 1
    _resume(engine, started)
    assert len(engine.workflow(started)["tasks"]) == 2503


def test_hundreds_of_steps_that_were_postponed_all_go_on(engine: MemoryEngine) -> None:
    """I4: more than one piece of them."""
    refs = [f"b{number}" for number in range(600)]
    branches = [[{**simple(ref), "name": "a"}] for ref in refs]
    beside = [simple("beside")]
    started = engine.start(workflow("w", fork("f", beside, *branches), join("j", *refs)))
    engine.settle()
    tasks = [task for _ in range(6) for task in engine.poll("a", 100)]
    engine.engine.steering.pause(started)
    for task in tasks:
        engine.complete(task)
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.engine.steering.resume(started)
    engine.settle()
    assert (len(tasks), engine.statuses(started)["beside"]) == (600, "SCHEDULED")
    assert engine.statuses(started)["j"] == "COMPLETED"


def test_pausing_again_before_everything_went_on_loses_nothing(engine: MemoryEngine) -> None:
    choice = switch("q", "x", {"x": [simple("b")]})
    started = engine.start(workflow("w", simple("a"), choice))
    (held,) = engine.poll("a")
    for _ in range(3):
        _pause(engine, started)
        engine.complete(held)
        engine.engine.steering.resume(started)
        _pause(engine, started)
        _resume(engine, started)
    engine.run("b")
    assert status_of(engine, started) == "COMPLETED"


def test_what_was_postponed_goes_with_the_end(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held)
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    stored = engine.ports.reader.snapshot(started)  # type: ignore[arg-type]
    assert stored is not None
    assert not [name for name in stored[1] if name.startswith("w:")]
    assert status_of(engine, started) == "TERMINATED"


def test_retry_finds_what_had_been_postponed_when_it_ended(engine: MemoryEngine) -> None:
    branches = [simple("a"), simple("a2")], [simple("b")]
    definition = workflow("w", fork("f", *branches), join("j", "a2", "b"))
    started = engine.start(definition)
    (held,) = engine.poll("a")
    _pause(engine, started)
    engine.complete(held)
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()
    for name in ("a2", "b"):
        engine.run(name)
    assert status_of(engine, started) == "COMPLETED"


def test_pausing_twice_changes_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    _pause(engine, started)
    before = engine.workflow(started)
    _pause(engine, started)
    assert engine.workflow(started) == before


def test_only_a_paused_execution_can_be_resumed(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    with pytest.raises(Conflict, match="PAUSED"):
        engine.engine.steering.resume(started)
    run_failing(engine, "a")
    for verb in (engine.engine.steering.resume, engine.engine.steering.pause):
        with pytest.raises(Conflict):
            verb(started)
        with pytest.raises(NotFound):
            verb("00000000-0000-0000-0000-000000000000")


def test_iteration_waits_for_all_of_it_that_was_postponed(engine: MemoryEngine) -> None:
    """More than one piece goes on; the failed branch, in the last one, is still to be retried."""
    refs = [f"b{n}" for n in range(600)]
    branches = [[policy(ref, retryCount=1)] for ref in refs]
    # The join waits for the first branch only: the iteration could be over before the others are.
    started = engine.start(workflow("w", times("l", 2, fork("f", *branches), join("j", "b0"))))
    engine.settle()
    held = [engine.poll(ref)[0] for ref in refs]
    _pause(engine, started)
    for task in held:
        engine.complete(task, status="FAILED" if task["taskType"] == "b599" else "COMPLETED")
    _resume(engine, started)
    statuses = [
        (task["referenceTaskName"], task["status"])
        for task in engine.workflow(started)["tasks"]
        if task["referenceTaskName"].startswith("b599")
    ]
    assert statuses == [("b599__1", "FAILED"), ("b599__1", "SCHEDULED")]
    engine.run("b599")
    assert "b599__2" in engine.statuses(started)

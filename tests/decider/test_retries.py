"""Retries: how often, when, and what is left when they are used up."""

from typing import Any

import pytest

from conductor_py.decider.retries import delay_ms
from conductor_py.model.definitions import TaskDef
from conductor_py.model.execution import Attempt, Vector
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from tests.builders import (
    fork,
    join,
    pass_time,
    policy,
    run_failing,
    simple,
    status_of,
    task_of,
    tasks_of,
    times,
    workflow,
)


def _failed(retry_count: int, seq: int = 1) -> Attempt:
    return Attempt(
        seq=seq,
        ref="a",
        vector=Vector(""),
        plan="p",
        type="a",
        definition="a",
        status=TaskStatus.FAILED,
        generation=1,
        scheduled_at=0,
        retry_count=retry_count,
    )


@pytest.mark.parametrize(
    ("facts", "seconds"),
    [
        pytest.param({"retry_logic": "FIXED"}, [5, 5, 5], id="fixed"),
        pytest.param({"retry_logic": "LINEAR_BACKOFF"}, [5, 10, 15], id="linear"),
        pytest.param(
            {"retry_logic": "LINEAR_BACKOFF", "backoff_scale_factor": 3}, [15, 30, 45], id="scaled"
        ),
        pytest.param({"retry_logic": "EXPONENTIAL_BACKOFF"}, [5, 10, 20], id="exponential"),
        pytest.param(
            {"retry_logic": "EXPONENTIAL_BACKOFF", "max_retry_delay_seconds": 12},
            [5, 10, 12],
            id="capped",
        ),
        pytest.param({"retry_logic": "no such logic"}, [5, 5, 5], id="unknown logic is fixed"),
    ],
)
def test_delay_by_logic(facts: dict[str, Any], seconds: list[int]) -> None:
    definition = TaskDef(name="a", retry_delay_seconds=5, **facts)
    delays = [delay_ms(definition, _failed(count), "e") for count in range(3)]
    assert delays == [second * 1000 for second in seconds]


@pytest.mark.anomaly("A-37")
def test_exponential_delay_does_not_overflow() -> None:
    definition = TaskDef(name="a", retry_delay_seconds=60, retry_logic="EXPONENTIAL_BACKOFF")
    assert delay_ms(definition, _failed(10_000), "e") == 10 * 365 * 24 * 3_600_000


def test_jitter_lies_on_top_of_the_cap_and_is_the_same_each_time() -> None:
    definition = TaskDef(
        name="a", retry_delay_seconds=10, max_retry_delay_seconds=5, backoff_jitter_ms=1000
    )
    drawn = [delay_ms(definition, _failed(0, seq), "e") for seq in range(200)]
    assert drawn == [delay_ms(definition, _failed(0, seq), "e") for seq in range(200)]
    assert all(5000 <= delay <= 6000 for delay in drawn)
    assert len(set(drawn)) > 100


def test_retry_is_a_new_attempt_that_is_offered_after_the_delay(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=1, retryDelaySeconds=7)
    started = engine.start(workflow("w", task))
    first = run_failing(engine, "a", "once")
    again = task_of(engine, started, "a")
    assert (again["status"], again["retryCount"]) == ("SCHEDULED", 1)
    assert again["retriedTaskId"] == first["taskId"]
    engine.clock.advance(milliseconds=6_999)
    assert not engine.poll("a")
    engine.clock.advance(milliseconds=1)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"
    assert [t["retried"] for t in tasks_of(engine, started, "a")] == [True, False]


def test_retries_end_after_the_count_of_the_definition(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=2)))
    for _ in range(3):
        run_failing(engine, "a")
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "a")) == 3


def test_retry_count_of_the_task_overrides_the_definition(engine: MemoryEngine) -> None:
    task = {**policy("a", retryCount=5), "retryCount": 1}
    started = engine.start(workflow("w", task))
    run_failing(engine, "a")
    run_failing(engine, "a")
    assert status_of(engine, started) == "FAILED"


def test_unregistered_simple_task_has_three_retries_a_minute_apart(engine: MemoryEngine) -> None:
    task = {"name": "a", "taskReferenceName": "a", "type": "SIMPLE"}
    started = engine.start(workflow("w", task))
    for _ in range(4):
        run_failing(engine, "a")
        engine.clock.advance(seconds=60)
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "a")) == 4


@pytest.mark.oracle(45)
def test_terminal_error_is_not_retried(engine: MemoryEngine) -> None:
    """Oracle row 45."""
    started = engine.start(workflow("w", policy("a", retryCount=3)))
    engine.run("a", status="FAILED_WITH_TERMINAL_ERROR")
    assert status_of(engine, started) == "FAILED"
    assert len(tasks_of(engine, started, "a")) == 1


def test_optional_task_is_retried_before_it_is_let_go(engine: MemoryEngine) -> None:
    """Oracle row 15."""
    task = {**policy("a", retryCount=3), "optional": True}
    started = engine.start(workflow("w", task, simple("b")))
    for _ in range(4):
        assert engine.statuses(started) == {"a": "SCHEDULED"}
        run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "COMPLETED_WITH_ERRORS", "b": "SCHEDULED"}


def test_permissive_task_is_retried_before_the_flow_goes_on(engine: MemoryEngine) -> None:
    task = {**policy("a", retryCount=1), "permissive": True}
    started = engine.start(workflow("w", task, simple("b")))
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "SCHEDULED"}
    run_failing(engine, "a")
    assert engine.statuses(started) == {"a": "FAILED", "b": "SCHEDULED"}


def test_retry_resolves_its_input_anew(engine: MemoryEngine) -> None:
    other = simple("o")
    late = policy("a", retryCount=1)
    late["inputParameters"] = {"seen": "${o.output.x}"}
    engine.start(workflow("w", fork("f", [late], [other]), join("j", "a", "o")))
    first = run_failing_later(engine, "a")
    assert first["inputData"] == {"seen": None}
    (again,) = engine.poll("a")
    assert again["inputData"] == {"seen": 4}


@pytest.mark.parametrize("in_loop", [False, True])
def test_retry_reads_the_attempt_before_it_under_its_own_name(
    engine: MemoryEngine, in_loop: bool
) -> None:
    task = policy("a", retryCount=1)
    task["inputParameters"] = {"from": "${a.output.done}", "was": "${a.status}"}
    engine.start(workflow("w", times("l", 1, task) if in_loop else task))
    (first,) = engine.poll("a")
    assert first["inputData"] == {"from": None, "was": None}
    engine.complete(first, {"done": 7}, status="FAILED")
    (again,) = engine.poll("a")
    assert again["inputData"] == {"from": 7, "was": "FAILED"}


def run_failing_later(engine: MemoryEngine, task_type: str) -> dict[str, Any]:
    """Claim a task, let the other branch end, then fail the task."""
    (task,) = engine.poll(task_type)
    engine.run("o", {"x": 4})
    engine.complete(task, status="FAILED")
    return task


def test_total_timeout_ends_retries_even_of_an_optional_task(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=10, retryDelaySeconds=30, totalTimeoutSeconds=50)
    started = engine.start(workflow("w", {**task, "optional": True}))
    (first,) = engine.poll("a")
    engine.clock.advance(seconds=50)
    engine.complete(first, status="FAILED")
    assert status_of(engine, started) == "FAILED"


def test_retry_starts_without_the_reason_of_the_attempt_before_once_it_succeeds(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1)))
    run_failing(engine, "a", "first try")
    assert task_of(engine, started, "a")["reasonForIncompletion"] == "first try"
    engine.run("a")
    assert "reasonForIncompletion" not in task_of(engine, started, "a")


def test_result_of_a_superseded_attempt_changes_nothing(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1)))
    first = run_failing(engine, "a")
    engine.complete(first, {"late": True})
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["FAILED", "SCHEDULED"]
    pass_time(engine, seconds=1)
    engine.run("a", {"late": False})
    assert engine.workflow(started)["output"] == {"late": False}

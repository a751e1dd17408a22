"""Timeouts of what leads other tasks: loops and joins, by the definition of their name."""

from collections.abc import Callable

import pytest

from conductor_py.testing import MemoryEngine
from tests.builders import (
    Json,
    fork,
    join,
    pass_time,
    simple,
    status_of,
    task_of,
    tasks_of,
    times,
    typed,
    workflow,
)


def _loop(**more: object) -> list[Json]:
    return [times("l", 3, simple("a")) | more]


def _join(**more: object) -> list[Json]:
    return [fork("f", [simple("a")], [simple("b")]), join("l", "a", "b") | more]


def _exclusive(**more: object) -> list[Json]:
    ends = typed("EXCLUSIVE_JOIN", "l", joinOn=["a", "b"])
    return [fork("f", [simple("a")], [simple("b")]), ends | more]


def _limit(policy: str = "TIME_OUT_WF", **more: object) -> Json:
    limits = {"timeoutSeconds": 10, "timeoutPolicy": policy, "responseTimeoutSeconds": 5, **more}
    return {"taskDefinition": {"name": "l", "retryCount": 2, **limits}}


@pytest.mark.parametrize("made", [_loop, _join, _exclusive])
@pytest.mark.parametrize(
    ("policy", "ends"),
    [("TIME_OUT_WF", "TIMED_OUT"), ("RETRY", "TIMED_OUT"), ("ALERT_ONLY", "RUNNING")],
)
def test_its_timeout_follows_the_policy(
    engine: MemoryEngine, made: Callable[..., list[Json]], policy: str, ends: str
) -> None:
    started = engine.start(workflow("w", *made(**_limit(policy))))
    pass_time(engine, milliseconds=9_999)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == ends
    if ends == "TIMED_OUT":
        shown = task_of(engine, started, "l")
        assert shown["status"] == "TIMED_OUT"
        assert shown["reasonForIncompletion"] == f"timeout of 10 s passed, policy {policy}"
        assert not engine.poll("a")


@pytest.mark.parametrize("made", [_loop, _join])
def test_the_total_timeout_ends_it_too(
    engine: MemoryEngine, made: Callable[..., list[Json]]
) -> None:
    limit = _limit(timeoutSeconds=0, totalTimeoutSeconds=20)
    started = engine.start(workflow("w", *made(**limit)))
    pass_time(engine, seconds=20)
    assert status_of(engine, started) == "TIMED_OUT"


def test_an_optional_loop_that_times_out_is_left(engine: MemoryEngine) -> None:
    tasks = _loop(optional=True, **_limit("RETRY"))
    started = engine.start(workflow("w", *tasks, simple("after")))
    engine.run("a")
    pass_time(engine, seconds=10)
    assert engine.statuses(started) == {
        "l": "COMPLETED_WITH_ERRORS",
        "a__1": "COMPLETED",
        "a__2": "CANCELED",
        "after": "SCHEDULED",
    }
    engine.run("after")
    assert status_of(engine, started) == "COMPLETED"


def test_an_optional_join_that_times_out_is_passed_once(engine: MemoryEngine) -> None:
    tasks = _join(optional=True, **_limit("RETRY"))
    started = engine.start(workflow("w", *tasks, simple("after")))
    pass_time(engine, seconds=10)
    engine.run("a")
    engine.run("b")
    assert len(tasks_of(engine, started, "after")) == 1
    assert engine.statuses(started)["l"] == "COMPLETED_WITH_ERRORS"
    engine.run("after")
    assert status_of(engine, started) == "COMPLETED"


def test_a_loop_that_has_timed_out_goes_on_after_a_retry_with_a_new_clock(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", *_loop(**_limit())))
    engine.run("a")
    pass_time(engine, seconds=10)
    engine.engine.recovery.retry(started)
    pass_time(engine, milliseconds=9_999)
    assert engine.statuses(started)["a__2"] == "SCHEDULED"
    engine.run("a")
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_a_loop_inside_a_loop_times_out_by_its_own_clock(engine: MemoryEngine) -> None:
    inner = times("l", 2, simple("a")) | _limit("RETRY", timeoutSeconds=10)
    started = engine.start(workflow("w", times("o", 2, inner | {"optional": True})))
    engine.run("a")
    engine.run("a")
    pass_time(engine, seconds=9)
    assert task_of(engine, started, "l__2")["status"] == "IN_PROGRESS"
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"
    assert task_of(engine, started, "l__2")["status"] == "COMPLETED_WITH_ERRORS"


def test_what_has_ended_in_time_times_out_no_more(engine: MemoryEngine) -> None:
    tasks = [*_join(**_limit()), simple("after")]
    started = engine.start(workflow("w", *tasks))
    engine.run("a")
    engine.run("b")
    pass_time(engine, seconds=100)
    assert status_of(engine, started) == "RUNNING"
    assert task_of(engine, started, "l")["status"] == "COMPLETED"

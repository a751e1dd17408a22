"""WAIT: until a time, or until somebody says so."""

from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.model.status import TaskStatus
from conductor_py.testing import MemoryEngine
from conductor_py.wire.validation import Rules, findings
from tests.builders import fork, join, pass_time, report, simple, status_of, task_of, wait, workflow


def test_duration_completes_the_task_when_it_is_over(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="1m 30s"), simple("z")))
    pass_time(engine, milliseconds=89_999)
    assert engine.statuses(started) == {"t": "IN_PROGRESS"}
    pass_time(engine, milliseconds=1)
    assert engine.statuses(started) == {"t": "COMPLETED", "z": "SCHEDULED"}


@pytest.mark.parametrize(
    ("until", "seconds"),
    [
        ("2027-01-15 08:01", 60),
        ("2027-01-15 08:01 UTC", 60),
        ("2027-01-15 10:01 Europe/Helsinki", 60),
        ("2027-01-16", 57_600),
    ],
)
def test_until_completes_the_task_at_that_instant(
    engine: MemoryEngine, until: str, seconds: int
) -> None:
    started = engine.start(workflow("w", wait("t", until=until)))
    pass_time(engine, milliseconds=seconds * 1000 - 1)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == "COMPLETED"


def test_until_in_the_past_completes_at_once(engine: MemoryEngine) -> None:
    """Oracle row 28."""
    started = engine.start(workflow("w", wait("t", until="2020-01-01 00:00 UTC")))
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param({"duration": "soon"}, id="row 29: unreadable duration"),
        {"until": "tomorrow"},
        {"until": "2027-01-15 08:01 Atlantis/Centre"},
        {"duration": "1s", "until": "2027-01-15 08:01"},
    ],
)
def test_unreadable_time_fails_the_task_at_once(
    engine: MemoryEngine, inputs: dict[str, Any]
) -> None:
    started = engine.start(workflow("w", wait("t", **inputs)))
    task = task_of(engine, started, "t")
    assert (task["status"], task["callbackAfterSeconds"]) == ("FAILED_WITH_TERMINAL_ERROR", 0)
    assert status_of(engine, started) == "FAILED"


def test_duration_may_come_from_the_input(engine: MemoryEngine) -> None:
    definition = workflow("w", wait("t", duration="${workflow.input.d}"))
    started = engine.start(definition, input={"d": "5s"})
    pass_time(engine, seconds=5)
    assert status_of(engine, started) == "COMPLETED"


def test_wait_without_an_end_is_completed_through_the_api(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t")))
    pass_time(engine, seconds=1_000_000)
    assert status_of(engine, started) == "RUNNING"
    report(engine, task_of(engine, started, "t"), output={"by": "me"})
    assert engine.workflow(started)["output"] == {"by": "me"}


def test_timed_wait_may_be_completed_before_its_time(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="1h"), simple("z")))
    done = engine.engine.tasks.update_by_ref(started, "t", TaskStatus.COMPLETED, {"x": 1}, "me")
    assert done == task_of(engine, started, "t")["taskId"]
    pass_time(engine, seconds=3600)
    assert engine.statuses(started) == {"t": "COMPLETED", "z": "SCHEDULED"}


def test_progress_reported_on_a_timed_wait_does_not_stop_its_clock(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="60s")))
    report(engine, task_of(engine, started, "t"), status="IN_PROGRESS", output={"n": 1})
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=60)
    assert status_of(engine, started) == "COMPLETED"


def test_wait_keeps_the_instant_at_which_it_began(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", wait("t", duration="60s")))
    began = task_of(engine, started, "t")["startTime"]
    pass_time(engine, seconds=60)
    task = task_of(engine, started, "t")
    assert (task["startTime"], task["endTime"]) == (began, began + 60_000)


def test_failed_wait_is_retried_and_waits_again(engine: MemoryEngine) -> None:
    task = wait("t", duration="60s")
    task["taskDefinition"] = {"name": "t", "retryCount": 1, "retryDelaySeconds": 10}
    started = engine.start(workflow("w", task))
    report(engine, task_of(engine, started, "t"), status="FAILED")
    pass_time(engine, seconds=10)
    assert engine.statuses(started) == {"t": "IN_PROGRESS"}
    pass_time(engine, seconds=59)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"


def test_waits_in_branches_end_each_at_its_time(engine: MemoryEngine) -> None:
    branches = [wait("s", duration="10s")], [wait("t", duration="20s")]
    started = engine.start(workflow("w", fork("f", *branches), join("j", "s", "t")))
    pass_time(engine, seconds=10)
    assert engine.statuses(started)["s"] == "COMPLETED"
    assert engine.statuses(started)["t"] == "IN_PROGRESS"
    pass_time(engine, seconds=10)
    assert status_of(engine, started) == "COMPLETED"


def test_a_thousand_waits_that_are_due_together(engine: MemoryEngine) -> None:
    started = [engine.start(workflow("w", wait("t", duration="10s"))) for _ in range(1000)]
    pass_time(engine, seconds=10)
    assert {status_of(engine, each) for each in started} == {"COMPLETED"}


@pytest.mark.parametrize("inputs", [{}, {"duration": "1h"}], ids=["for a signal", "for an hour"])
def test_the_timeout_of_its_task_definition_ends_a_wait(
    engine: MemoryEngine, inputs: dict[str, str]
) -> None:
    definition = {"name": "t", "timeoutSeconds": 60, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(workflow("w", {**wait("t", **inputs), "taskDefinition": definition}))
    pass_time(engine, seconds=59)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=1)
    assert engine.statuses(started) == {"t": "TIMED_OUT"}
    assert status_of(engine, started) == "TIMED_OUT"


def test_a_timeout_that_only_alerts_lets_a_wait_go_on(engine: MemoryEngine) -> None:
    definition = {"name": "t", "timeoutSeconds": 60, "timeoutPolicy": "ALERT_ONLY"}
    started = engine.start(
        workflow("w", {**wait("t", duration="2m"), "taskDefinition": definition})
    )
    pass_time(engine, seconds=60)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=60)
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    "until",
    ["2026-3-1 8:30", "2031-01-01 10:00 CEST", "2031-01-01 10:00 GMT+04:00", "2026-02-30", "x"],
)
def test_registration_takes_what_can_be_waited_for_and_nothing_else(
    engine: MemoryEngine, until: str
) -> None:
    literal = workflow_from_json(workflow("literal", wait("t", until=until)))
    wrong = [each.message for each in findings(literal, Rules())]
    computed = workflow("computed", wait("t", until="${workflow.input.at}"))
    started = engine.start(computed, input={"at": until})
    engine.settle()
    (task,) = engine.workflow(started)["tasks"]
    failed = task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert (failed, len(wrong)) == ((True, 1) if until in {"2026-02-30", "x"} else (False, 0))
    assert not wrong or task["reasonForIncompletion"].split(": ", 1)[1] == wrong[0].split(": ")[1]


@pytest.mark.parametrize(
    ("parameters", "seconds"),
    [({"duration": "90s"}, 90), ({"until": "2027-01-15 08:01"}, 60), ({}, 2**31 - 1)],
)
def test_shows_for_how_long_it_waits(
    engine: MemoryEngine, parameters: dict[str, str], seconds: int
) -> None:
    started = engine.start(workflow("w", wait("t", **parameters)))
    assert task_of(engine, started, "t")["callbackAfterSeconds"] == seconds

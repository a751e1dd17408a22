"""Timeouts of attempts and of executions, lost workers, and extensions that come in between."""

from typing import Any

import orjson
import pytest

from conductor_py.errors import Conflict
from conductor_py.model.event_handlers import ALERT
from conductor_py.testing import MemoryEngine
from tests.builders import (
    extend,
    fork,
    join,
    pass_time,
    policy,
    report,
    simple,
    status_of,
    task_of,
    tasks_of,
    wait,
    workflow,
)


@pytest.mark.oracle(44)
@pytest.mark.parametrize("timeout_policy", ["RETRY", "TIME_OUT_WF", "ALERT_ONLY"])
def test_response_timeout_is_retried_whatever_the_policy(
    engine: MemoryEngine, timeout_policy: str
) -> None:
    """Oracle row 44."""
    task = policy("a", retryCount=1, responseTimeoutSeconds=10, timeoutPolicy=timeout_policy)
    started = engine.start(workflow("w", task))
    engine.poll("a")
    pass_time(engine, seconds=10)
    first, second = tasks_of(engine, started, "a")
    assert (first["status"], second["status"]) == ("TIMED_OUT", "SCHEDULED")
    assert second["retryCount"] == 1


def test_response_timeout_waits_for_its_last_millisecond(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=10)))
    engine.poll("a")
    pass_time(engine, milliseconds=9_999)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}


def test_response_timeout_without_retries_times_the_workflow_out(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=0, responseTimeoutSeconds=10)))
    engine.poll("a")
    pass_time(engine, seconds=10)
    found = engine.workflow(started)
    assert found["status"] == "TIMED_OUT"
    assert "response timeout of" in found["reasonForIncompletion"]


def test_unpolled_task_has_no_response_timeout(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=10)))
    pass_time(engine, seconds=1000)
    assert engine.statuses(started) == {"a": "SCHEDULED"}


@pytest.mark.anomaly("A-28")
@pytest.mark.parametrize(
    ("timeout_policy", "statuses", "workflow_status"),
    [
        ("RETRY", ["TIMED_OUT", "SCHEDULED"], "RUNNING"),
        ("TIME_OUT_WF", ["TIMED_OUT"], "TIMED_OUT"),
        ("ALERT_ONLY", ["IN_PROGRESS"], "RUNNING"),
    ],
)
def test_task_timeout_follows_its_policy(
    engine: MemoryEngine, timeout_policy: str, statuses: list[str], workflow_status: str
) -> None:
    """Oracle row 43 for TIME_OUT_WF."""
    task = policy(
        "a",
        retryCount=1,
        timeoutSeconds=20,
        responseTimeoutSeconds=1000,
        timeoutPolicy=timeout_policy,
    )
    started = engine.start(workflow("w", task))
    engine.poll("a")
    pass_time(engine, seconds=20)
    assert [t["status"] for t in tasks_of(engine, started, "a")] == statuses
    assert status_of(engine, started) == workflow_status


def test_extending_does_not_move_the_task_timeout(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=1, timeoutSeconds=20, responseTimeoutSeconds=15)
    started = engine.start(
        workflow(
            "w", {**task, "taskDefinition": {**task["taskDefinition"], "timeoutPolicy": "RETRY"}}
        )
    )
    (polled,) = engine.poll("a")
    engine.clock.advance(seconds=14)
    extend(engine, polled)
    pass_time(engine, seconds=6)
    assert tasks_of(engine, started, "a")[0]["status"] == "TIMED_OUT"


def test_alert_only_moves_on_to_the_next_deadline(engine: MemoryEngine) -> None:
    task = policy(
        "a",
        retryCount=1,
        timeoutSeconds=20,
        responseTimeoutSeconds=30,
        timeoutPolicy="ALERT_ONLY",
    )
    started = engine.start(workflow("w", task))
    engine.poll("a")
    pass_time(engine, seconds=25)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    pass_time(engine, seconds=5)
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["TIMED_OUT", "SCHEDULED"]


def _alerts(engine: MemoryEngine) -> list[tuple[str, object]]:
    """What was alerted of that no handler has taken: the reason, and the task."""
    engine.settle()
    held = [orjson.loads(each) for each in engine.ports.events.held(ALERT, 100)]
    return [(each["payload"]["reason"], each["payload"].get("taskId")) for each in held]


def test_alert_only_alerts_once(engine: MemoryEngine) -> None:
    task = policy("a", timeoutSeconds=20, responseTimeoutSeconds=0, timeoutPolicy="ALERT_ONLY")
    started = engine.start(workflow("w", task))
    (polled,) = engine.poll("a")
    assert _alerts(engine) == []
    pass_time(engine, seconds=20)
    alert = "Task a: timeout of 20 s passed, policy ALERT_ONLY"
    assert _alerts(engine) == [(alert, polled["taskId"])]
    updated = engine.workflow(started)["updateTime"]
    for _ in range(3):
        pass_time(engine, seconds=60)
    assert engine.workflow(started)["updateTime"] == updated
    assert len(_alerts(engine)) == 1
    engine.complete(polled)
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize(
    ("timeout_policy", "statuses", "workflow_status"),
    [
        ("RETRY", ["TIMED_OUT", "SCHEDULED"], "RUNNING"),
        ("TIME_OUT_WF", ["TIMED_OUT"], "TIMED_OUT"),
        ("ALERT_ONLY", ["SCHEDULED"], "RUNNING"),
    ],
)
def test_poll_timeout_follows_the_policy(
    engine: MemoryEngine, timeout_policy: str, statuses: list[str], workflow_status: str
) -> None:
    task = policy("a", retryCount=1, pollTimeoutSeconds=5, timeoutPolicy=timeout_policy)
    started = engine.start(workflow("w", task))
    pass_time(engine, seconds=5)
    assert [t["status"] for t in tasks_of(engine, started, "a")] == statuses
    assert status_of(engine, started) == workflow_status


def test_task_that_timed_out_in_its_queue_is_not_handed_out(engine: MemoryEngine) -> None:
    task = policy("a", retryCount=1, pollTimeoutSeconds=5, timeoutPolicy="RETRY")
    started = engine.start(workflow("w", task))
    pass_time(engine, seconds=5)
    (polled,) = engine.poll("a", 5)
    assert polled["taskId"] == tasks_of(engine, started, "a")[1]["taskId"]


def test_poll_timeout_does_not_end_a_task_that_was_polled(engine: MemoryEngine) -> None:
    task = policy("a", pollTimeoutSeconds=5, timeoutPolicy="TIME_OUT_WF")
    started = engine.start(workflow("w", task))
    engine.clock.advance(seconds=4)
    engine.poll("a")
    pass_time(engine, seconds=100)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}


@pytest.mark.anomaly("A-37")
def test_poll_timeout_counts_from_the_end_of_the_delay(engine: MemoryEngine) -> None:
    task = policy("a", pollTimeoutSeconds=5, timeoutPolicy="TIME_OUT_WF")
    started = engine.start(workflow("w", {**task, "startDelay": 10}))
    pass_time(engine, seconds=14)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=1)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.parametrize(
    ("timeout_policy", "status"),
    [("RETRY", "TIMED_OUT"), ("TIME_OUT_WF", "TIMED_OUT"), ("ALERT_ONLY", "RUNNING")],
)
def test_total_timeout_over_all_attempts(
    engine: MemoryEngine, timeout_policy: str, status: str
) -> None:
    task = policy("a", retryCount=9, totalTimeoutSeconds=60, timeoutPolicy=timeout_policy)
    started = engine.start(workflow("w", task))
    pass_time(engine, seconds=60)
    assert status_of(engine, started) == status


@pytest.mark.parametrize(
    ("timeout_policy", "status"), [("TIME_OUT_WF", "TIMED_OUT"), ("ALERT_ONLY", "RUNNING")]
)
def test_workflow_timeout_follows_its_policy(
    engine: MemoryEngine, timeout_policy: str, status: str
) -> None:
    definition = workflow("w", simple("a"), timeoutSeconds=30, timeoutPolicy=timeout_policy)
    started = engine.start(definition)
    pass_time(engine, milliseconds=29_999)
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, milliseconds=1)
    assert status_of(engine, started) == status


def test_workflow_timeout_cancels_what_is_open(engine: MemoryEngine) -> None:
    definition = workflow(
        "w",
        fork("f", [simple("a")], [simple("b")]),
        join("j", "a", "b"),
        timeoutSeconds=30,
        timeoutPolicy="TIME_OUT_WF",
    )
    started = engine.start(definition)
    engine.run("a")
    pass_time(engine, seconds=30)
    assert engine.statuses(started) == {
        "f": "COMPLETED",
        "a": "COMPLETED",
        "b": "CANCELED",
        "j": "CANCELED",
    }
    assert not engine.poll("b")


def test_alert_only_of_a_task_that_no_worker_takes_alerts_once(engine: MemoryEngine) -> None:
    limits = {"name": "w", "timeoutSeconds": 20, "timeoutPolicy": "ALERT_ONLY"}
    started = engine.start(workflow("w", {**wait("t", duration="60s"), "taskDefinition": limits}))
    for _ in range(3):
        pass_time(engine, seconds=15)
    (alert,) = _alerts(engine)
    assert alert[0] == "Task t: timeout of 20 s passed, policy ALERT_ONLY"
    pass_time(engine, seconds=15)
    assert status_of(engine, started) == "COMPLETED"


def test_workflow_with_alert_only_completes_after_its_timeout(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), timeoutSeconds=30))
    pass_time(engine, seconds=31)
    assert _alerts(engine) == [("Workflow: timeout of 30 s passed, policy ALERT_ONLY", None)]
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


# -- lost workers ----------------------------------------------------------------------------------


@pytest.mark.anomaly("A-54")
def test_lost_worker_uses_up_no_retry(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=0)))
    engine.poll("a", lease_s=5)
    pass_time(engine, seconds=5)
    first, second = tasks_of(engine, started, "a")
    assert first["status"] == "CANCELED"
    assert first["reasonForIncompletion"] == (
        "worker worker is lost: its lease ended, 5 s after it was last heard of"
    )
    assert (second["status"], second["retryCount"]) == ("SCHEDULED", 0)
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_after_ten_lost_workers_the_response_timeout_rules_apply(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=0)))
    for _ in range(11):
        assert engine.poll("a", lease_s=5)
        pass_time(engine, seconds=5)
    attempts = tasks_of(engine, started, "a")
    assert [t["status"] for t in attempts] == ["CANCELED"] * 10 + ["TIMED_OUT"]
    assert attempts[-1]["reasonForIncompletion"] == (
        "worker worker is lost, and 10 before it: its lease ended, 5 s after it was last heard of,"
        " policy RETRY"
    )
    assert status_of(engine, started) == "TIMED_OUT"


def test_response_timeout_shorter_than_the_lease_uses_up_a_retry(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1, responseTimeoutSeconds=3)))
    engine.poll("a", lease_s=5)
    pass_time(engine, seconds=3)
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["TIMED_OUT", "SCHEDULED"]


def test_lost_workers_do_not_count_against_later_failures(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=1)))
    engine.poll("a", lease_s=5)
    pass_time(engine, seconds=5)
    engine.run("a", status="FAILED")
    engine.run("a")
    assert status_of(engine, started) == "COMPLETED"


def test_extended_lease_keeps_the_task(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a", lease_s=5)
    for _ in range(5):
        pass_time(engine, seconds=4)
        extend(engine, task, lease_s=5)
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    assert len(tasks_of(engine, started, "a")) == 1


def test_a_lost_worker_was_last_heard_of_when_it_extended_its_lease(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a", lease_s=20)
    pass_time(engine, seconds=4)
    extend(engine, task, lease_s=5)
    pass_time(engine, seconds=16)
    first, _ = tasks_of(engine, started, "a")
    assert first["reasonForIncompletion"] == (
        "worker worker is lost: its lease ended, 16 s after it was last heard of"
    )


def test_extending_a_lost_claim_is_refused(engine: MemoryEngine) -> None:
    engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a", lease_s=5)
    pass_time(engine, seconds=5)
    with pytest.raises(Conflict):
        extend(engine, task, lease_s=5)


def test_report_after_the_deadline_is_taken_while_the_attempt_is_open(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=10)))
    (task,) = engine.poll("a")
    engine.clock.advance(seconds=60)
    report(engine, task, output={"x": 1}, worker="worker")
    engine.settle()
    assert engine.workflow(started)["output"] == {"x": 1}


@pytest.mark.anomaly("A-8")
def test_extension_between_the_firing_and_the_decision_wins(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit that would end the attempt is refused (CLAIM_MOVED), and the attempt lives on."""
    started = engine.start(workflow("w", policy("a", retryCount=0, responseTimeoutSeconds=10)))
    (task,) = engine.poll("a")
    store = engine.ports.store
    commit = store.commit
    calls: list[str] = []

    def extend_first(order: Any) -> Any:
        if not calls:
            engine.clock.now_ms -= 10
            extend(engine, task)
            engine.clock.now_ms += 10
        reply = commit(order)
        calls.append(reply.outcome.value)
        return reply

    monkeypatch.setattr(type(store), "commit", lambda _, order: extend_first(order))
    engine.clock.advance(seconds=10)
    engine.settle()
    assert calls[0] == "CLAIM_MOVED"
    assert engine.statuses(started) == {"a": "IN_PROGRESS"}
    monkeypatch.undo()
    pass_time(engine, seconds=10)
    assert task_of(engine, started, "a")["status"] == "TIMED_OUT"


# -- callbacks -------------------------------------------------------------------------------------


@pytest.mark.oracle(34)
def test_callback_offers_the_same_attempt_again_after_its_delay(engine: MemoryEngine) -> None:
    """Oracle row 34."""
    started = engine.start(workflow("w", policy("a")))
    (task,) = engine.poll("a")
    engine.complete(task, {"half": True}, status="IN_PROGRESS", callback_after_s=30)
    seen = task_of(engine, started, "a")
    assert (seen["status"], seen["outputData"]) == ("SCHEDULED", {"half": True})
    engine.clock.advance(seconds=29)
    assert not engine.poll("a")
    engine.clock.advance(seconds=1)
    (again,) = engine.poll("a")
    assert again["taskId"] == task["taskId"]
    assert again["pollCount"] == 2
    assert again["outputData"] == {"half": True}
    engine.complete(again)
    assert status_of(engine, started) == "COMPLETED"


def test_callback_closes_the_response_timeout(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=10)))
    engine.run("a", status="IN_PROGRESS", callback_after_s=300)
    pass_time(engine, seconds=200)
    assert [t["status"] for t in tasks_of(engine, started, "a")] == ["SCHEDULED"]


def test_task_timeout_runs_on_while_a_callback_waits(engine: MemoryEngine) -> None:
    task = policy("a", timeoutSeconds=60, responseTimeoutSeconds=30, timeoutPolicy="TIME_OUT_WF")
    started = engine.start(workflow("w", task))
    engine.run("a", status="IN_PROGRESS", callback_after_s=10)
    pass_time(engine, seconds=60)
    assert status_of(engine, started) == "TIMED_OUT"


@pytest.mark.oracle(35)
def test_extend_lease_moves_only_the_update_time(engine: MemoryEngine) -> None:
    """Oracle row 35."""
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=10)))
    (task,) = engine.poll("a")
    before = task_of(engine, started, "a")
    engine.clock.advance(seconds=5)
    engine.engine.tasks.extend_by_result(task["taskId"], 0, "worker")
    after = task_of(engine, started, "a")
    changed = {key for key in before if before[key] != after.get(key)}
    assert "updateTime" in changed
    assert changed <= {"updateTime", "leaseUntil"}


def test_task_that_timed_out_is_named_among_those_that_failed(engine: MemoryEngine) -> None:
    task = simple("a")
    task["taskDefinition"] = {"name": "a", "timeoutSeconds": 5, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(workflow("w", task))
    engine.poll("a")
    pass_time(engine, seconds=6)
    found = engine.workflow(started)
    assert (found["status"], found["failedReferenceTaskNames"]) == ("TIMED_OUT", ["a"])
    assert found["failedTaskNames"] == ["a"]


@pytest.mark.parametrize(
    ("limits", "polled", "said"),
    [
        (
            {"responseTimeoutSeconds": 10},
            True,
            "response timeout of 10 s passed, policy RETRY: nothing was heard of worker worker",
        ),
        ({"timeoutSeconds": 20}, True, "timeout of 20 s passed, policy RETRY"),
        (
            {"pollTimeoutSeconds": 30},
            False,
            "poll timeout of 30 s passed, policy RETRY: no worker took the task from queue t",
        ),
        (
            {"totalTimeoutSeconds": 40, "responseTimeoutSeconds": 50},
            True,
            "total timeout of 40 s over all tries passed, policy RETRY",
        ),
    ],
)
def test_reason_of_a_timeout_names_its_limit_and_the_policy(
    engine: MemoryEngine, limits: dict[str, int], polled: bool, said: str
) -> None:
    task = policy("a", retryCount=0, timeoutPolicy="RETRY", **limits) | {"name": "t"}
    started = engine.start(workflow("w", task))
    assert len(engine.poll("t")) == 1 if polled else True
    pass_time(engine, seconds=50)
    found = engine.workflow(started)
    assert (found["status"], found["tasks"][0]["reasonForIncompletion"]) == ("TIMED_OUT", said)
    assert found["reasonForIncompletion"] == f"Task a (t) timed out: {said}"


def test_reason_of_the_workflows_timeout_names_its_limit(engine: MemoryEngine) -> None:
    more = {"timeoutSeconds": 5, "timeoutPolicy": "TIME_OUT_WF"}
    started = engine.start(workflow("w", simple("a"), **more))
    pass_time(engine, seconds=6)
    reason = engine.workflow(started)["reasonForIncompletion"]
    assert reason == "Workflow timed out: timeout of 5 s passed, policy TIME_OUT_WF"

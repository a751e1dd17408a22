"""Delivery of results: sent again while in doubt and while the lease lasts, never after."""

from __future__ import annotations

import pytest

from conductor_py.sdk import Client, ResultStatus, TaskContext, TaskLog, TaskResult
from conductor_py.sdk.lease import Lease
from conductor_py.sdk.report import Reporter
from tests.sdk.stub import DROP, Reply
from tests.sdk.tasks import task
from tests.waiting import PATIENCE_S

DONE = TaskResult.completed({"a": 1})


@pytest.fixture
def lease(clock) -> Lease:
    return Lease(TaskContext(task(), clock), lease_s=30, clock=clock)


@pytest.fixture
def reporter(client, clock) -> Reporter:
    return Reporter(client, worker_id="me", clock=clock)


def actions(caplog) -> list[str]:
    return [getattr(record, "action", "") for record in caplog.records]


def test_a_result_is_addressed_to_its_task_under_its_claim(stub, reporter, lease):
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))
    lease.context.log("from the context")
    result = TaskResult(
        status=ResultStatus.COMPLETED, logs=(TaskLog(line="from the result", created_ms=1),)
    )

    assert reporter.report(lease, result)

    sent = stub.requests[0].json()
    assert (sent["taskId"], sent["workflowInstanceId"]) == ("t-1", "w-1")
    assert (sent["workerId"], sent["claimToken"]) == ("me", 17)
    assert [log["log"] for log in sent["logs"]] == ["from the result", "from the context"]


def test_a_doubtful_report_is_sent_again_until_the_server_answers(stub, reporter, lease):
    stub.on("POST", "/api/tasks", DROP, Reply(500), Reply(429), Reply(503), Reply(200, "t-1"))

    assert reporter.report(lease, DONE)

    assert len(stub.requests) == 5
    assert len({request.body for request in stub.requests}) == 1


def test_a_report_whose_answer_has_no_end_is_not_sent_again(stub, lease, clock, caplog):
    stub.on("POST", "/api/tasks", Reply(200, "x" * 5_000))
    with Client(stub.url, timeout_s=PATIENCE_S, clock=clock, answer_limit_kb=1) as client:
        assert not Reporter(client, worker_id="me", clock=clock).report(lease, DONE)
    assert len(stub.requests) == 1
    assert actions(caplog) == ["result_in_doubt"]


def test_a_doubtful_report_is_given_up_when_the_lease_has_ended(
    stub, reporter, lease, clock, caplog
):
    stub.on("POST", "/api/tasks", DROP)
    end_ms = lease.until_ms

    assert not reporter.report(lease, DONE)

    assert len(stub.requests) > 3
    assert end_ms <= clock.now_ms < end_ms + 5_000
    assert "result_lost" in actions(caplog)


@pytest.mark.parametrize("status", [404, 409])
def test_a_result_that_nobody_wants_is_dropped_with_a_log_line(
    stub, reporter, lease, caplog, status
):
    stub.on("POST", "/api/tasks", Reply(status, {"message": "not yours"}))

    assert not reporter.report(lease, DONE)

    assert len(stub.requests) == 1
    assert actions(caplog) == ["result_dropped"]


@pytest.mark.parametrize("status", [400, 413])
def test_a_refused_result_becomes_a_failure_that_says_why(stub, reporter, lease, status):
    stub.on("POST", "/api/tasks", Reply(status, {"message": "too much"}), Reply(200, "t-1"))

    assert reporter.report(lease, DONE)

    sent = stub.requests[1].json()
    assert sent["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "too much" in sent["reasonForIncompletion"]
    assert (sent["outputData"], sent["claimToken"]) == ({}, 17)


def test_what_the_server_found_wrong_with_a_result_is_in_its_reason(stub, reporter, lease):
    found = [{"path": "$.outputData", "message": "must be an object"}]
    said = {"message": "Validation failed, check below errors for detail."}
    refusal = Reply(400, {**said, "validationErrors": found})
    stub.on("POST", "/api/tasks", refusal, Reply(200, "t-1"))

    assert reporter.report(lease, DONE)

    reason = stub.requests[1].json()["reasonForIncompletion"]
    assert reason.endswith("for detail.; $.outputData: must be an object")


def test_a_result_refused_twice_is_not_sent_a_third_time(stub, reporter, lease):
    stub.on("POST", "/api/tasks", Reply(400, {"message": "no"}))
    assert not reporter.report(lease, DONE)
    assert len(stub.requests) == 2


def test_nothing_is_reported_for_a_lost_lease(stub, reporter, lease, clock):
    clock.advance(30_000)
    assert not reporter.report(lease, DONE)
    assert stub.requests == []


def test_the_lease_is_still_extended_while_a_large_output_is_uploaded(stub, client, lease, clock):
    client._task_output_threshold_bytes = 10
    while_uploading = []
    place = {"uri": f"{stub.origin}/store", "path": "out.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))

    def store(request):
        while_uploading.append(lease.reporting)
        return Reply(200)

    stub.on("PUT", "/store", store)
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))

    assert Reporter(client, worker_id="me", clock=clock).report(
        lease, TaskResult.completed({"text": "longer than ten bytes"})
    )

    assert while_uploading == [False]
    assert lease.reporting
    assert stub.requests[-1].json()["externalOutputPayloadStoragePath"] == "out.json"


def test_an_output_that_cannot_be_uploaded_fails_the_task_so_that_it_is_tried_again(
    stub, client, lease, clock
):
    client._task_output_threshold_bytes = 10
    place = {"uri": f"{stub.origin}/store", "path": "out.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))
    stub.on("PUT", "/store", Reply(403))
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))

    assert Reporter(client, worker_id="me", clock=clock).report(
        lease, TaskResult.completed({"text": "longer than ten bytes"})
    )

    sent = stub.seen("POST")[0].json()
    assert sent["status"] == "FAILED"
    assert "could not be uploaded" in sent["reasonForIncompletion"]


def test_more_lines_than_the_server_keeps_are_joined_not_lost(stub, reporter, lease):
    stub.on("POST", "/api/tasks", Reply(200, "t-1"))
    for number in range(25):
        lease.context.log(str(number))

    reporter.report(lease, DONE)

    logs = stub.requests[0].json()["logs"]
    assert len(logs) <= 10
    assert "\n".join(log["log"] for log in logs).split("\n") == [str(n) for n in range(25)]

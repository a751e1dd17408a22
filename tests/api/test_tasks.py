"""Tasks over HTTP: polling, reporting, keeping, reading."""

from typing import Any

import pytest

from conductor_py.errors import Conflict, NotFound
from conductor_py.model.requests import ExtendRequest, PollRequest, TaskLog
from conductor_py.model.status import TaskStatus
from tests.api.fake_engine import TASK_ID, WORKFLOW_ID, FakeEngine, FakePage

_RESULT = {"workflowInstanceId": WORKFLOW_ID, "taskId": TASK_ID, "status": "COMPLETED"}


def test_poll_answers_one_task(client: Any, engine: FakeEngine) -> None:
    engine.tasks.waiting = [{"taskId": TASK_ID}]
    answer = client.get("/api/tasks/poll/resize?workerid=w&domain=eu&leaseSeconds=30")
    assert (answer.status_code, answer.json) == (200, {"taskId": TASK_ID})
    wanted = PollRequest(task_type="resize", worker="w", domain="eu", timeout_ms=100, lease_s=30)
    assert engine.tasks.polled == [wanted]


def test_poll_with_nothing_to_do_is_204(client: Any) -> None:
    answer = client.get("/api/tasks/poll/resize")
    assert (answer.status_code, answer.data) == (204, b"")


@pytest.mark.parametrize("task_type", ["HTTP", "KAFKA_PUBLISH"])
@pytest.mark.parametrize("path", ["/api/tasks/poll", "/api/tasks/poll/batch"])
def test_poll_of_a_type_that_the_server_carries_out_is_refused(
    client: Any, engine: FakeEngine, path: str, task_type: str
) -> None:
    engine.tasks.waiting = [{"taskId": TASK_ID}]
    answer = client.get(f"{path}/{task_type}?workerid=thief&domain=")
    assert answer.status_code == 403
    assert "carried out by the server" in answer.json["message"]
    assert engine.tasks.polled == []


def test_batch_poll_answers_a_list(client: Any, engine: FakeEngine) -> None:
    engine.tasks.waiting = [{"taskId": "1"}, {"taskId": "2"}, {"taskId": "3"}]
    answer = client.get("/api/tasks/poll/batch/resize?count=2&timeout=50&workerid=w")
    assert [task["taskId"] for task in answer.json] == ["1", "2"]
    assert engine.tasks.polled[0].timeout_ms == 50


def test_batch_poll_with_nothing_to_do_is_an_empty_list(client: Any) -> None:
    answer = client.get("/api/tasks/poll/batch/resize")
    assert (answer.status_code, answer.json) == (200, [])


@pytest.mark.parametrize("count", ["0", "-5"])
def test_a_worker_without_a_place_for_a_task_gets_none(
    client: Any, engine: FakeEngine, count: str
) -> None:
    answer = client.get(f"/api/tasks/poll/batch/resize?count={count}")
    assert (answer.status_code, answer.json) == (200, [])
    assert engine.tasks.polled == []


def test_a_batch_poll_that_would_wait_for_less_than_no_time_does_not_wait(
    client: Any, engine: FakeEngine
) -> None:
    assert client.get("/api/tasks/poll/batch/resize?timeout=-1").status_code == 200
    assert engine.tasks.polled[0].timeout_ms == 0


def test_a_bad_part_of_the_path_is_named_as_the_interface_names_it(client: Any) -> None:
    answer = client.post("/api/tasks/w/ref/ODD", json={})
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json["validationErrors"]] == ["{status}"]


@pytest.mark.parametrize("query", ["timeout=5001", "timeout=x", "count=x", "leaseSeconds=-1"])
def test_batch_poll_refuses_bad_parameters(client: Any, query: str) -> None:
    assert client.get(f"/api/tasks/poll/batch/resize?{query}").status_code == 400


def test_batch_poll_is_bounded(client: Any, engine: FakeEngine) -> None:
    client.get("/api/tasks/poll/batch/resize?count=1000000")
    assert engine.tasks.polled[0].count == 1_000


def test_report_answers_the_task_id_as_text(client: Any, engine: FakeEngine) -> None:
    body = {**_RESULT, "outputData": {"a": None}, "claimToken": 7, "workerId": "w"}
    answer = client.post("/api/tasks", json=body)
    assert (answer.status_code, answer.mimetype, answer.text) == (200, "text/plain", TASK_ID)
    (result,) = engine.tasks.reported
    assert (result.status, result.claim, result.worker) == (TaskStatus.COMPLETED, 7, "w")
    assert result.output == {"a": None}


def test_report_takes_every_member(client: Any, engine: FakeEngine) -> None:
    body = {
        **_RESULT,
        "status": "IN_PROGRESS",
        "outputData": None,
        "reasonForIncompletion": "r" * 600,
        "callbackAfterSeconds": "30",
        "logs": [{"log": "a", "createdTime": 1_767_225_600}, {"log": "b"}],
        "externalOutputPayloadStoragePath": "task/output/x.json",
        "subWorkflowId": None,
        "extendLease": False,
        "executionMetadata": {"serverSendTime": 1},
    }
    assert client.post("/api/tasks", json=body).status_code == 200
    (result,) = engine.tasks.reported
    assert (result.callback_after_s, result.external_output) == (30, "task/output/x.json")
    assert len(result.reason or "") == 500
    assert result.logs == (TaskLog(line="a", created_at=1_767_225_600_000), TaskLog(line="b"))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"status": None}, "$.status"),
        ({"status": "TIMED_OUT"}, "$.status"),
        ({"status": "completed"}, "$.status"),
        ({"status": 0}, "$.status"),
        ({"taskId": ""}, "$.taskId"),
        ({"taskId": None}, "$.taskId"),
        ({"workflowInstanceId": ""}, "$.workflowInstanceId"),
        ({"outputData": "text"}, "$.outputData"),
        ({"logs": {"log": "x"}}, "$.logs"),
        ({"logs": [{"log": {}}]}, "$.logs[0].log"),
        ({"claimToken": -1}, "$.claimToken"),
        ({"claimToken": 2**64 - 1}, "$.claimToken"),
    ],
)
@pytest.mark.parametrize("path_of_call", ["/api/tasks", "/api/tasks/update-v2"])
def test_report_names_what_is_wrong(
    client: Any, engine: FakeEngine, change: dict[str, Any], path: str, path_of_call: str
) -> None:
    answer = client.post(path_of_call, json={**_RESULT, **change})
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == path
    assert not engine.tasks.reported


@pytest.mark.parametrize(
    ("failure", "status"),
    [(NotFound("No such task found by id: x"), 404), (Conflict("moved"), 409)],
)
def test_report_on_what_is_not_ours(
    client: Any, engine: FakeEngine, failure: Exception, status: int
) -> None:
    engine.tasks.failure = failure
    assert client.post("/api/tasks", json=_RESULT).status_code == status


def test_extend_lease_in_a_result_only_keeps_the_claim(client: Any, engine: FakeEngine) -> None:
    body = {**_RESULT, "status": None, "extendLease": True, "claimToken": 5, "workerId": "w"}
    assert client.post("/api/tasks", json=body).text == TASK_ID
    assert engine.tasks.extended == [(TASK_ID, 5, "w")]
    assert client.post("/api/tasks/update-v2", json=body).status_code == 204
    assert not engine.tasks.reported


def test_update_v2_hands_out_the_next_task_of_the_same_queue(
    client: Any, engine: FakeEngine
) -> None:
    engine.tasks.documents[TASK_ID] = {"taskType": "resize", "domain": "eu"}
    engine.tasks.waiting = [{"taskId": "next"}]
    answer = client.post("/api/tasks/update-v2", json={**_RESULT, "workerId": "w"})
    assert (answer.status_code, answer.json) == (200, {"taskId": "next"})
    assert engine.tasks.polled == [
        PollRequest(task_type="resize", worker="w", domain="eu", timeout_ms=0)
    ]
    assert client.post("/api/tasks/update-v2", json=_RESULT).status_code == 204


def test_update_v2_hands_out_no_task_that_the_server_carries_out(
    client: Any, engine: FakeEngine
) -> None:
    engine.tasks.documents[TASK_ID] = {"taskType": "HTTP"}
    engine.tasks.waiting = [{"taskId": "next"}]
    answer = client.post("/api/tasks/update-v2", json={**_RESULT, "workerId": "w"})
    assert (answer.status_code, engine.tasks.polled) == (204, [])


def test_update_v2_of_an_unfinished_task_is_204(client: Any, engine: FakeEngine) -> None:
    answer = client.post("/api/tasks/update-v2", json={**_RESULT, "status": "IN_PROGRESS"})
    assert answer.status_code == 204
    assert not engine.tasks.polled


def test_update_v2_of_an_unknown_task_does_not_say_404(client: Any, engine: FakeEngine) -> None:
    """404 and 405 make the official Python workers give up the endpoint for good."""
    engine.tasks.failure = NotFound("No such task")
    answer = client.post("/api/tasks/update-v2", json=_RESULT)
    assert (answer.status_code, answer.json["code"]) == (410, "NOT_FOUND")


def test_report_by_reference(client: Any, engine: FakeEngine) -> None:
    path = f"/api/tasks/{WORKFLOW_ID}/resize_1/COMPLETED?workerid=w"
    assert client.post(path, json={"a": 1}).text == TASK_ID
    assert engine.tasks.by_ref == [
        (WORKFLOW_ID, "resize_1", TaskStatus.COMPLETED, {"a": 1}, "w"),
    ]


def test_report_by_a_reference_that_does_not_wait_is_empty(client: Any) -> None:
    answer = client.post(f"/api/tasks/{WORKFLOW_ID}/other/FAILED")
    assert (answer.status_code, answer.data) == (200, b"")
    assert "Content-Type" not in answer.headers


@pytest.mark.parametrize("status", ["SKIPPED", "completed", "TIMED_OUT"])
def test_report_by_reference_refuses_other_statuses(client: Any, status: str) -> None:
    assert client.post(f"/api/tasks/{WORKFLOW_ID}/resize_1/{status}").status_code == 400


def test_report_by_reference_and_read(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = {"workflowId": WORKFLOW_ID, "tasks": []}
    path = f"/api/tasks/{WORKFLOW_ID}/resize_1/COMPLETED/sync"
    assert client.post(path, json={}).json["workflowId"] == WORKFLOW_ID
    assert client.post(f"/api/tasks/{WORKFLOW_ID}/other/COMPLETED/sync").status_code == 404


def test_extend_answers_until_when(client: Any, engine: FakeEngine) -> None:
    body = {"claimToken": 5, "leaseSeconds": 30, "progress": {"rows": 3}}
    answer = client.post(f"/api/tasks/{TASK_ID}/extend", json=body)
    assert answer.json == {"taskId": TASK_ID, "leaseUntil": 1_767_225_600_000}
    assert engine.tasks.extended == [
        ExtendRequest(task_id=TASK_ID, claim=5, lease_s=30, progress={"rows": 3})
    ]


@pytest.mark.parametrize("body", [{}, {"claimToken": 0}, {"claimToken": 1, "progress": []}, []])
def test_extend_refuses_bad_bodies(client: Any, body: Any) -> None:
    assert client.post(f"/api/tasks/{TASK_ID}/extend", json=body).status_code == 400


def test_extend_of_a_stale_claim_conflicts(client: Any, engine: FakeEngine) -> None:
    engine.tasks.failure = Conflict("The claim is held by another worker.")
    assert client.post(f"/api/tasks/{TASK_ID}/extend", json={"claimToken": 1}).status_code == 409


def test_requeue_of_a_task_answers_nothing(client: Any, engine: FakeEngine) -> None:
    answer = client.post(f"/api/tasks/{TASK_ID}/requeue")
    assert (answer.status_code, answer.data) == (204, b"")
    assert engine.open_tasks.asked == [(TASK_ID,)]
    assert client.post(f"/api/tasks/{TASK_ID}0/requeue").status_code == 404


def test_log_is_the_raw_body(client: Any, engine: FakeEngine) -> None:
    for body in ("first", '"quoted"'):
        answer = client.post(f"/api/tasks/{TASK_ID}/log", data=body.encode())
        assert (answer.status_code, answer.data) == (200, b"")
    assert engine.tasks.lines[TASK_ID] == ["first", '"quoted"']
    assert [line["log"] for line in client.get(f"/api/tasks/{TASK_ID}/log").json] == [
        "first",
        '"quoted"',
    ]


def test_log_without_lines_is_204(client: Any) -> None:
    assert client.get(f"/api/tasks/{TASK_ID}/log").status_code == 204
    assert client.post(f"/api/tasks/{TASK_ID}/log").status_code == 400


def test_read_of_a_task(client: Any, engine: FakeEngine) -> None:
    engine.tasks.documents[TASK_ID] = {"taskId": TASK_ID}
    assert client.get(f"/api/tasks/{TASK_ID}").json == {"taskId": TASK_ID}
    assert client.get("/api/tasks/unknown").status_code == 404


def test_search_of_tasks(client: Any, engine: FakeEngine) -> None:
    engine.tasks.documents[TASK_ID] = {"taskId": TASK_ID, "whole": True}
    engine.executions.page = FakePage(total_hits=2, results=({"taskId": TASK_ID}, {"taskId": "g"}))
    assert client.get("/api/tasks/search?query=status%3DFAILED").json["totalHits"] == 2
    assert engine.executions.searched[0]["query"] == "status=FAILED"
    assert client.get("/api/tasks/search-v2").json == {
        "totalHits": 1,
        "results": [{"taskId": TASK_ID, "whole": True}],
    }


def test_queue_sizes(client: Any) -> None:
    sizes = client.get("/api/tasks/queue/sizes?taskType=resize&taskType=other").json
    assert sizes == {"resize": 3, "other": 0}
    assert client.get("/api/tasks/queue/all").json == {"eu:resize@ns-group": 2, "resize": 3}
    assert client.get("/api/tasks/queue/all/verbose").json == {
        "resize": {"s0": {"size": 1, "uacked": 0}, "s1": {"size": 2, "uacked": 0}}
    }


def test_queue_size_is_a_number(client: Any) -> None:
    query = "taskType=resize&domain=eu&isolationGroupId=group&executionNamespace=ns"
    assert client.get(f"/api/tasks/queue/size?{query}").json == 2
    assert client.get("/api/tasks/queue/size?taskType=none").json == 0
    assert client.get("/api/tasks/queue/size").status_code == 400


def test_poll_data(client: Any) -> None:
    assert client.get("/api/tasks/queue/polldata?taskType=a").json[0]["queueName"] == "a"
    assert client.get("/api/tasks/queue/polldata/all").json[0]["queueName"] == "resize"
    assert client.get("/api/tasks/queue/polldata").status_code == 400

"""Executions found by what they have in common, over a real engine in memory."""

from typing import Any
from urllib.parse import quote

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine

_DEFINITION = {"name": "thumbs", "tasks": [{"name": "resize", "taskReferenceName": "resize_1"}]}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    made = create_app(engine.engine).test_client()
    assert made.post("/api/metadata/workflow", json=_DEFINITION).status_code == 200
    assert (
        made.post("/api/metadata/workflow", json=_DEFINITION | {"name": "other"}).status_code < 300
    )
    return made


def _start(client: Any, correlation_id: str, name: str = "thumbs") -> str:
    body = {"name": name, "correlationId": correlation_id}
    return str(client.post("/api/workflow", json=body).text)


def _settle(engine: MemoryEngine) -> None:
    engine.clock.advance(seconds=2)
    engine.settle()


def _ids(found: list[dict[str, Any]]) -> list[str]:
    return [one["workflowId"] for one in found]


def test_correlated_executions_are_found_at_once_and_later(
    client: Any, engine: MemoryEngine
) -> None:
    started = _start(client, "order-1")
    _start(client, "order-2")
    for _ in range(2):
        found = client.get("/api/workflow/thumbs/correlated/order-1").json
        assert _ids(found) == [started]
        _settle(engine)


def test_closed_executions_and_tasks_come_when_asked_for(client: Any, engine: MemoryEngine) -> None:
    running, ended = _start(client, "c"), _start(client, "c")
    client.delete(f"/api/workflow/{ended}")
    _settle(engine)
    path = "/api/workflow/thumbs/correlated/c"
    (only,) = client.get(path).json
    assert (only["workflowId"], only["tasks"]) == (running, [])
    both = client.get(f"{path}?includeClosed=True&includeTasks=true").json
    assert sorted(_ids(both)) == sorted([running, ended])
    assert all(len(one["tasks"]) == 1 for one in both)


def test_every_correlation_id_that_was_asked_for_is_answered(client: Any) -> None:
    started = _start(client, "a")
    found = client.post("/api/workflow/thumbs/correlated", json=["a", "b", "a"]).json
    assert {name: _ids(listed) for name, listed in found.items()} == {"a": [started], "b": []}


def test_batches_look_into_several_workflows(client: Any) -> None:
    started = {_start(client, "a", name) for name in ("thumbs", "other")}
    body = {"workflowNames": ["thumbs", "other"], "correlationIds": ["a"]}
    found = client.post("/api/workflow/correlated/batch", json=body).json
    assert set(_ids(found["a"])) == started
    refused = client.post("/api/workflow/correlated/batch", json={"workflowNames": ["thumbs"]})
    assert refused.status_code == 400
    assert refused.json["validationErrors"][0]["path"] == "$.correlationIds"


@pytest.mark.parametrize("body", [{"a": 1}, "a", [["a"]], ["x"] * 1_001])
def test_a_list_of_ids_that_is_none_is_refused(client: Any, body: Any) -> None:
    answer = client.post("/api/workflow/thumbs/correlated", json=body)
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"].startswith("$")


def test_executions_are_searched_by_what_their_tasks_are(client: Any, engine: MemoryEngine) -> None:
    done = _start(client, "a")
    (task,) = engine.poll("resize")
    engine.complete(task)
    _settle(engine)
    _start(client, "b")
    _settle(engine)
    path = "/api/workflow/search-by-tasks"
    found = client.get(f"{path}?query=taskType%3Dresize AND status%3DCOMPLETED").json
    assert (found["totalHits"], _ids(found["results"])) == (1, [done])
    (whole,) = client.get(f"{path}-v2?query=taskType%3Dresize AND status%3DCOMPLETED").json[
        "results"
    ]
    assert (whole["workflowId"], whole["tasks"], whole["status"]) == (done, [], "COMPLETED")
    assert client.get(f"{path}?query=nonsense").status_code == 400


def test_open_tasks_of_a_type_are_listed_with_the_settings_in_effect(
    client: Any, engine: MemoryEngine
) -> None:
    started = [_start(client, "a")]
    engine.clock.advance(seconds=1)
    started.append(_start(client, "b"))
    found = client.get("/api/admin/task/resize").json
    assert [task["workflowInstanceId"] for task in found] == started
    (second,) = client.get("/api/admin/task/resize?start=1&count=1").json
    assert second["workflowInstanceId"] == started[1]
    assert client.get("/api/admin/config").json["version"] == "test"


def test_what_a_dead_worker_has_is_put_back_and_its_result_is_refused(
    client: Any, engine: MemoryEngine
) -> None:
    _start(client, "a")
    poll = "/api/tasks/poll/resize?workerid="
    dead = client.get(f"{poll}dead").json
    assert client.get(f"{poll}alive").status_code == 204
    assert client.post("/api/tasks/queue/requeue/resize").text == "1"
    task = client.get(f"{poll}alive").json
    assert (task["taskId"], task["workerId"]) == (dead["taskId"], "alive")
    assert client.post(f"/api/tasks/{task['taskId']}/requeue").status_code == 204
    again = client.post(f"/api/tasks/{task['taskId']}/requeue")
    assert (again.status_code, "held by no worker" in again.json["message"]) == (409, True)
    result = {"workflowInstanceId": task["workflowInstanceId"], "taskId": task["taskId"]}
    late = result | {"status": "COMPLETED", "workerId": "dead", "claimToken": dead["claimToken"]}
    assert client.post("/api/tasks", json=late).status_code == 409
    assert client.post("/api/tasks/queue/requeue/other").text == "0"


def test_looking_at_an_execution_now_says_whether_anything_was_owed(
    client: Any, engine: MemoryEngine
) -> None:
    started = _start(client, "a")
    sweep = client.post(f"/api/admin/sweep/requeue/{started}")
    assert (sweep.mimetype, sweep.text) == ("text/plain", f"true.{started}")
    verify = client.post(f"/api/admin/consistency/verifyAndRepair/{started}")
    assert (verify.mimetype, verify.text) == ("text/plain", "false")
    client.delete(f"/api/workflow/{started}")
    _settle(engine)
    assert client.post(f"/api/admin/sweep/requeue/{started}").text == f"false.{started}"
    assert client.post("/api/admin/sweep/requeue/missing").status_code == 404


def test_results_sent_by_queue_are_applied_at_once(client: Any, engine: MemoryEngine) -> None:
    by_ref, by_task = _start(client, "a"), _start(client, "b")
    sent = client.post(f"/api/queue/update/{by_ref}/resize_1/COMPLETED", json={"n": 1})
    assert (sent.status_code, sent.data) == (200, b"")
    assert engine.workflow(by_ref)["output"] == {"n": 1}
    task_id = engine.workflow(by_task)["tasks"][0]["taskId"]
    path = f"/api/queue/update/{by_task}/task/{task_id}/FAILED"
    assert client.post(path, json={"why": "so"}).status_code == 200
    assert engine.workflow(by_task)["tasks"][0]["status"] == "FAILED"
    refused = client.post(f"/api/queue/update/{by_ref}/resize_1/SKIPPED", json={})
    assert refused.status_code == 400
    assert set(client.get("/api/queue/size").json) == set(client.get("/api/queue/").json.values())


def test_a_list_without_end_of_wrong_ids_is_refused_before_it_is_read(client: Any) -> None:
    answer = client.post("/api/workflow/thumbs/correlated", json=[[]] * 1_001)
    assert answer.status_code == 400
    (found,) = answer.json["validationErrors"]
    assert found["message"] == "must not hold more than 1000 entries"


def _created(client: Any, name: str, first: int, last: int, version: int = 1) -> Any:
    asked = {"startTime": first, "endTime": last, "version": version}
    return client.get(f"/api/workflow/running/{quote(name)}", query_string=asked).json


def test_what_was_created_between_two_times_is_listed_whatever_became_of_it(
    client: Any, engine: MemoryEngine
) -> None:
    began = engine.clock.now_ms
    ended, _ = _start(client, "c"), _start(client, "c", "other")
    client.delete(f"/api/workflow/{ended}")
    _settle(engine)
    running, now = _start(client, "c"), engine.clock.now_ms
    client.post("/api/metadata/workflow", json=_DEFINITION | {"version": 2})
    newer = client.post("/api/workflow", json={"name": "thumbs", "version": 2}).text
    for _ in range(2):
        assert _created(client, "thumbs", began, now) == [ended, running]
        assert _created(client, "thumbs", began, now - 1) == [ended]
        assert _created(client, "thumbs", began + 1, now) == [running]
        assert _created(client, "thumbs", began, now, version=2) == [newer]
        _settle(engine)


def test_a_name_of_any_characters_is_listed_between_two_times(
    client: Any, engine: MemoryEngine
) -> None:
    name = "a*\"'b"
    assert (
        client.post("/api/metadata/workflow", json=_DEFINITION | {"name": name}).status_code < 300
    )
    started = _start(client, "c", name)
    _settle(engine)
    assert _created(client, name, 1, engine.clock.now_ms) == [started]


def test_too_many_of_one_time_are_refused_whole(
    client: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.engine.executions.lookups._PAGE", 2)
    monkeypatch.setattr("conductor_py.engine.executions.lookups.MAX_CREATED", 4)
    started = [_start(client, "c") for _ in range(4)]
    _settle(engine)
    assert sorted(_created(client, "thumbs", 1, engine.clock.now_ms)) == sorted(started)
    _start(client, "c")
    _settle(engine)
    refused = _created(client, "thumbs", 1, engine.clock.now_ms)
    assert (refused["status"], refused["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "shorter time" in refused["message"]


@pytest.mark.parametrize("apart_ms", [0, 1, 7])
def test_all_that_were_created_are_listed_page_by_page(
    client: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, apart_ms: int
) -> None:
    monkeypatch.setattr("conductor_py.engine.executions.lookups._PAGE", 3)
    monkeypatch.setattr("conductor_py.engine.executions.lookups._NEW", 1)
    started = []
    for number in range(11):
        engine.clock.advance(seconds=apart_ms * (number // 2) / 1000)
        started.append(_start(client, "c"))
    _settle(engine)
    found = _created(client, "thumbs", 1, engine.clock.now_ms)
    assert sorted(found) == sorted(started)

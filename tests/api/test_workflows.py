"""Workflows over HTTP: starting, reading, ending, searching."""

from typing import Any

import orjson
import pytest

from conductor_py.errors import LimitExceeded, PayloadTooLarge, StoreUnavailable
from tests.api.fake_engine import WORKFLOW_ID, FakeEngine, FakePage

_DEFINITION = {"name": "thumbs", "tasks": [{"name": "resize", "taskReferenceName": "resize_1"}]}


def test_start_answers_the_id_as_plain_text(client: Any, engine: FakeEngine) -> None:
    answer = client.post("/api/workflow", json={"name": "thumbs", "input": {"url": "x"}})
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    assert answer.text == WORKFLOW_ID
    (started,) = engine.executions.started
    assert (started.name, started.version, started.input) == ("thumbs", None, {"url": "x"})


def test_start_takes_every_member(client: Any, engine: FakeEngine) -> None:
    body = {
        "name": "thumbs",
        "version": 2,
        "correlationId": "c",
        "taskToDomain": {"*": "eu"},
        "workflowDef": _DEFINITION,
        "externalInputPayloadStoragePath": "workflow/input/x.json",
        "priority": 7,
        "createdBy": "me",
        "idempotencyKey": "k",
        "idempotencyStrategy": "RETURN_EXISTING",
        "unknownMember": [1],
    }
    assert client.post("/api/workflow", json=body).status_code == 200
    (started,) = engine.executions.started
    assert started.definition is not None
    assert started.definition.tasks[0].task_reference_name == "resize_1"
    assert (started.external_input, started.priority) == ("workflow/input/x.json", 7)
    assert (started.idempotency_key, started.idempotency_strategy) == ("k", "RETURN_EXISTING")
    assert dict(started.task_to_domain) == {"*": "eu"}


def test_start_is_as_lenient_as_conductor(client: Any, engine: FakeEngine) -> None:
    body = {"name": 5, "version": "3", "priority": "4", "correlationId": 9, "taskToDomain": None}
    assert client.post("/api/workflow", json=body).status_code == 200
    (started,) = engine.executions.started
    assert (started.name, started.version, started.priority) == ("5", 3, 4)
    assert started.correlation_id == "9"


def test_a_priority_may_be_given_by_name(client: Any, engine: FakeEngine) -> None:
    client.post("/api/workflow", json={"name": "w", "priority": "HIGHEST"})
    client.post("/api/workflow/w?priority=LOW", json={})
    assert [each.priority for each in engine.executions.started] == [90, 30]


def test_a_start_says_what_it_is_about(client: Any, engine: FakeEngine) -> None:
    body = {"name": "w", "businessTime": "2026-11-24", "zoneId": "Europe/Berlin"}
    client.post("/api/workflow", json=body)
    client.post("/api/workflow/w?businessTime=2026-11-24T01:00Z&zoneId=Asia/Shanghai", json={})
    client.post("/api/workflow", json={"name": "w", "businessTime": None, "zoneId": None})
    assert [(each.business_at, each.zone) for each in engine.executions.started] == [
        (1_795_474_800_000, "Europe/Berlin"),
        (1_795_482_000_000, "Asia/Shanghai"),
        (0, ""),
    ]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "x", "businessTime": "soon"}, "$.businessTime"),
        ({"name": "x", "businessTime": [1]}, "$.businessTime"),
        ({"name": "x", "businessTime": True}, "$.businessTime"),
        ({"name": "x", "businessTime": -1}, "$.businessTime"),
        ({"name": "x", "zoneId": "Mars/Olympus"}, "$.zoneId"),
        ({"name": "x", "zoneId": {}}, "$.zoneId"),
        ({"input": {}}, "$.name"),
        ({"name": " "}, "$.name"),
        ({"name": None}, "$.name"),
        ({"name": ["x"]}, "$.name"),
        ({"name": "x", "priority": 100}, "$.priority"),
        ({"name": "x", "priority": True}, "$.priority"),
        ({"name": "x", "priority": "high"}, "$.priority"),
        ({"name": "x", "priority": "URGENT"}, "$.priority"),
        ({"name": "x", "input": [1]}, "$.input"),
        ({"name": "x", "input": None}, "$.input"),
        ({"name": "x", "version": 2**63}, "$.version"),
        ({"name": "x", "version": {"a": 1}}, "$.version"),
        ({"name": "x", "idempotencyStrategy": "fail"}, "$.idempotencyStrategy"),
        ({"name": "x", "taskToDomain": {"a b": [1]}}, "$.taskToDomain['a b']"),
        ({"name": "x", "workflowDef": 3}, "$.workflowDef"),
        ({"name": "x", "workflowDef": {"name": "x", "tasks": {}}}, "$.workflowDef.tasks"),
        ([], "$"),
        ("text", "$"),
        (None, "$"),
    ],
)
def test_start_names_what_is_wrong(client: Any, engine: FakeEngine, body: Any, path: str) -> None:
    answer = client.post("/api/workflow", data=orjson.dumps(body))
    assert answer.status_code == 400
    assert [found["path"] for found in answer.json["validationErrors"]] == [path]
    assert answer.json["status"] == 400
    assert answer.json["retryable"] is False
    assert "instance" not in answer.json
    assert not engine.executions.started


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"nope", b'{"name": NaN}', b"\xff\xfe", b'{"a":' * 1500 + b"1" + b"}" * 1500],
)
def test_what_is_no_json_is_a_bad_request(client: Any, body: bytes) -> None:
    answer = client.post("/api/workflow", data=body)
    assert answer.status_code == 400
    assert answer.json["code"] == "INVALID_INPUT"


@pytest.mark.parametrize(("depth", "status"), [(190, 200), (260, 400)])
def test_nesting_is_bounded(client: Any, depth: int, status: int) -> None:
    body = b'{"name":"x","input":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    assert client.post("/api/workflow", data=body).status_code == status


def test_wide_bodies_are_not_taken_for_deep_ones(client: Any) -> None:
    body = {"name": "x", "input": {"list": [{"a": []}] * 500}}
    assert client.post("/api/workflow", json=body).status_code == 200


def test_body_above_the_limit_is_too_large(client: Any) -> None:
    answer = client.post("/api/workflow", json={"name": "x", "input": {"a": "x" * 200_000}})
    assert (answer.status_code, answer.json["status"]) == (413, 413)


@pytest.mark.parametrize(
    ("failure", "status", "retryable"),
    [
        (StoreUnavailable(retry_after_s=3), 503, True),
        (LimitExceeded("full"), 429, True),
        (PayloadTooLarge("big"), 413, False),
    ],
)
def test_failures_of_the_engine_have_their_status(
    client: Any, engine: FakeEngine, failure: Exception, status: int, retryable: bool
) -> None:
    engine.executions.failure = failure
    answer = client.post("/api/workflow", json={"name": "x"})
    assert (answer.status_code, answer.json["retryable"]) == (status, retryable)
    assert answer.json["instance"] == "here"
    assert ("Retry-After" in answer.headers) is retryable


def test_what_nobody_foresaw_is_logged_and_answered_without_details(
    client: Any, engine: FakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.executions.failure = RuntimeError("secret")
    answer = client.post("/api/workflow/thumbs", json={})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    (record,) = caplog.records
    assert vars(record)["action"] == "request_failed"
    assert vars(record)["endpoint"] == "POST /api/workflow/<name>"
    assert record.exc_info is not None


def test_start_by_name_takes_the_body_as_input(client: Any, engine: FakeEngine) -> None:
    path = "/api/workflow/thumbs?version=2&correlationId=c&priority=5"
    assert client.post(path, json={"url": "x"}).text == WORKFLOW_ID
    (started,) = engine.executions.started
    assert (started.name, started.version, started.priority) == ("thumbs", 2, 5)
    assert (started.correlation_id, started.input) == ("c", {"url": "x"})


def test_start_by_name_needs_no_body(client: Any, engine: FakeEngine) -> None:
    assert client.post("/api/workflow/thumbs?version=").status_code == 200
    assert engine.executions.started[0].version is None


@pytest.mark.parametrize(
    "query",
    [
        "priority=100",
        "version=new",
        "priority=-1",
        "priority=SOON",
        "businessTime=soon",
        "zoneId=Mars",
    ],
)
def test_start_by_name_refuses_bad_parameters(client: Any, query: str) -> None:
    answer = client.post(f"/api/workflow/thumbs?{query}", json={})
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"].startswith("?")


def _executed(**more: Any) -> dict[str, Any]:
    tasks = [{"taskId": str(n), "status": "COMPLETED" if n < 3 else "FAILED"} for n in range(5)]
    return {"workflowId": WORKFLOW_ID, "status": "RUNNING", "tasks": tasks, **more}


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 5), ("?includeTasks=False", 0), ("?includeTasks=true", 5), ("?includeTasks=", 5)],
)
def test_read_with_or_without_tasks(
    client: Any, engine: FakeEngine, query: str, count: int
) -> None:
    engine.executions.documents[WORKFLOW_ID] = _executed()
    answer = client.get(f"/api/workflow/{WORKFLOW_ID}{query}")
    assert answer.mimetype == "application/json"
    assert len(answer.json["tasks"]) == count


def test_read_of_an_unknown_workflow_is_not_found(client: Any) -> None:
    answer = client.get("/api/workflow/unknown")
    assert answer.status_code == 404
    assert answer.json == {
        "status": 404,
        "message": "No such workflow found by id: unknown",
        "instance": "here",
        "retryable": False,
        "code": "NOT_FOUND",
    }


def test_status_asks_for_what_is_wanted(client: Any) -> None:
    answer = client.get("/api/workflow/x/status?includeOutput=True")
    assert answer.json == {"workflowId": "x", "o": True, "v": False}


def test_tasks_are_paged_and_filtered(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = _executed()
    path = f"/api/workflow/{WORKFLOW_ID}/tasks"
    page = client.get(f"{path}?start=1&count=1&status=completed").json
    assert page == {"totalHits": 3, "results": [{"taskId": "1", "status": "COMPLETED"}]}
    assert client.get(f"{path}?status=COMPLETED&status=FAILED").json["totalHits"] == 5
    assert client.get(f"{path}?start=9").json == {"totalHits": 5, "results": []}
    assert client.get(f"{path}?start=-1").status_code == 400


def test_running_lists_ids(client: Any) -> None:
    assert client.get("/api/workflow/running/thumbs?version=1").json == [WORKFLOW_ID]
    assert client.get("/api/workflow/running/thumbs?version=abc").status_code == 400
    assert client.get("/api/workflow/running/unknown").json == []


def test_running_between_two_times_lists_what_was_created_then(
    client: Any, engine: FakeEngine
) -> None:
    answer = client.get("/api/workflow/running/thumbs?startTime=5&endTime=9")
    assert answer.json == [WORKFLOW_ID]
    assert engine.lookups.asked == [("thumbs", 1, {"since_ms": 5, "until_ms": 9})]


def test_terminate_answers_nothing(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = _executed()
    answer = client.delete(f"/api/workflow/{WORKFLOW_ID}?reason=why", json={})
    assert (answer.status_code, answer.data) == (200, b"")
    assert "Content-Type" not in answer.headers
    assert engine.executions.terminated == [(WORKFLOW_ID, "why")]


def test_terminate_of_a_completed_workflow_conflicts(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = _executed(status="COMPLETED")
    answer = client.delete(f"/api/workflow/{WORKFLOW_ID}")
    assert (answer.status_code, answer.json["code"]) == (409, "CONFLICT")


def test_search_takes_what_the_python_client_sends(client: Any, engine: FakeEngine) -> None:
    engine.executions.page = FakePage(total_hits=7, results=({"workflowId": "a"},))
    answer = client.get("/api/workflow/search?queryId=&start=0&size=10&sort=&freeText=*&query=")
    assert answer.json == {"totalHits": 7, "results": [{"workflowId": "a"}]}
    assert engine.executions.searched == [
        {"query": "", "free_text": "*", "sort": "", "start": 0, "size": 10}
    ]


def test_search_adds_classifier_and_top_level_to_the_query(client: Any, engine: FakeEngine) -> None:
    query = "query=a%3D1%20OR%20b%3D2&classifier=agent,workflow&topLevelOnly=true"
    client.get(f"/api/workflow/search?{query}&sort=startTime:DESC&sort=version:ASC")
    asked = engine.executions.searched[0]
    assert asked["query"] == (
        '(a=1 OR b=2) AND classifier IN ("agent", "workflow") AND parentWorkflowId = ""'
    )
    assert asked["sort"] == "startTime:DESC|version:ASC"


@pytest.mark.parametrize("query", ["size=5001", "start=-1", "size=many"])
def test_search_refuses_bad_pages(client: Any, query: str) -> None:
    assert client.get(f"/api/workflow/search?{query}").status_code == 400


def test_search_v2_reads_workflows_and_drops_what_is_gone(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = _executed()
    found = ({"workflowId": WORKFLOW_ID}, {"workflowId": "gone"})
    engine.executions.page = FakePage(total_hits=9, results=found)
    answer = client.get("/api/workflow/search-v2").json
    assert answer["totalHits"] == 8
    assert [one["tasks"] for one in answer["results"]] == [[]]


@pytest.mark.parametrize("alias", ["externalstoragelocation", "external-storage-location"])
def test_place_of_a_payload(client: Any, engine: FakeEngine, alias: str) -> None:
    path = f"/api/workflow/{alias}?operation=write&payloadType=workflow_input"
    assert client.get(f"{path}&path=x").json == {"uri": engine.payloads.uri, "path": "x"}
    engine.payloads.uri = None
    assert client.get(f"{path}&path=x").json == {"path": "x"}


@pytest.mark.parametrize(
    "query", ["", "operation=DROP&payloadType=TASK_INPUT", "operation=READ&payloadType=TASK_INPUT"]
)
def test_place_of_a_payload_needs_to_know_which(client: Any, query: str) -> None:
    assert client.get(f"/api/workflow/externalstoragelocation?{query}").status_code == 400


def test_inline_definition_is_read_once(client: Any, engine: FakeEngine) -> None:
    for _ in range(2):
        client.post("/api/workflow", json={"name": "thumbs", "workflowDef": _DEFINITION})
    one, other = engine.executions.started
    assert one.definition is other.definition

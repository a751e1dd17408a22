"""Executions under way over HTTP: what each endpoint asks of the engine, and how it answers."""

from typing import Any

import pytest

from conductor_py.errors import Conflict
from conductor_py.model.requests import StartRequest, StateUpdate
from conductor_py.model.status import TaskStatus
from tests.api.fake_engine import WORKFLOW_ID, FakeEngine


@pytest.mark.parametrize(
    ("method", "path", "status", "asked"),
    [
        ("PUT", "/pause", 200, ("pause",)),
        ("PUT", "/resume", 200, ("resume",)),
        ("POST", "/resetcallbacks", 204, ("reset_callbacks",)),
        ("DELETE", "/remove", 200, ("remove", True)),
        ("DELETE", "/remove?archiveWorkflow=False", 200, ("remove", False)),
    ],
)
def test_verbs(
    client: Any, engine: FakeEngine, *, method: str, path: str, status: int, asked: tuple[Any, ...]
) -> None:
    answer = client.open(f"/api/workflow/{WORKFLOW_ID}{path}", method=method)
    assert (answer.status_code, answer.data) == (status, b"")
    assert "Content-Type" not in answer.headers
    name, *more = asked
    assert engine.steering.asked == [(name, WORKFLOW_ID, *more)]


def test_decide(client: Any, engine: FakeEngine) -> None:
    assert client.put(f"/api/workflow/decide/{WORKFLOW_ID}").status_code == 200
    assert engine.steering.asked == [("decide", WORKFLOW_ID)]


@pytest.mark.parametrize(
    ("sent", "given", "got"),
    [
        ({"json": {"taskInput": {"i": 1}, "taskOutput": {"o": 2}}}, {"i": 1}, {"o": 2}),
        ({"json": {"taskOutput": {"o": 2}, "taskInput": None}}, {}, {"o": 2}),
        ({}, {}, {}),
        ({"query_string": {"skipTaskRequest": "{'taskInput': None}"}}, {}, {}),
        ({"json": None}, {}, {}),
    ],
)
def test_skip_takes_a_body_and_tolerates_what_clients_send(
    client: Any, engine: FakeEngine, sent: dict[str, Any], given: Any, got: Any
) -> None:
    answer = client.put(f"/api/workflow/{WORKFLOW_ID}/skiptask/x", **sent)
    assert answer.status_code == 200
    assert engine.steering.asked == [("skip", WORKFLOW_ID, "x", given, got)]


def test_skip_with_a_wrong_body_says_where(client: Any, engine: FakeEngine) -> None:
    answer = client.put(f"/api/workflow/{WORKFLOW_ID}/skiptask/x", json={"taskInput": 3})
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == "$.taskInput"
    assert engine.steering.asked == []


def test_terminate_and_remove(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents[WORKFLOW_ID] = {"status": "RUNNING"}
    path = f"/api/workflow/{WORKFLOW_ID}/terminate-remove?reason=why&archiveWorkflow=false"
    assert client.delete(path).status_code == 200
    assert engine.executions.terminated == [(WORKFLOW_ID, "why")]
    assert engine.steering.asked == [("remove", WORKFLOW_ID, False)]
    engine.executions.documents[WORKFLOW_ID] = {"status": "COMPLETED"}
    assert client.delete(path).status_code == 409
    assert len(engine.steering.asked) == 1


def test_variables_answer_the_execution(client: Any) -> None:
    answer = client.post(f"/api/workflow/{WORKFLOW_ID}/variables", json={"v": 1})
    assert answer.json == {"workflowId": WORKFLOW_ID, "variables": {"v": 1}}
    assert client.post(f"/api/workflow/{WORKFLOW_ID}/variables", json=[1]).status_code == 400


def test_requeue_of_a_type_answers_how_many_are_in_their_queue(client: Any) -> None:
    answer = client.post("/api/tasks/queue/requeue/resize")
    assert (answer.text, answer.mimetype) == ("3", "text/plain")


# -- bulk ------------------------------------------------------------------------------------------


def test_bulk_answers_for_each(client: Any, engine: FakeEngine) -> None:
    found = client.put("/api/workflow/bulk/pause", json=["a", "b"]).json
    assert found == {"bulkErrorResults": {}, "bulkSuccessfulResults": ["a", "b"]}
    engine.steering.failure = Conflict("not now")
    found = client.put("/api/workflow/bulk/resume", json=["a", "b"]).json
    assert found == {
        "bulkErrorResults": {"a": "not now", "b": "not now"},
        "bulkSuccessfulResults": [],
    }


def test_bulk_terminate_remove_tries_both_and_counts_both(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents |= {"r": {"status": "RUNNING"}, "c": {"status": "COMPLETED"}}
    path = "/api/workflow/bulk/terminate-remove?reason=why&archiveWorkflow=false"
    found = client.delete(path, json=["r", "c"]).json
    assert found["bulkSuccessfulResults"] == ["r", "r", "c"]
    assert found["bulkErrorResults"] == {"c": "Cannot terminate a COMPLETED workflow."}
    assert engine.steering.asked == [("remove", "r", False), ("remove", "c", False)]


def test_bulk_search_reads_by_id(client: Any, engine: FakeEngine) -> None:
    engine.executions.documents["a"] = {"status": "RUNNING", "tasks": [1]}
    found = client.post("/api/workflow/bulk/search?includeTasks=false", json=["a", "b"]).json
    assert found["bulkSuccessfulResults"] == [{"status": "RUNNING", "tasks": []}]
    assert list(found["bulkErrorResults"]) == ["b"]


def test_bulk_search_for_one_execution_a_thousand_times_answers_with_it_once(
    client: Any, engine: FakeEngine
) -> None:
    engine.executions.documents["a"] = {"status": "RUNNING", "input": "x" * 1_000_000}
    found = client.post("/api/workflow/bulk/search", json=["a"] * 1_000).json
    assert len(found["bulkSuccessfulResults"]) == 1


def test_bulk_search_for_more_than_an_answer_holds_is_refused_and_reads_no_further(
    client: Any, engine: FakeEngine
) -> None:
    documents = engine.executions.documents
    documents |= {f"{number}": {"input": "x" * 1_000_000} for number in range(100)}
    answer = client.post("/api/workflow/bulk/search", json=list(documents))
    assert answer.status_code == 413
    assert "64 MB" in answer.json["message"]
    assert client.post("/api/workflow/bulk/search", json=list(documents)[:60]).status_code == 200


@pytest.mark.parametrize("body", [[], ["x"] * 1001, {"a": 1}, [1], "a"])
def test_bulk_takes_a_list_of_one_to_a_thousand_ids(
    client: Any, engine: FakeEngine, body: Any
) -> None:
    answer = client.put("/api/workflow/bulk/pause", json=body)
    assert (answer.status_code, engine.steering.asked) == (400, [])


# -- calls that wait -------------------------------------------------------------------------------


def _asked(engine: FakeEngine) -> Any:
    (asked,) = engine.awaiting.asked
    return asked


def test_execute_takes_name_and_version_from_the_path(client: Any, engine: FakeEngine) -> None:
    engine.awaiting.found = {"status": "COMPLETED"}
    query = "requestId=r&waitUntilTaskRef=a,b&waitForSeconds=3&consistency=DURABLE"
    path = f"/api/workflow/execute/w/2?{query}&returnStrategy=BLOCKING_TASK"
    answer = client.post(path, json={"name": "other", "version": 7, "input": {"i": 1}})
    assert answer.json == {"status": "COMPLETED"}
    started, wait = _asked(engine)
    assert started == StartRequest(name="w", version=2, input={"i": 1})
    assert (wait.timeout_ms, wait.refs, wait.request_id) == (3_000, ("a", "b"), "r")
    assert wait.strategy == "BLOCKING_TASK"


def test_execute_by_an_official_client_that_sends_nones(client: Any, engine: FakeEngine) -> None:
    path = "/api/workflow/execute/w/0?requestId=None&waitUntilTaskRef=None&waitForSeconds=0"
    assert client.post(path, json={"name": "w"}).status_code == 200
    started, wait = _asked(engine)
    assert (started.version, wait.refs, wait.timeout_ms) == (None, (), 10_000)
    assert wait.request_id not in {"", "None"}


def test_wait_has_a_ceiling(client: Any, engine: FakeEngine) -> None:
    client.post("/api/workflow/execute/w/1?waitForSeconds=100000", json={"name": "w"})
    assert _asked(engine)[1].timeout_ms == 60_000


def test_inline_definition_is_marked_as_dynamic(client: Any, engine: FakeEngine) -> None:
    task = {"name": "a", "taskReferenceName": "a"}
    inline = {"name": "w", "tasks": [task]}
    client.post("/api/workflow/execute/w/1", json={"workflowDef": inline, "input": {"i": 1}})
    assert _asked(engine)[0].input == {"i": 1, "_systemMetadata": {"dynamic": True}}


@pytest.mark.parametrize(
    "path",
    [
        "workflow/execute/w/x",
        "workflow/execute/w/1?waitForSeconds=-1",
        "workflow/execute/w/1?returnStrategy=ALL",
        "tasks/w/DONE/signal",
        "tasks/w/COMPLETED/signal/sync?timeoutMillis=soon",
    ],
)
def test_wrong_calls_are_refused(client: Any, engine: FakeEngine, path: str) -> None:
    assert client.post(f"/api/{path}", json={}).status_code == 400
    assert engine.awaiting.asked == []


def test_workflow_as_a_function(client: Any, engine: FakeEngine) -> None:
    engine.awaiting.found = {"output": {"v": 1}, "workflowId": "i", "status": "COMPLETED"}
    answer = client.post("/api/workflow/execute/w?version=3", json={"i": 1})
    assert (answer.json, answer.headers["X-Workflow-Id"]) == ({"v": 1}, "i")
    client.get("/api/workflow/execute/w?i=1&waitForSeconds=2&requestId=r")
    (by_body, _), (by_query, wait) = engine.awaiting.asked
    assert (by_body.version, by_body.input) == (3, {"i": 1})
    assert (by_query.version, by_query.input, wait.timeout_ms) == (None, {"i": "1"}, 2_000)


def test_signals(client: Any, engine: FakeEngine) -> None:
    answer = client.post("/api/tasks/w/COMPLETED/signal", json={"v": 1})
    assert (answer.status_code, answer.data) == (200, b"")
    client.post("/api/tasks/w/FAILED/signal/sync?timeoutMillis=0&returnStrategy=None")
    assert engine.awaiting.asked[0] == ("w", TaskStatus.COMPLETED, {"v": 1})
    _, status, output, wait = engine.awaiting.asked[1]
    assert (status, output, wait.timeout_ms) == (TaskStatus.FAILED, {}, 0)
    assert wait.strategy == "TARGET_WORKFLOW"


def test_state(client: Any, engine: FakeEngine) -> None:
    result = {"status": "FAILED", "outputData": {"o": 1}, "reasonForIncompletion": "why"}
    body = {"taskReferenceName": "a", "taskResult": result, "variables": {"v": 1}}
    client.post("/api/workflow/w/state?waitForSeconds=1", json=body)
    _, update, wait = _asked(engine)
    assert isinstance(update, StateUpdate)
    assert update.result is not None
    assert (update.ref, update.variables, wait.timeout_ms) == ("a", {"v": 1}, 1_000)
    assert (update.result.status, update.result.reason) == (TaskStatus.FAILED, "why")
    assert client.post("/api/workflow/w/state", json={"taskReferenceName": "a"}).status_code == 400


@pytest.mark.parametrize(("asked", "waits_ms"), [("?waitForSeconds=0", 0), ("", 10_000)])
def test_state_that_asks_for_no_wait_is_answered_at_once(
    client: Any, engine: FakeEngine, asked: str, waits_ms: int
) -> None:
    client.post(f"/api/workflow/w/state{asked}", json={"variables": {"v": 1}})
    assert _asked(engine)[2].timeout_ms == waits_ms

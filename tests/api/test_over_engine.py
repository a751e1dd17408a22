"""The front over a real engine in memory: stories of a client, from definition to search."""

from typing import Any, cast

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.decider.expressions.expressions import check
from conductor_py.engine.definitions.script_check import ScriptCheck
from conductor_py.errors import LimitExceeded
from conductor_py.ports.scripts import Scripts
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire import answers
from conductor_py.wire.fields import WireSchema, load

_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in answers.FORMS}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine, check_expressions=check).test_client()


def _definition() -> dict[str, Any]:
    tasks = [
        {
            "name": "resize",
            "taskReferenceName": ref,
            "inputParameters": {"url": "${workflow.input.url}"},
        }
        for ref in ("first", "second")
    ]
    return {"name": "thumbs", "tasks": tasks, "outputParameters": {"size": "${second.output.size}"}}


def _result(task: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "workflowInstanceId": task["workflowInstanceId"],
        "taskId": task["taskId"],
        "status": "COMPLETED",
        "workerId": "w",
        **more,
    }


def test_workflow_from_definition_to_archive(client: Any, engine: MemoryEngine) -> None:
    assert client.post("/api/metadata/taskdefs", json=[{"name": "resize"}]).status_code == 200
    assert client.post("/api/metadata/workflow", json=_definition()).status_code == 200
    started = client.post("/api/workflow", json={"name": "thumbs", "input": {"url": "u"}})
    assert (started.status_code, started.mimetype) == (200, "text/plain")
    (first,) = client.get("/api/tasks/poll/batch/resize?workerid=w&timeout=0").json
    load(_FORMS["TaskForm"], first)
    assert (first["inputData"], first["status"]) == ({"url": "u"}, "IN_PROGRESS")
    second = client.post("/api/tasks/update-v2", json=_result(first)).json
    assert second["referenceTaskName"] == "second"
    result = _result(second, outputData={"size": 7}, claimToken=second["claimToken"])
    assert client.post("/api/tasks", json=result).text == second["taskId"]
    for _ in range(2):
        done = client.get(f"/api/workflow/{started.text}").json
        load(_FORMS["WorkflowForm"], done)
        assert (done["status"], done["output"]) == ("COMPLETED", {"size": 7})
        assert [task["status"] for task in done["tasks"]] == ["COMPLETED", "COMPLETED"]
        engine.clock.advance(seconds=120)
        engine.settle()
    found = client.get("/api/workflow/search?query=workflowType%3Dthumbs").json
    assert (found["totalHits"], found["results"][0]["workflowId"]) == (1, started.text)
    load(_FORMS["WorkflowSummaryForm"], found["results"][0])


@pytest.mark.oracle(33)
def test_late_and_repeated_results_are_taken_and_ignored(client: Any) -> None:
    workflow_id = client.post(
        "/api/workflow", json={"name": "x", "workflowDef": _definition()}
    ).text
    task = client.get("/api/tasks/poll/resize?workerid=w").json
    for _ in range(2):
        answer = client.post("/api/tasks", json=_result(task))
        assert (answer.status_code, answer.text) == (200, task["taskId"])
    tasks = client.get(f"/api/workflow/{workflow_id}").json["tasks"]
    assert [one["status"] for one in tasks] == ["COMPLETED", "SCHEDULED"]


def test_unknown_and_stale_reports(client: Any) -> None:
    client.post("/api/workflow", json={"name": "x", "workflowDef": _definition()})
    task = client.get("/api/tasks/poll/resize?workerid=w&leaseSeconds=30").json
    stale = _result(task, claimToken=task["claimToken"] - 1)
    assert client.post("/api/tasks", json=stale).status_code == 409
    unknown = _result({**task, "taskId": f"{task['taskId']}99"})
    assert client.post("/api/tasks", json=unknown).status_code == 404
    strange = _result({**task, "taskId": "no-task", "workflowInstanceId": "no-workflow"})
    assert client.post("/api/tasks", json=strange).status_code == 404
    extend = {"claimToken": task["claimToken"], "leaseSeconds": 60}
    path = f"/api/tasks/{task['taskId']}/extend"
    assert client.post(path, json=extend).json["leaseUntil"] > task["leaseUntil"]
    assert client.post(path, json={"claimToken": 1}).status_code == 409


def test_terminating_twice_is_fine_and_completed_is_not(client: Any) -> None:
    workflow_id = client.post(
        "/api/workflow", json={"name": "x", "workflowDef": _definition()}
    ).text
    for _ in range(2):
        assert client.delete(f"/api/workflow/{workflow_id}?reason=why").status_code == 200
    ended = client.get(f"/api/workflow/{workflow_id}").json
    assert (ended["status"], ended["reasonForIncompletion"]) == ("TERMINATED", "why")
    assert client.get(f"/api/workflow/{workflow_id}/status").json["status"] == "TERMINATED"


def test_large_integers_and_odd_texts_survive(client: Any) -> None:
    sent = {"big": 2**53 + 1, "text": "\u2028 \U0001f600", "null": None, "deep": [[[{}]]]}
    body = orjson.dumps({"name": "x", "workflowDef": _definition(), "input": sent})
    workflow_id = client.post("/api/workflow", data=body).text
    assert orjson.loads(client.get(f"/api/workflow/{workflow_id}").data)["input"] == sent


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/workflow/unknown", 404),
        ("/api/workflow/unknown/status", 404),
        ("/api/tasks/unknown", 404),
        ("/api/metadata/workflow/unknown", 404),
        ("/api/metadata/taskdefs/unknown", 404),
        ("/api/workflow/running/unknown", 200),
        ("/api/workflow/search?query=foo", 400),
        ("/api/tasks/search?query=nothing%3D1", 400),
        ("/api/tasks/queue/all", 200),
        ("/api/tasks/queue/all/verbose", 200),
        ("/api/tasks/queue/polldata/all", 200),
        ("/api/workflow/externalstoragelocation?operation=WRITE&payloadType=TASK_OUTPUT", 200),
        (
            "/api/workflow/externalstoragelocation?operation=READ&payloadType=TASK_OUTPUT&path=x",
            404,
        ),
    ],
)
def test_reads_answer_what_they_should(client: Any, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.mimetype == "application/json"


def test_definition_whose_program_does_not_parse_is_refused(engine: MemoryEngine) -> None:
    client = create_app(engine.engine, check_script=engine.engine.check_script).test_client()
    switch = {
        "name": "s",
        "taskReferenceName": "s",
        "type": "SWITCH",
        "evaluatorType": "javascript",
        "expression": "(((",
        "decisionCases": {"a": [{"name": "x", "taskReferenceName": "x"}]},
    }
    refused = client.post("/api/metadata/workflow", json={"name": "w", "tasks": [switch]})
    assert refused.status_code == 400
    (found,) = refused.get_json()["validationErrors"]
    assert found["path"] == "$.tasks[0].expression"
    assert "SyntaxError" in found["message"]
    good = {**switch, "expression": "$.x > 1 ? 'a' : 'b'"}
    taken = client.post("/api/metadata/workflow", json={"name": "w", "tasks": [good]})
    assert taken.status_code == 200
    engine.ports.scripts.close()


def test_definition_is_taken_while_the_sandbox_is_too_busy_to_parse() -> None:
    class _Busy:
        def check(self, expression: str, evaluator: str = "javascript") -> str | None:
            raise LimitExceeded("too many wait")

    assert ScriptCheck(cast("Scripts", _Busy()))("(((") is None


def test_registration_of_a_task_definition_writes_its_own_audit_members(client: Any) -> None:
    claimed = {"name": "t", "createTime": 5, "createdBy": "x", "updateTime": 6, "updatedBy": "x"}
    assert client.post("/api/metadata/taskdefs", json=[claimed]).status_code == 200
    stored = client.get("/api/metadata/taskdefs/t").json
    assert stored["createTime"] > 6
    assert (stored["createdBy"], stored["updateTime"]) == ("", 0)
    assert "updatedBy" not in stored
    assert client.put("/api/metadata/taskdefs", json=claimed).status_code == 200
    replaced = client.get("/api/metadata/taskdefs/t").json
    assert replaced["createTime"] == stored["createTime"]
    assert (replaced["createdBy"], replaced["updatedBy"]) == ("", "")
    assert replaced["updateTime"] >= stored["createTime"]


def test_schema_has_both_times_from_its_first_version_on(client: Any, engine: MemoryEngine) -> None:
    schema = {"name": "s", "version": 1, "type": "JSON", "data": {"type": "object"}}
    assert client.post("/api/schema", json=schema).status_code == 200
    first = client.get("/api/schema/s/1").json
    assert (first["createTime"] > 0, first["updateTime"]) == (True, 0)
    engine.clock.advance(seconds=1)
    assert client.post("/api/schema", json=schema).status_code == 200
    again = client.get("/api/schema/s/1").json
    assert again["createTime"] == first["createTime"]
    assert again["updateTime"] == first["createTime"] + 1_000


def test_output_of_work_in_progress_above_the_limit_is_413_and_the_task_goes_on(
    client: Any, engine: MemoryEngine
) -> None:
    client.post("/api/metadata/workflow", json=_definition())
    started = client.post("/api/workflow", json={"name": "thumbs", "input": {}}).text
    (task,) = client.get("/api/tasks/poll/batch/resize?workerid=w&timeout=0").json
    large = {"status": "IN_PROGRESS", "outputData": {"x": "x" * 12_000_000}}
    refused = client.post("/api/tasks", json=_result(task, **large))
    assert (refused.status_code, refused.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    (seen,) = client.get(f"/api/workflow/{started}").json["tasks"]
    assert (seen["status"], seen["workerId"]) == ("IN_PROGRESS", "w")
    assert client.post("/api/tasks", json=_result(task)).status_code == 200


def test_an_unknown_task_has_no_log(client: Any) -> None:
    assert client.get("/api/tasks/no-such-task/log").status_code == 204


@pytest.mark.parametrize("half", ["\\ud800", "\\ud800x", "\\udc00\\ud800"])
@pytest.mark.parametrize("path", ["/api/workflow", "/api/workflow/test"])
def test_half_of_a_surrogate_pair_in_a_rate_limit_key_is_no_defect_of_the_server(
    path: str, half: str
) -> None:
    served = memory_engine(bench=MemoryBench).engine
    client = create_app(served, check_expressions=check).test_client()
    task = {"name": "a", "taskReferenceName": "a", "type": "SIMPLE"}
    key = {"rateLimitKey": f"${{workflow.input.concat('{half}')}}", "concurrentExecLimit": 1}
    definition = {"name": "w", "tasks": [task], "rateLimitConfig": key}
    refused = client.post(path, json={"name": "w", "workflowDef": definition, "input": {"a": 1}})
    assert refused.status_code == 400
    assert "half of a surrogate pair" in refused.get_data(as_text=True)

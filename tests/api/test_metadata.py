"""Definitions over HTTP."""

from typing import Any

import pytest

from conductor_py.model.definitions import TaskDef
from conductor_py.wire.answers import AdviceForm
from conductor_py.wire.fields import load
from tests.api.fake_engine import FakeEngine


def _definition(name: str = "thumbs", version: int = 1, **more: Any) -> dict[str, Any]:
    task = {"name": "resize", "taskReferenceName": "resize_1"}
    return {"name": name, "version": version, "tasks": [task], **more}


def test_registered_definition_is_read_back(client: Any) -> None:
    answer = client.post("/api/metadata/workflow", json=_definition(description="d"))
    assert (answer.status_code, answer.data) == (200, b"")
    read = client.get("/api/metadata/workflow/thumbs").json
    assert (read["description"], read["schemaVersion"], read["version"]) == ("d", 2, 1)
    assert client.get("/api/metadata/workflow/thumbs?version=2").status_code == 404


def test_registering_twice_conflicts_unless_overwriting(client: Any) -> None:
    path = "/api/metadata/workflow"
    assert client.post(path, json=_definition()).status_code == 200
    assert client.post(path, json=_definition()).status_code == 409
    assert client.post(f"{path}?overwrite=True", json=_definition()).status_code == 200


def test_registering_lists_everything_that_is_wrong(client: Any) -> None:
    body = _definition(schemaVersion=1)
    body["tasks"] += [{"name": "resize", "taskReferenceName": "resize_1", "type": "EVENT"}]
    answer = client.post("/api/metadata/workflow", json=body)
    assert answer.status_code == 400
    assert {found["path"] for found in answer.json["validationErrors"]} == {
        "$.schemaVersion",
        "$.tasks[1].taskReferenceName",
        "$.tasks[1].sink",
    }


def test_missing_names_are_told_together_with_all_that_the_rules_find(client: Any) -> None:
    def told(body: Any) -> list[str]:
        answer = client.post("/api/metadata/workflow", json=body)
        assert answer.status_code == 400
        return [each["path"] for each in answer.json["validationErrors"]]

    assert told({}) == ["$.name", "$.tasks"]
    task = {"type": "TERMINATE"}
    names = ["$.name", "$.tasks[0].name", "$.tasks[0].taskReferenceName"]
    ending = "$.tasks[0].inputParameters.terminationStatus"
    assert told({"tasks": [task]}) == [*names, ending]
    wrong = {"tasks": [task], "timeoutSeconds": "soon"}
    assert sorted(told(wrong)) == sorted([*names, ending, "$.timeoutSeconds"])


def test_update_takes_a_list_and_answers_names(client: Any) -> None:
    answer = client.put("/api/metadata/workflow", json=[_definition("a"), _definition("b")])
    assert answer.json == {"bulkErrorResults": {}, "bulkSuccessfulResults": ["a", "b"]}


def test_update_takes_a_single_definition_as_conductor_does(client: Any) -> None:
    answer = client.put("/api/metadata/workflow", json=_definition("a"))
    assert answer.json == {"bulkErrorResults": {}, "bulkSuccessfulResults": ["a"]}
    wrong = client.put("/api/metadata/workflow", json={**_definition("a"), "tasks": []})
    assert wrong.json["validationErrors"][0]["path"] == "$.tasks"


@pytest.mark.parametrize("body", [[], {}, "x", [1]])
def test_update_refuses_what_is_no_list_of_definitions(client: Any, body: Any) -> None:
    assert client.put("/api/metadata/workflow", json=body).status_code == 400


def test_one_bad_definition_refuses_the_list(client: Any, engine: FakeEngine) -> None:
    answer = client.put("/api/metadata/workflow", json=[_definition("a"), {"name": "b"}])
    assert answer.json["validationErrors"] == [
        {"path": "$[1].tasks", "message": "must hold at least one task"}
    ]
    assert not engine.definitions.stored


def test_validate_stores_nothing(client: Any, engine: FakeEngine) -> None:
    assert client.post("/api/metadata/workflow/validate", json=_definition()).status_code == 200
    assert client.post("/api/metadata/workflow/validate", json={}).status_code == 400

    assert (len(engine.definitions.validated), len(engine.definitions.stored)) == (1, 0)


def test_a_check_warns_of_what_is_hardly_meant(client: Any) -> None:
    task = {"name": "t", "taskReferenceName": "t", "type": "SIMPLE", "inputParamters": {}}
    fork = {"name": "f", "taskReferenceName": "f", "type": "FORK_JOIN", "forkTasks": [[task]]}
    body = {"name": "w", "tasks": [fork]}
    answer = client.post("/api/metadata/workflow/validate", json=body)
    assert answer.status_code == 200
    paths = [found["path"] for found in answer.get_json()["warnings"]]
    assert paths == ["$.tasks[0]", "$.tasks[0].forkTasks[0][0].inputParamters"]
    assert client.post("/api/metadata/workflow", json=body).status_code == 200


def test_a_warning_says_which_value_it_is_about(client: Any) -> None:
    child = {"name": "c", "taskReferenceName": "c", "type": "SUB_WORKFLOW"}
    body = {"name": "w", "tasks": [child | {"subWorkflowParam": {"name": "x", "version": -1}}]}
    answer = client.post("/api/metadata/workflow/validate", json=body)
    load(AdviceForm(), answer.json)
    (found,) = answer.json["warnings"]
    assert (found["path"], found["invalidValue"]) == ("$.tasks[0].subWorkflowParam.version", "-1")


def test_a_check_tells_two_hundred_warnings_and_each_once(client: Any) -> None:
    def told(*texts: str) -> list[Any]:
        inputs = {f"p{number}": text for number, text in enumerate(texts)}
        task = {"name": "t", "taskReferenceName": "t", "type": "SIMPLE", "inputParameters": inputs}
        body = {"name": "w", "tasks": [task]}
        answer = client.post("/api/metadata/workflow/validate", json=body)
        return list(answer.json["warnings"])

    assert len(told("${workflow.creatTime} and ${workflow.creatTime}")) == 1
    assert len(told(*["${workflow.creatTime}"] * 200)) == 200
    many = told(*["${workflow.creatTime}"] * 300)
    assert (len(many), many[200]["message"]) == (201, "There are more; these are the first 200")


def test_a_task_definition_is_checked_without_being_stored(client: Any, engine: FakeEngine) -> None:
    path = "/api/metadata/taskdefs/validate"
    right = client.post(path, json={"name": "t", "retryCount": 1})
    assert (right.status_code, right.json) == (200, {"warnings": []})
    warned = client.post(path, json={"name": "t", "retryCuont": 1})
    assert [found["path"] for found in warned.json["warnings"]] == ["$.retryCuont"]
    wrong = client.post(path, json={"name": "t", "retryCount": -1})
    assert wrong.status_code == 400
    assert [found["path"] for found in wrong.json["validationErrors"]] == ["$.retryCount"]
    assert not engine.definitions.stored_tasks


def test_lists_of_definitions(client: Any) -> None:
    many = [_definition("b", 2), _definition("b", 10), _definition("a", 1, updateTime=5)]
    client.put("/api/metadata/workflow", json=many)
    path = "/api/metadata/workflow"
    assert client.get(f"{path}/names").json == ["a", "b"]
    assert [one["version"] for one in client.get(f"{path}/b/versions").json] == [2, 10]
    assert client.get(f"{path}/unknown/versions").json == []
    latest = client.get(f"{path}/latest-versions").json
    assert [(one["name"], one["version"]) for one in latest] == [("a", 1), ("b", 10)]
    listed = client.get(f"{path}/names-and-versions").json
    assert listed["a"] == [{"name": "a", "version": 1, "createTime": 0, "updateTime": 5}]
    assert len(client.get(path).json) == 3


def test_list_by_classifier(client: Any) -> None:
    agent = _definition("a", metadata={"agent_sdk": "x"})
    client.put("/api/metadata/workflow", json=[agent, _definition("b")])
    found = client.get("/api/metadata/workflow?classifier=AGENT").json
    assert [one["name"] for one in found] == ["a"]


def test_removing_a_definition(client: Any) -> None:
    client.post("/api/metadata/workflow", json=_definition())
    assert client.delete("/api/metadata/workflow/thumbs/1", json={}).status_code == 200
    assert client.delete("/api/metadata/workflow/thumbs/1").status_code == 404
    assert client.delete("/api/metadata/workflow/thumbs/new").status_code == 400


@pytest.mark.parametrize(
    "version",
    [
        *("--1", "1-", "-", "1.5", "+1", "\u0661", "\u00b2"),
        pytest.param("9" * 5_000, id="long"),
        pytest.param("-" + "9" * 5_000, id="long below zero"),
    ],
)
def test_a_version_in_a_path_that_is_no_number_is_refused(client: Any, version: str) -> None:
    client.post("/api/metadata/workflow", json=_definition())
    answer = client.delete(f"/api/metadata/workflow/thumbs/{version}")
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == "{version}"
    assert client.get("/api/metadata/workflow/thumbs").status_code == 200


def test_a_version_below_zero_is_one_that_there_is_not(client: Any) -> None:
    assert client.delete("/api/metadata/workflow/thumbs/-1").status_code == 404


def test_task_definitions_are_registered_as_a_list(client: Any) -> None:
    assert client.post("/api/metadata/taskdefs", json=[{"name": "resize"}]).status_code == 200
    read = client.get("/api/metadata/taskdefs/resize").json
    assert (read["retryCount"], read["responseTimeoutSeconds"]) == (3, 3600)
    assert [one["name"] for one in client.get("/api/metadata/taskdefs").json] == ["resize"]
    assert client.delete("/api/metadata/taskdefs/resize").status_code == 200
    assert client.get("/api/metadata/taskdefs/resize").status_code == 404


def test_update_of_an_unknown_task_definition_is_not_found(client: Any) -> None:
    assert client.put("/api/metadata/taskdefs", json={"name": "resize"}).status_code == 404
    client.post("/api/metadata/taskdefs", json=[{"name": "resize"}])
    assert client.put("/api/metadata/taskdefs", json={"name": "resize"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([{"name": ""}], "$[0].name"),
        ([{"name": "a"}, {}], "$[1].name"),
        ([{"name": "a", "retryCount": -1}], "$[0].retryCount"),
        ([{"name": "a", "retryLogic": "fixed"}], "$[0].retryLogic"),
        ([{"name": "a", "inputKeys": "x"}], "$[0].inputKeys"),
        ([{"name": "a", "inputKeys": ["x", {}]}], "$[0].inputKeys[1]"),
        ([], "$"),
    ],
)
def test_task_definitions_are_checked(client: Any, body: Any, path: str) -> None:
    answer = client.post("/api/metadata/taskdefs", json=body)
    assert answer.status_code == 400
    assert [found["path"] for found in answer.json["validationErrors"]] == [path]


def test_http_task_may_find_its_request_in_the_registered_template(
    client: Any, engine: FakeEngine
) -> None:
    body = _definition()
    body["tasks"][0]["type"] = "HTTP"
    assert client.post("/api/metadata/workflow", json=body).status_code == 400
    engine.definitions.stored_tasks["resize"] = TaskDef(
        name="resize", input_template={"http_request": {"uri": "https://example.org"}}
    )
    assert client.post("/api/metadata/workflow", json=body).status_code == 200

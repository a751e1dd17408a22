"""Trials of workflows over HTTP: Conductor's request, its answer, and clear refusals."""

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import memory_engine
from tests.builders import for_each, set_variable, workflow

_PATH = "/api/workflow/test"


@pytest.fixture
def client() -> Any:
    return create_app(memory_engine(bench=MemoryBench).engine).test_client()


def _body(**more: Any) -> dict[str, Any]:
    task = {"name": "resize", "taskReferenceName": "resize_1", "type": "SIMPLE"}
    return {"name": "thumbs", "workflowDef": {"name": "thumbs", "tasks": [task]}, **more}


def test_a_trial_answers_the_execution(client: Any) -> None:
    mocks = {"resize_1": [{"status": "COMPLETED", "output": {"size": 7}, "executionTime": 5}]}
    done = client.post(_PATH, json=_body(taskRefToMockOutput=mocks)).json
    assert (done["status"], done["output"]) == ("COMPLETED", {"size": 7})
    assert client.get(f"/api/workflow/{done['workflowId']}").status_code == 404


def test_a_trial_may_be_of_a_part_of_a_dag(client: Any) -> None:
    tasks = [{"name": ref, "taskReferenceName": ref, "type": "SIMPLE"} for ref in "abc"]
    edges = [{"preTask": "a", "postTask": "b"}, {"preTask": "b", "postTask": "c"}]
    graph = {"name": "graph", "tasks": tasks, "relations": edges}
    body = {"name": "graph", "workflowDef": graph, "startNodes": ["b"], "dependMode": "TASK_ONLY"}
    done = client.post(_PATH, json={**body, "taskRefToMockOutput": {"b": [{}]}}).json
    assert done["status"] == "COMPLETED"
    assert [task["referenceTaskName"] for task in done["tasks"]] == ["b"]


def test_mocks_of_a_null_output_are_empty(client: Any) -> None:
    mocks = {"resize_1": [{"output": None}]}
    done = client.post(_PATH, json=_body(taskRefToMockOutput=mocks, taskToDomain=None)).json
    assert (done["status"], done["output"]) == ("COMPLETED", {})


@pytest.mark.parametrize(
    ("more", "path"),
    [
        (
            {"taskRefToMockOutput": {"r": [{"status": "SKIPPED"}]}},
            "$.taskRefToMockOutput.r[0].status",
        ),
        ({"taskRefToMockOutput": {"r": {}}}, "$.taskRefToMockOutput.r"),
        ({"subWorkflowTestRequest": {"s": []}}, "$.subWorkflowTestRequest.s"),
        (
            {"externalInputPayloadStoragePath": "x", "input": {}},
            "$.externalInputPayloadStoragePath",
        ),
        ({"taskRefToMockOutput": {"r": [{"executionTime": -1}]}}, None),
    ],
)
def test_requests_that_are_wrong_say_where(client: Any, more: dict[str, Any], path: Any) -> None:
    answer = client.post(_PATH, json=_body(**more))
    assert answer.status_code == 400
    if path is not None:
        found = (
            answer.json["validationErrors"][0]["path"].replace("['r']", ".r").replace("['s']", ".s")
        )
        assert found == path


def test_unknown_definitions_are_not_found(client: Any) -> None:
    assert client.post(_PATH, json={"name": "missing"}).status_code == 404


def test_nested_mocks_reach_sub_workflows(client: Any) -> None:
    inner = {"name": "inner", "tasks": [{"name": "deep", "taskReferenceName": "deep_1"}]}
    sub = {
        "name": "sub",
        "taskReferenceName": "sub_1",
        "type": "SUB_WORKFLOW",
        "subWorkflowParam": {"name": "inner", "workflowDefinition": inner},
    }
    body = {
        "name": "outer",
        "workflowDef": {"name": "outer", "tasks": [sub]},
        "subWorkflowTestRequest": {
            "sub_1": {"name": "inner", "taskRefToMockOutput": {"deep_1": [{"output": {"d": 1}}]}}
        },
    }
    done = client.post(_PATH, json=body).json
    assert done["status"] == "COMPLETED"
    assert done["output"]["d"] == 1


def test_a_trial_that_makes_hundreds_of_megabytes_of_nine_is_refused(client: Any) -> None:
    copies = [
        {
            "name": f"s{number}",
            "taskReferenceName": f"s{number}",
            "type": "SWITCH",
            "evaluatorType": "value-param",
            "expression": "which",
            "inputParameters": {"which": "none", "x": "${workflow.input.x}"},
            "decisionCases": {"one": [{"name": "n", "taskReferenceName": f"n{number}"}]},
        }
        for number in range(12)
    ]
    body = {"name": "w", "workflowDef": {"name": "w", "tasks": copies}}
    refused = client.post(_PATH, json={**body, "input": {"x": "x" * 9_000_000}})
    assert (refused.status_code, refused.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "more than 64 MB" in refused.json["message"]


def test_a_trial_whose_answer_repeats_a_large_definition_is_refused(client: Any) -> None:
    one = set_variable("s", x=1) | {"description": "x" * 1_000_000}
    definition = workflow("w", for_each("l", list(range(70)), one))
    refused = client.post(_PATH, json={"name": "w", "workflowDef": definition})
    assert (refused.status_code, refused.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "larger than 64 MB" in refused.json["message"]

"""Jobs of data pipelines are checked over HTTP, alone and inside of definitions."""

import re
from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing import FakeClock
from conductor_py.testing.engine import memory_engine
from tests.pipelines.jobs import example


@pytest.fixture
def client() -> Any:
    return create_app(memory_engine(clock=FakeClock()).engine).test_client()


def _definition(job: Any) -> dict[str, Any]:
    task = {"name": "orders", "taskReferenceName": "orders", "type": "SPARK_PIPELINE"}
    tasks = [{**task, "inputParameters": {"job": job}}]
    return {"name": "nightly", "version": 1, "ownerEmail": "a@b.c", "tasks": tasks}


def test_the_plan_of_a_job_shows_stages_and_promises(client: Any) -> None:
    answer = client.post("/api/pipelines/plan", json=example())
    assert answer.status_code == 200
    orders, events, audit = answer.json["pipelines"]
    assert [len(each["stages"]) for each in (orders, events, audit)] == [2, 1, 1]
    assert orders["stages"][0]["exchanges"] == [{"to": "daily/i", "output": "orders"}]
    promised = {each["sink"]: each["guarantee"] for each in orders["guarantees"]}
    assert promised == {
        "lake_orders": "exactly_once",
        "orders_es": "idempotent",
        "daily_db": "exactly_once",
        "dead_letter": "exactly_once",
    }


def test_a_wrong_job_is_refused_with_paths(client: Any) -> None:
    job = example()
    job["transforms"][0]["inputs"] = {"o": "nobody"}
    answer = client.post("/api/pipelines/plan", json=job)
    assert answer.status_code == 400
    assert [each["path"] for each in answer.json["validationErrors"]] == [
        "$.transforms[0].inputs.o"
    ]


def test_a_wrong_job_keeps_its_definition_from_being_registered_and_started(client: Any) -> None:
    job = example()
    job["sinks"][0]["colour"] = "red"
    path = "$.tasks[0].inputParameters.job.sinks[0].colour"
    refused = client.post("/api/metadata/workflow", json=_definition(job))
    assert (refused.status_code, refused.json["code"]) == (400, "INVALID_DEFINITION")
    assert [each["path"] for each in refused.json["validationErrors"]] == [path]
    started = client.post(
        "/api/workflow", json={"name": "nightly", "workflowDef": _definition(job)}
    )
    assert [each["path"] for each in started.json["validationErrors"]] == [
        path.replace("$", "$.workflowDef")
    ]
    assert client.post("/api/metadata/workflow", json=_definition(example())).status_code == 200


@pytest.mark.parametrize("body", [None, [], "text", 7, {"version": {}}, {"sources": [[]]}])
def test_anything_else_is_refused_and_never_a_fault(client: Any, body: Any) -> None:
    assert client.post("/api/pipelines/plan", json=body).status_code == 400


def test_a_body_with_a_thousand_mistakes_is_not_answered_with_all_of_them(client: Any) -> None:
    answer = client.post("/api/pipelines/plan", json={f"wrong{each}": 1 for each in range(1_000)})
    assert answer.status_code == 400
    listed = answer.json["validationErrors"]
    assert len(listed) == 201
    assert re.fullmatch(r"and 80\d more", listed[-1]["message"])

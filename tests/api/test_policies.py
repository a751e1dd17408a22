"""Schemas, tags, secrets and environment over HTTP, with a whole engine behind."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import simple, workflow

_SCHEMA = {"name": "numbers", "version": 1, "type": "JSON", "data": {"required": ["n"]}}
_TAG = {"key": "team", "type": "METADATA", "value": "blue"}
_OTHER = {"key": "tier", "type": "METADATA", "value": "1"}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(values={"SECRET_TOKEN": "hidden", "ENV_REGION": "eu-1"})


@pytest.fixture
def client(engine: MemoryEngine) -> FlaskClient:
    return create_app(engine.engine, instance="here").test_client()


def _register(client: FlaskClient, **more: Any) -> None:
    definition = workflow("w", simple("a"), **more)
    assert client.post("/api/metadata/workflow", json=definition).status_code == 200


def test_schema_is_stored_read_and_removed(client: FlaskClient) -> None:
    assert client.post("/api/schema", json=_SCHEMA).status_code == 200
    assert client.post("/api/schema?newVersion=true", json=[_SCHEMA]).status_code == 200
    assert [found["version"] for found in client.get("/api/schema").get_json()] == [1, 2]
    (short, _) = client.get("/api/schema?short=true").get_json()
    assert (short["name"], short["version"]) == ("numbers", 1)
    assert "data" not in short
    found = client.get("/api/schema/numbers/1").get_json()
    assert {name: found[name] for name in _SCHEMA} == _SCHEMA
    assert client.get("/api/schema/numbers").get_json()["version"] == 2
    assert client.delete("/api/schema/numbers/2").status_code == 200
    assert client.get("/api/schema/numbers/2").status_code == 404
    assert client.delete("/api/schema/numbers").status_code == 200
    assert client.delete("/api/schema/numbers").status_code == 404


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"version": 1}, "$.name"),
        ({"name": "n", "version": 0}, "$.version"),
        ({"name": "n", "type": "XML"}, "$.type"),
        ([{"name": "n"}, {"name": ""}], "$[1].name"),
        ("text", "$"),
    ],
)
def test_schema_that_is_wrong_is_refused_with_its_path(
    client: FlaskClient, body: object, path: str
) -> None:
    answer = client.post("/api/schema", json=body)
    assert answer.status_code == 400
    assert answer.get_json()["validationErrors"][0]["path"].startswith(path)
    assert client.get("/api/schema").get_json() == []


def test_start_that_does_not_satisfy_its_schema_is_a_400_with_the_path(
    client: FlaskClient,
) -> None:
    client.post("/api/schema", json=_SCHEMA)
    _register(client, inputSchema={"name": "numbers", "version": 1})
    answer = client.post("/api/workflow", json={"name": "w", "input": {"m": 1}})
    assert answer.status_code == 400
    assert answer.get_json()["validationErrors"][0]["path"] == "$.input"
    assert client.post("/api/workflow", json={"name": "w", "input": {"n": 1}}).status_code == 200


@pytest.mark.parametrize("path", ["/workflow/w/tags", "/task/t/tags", "/tags/workflow/w"])
def test_tags_are_added_replaced_and_removed(client: FlaskClient, path: str) -> None:
    _register(client)
    client.post("/api/metadata/taskdefs", json=[{"name": "t"}])
    url = f"/api/metadata{path}"
    assert client.get(url).get_json() == []
    assert client.post(url, json=_TAG).status_code == 200
    assert client.post(url, json=[_TAG, _OTHER]).status_code == 200
    assert client.get(url).get_json() == [_TAG, _OTHER]
    assert client.get("/api/metadata/tags").get_json() == [_TAG, _OTHER]
    assert client.delete(url, json=_TAG).status_code == 200
    assert client.get(url).get_json() == [_OTHER]
    assert client.put(url, json=[_TAG]).status_code == 200
    assert client.get(url).get_json() == [_TAG]


def test_tags_that_a_definition_brings_along_are_kept_beside_it(client: FlaskClient) -> None:
    _register(client, tags=[_TAG])
    assert client.get("/api/metadata/workflow/w/tags").get_json() == [_TAG]
    assert "tags" not in client.get("/api/metadata/workflow/w").get_json()
    assert client.get("/api/metadata/workflow/w?metadata=true").get_json()["tags"] == [_TAG]
    other = workflow("w", simple("a"), version=2, tags=[_OTHER], overwriteTags=False)
    assert client.put("/api/metadata/workflow", json=[other]).status_code == 200
    found = client.get("/api/metadata/workflow/w?metadata=true").get_json()
    assert (found["version"], found["tags"]) == (2, [_TAG, _OTHER])
    _register(client, version=3, tags=[_OTHER], overwriteTags=True)
    assert client.get("/api/metadata/workflow/w/tags").get_json() == [_OTHER]
    _register(client, version=4)
    assert client.get("/api/metadata/workflow/w/tags").get_json() == [_OTHER]
    _register(client, version=5, tags=[], overwriteTags=True)
    assert client.get("/api/metadata/workflow/w/tags").get_json() == []


def test_tags_that_a_task_definition_brings_along_are_kept_beside_it(client: FlaskClient) -> None:
    task: dict[str, Any] = {"name": "t", "tags": [_TAG]}
    assert client.post("/api/metadata/taskdefs", json=[task]).status_code == 200
    assert client.get("/api/metadata/taskdefs/t?metadata=true").get_json()["tags"] == [_TAG]
    task = {"name": "t", "tags": [_OTHER], "overwriteTags": True}
    assert client.put("/api/metadata/taskdefs", json=task).status_code == 200
    assert client.get("/api/metadata/task/t/tags").get_json() == [_OTHER]


@pytest.mark.parametrize(
    "tags", [["nightly"], {"team": "blue"}, "nightly", [{"team": "blue"}], None]
)
def test_a_member_called_tags_that_holds_none_is_no_reason_to_refuse_a_definition(
    client: FlaskClient, tags: object
) -> None:
    _register(client, tags=tags, overwriteTags=True)
    assert client.get("/api/metadata/workflow/w/tags").get_json() == []


@pytest.mark.parametrize(
    ("tags", "place"),
    [
        ([_TAG, _OTHER | {"value": "x" * 1001}], "tags[1].value"),
        ([_TAG | {"value": str(number)} for number in range(101)], "tags"),
    ],
)
def test_a_definition_whose_tags_are_too_long_or_too_many_is_refused_and_not_stored(
    client: FlaskClient, tags: Any, place: str
) -> None:
    long = workflow("w", simple("a"), tags=tags)
    for method, body, path in (
        (client.post, long, f"$.{place}"),
        (client.put, [long], f"$[0].{place}"),
    ):
        answer = method("/api/metadata/workflow", json=body)
        assert answer.status_code == 400
        assert answer.get_json()["validationErrors"][0]["path"] == path
    assert client.get("/api/metadata/workflow/w").status_code == 404


def test_tags_of_what_does_not_exist_are_not_found(client: FlaskClient) -> None:
    for path in ("/workflow/x/tags", "/task/x/tags"):
        assert client.get(f"/api/metadata{path}").status_code == 404
        assert client.post(f"/api/metadata{path}", json=_TAG).status_code == 404


def test_tag_without_a_key_is_refused(client: FlaskClient) -> None:
    _register(client)
    answer = client.post("/api/metadata/workflow/w/tags", json=[_TAG, {"value": "x"}])
    assert answer.status_code == 400
    assert answer.get_json()["validationErrors"][0]["path"] == "$[1].key"


def test_rate_limit_tag_limits_the_workflow(client: FlaskClient, engine: MemoryEngine) -> None:
    _register(client)
    tag = {"type": "RATE_LIMIT", "key": "w", "value": 1}
    first = engine.start("w")
    assert client.post("/api/metadata/workflow/w/tags", json=tag).status_code == 200
    assert client.get("/api/metadata/workflow/w/tags").get_json() == [tag | {"value": "1"}]
    second, third = engine.start("w"), engine.start("w")
    waits = [engine.workflow(one)["rateLimited"] for one in (first, second, third)]
    assert waits == [False, False, True]


def test_start_beyond_a_rejecting_limit_is_429_and_retryable(client: FlaskClient) -> None:
    _register(client, rateLimitConfig={"concurrentExecLimit": 1, "policy": "REJECT"})
    assert client.post("/api/workflow", json={"name": "w"}).status_code == 200
    answer = client.post("/api/workflow", json={"name": "w"})
    assert answer.status_code == 429
    assert answer.get_json()["retryable"] is True


def test_secrets_have_names_and_no_values(client: FlaskClient) -> None:
    assert client.get("/api/secrets").get_json() == ["TOKEN"]
    assert client.post("/api/secrets").get_json() == ["TOKEN"]
    assert client.get("/api/secrets/v2").get_json() == [{"name": "TOKEN"}]
    assert client.get("/api/secrets/TOKEN/exists").get_json() is True
    assert client.get("/api/secrets/NONE/exists").get_json() is False
    assert client.get("/api/secrets/NONE").status_code == 404
    refused = client.get("/api/secrets/TOKEN")
    assert (refused.status_code, refused.get_json()["code"]) == (403, "FORBIDDEN")


def test_secrets_are_not_written_here_as_on_a_server_that_has_them_from_its_environment(
    client: FlaskClient,
) -> None:
    for refused in (
        client.put("/api/secrets/TOKEN", data="x"),
        client.put("/api/secrets/NEW", json="x"),
        client.delete("/api/secrets/TOKEN"),
    ):
        assert (refused.status_code, refused.get_json()["code"]) == (501, "READ_ONLY")
        assert refused.get_json()["retryable"] is False
    assert client.get("/api/secrets").get_json() == ["TOKEN"]


def test_what_no_secret_can_be_called_is_not_there_and_cannot_be_written(
    client: FlaskClient,
) -> None:
    assert client.get("/api/secrets/a.c/exists").get_json() is False
    assert client.get("/api/secrets/a.c").status_code == 404
    for refused in (client.put("/api/secrets/a c", data="x"), client.delete("/api/secrets/a.c")):
        assert refused.status_code == 400
        assert refused.get_json()["validationErrors"][0]["path"] == "{key}"


def test_environment_is_what_the_prefix_allows(client: FlaskClient) -> None:
    assert client.get("/api/environment").get_json() == [{"name": "REGION", "value": "eu-1"}]
    found = client.get("/api/environment/REGION")
    assert (found.data, found.mimetype) == (b"eu-1", "text/plain")
    unknown = client.get("/api/environment/PATH")
    assert (unknown.status_code, unknown.data) == (200, b"")


@pytest.mark.oracle(46)
def test_idempotency_key_is_honoured_and_shown(client: FlaskClient, engine: MemoryEngine) -> None:
    _register(client)
    body = {"name": "w", "idempotencyKey": "k", "idempotencyStrategy": "RETURN_EXISTING"}
    first = client.post("/api/workflow", json=body).get_data(as_text=True)
    assert client.post("/api/workflow", json=body).get_data(as_text=True) == first
    refused = client.post("/api/workflow", json=body | {"idempotencyStrategy": "FAIL"})
    assert refused.status_code == 409
    assert first in refused.get_json()["message"]
    assert client.get(f"/api/workflow/{first}").get_json()["idempotencyKey"] == "k"
    engine.clock.advance(seconds=2)
    engine.settle()
    (summary,) = client.get("/api/workflow/search").get_json()["results"]
    assert summary["idempotencyKey"] == "k"


def test_strategy_without_a_key_means_nothing(client: FlaskClient) -> None:
    _register(client)
    for strategy in ("FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"):
        body = {"name": "w", "idempotencyStrategy": strategy, "idempotencyKey": ""}
        ids = {client.post("/api/workflow", json=body).get_data(as_text=True) for _ in range(2)}
        assert len(ids) == 2


@pytest.mark.parametrize("member", ["key", "value", "type"])
def test_tags_of_megabytes_are_refused(client: FlaskClient, member: str) -> None:
    answer = client.put(
        "/api/metadata/workflow/w/tags", json=[_TAG, {**_OTHER, member: "x" * 1001}]
    )
    assert answer.status_code == 400
    (found,) = answer.get_json()["validationErrors"]
    assert (found["path"], found["message"]) == (
        f"$[1].{member}",
        "must not be longer than 1000 characters",
    )


def test_a_check_warns_of_sinks_that_are_not_set_up(client: FlaskClient) -> None:
    task = {"name": "e", "taskReferenceName": "e", "type": "EVENT", "sink": "kafka:topic"}
    body = {"name": "w", "tasks": [task]}
    (warning,) = client.post("/api/metadata/workflow/validate", json=body).get_json()["warnings"]
    assert warning["path"] == "$.tasks[0].sink"
    assert "kafka" in warning["message"]

"""Workers and servers that are there, over HTTP, on a real engine in memory."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire import workers
from conductor_py.wire.fields import WireSchema, load

_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in workers.FORMS}
_SIGN: dict[str, Any] = {
    "workerId": "host-1/a",
    "host": "host-1",
    "version": "1.4",
    "sdk": "conductor-py/1",
    "taskTypes": [{"taskType": "resize", "domain": "gpu", "running": 1, "capacity": 4}],
}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> FlaskClient:
    return create_app(engine.engine, instance="here").test_client()


def _present(client: FlaskClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/workers{query}").get_json()
    for each in found:
        load(_FORMS["WorkerForm"], each)
    return found


def test_a_worker_that_tells_is_listed_until_its_lease_ends(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    assert client.post("/api/workers", json=_SIGN).json == {"leaseSeconds": 30}
    (found,) = _present(client)
    assert {key: found[key] for key in _SIGN} == _SIGN
    assert (found["running"], found["capacity"], found["reported"]) == (1, 4, True)
    assert (found["lastSeen"], found["presentUntil"]) == (engine.clock(), engine.clock() + 30_000)
    assert _present(client, "?taskType=resize") == [found]
    assert _present(client, "?taskType=other") == []

    engine.clock.advance(seconds=30)

    assert _present(client) == []


def test_a_worker_that_stops_is_gone_at_once(client: FlaskClient) -> None:
    client.post("/api/workers", json=_SIGN)
    answer = client.delete("/api/workers", query_string={"workerId": "host-1/a"})
    assert (answer.status_code, answer.data) == (200, b"")
    assert _present(client) == []


@pytest.mark.parametrize("worker", ["", "x" * 256])
def test_a_farewell_without_a_name_that_a_worker_may_have_is_refused(
    client: FlaskClient, worker: str
) -> None:
    answer = client.delete("/api/workers", query_string={"workerId": worker})
    assert answer.status_code == 400
    assert answer.get_json()["validationErrors"][0]["path"] == "?workerId"


def test_a_worker_of_another_sdk_is_known_by_its_polls(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    client.get("/api/tasks/poll/resize?workerid=java-1")
    client.get("/api/tasks/poll/batch/resize?workerid=java-1&domain=gpu&timeout=0")
    client.get("/api/tasks/poll/batch/resize?timeout=0")
    engine.engine.workers.flush()
    (found,) = _present(client)
    assert found["workerId"] == "java-1"
    assert found["taskTypes"] == [
        {"taskType": "resize"},
        {"taskType": "resize", "domain": "gpu"},
    ]
    assert (found["reported"], "host" in found) == (False, False)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"workerId": None}, "$.workerId"),
        ({"workerId": ""}, "$.workerId"),
        ({"workerId": "x" * 256}, "$.workerId"),
        ({"host": "x" * 256}, "$.host"),
        ({"host": []}, "$.host"),
        ({"taskTypes": {}}, "$.taskTypes"),
        ({"taskTypes": [{}]}, "$.taskTypes[0].taskType"),
        ({"taskTypes": [{"taskType": "a", "running": -1}]}, "$.taskTypes[0].running"),
        ({"taskTypes": [{"taskType": "a", "domain": "d" * 256}]}, "$.taskTypes[0].domain"),
        ({"taskTypes": [{"taskType": "a"}] * 1_001}, "$.taskTypes"),
    ],
)
def test_a_sign_of_the_wrong_form_is_refused_with_its_place(
    client: FlaskClient, change: dict[str, Any], path: str
) -> None:
    answer = client.post("/api/workers", json=_SIGN | change)
    assert answer.status_code == 400
    assert [found["path"] for found in answer.get_json()["validationErrors"]] == [path]
    assert _present(client) == []


def test_whoever_stops_must_be_named(client: FlaskClient) -> None:
    assert client.delete("/api/workers").status_code == 400


def test_servers_are_listed_with_their_shards_and_terms(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    engine.engine.shards.keep()
    (found,) = client.get("/api/admin/servers").get_json()
    load(_FORMS["LiveServerForm"], found)
    assert (found["server"], found["lastRenewal"]) == ("server-1", engine.clock())
    (shard,) = found["shards"]
    assert (shard["shard"], shard["term"]) == ("s0", engine.clock())

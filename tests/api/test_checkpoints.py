"""What long tasks keep, over HTTP, on a real engine in memory."""

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire import checkpoint_answers
from conductor_py.wire.fields import WireSchema, load

_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in checkpoint_answers.FORMS}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine, instance="here").test_client()


@pytest.fixture
def task(engine: MemoryEngine) -> dict[str, Any]:
    """A task, polled."""
    long = {"name": "long", "taskReferenceName": "copy", "type": "SIMPLE"}
    engine.start({"name": "copying", "version": 1, "tasks": [long]})
    (polled,) = engine.poll("long", lease_s=30)
    return polled


def _of(task: dict[str, Any]) -> str:
    return f"/api/tasks/{task['taskId']}/checkpoints"


def _operating(task: dict[str, Any]) -> str:
    return f"/api/workflow/{task['workflowInstanceId']}/checkpoints/copy"


def _put(client: Any, task: dict[str, Any], expected: int, **more: Any) -> Any:
    body = {
        "claimToken": task["claimToken"],
        "expectedEpoch": expected,
        "epoch": expected + 1,
        "record": {"at": expected + 1},
        **more,
    }
    return client.put(f"{_of(task)}/p", json=body)


def test_a_worker_keeps_and_finds(client: Any, task: dict[str, Any]) -> None:
    token = {"claimToken": task["claimToken"]}
    kept = client.post(_of(task), json=token).json
    load(_FORMS["KeptForm"], kept)
    assert kept == {"token": task["claimToken"], "line": 1, "parts": {}, "savepoints": []}
    put = _put(client, task, 0)
    assert (put.status_code, put.json["epoch"], len(put.json["hash"])) == (200, 1, 64)
    noted = {**token, "notes": [{"n": 1}, {"n": 2}], "epoch": 1, "position": 0}
    for _ in range(2):
        assert client.post(f"{_of(task)}/p/notes", json=noted).json == {"notes": 2}
    kept = client.get(_of(task)).json
    load(_FORMS["KeptForm"], kept)
    part = client.get(f"{_of(task)}/p").json
    load(_FORMS["KeptPartForm"], part)
    assert kept["parts"] == {"p": part}
    assert (part["record"], part["notes"]) == ({"at": 1}, [{"n": 1}, {"n": 2}])
    assert [past["epoch"] for past in part["history"]] == [1]
    older = client.get(f"{_of(task)}/p?epoch=1").json
    assert older == {"epoch": 1, "record": {"at": 1}}
    assert client.get(f"{_of(task)}/p?epoch=7").status_code == 404
    assert client.get(f"{_of(task)}/other").json == {"epoch": 0, "noteCount": 0, "history": []}


def test_a_refusal_says_what_is_there(client: Any, task: dict[str, Any]) -> None:
    _put(client, task, 0)
    epoch = _put(client, task, 4)
    assert (epoch.status_code, epoch.json["code"], epoch.json["epoch"]) == (
        409,
        "EPOCH_CONFLICT",
        1,
    )
    noted = {"claimToken": task["claimToken"], "notes": [{}], "position": 3}
    notes = client.post(f"{_of(task)}/p/notes", json=noted)
    assert (notes.status_code, notes.json["code"], notes.json["notes"]) == (
        409,
        "NOTES_CONFLICT",
        0,
    )
    claim = _put(client, task, 1, claimToken=task["claimToken"] - 1)
    assert (claim.status_code, claim.json["code"]) == (409, "CLAIM_LOST")
    assert not any(answer.json["retryable"] for answer in (epoch, notes, claim))


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("", {}, "$.claimToken"),
        ("", {"claimToken": 0}, "$.claimToken"),
        ("", {"claimToken": "soon"}, "$.claimToken"),
        ("/p/notes", {"claimToken": 1}, "$.notes"),
        ("/p/notes", {"claimToken": 1, "notes": []}, "$.notes"),
        ("/p/notes", {"claimToken": 1, "notes": [{}] * 101}, "$.notes"),
        ("/p/notes", {"claimToken": 1, "notes": [1]}, "$.notes"),
        ("/p/notes", {"claimToken": 1, "notes": [{}], "position": -1}, "$.position"),
        ("/a b/notes", {"claimToken": 1, "notes": [{}]}, "{part}"),
    ],
)
def test_what_cannot_be_is_refused_with_its_path(
    client: Any, task: dict[str, Any], path: str, body: dict[str, Any], where: str
) -> None:
    answer = client.post(f"{_of(task)}{path}", json=body)
    assert answer.status_code == 400
    assert [found["path"] for found in answer.json["validationErrors"]] == [where]
    assert client.get(_of(task)).json["parts"] == {}


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"epoch": 3}, "$.epoch"),
        ({"expectedEpoch": -1}, "$.expectedEpoch"),
        ({"record": [1]}, "$.record"),
        ({"record": None}, "$.record"),
        ({"retain": 101}, "$.retain"),
    ],
)
def test_a_record_that_cannot_be_is_refused_with_its_path(
    client: Any, task: dict[str, Any], wrong: dict[str, Any], where: str
) -> None:
    answer = _put(client, task, 0, **wrong)
    assert answer.status_code == 400
    assert [found["path"] for found in answer.json["validationErrors"]] == [where]


def test_what_is_not_there_is_not_found(client: Any, task: dict[str, Any]) -> None:
    other = {**task, "taskId": "00000000-0000-0000-0000-000000000001-1"}
    assert client.get(_of(other)).status_code == 404
    assert client.get(f"{_of(other)}/p").status_code == 404
    assert _put(client, other, 0).status_code == 404
    listed = "/api/workflow/00000000-0000-0000-0000-000000000001/checkpoints"
    assert client.get(listed).status_code == 404
    operated = _operating(task).replace("copy", "other")
    assert client.post(f"{operated}/stop").status_code == 404
    assert client.post(f"{_operating(task)}/resume", json={"savepoint": "s"}).status_code == 409


def test_an_extension_tells_what_is_asked(client: Any, task: dict[str, Any]) -> None:
    extend = {"claimToken": task["claimToken"], "leaseSeconds": 30}
    path = f"/api/tasks/{task['taskId']}/extend"
    assert "request" not in client.post(path, json=extend).json
    asked = client.post(f"{_operating(task)}/stop", json={"savepoint": "s", "now": True})
    assert (asked.status_code, asked.json) == (200, {"number": 1})
    request = client.post(path, json=extend).json["request"]
    load(_FORMS["TaskRequestForm"], request)
    assert {name: request[name] for name in ("action", "now", "savepoint")} == {
        "action": "STOP",
        "now": True,
        "savepoint": "s",
    }
    for verb, action in (("pause", "PAUSE"), ("cancel", "CANCEL")):
        client.post(f"{_operating(task)}/{verb}")
        assert client.post(path, json=extend).json["request"]["action"] == action
    client.post(f"{_operating(task)}/resume")
    assert "request" not in client.post(path, json=extend).json


def test_an_operator_saves_and_looks(client: Any, task: dict[str, Any]) -> None:
    saved = client.post(f"{_operating(task)}/savepoint", json={"name": "noon"})
    assert saved.status_code == 409
    _put(client, task, 0)
    assert client.post(f"{_operating(task)}/savepoint", json={"name": "noon"}).status_code == 200
    listed = client.get(f"/api/workflow/{task['workflowInstanceId']}/checkpoints").json
    load(_FORMS["KeptForm"], listed["copy"])
    assert listed["copy"]["savepoints"][0]["epochs"] == {"p": 1}
    assert "record" not in listed["copy"]["parts"]["p"]
    pinned = client.get(f"{_of(task)}/p?savepoint=noon").json
    assert pinned == {"savepoint": "noon", "record": {"at": 1}}
    busy = client.post(f"{_operating(task)}/resume", json={"savepoint": "noon"})
    assert busy.status_code == 409
    assert client.delete(f"{_operating(task)}/savepoints/noon").status_code == 200
    assert client.delete(f"{_operating(task)}/savepoints/noon").status_code == 404


@pytest.mark.parametrize(
    ("verb", "body", "where"),
    [
        ("stop", {"savepoint": "a b"}, "$.savepoint"),
        ("savepoint", {}, "$.name"),
        ("resume", {"epoch": 1, "savepoint": "s"}, "$.epoch"),
        ("resume", {"part": "p"}, "$.part"),
        ("resume", {"epoch": -1}, "$.epoch"),
        ("resume", {"rewind": True}, "$.rewind"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_path(
    client: Any, task: dict[str, Any], verb: str, body: dict[str, Any], where: str
) -> None:
    answer = client.post(f"{_operating(task)}/{verb}", json=body)
    assert answer.status_code == 400
    assert [found["path"] for found in answer.json["validationErrors"]] == [where]

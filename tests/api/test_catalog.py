"""The catalog over HTTP: whole workflows in and out, etags, lists, errors."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.catalog_forms import FORMS
from conductor_py.wire.fields import WireSchema, load
from conductor_py.wire.lineage import LineageForm
from tests.builders import Json, dag, simple, sub_workflow

_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in FORMS}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine).test_client()


def _etl(name: str = "etl", **more: Any) -> Json:
    document = dag(name, [simple("a"), simple("b")], "a > b", **more)
    return {member: value for member, value in document.items() if member != "version"}


def _created(client: Any, document: Json | None = None) -> tuple[str, str]:
    answer = client.post("/api/catalog/workflows", json=document or _etl())
    assert answer.status_code == 200, answer.json
    load(_FORMS["CatalogHeadForm"], answer.json)
    return f"/api/catalog/workflows/{answer.json['code']}", answer.headers["ETag"]


def test_a_workflow_is_put_whole_and_got_back_identical(client: Any) -> None:
    path, etag = _created(client)
    edited = _etl(description="nightly")
    edited["tasks"][0]["inputParameters"] = {"empty": None, "list": [1, 1.5, "x"]}
    saved = client.put(path, json=edited, headers={"If-Match": etag})
    assert (saved.status_code, saved.json["version"]) == (200, 2)
    got = client.get(path)
    assert got.json == edited
    assert got.headers["ETag"] == saved.headers["ETag"] != etag
    assert client.get(f"{path}?version=1").json == _etl()
    assert client.put(path, json=got.json).json["version"] == 2


def test_a_stale_etag_is_a_conflict_and_changes_nothing(client: Any) -> None:
    path, etag = _created(client)
    first, second = (
        client.put(path, json=_etl(description=description), headers={"If-Match": etag})
        for description in ("first", "second")
    )
    assert (first.status_code, second.status_code) == (200, 409)
    assert second.json["code"] == "CONFLICT"
    assert client.get(path).json["description"] == "first"
    for verb in ("publish", "switch?version=1"):
        stale = client.post(f"{path}/{verb}", headers={"If-Match": etag})
        assert stale.status_code == 409
    assert client.delete(path, headers={"If-Match": etag}).status_code == 409
    assert client.put(path, json=_etl(), headers={"If-Match": "*"}).status_code == 200
    assert client.post(f"{path}/publish").status_code == 200
    assert client.post(f"{path}/withdraw", headers={"If-Match": etag}).status_code == 409


def test_a_request_that_is_sent_again_after_a_lost_answer_is_answered_again(client: Any) -> None:
    path, etag = _created(client)
    for method, where, body in (
        ("PUT", path, _etl(description="x")),
        ("POST", f"{path}/publish", None),
        ("POST", f"{path}/withdraw", None),
    ):
        answers = [
            client.open(where, method=method, json=body, headers={"If-Match": etag})
            for _ in range(2)
        ]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json == answers[1].json
        etag = answers[0].headers["ETag"]


def test_a_name_that_is_taken_is_told_with_who_has_it(client: Any) -> None:
    path, _ = _created(client)
    answer = client.post("/api/catalog/workflows", json=_etl())
    assert answer.status_code == 409
    assert path.rpartition("/")[2] in answer.json["message"]


def test_a_reference_that_is_no_text_is_refused(client: Any) -> None:
    document = _etl()
    document["tasks"][1]["taskReferenceName"] = 1
    answer = client.post("/api/catalog/workflows", json=document)
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == "$.tasks[1].taskReferenceName"


def test_the_latest_version_is_the_one_that_starts(client: Any, engine: MemoryEngine) -> None:
    path, _ = _created(client)
    client.post(f"{path}/publish")
    client.put(f"{path}?draft=true", json=_etl(description="x"))
    client.post(f"{path}/publish")
    client.post(f"{path}/publish?version=1")
    (latest,) = client.get("/api/metadata/workflow/latest-versions").json
    assert (latest["version"], latest["createTime"]) == (1, engine.clock.now_ms)
    assert client.get("/api/metadata/workflow/etl").json["version"] == 1
    assert client.post(f"{path}/withdraw?version=1").status_code == 409
    left = client.post(f"{path}/withdraw?version=2").json
    assert left["startableVersions"] == [1]


def test_what_a_schedule_starts_is_not_withdrawn(client: Any) -> None:
    path, _ = _created(client)
    client.post(f"{path}/publish")
    schedule = {
        "name": "nightly",
        "cronExpression": "0 0 3 * * *",
        "startWorkflowRequest": {"name": "etl"},
    }
    assert client.post("/api/scheduler/schedules", json=schedule).status_code == 200
    refused = client.post(f"{path}/withdraw")
    assert (refused.status_code, "nightly" in refused.json["message"]) == (409, True)
    client.put("/api/scheduler/schedules/nightly/pause")
    assert client.post(f"{path}/withdraw").status_code == 200


@pytest.mark.parametrize("etag", ["1", '"x"', '"0"', 'W/"1"', '"1", "2"'])
def test_an_etag_that_is_none_is_refused(client: Any, etag: str) -> None:
    path, _ = _created(client)
    answer = client.put(path, json=_etl(), headers={"If-Match": etag})
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == "If-Match"


def test_a_version_is_shown_as_codes_and_versions_with_roots_at_zero(client: Any) -> None:
    path, _ = _created(client)
    shown = client.get(f"{path}/versions/1").json
    load(_FORMS["SplitWorkflowForm"], shown)
    (first, second) = shown["tasks"]
    assert (first["taskReferenceName"], first["taskVersion"], first["shared"]) == ("a", 1, False)
    assert shown["relations"] == [
        {
            "preTaskCode": "0",
            "preTaskVersion": 0,
            "postTaskCode": first["taskCode"],
            "postTaskVersion": 1,
        },
        {
            "preTaskCode": first["taskCode"],
            "preTaskVersion": 1,
            "postTaskCode": second["taskCode"],
            "postTaskVersion": 1,
            "label": "ok",
        },
    ]


def test_from_draft_to_execution(client: Any, engine: MemoryEngine) -> None:
    path, _ = _created(client)
    assert client.post("/api/workflow/etl", json={}).status_code == 404
    published = client.post(f"{path}/publish")
    assert (published.json["publishedVersion"], published.json["startableVersions"]) == (1, [1])
    assert client.post("/api/workflow/etl", json={}).status_code == 200
    assert client.get("/api/metadata/workflow/etl").json["tasks"][0]["name"] == "a"
    assert client.get("/api/metadata/workflow/names").json == ["etl"]
    refused = client.put(path, json=_etl(description="new"))
    assert (refused.status_code, "draft=true" in refused.json["message"]) == (409, True)
    assert client.put(f"{path}?draft=true", json=_etl(description="new")).json["version"] == 2
    listed = client.get(f"{path}/versions").json
    for row in listed:
        load(_FORMS["CatalogVersionForm"], row)
    assert [(row["version"], row["published"], row["current"]) for row in listed] == [
        (2, False, True),
        (1, True, False),
    ]
    assert client.post(f"{path}/withdraw").status_code == 200
    assert client.post("/api/workflow/etl", json={}).status_code == 404


def test_lists_go_by_code_which_is_by_time(client: Any, engine: MemoryEngine) -> None:
    created = []
    for number in range(5):
        _created(client, _etl(f"w{number}"))
        created.append(engine.clock.now_ms)
        engine.clock.advance(milliseconds=1_000)
    page = client.get("/api/catalog/workflows?size=2").json
    assert [head["name"] for head in page] == ["w0", "w1"]
    rest = client.get(f"/api/catalog/workflows?after={page[-1]['code']}").json
    assert [head["name"] for head in rest] == ["w2", "w3", "w4"]
    within = f"createdFrom={created[1]}&createdTo={created[3] - 1}"
    assert [head["name"] for head in client.get(f"/api/catalog/workflows?{within}").json] == [
        "w1",
        "w2",
    ]
    assert len(client.get("/api/catalog/tasks").json) == 10
    assert client.get("/api/catalog/tasks?shared=true").json == []


def test_tasks_stand_by_themselves_and_tell_who_has_them(client: Any) -> None:
    answer = client.post("/api/catalog/tasks", json={"name": "load", "optional": True})
    code = answer.json["code"]
    assert client.get(f"/api/catalog/tasks/{code}").json == {"name": "load", "optional": True}
    (listed,) = client.get("/api/catalog/tasks?shared=true").json
    assert listed["code"] == code
    used = {"uses": {"code": code, "version": 1}, "taskReferenceName": "l"}
    _created(client, {"name": "user", "tasks": [used]})
    (use,) = client.get(f"/api/catalog/tasks/{code}/uses").json
    assert (use["workflow"]["name"], use["versions"]) == ("user", [1])
    assert client.delete(f"/api/catalog/tasks/{code}").status_code == 409
    assert client.put(f"/api/catalog/tasks/{code}", json={"name": "load"}).json["version"] == 2
    assert client.delete(f"/api/catalog/tasks/{code}/versions/1").status_code == 409


def test_a_version_of_a_task_is_applied_to_all_who_have_it(client: Any) -> None:
    code = client.post("/api/catalog/tasks", json={"name": "load"}).json["code"]
    used = {"uses": {"code": code, "version": 1}, "taskReferenceName": "l"}
    user, _ = _created(client, {"name": "user", "tasks": [used]})
    client.put(f"/api/catalog/tasks/{code}", json={"name": "load", "optional": True})
    path = f"/api/catalog/tasks/{code}/apply"
    (told,) = client.post(f"{path}?dryRun=true").json
    (head,) = client.post(path).json
    assert (told["version"], head["version"]) == (2, 2)
    document = client.get(user).json
    assert document["tasks"][0]["uses"] == {"code": code, "version": 2}
    assert client.post(path).json == []
    assert client.post(f"{path}?version=9").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status", "at"),
    [
        ("GET", "/api/catalog/workflows/x", 400, "{code}"),
        ("GET", "/api/catalog/workflows/5", 404, None),
        ("GET", "/api/catalog/workflows?after=x", 400, "?after"),
        ("GET", "/api/catalog/workflows?size=0", 400, "?size"),
        ("GET", "/api/catalog/workflows/5/versions/x", 400, "{version}"),
        ("POST", "/api/catalog/workflows/5/switch", 400, "?version"),
        ("POST", "/api/catalog/workflows", 400, "$.tasks"),
        ("POST", "/api/catalog/tasks", 400, "$.name"),
        ("DELETE", "/api/catalog/tasks/5/versions/1", 404, None),
    ],
)
def test_bad_requests_are_told_where(
    client: Any, method: str, path: str, status: int, at: str | None
) -> None:
    answer = client.open(path, method=method, json={} if method == "POST" else None)
    assert answer.status_code == status
    if at is not None:
        assert answer.json["validationErrors"][0]["path"] == at


def test_the_difference_of_two_versions_is_told_by_tasks_and_relations(client: Any) -> None:
    path, _ = _created(client)
    edited = _etl(description="new")
    edited["tasks"][0]["optional"] = True
    edited["tasks"][1] = simple("c")
    edited["relations"] = [{"preTask": "a", "postTask": "c"}]
    client.put(path, json=edited)
    found = client.get(f"{path}/diff").json
    load(_FORMS["WorkflowDiffForm"], found)
    assert (found["fromVersion"], found["toVersion"]) == (1, 2)
    assert found["workflow"] == [{"path": "$.description", "before": None, "after": "new"}]
    changed, added, removed = found["tasks"]
    assert (changed["taskReferenceName"], changed["fromVersion"], changed["toVersion"]) == (
        "a",
        1,
        2,
    )
    assert changed["members"] == [{"path": "$.optional", "before": None, "after": True}]
    assert (added["change"], added["taskReferenceName"]) == ("added", "c")
    assert (removed["change"], removed["taskReferenceName"]) == ("removed", "b")
    assert [each["change"] for each in found["relations"]] == ["added", "removed"]
    back = client.get(f"{path}/diff?from=2&to=1").json
    assert back["workflow"][0] == {"path": "$.description", "before": "new", "after": None}
    assert client.get(f"{path}/diff?from=1&to=1").json["tasks"] == []
    assert client.get(f"{path}/diff?from=9&to=1").status_code == 404
    assert client.get(f"{path}/diff?to=1").status_code == 400


def test_lineage_is_nodes_and_edges_that_a_page_can_draw(client: Any) -> None:
    path, _ = _created(client)
    client.post(f"{path}/publish")
    parent, _ = _created(client, {"name": "parent", "tasks": [sub_workflow("s", "etl")]})
    found = client.get(f"{path}/lineage").json
    load(LineageForm(), found)
    code, of_parent = (each.rpartition("/")[2] for each in (path, parent))
    assert found == {
        "code": code,
        "name": "etl",
        "depth": 1,
        "truncated": False,
        "nodes": [
            {
                "id": "workflow:parent",
                "type": "workflow",
                "name": "parent",
                "level": -1,
                "code": of_parent,
                "place": "catalog",
                "version": 1,
            },
            {
                "id": "workflow:etl",
                "type": "workflow",
                "name": "etl",
                "level": 0,
                "code": code,
                "place": "catalog",
                "version": 1,
                "publishedVersion": 1,
            },
        ],
        "edges": [
            {
                "from": "workflow:parent",
                "to": "workflow:etl",
                "type": "SUB_WORKFLOW",
                "versions": [1],
                "toVersions": [],
                "edited": True,
                "published": False,
            }
        ],
    }
    assert client.get("/api/catalog/workflows/5/lineage").status_code == 404
    for depth in ("0", "21", "x"):
        refused = client.get(f"{path}/lineage?depth={depth}")
        assert refused.status_code == 400
        assert refused.json["validationErrors"][0]["path"] == "?depth"


def test_everything_that_is_wrong_with_a_workflow_is_told_at_once(client: Any) -> None:
    wrong = {"version": 1, "tasks": ["a", simple("b") | {"code": 5}, simple("c")]}
    answer = client.post("/api/catalog/workflows", json=wrong)
    assert answer.status_code == 400
    paths = [found["path"] for found in answer.json["validationErrors"]]
    assert paths == ["$.version", "$.tasks[0]", "$.tasks[1].code", "$.name"]

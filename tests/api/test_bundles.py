"""Export and import over HTTP: one document out, the same in, findings by their paths."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.bundles import BundleForm, ImportReportForm
from conductor_py.wire.fields import load
from tests.builders import Json, dag, simple, sub_workflow

_IMPORT = "/api/catalog/import"


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    return create_app(engine.engine).test_client()


@pytest.fixture
def other() -> Any:
    """A server in another place, an hour later."""
    engine = memory_engine()
    engine.clock.advance(seconds=3_600)
    return create_app(engine.engine).test_client()


def _etl(**more: Any) -> Json:
    document = dag("etl", [simple("a"), simple("b")], "a > b", **more)
    return {member: value for member, value in document.items() if member != "version"}


def _exported(client: Any) -> Json:
    answer = client.post("/api/catalog/workflows", json=_etl())
    assert answer.status_code == 200
    client.post(f"/api/catalog/workflows/{answer.json['code']}/publish")
    document: Json = client.get("/api/catalog/export?name=etl").json
    return document


def _paths(answer: Any) -> list[str]:
    assert answer.status_code == 400, answer.json
    return [found["path"] for found in answer.json["validationErrors"]]


def test_a_workflow_goes_out_of_one_server_and_into_another(client: Any, other: Any) -> None:
    document = _exported(client)
    load(BundleForm(), document)
    (entry,) = document["workflows"]
    assert entry == {
        "code": entry["code"],
        "name": "etl",
        "version": 1,
        "published": True,
        "edited": True,
        "definition": _etl(),
    }
    answer = other.post(_IMPORT, json=document)
    load(ImportReportForm(), answer.json)
    assert answer.json == {
        "dryRun": False,
        "onExisting": "FAIL",
        "refused": False,
        "workflows": [
            {
                "name": "etl",
                "action": "CREATED",
                "fromCode": entry["code"],
                "versions": [{"from": 1, "to": 1}],
                "code": entry["code"],
            }
        ],
        "tasks": [],
    }
    other.post(f"/api/catalog/workflows/{entry['code']}/publish")
    assert other.post("/api/workflow/etl", json={}).status_code == 200
    exports = [each.get("/api/catalog/export?name=etl").data for each in (client, other)]
    assert exports[0] == exports[1]


def test_conflicts_are_409_and_a_dry_run_lists_them(client: Any, other: Any) -> None:
    document = _exported(client)
    assert other.post(_IMPORT, json=document).status_code == 200
    document["workflows"][0]["definition"]["description"] = "x"
    refused = other.post(_IMPORT, json=document)
    assert (refused.status_code, "workflow etl" in refused.json["message"]) == (409, True)
    dry = other.post(f"{_IMPORT}?dryRun=true", json=document).json
    load(ImportReportForm(), dry)
    assert (dry["dryRun"], dry["refused"]) == (True, True)
    assert dry["workflows"][0]["action"] == "CONFLICT"
    skipped = other.post(f"{_IMPORT}?onExisting=SKIP", json=document).json
    assert skipped["workflows"][0]["action"] == "SKIPPED"
    added = other.post(f"{_IMPORT}?onExisting=NEW_VERSION", json=document).json
    assert added["workflows"][0]["versions"] == [{"from": 1, "to": 2}]


def test_names_may_be_several_and_hold_commas(client: Any) -> None:
    for name in ("x,y", "z"):
        client.post("/api/catalog/workflows", json={**_etl(), "name": name})
    child = {"name": "up", "tasks": [sub_workflow("s", "z")]}
    client.post("/api/catalog/workflows", json=child)
    found = client.get("/api/catalog/export?name=z&name=x,y").json
    assert [each["name"] for each in found["workflows"]] == ["x,y", "z"]
    found = client.get("/api/catalog/export?name=up&callees=true&versions=all").json
    assert [each["name"] for each in found["workflows"]] == ["up", "z"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("?name=", 400),
        ("?name=nobody", 404),
        ("?name=etl&versions=some", 400),
        ("?name=etl&callees=some", 400),
        ("?" + "&".join(f"name={number}" for number in range(101)), 400),
    ],
)
def test_exports_that_make_no_sense_are_refused(client: Any, query: str, status: int) -> None:
    _exported(client)
    assert client.get(f"/api/catalog/export{query}").status_code == status


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({}, ["$.format"]),
        ({"format": 2, "workflows": [1]}, ["$.format"]),
        ({"format": True}, ["$.format"]),
        ({"format": 1}, ["$.workflows"]),
        ({"format": 1, "workflows": {}, "tasks": 3}, ["$.workflows", "$.tasks"]),
        ({"format": 1, "workflows": ["x"]}, ["$.workflows[0]"]),
        ({"format": 1, "workflows": [{}] * 1_001}, ["$.workflows"]),
        (
            {"format": 1, "workflows": [{"code": 5, "version": "1", "published": "x"}]},
            [
                "$.workflows[0].code",
                "$.workflows[0].version",
                "$.workflows[0].published",
                "$.workflows[0].definition",
            ],
        ),
        (
            {
                "format": 1,
                "workflows": [
                    {"code": "5", "version": 1, "definition": {"name": "x", "tasks": [1, 2]}}
                ],
                "tasks": [{"code": "6", "version": 0, "definition": {"uses": 1}}],
            },
            [
                "$.workflows[0].definition.tasks[0]",
                "$.workflows[0].definition.tasks[1]",
                "$.tasks[0].version",
                "$.tasks[0].definition.uses",
            ],
        ),
        (
            {
                "format": 1,
                "workflows": [
                    {
                        "code": "5",
                        "version": 1,
                        "definition": {
                            "name": "x",
                            "tasks": [simple("a") | {"retryCount": "x"}, simple("b") | {"type": 1}],
                            "timeoutSeconds": "x",
                        },
                    }
                ],
                "tasks": [{"code": "6", "version": 1, "definition": {"name": ""}}],
            },
            [
                "$.tasks[0].definition.name",
                "$.workflows[0].definition.timeoutSeconds",
                "$.workflows[0].definition.tasks[0].retryCount",
            ],
        ),
    ],
)
def test_bad_documents_are_told_where_all_at_once(
    other: Any, document: Json, paths: list[str]
) -> None:
    for more in ("", "?dryRun=true", "?onExisting=SKIP"):
        assert _paths(other.post(_IMPORT + more, json=document)) == paths
    assert other.get("/api/catalog/workflows").json == []


def test_modes_and_bodies_that_are_none_are_refused(other: Any) -> None:
    assert _paths(other.post(f"{_IMPORT}?onExisting=MERGE", json={"format": 1})) == ["?onExisting"]
    assert other.post(_IMPORT, data=b"[1]").status_code == 400
    assert other.post(_IMPORT, data=b"no").status_code == 400


def test_a_body_that_is_too_large_is_refused(engine: MemoryEngine, client: Any) -> None:
    small = create_app(engine.engine, max_body_bytes=1_000).test_client()
    assert small.post(_IMPORT, json=_exported(client) | {"x": "x" * 1_000}).status_code == 413

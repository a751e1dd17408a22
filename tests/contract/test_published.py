"""The published contract is current, and says what the server does."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from conductor_py.api import create_app
from conductor_py.wire.openapi import document, files
from tests.api.fake_engine import FakeEngine

_PUBLISHED = Path(__file__).parents[2] / "schemas"


@pytest.mark.parametrize("name", sorted(files()))
def test_published_files_are_current(name: str) -> None:
    """Else run `make schemas`."""
    assert (_PUBLISHED / name).read_bytes() == files()[name]


def test_no_published_file_is_left_over() -> None:
    assert {path.name for path in _PUBLISHED.glob("*.json")} == set(files())


_NO_FILES: Any = object()


class _NoPayloads:
    def open_upload(self, token: str) -> Any:
        raise NotImplementedError

    def open_download(self, token: str) -> Any:
        raise NotImplementedError


def test_table_of_endpoints_is_what_is_served() -> None:
    app = create_app(
        FakeEngine(), served_payloads=_NoPayloads(), files=_NO_FILES, metrics=lambda: b""
    )
    served = {
        (method, re.sub(r"<(?:path:)?(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    told = {
        (method.upper(), path)
        for path, methods in document("1")["paths"].items()
        for method in methods
    }
    assert told == served


def test_every_reference_leads_somewhere() -> None:
    found = document("1")
    names = set(re.findall(r"#/components/schemas/(\w+)", orjson.dumps(found).decode()))
    assert names <= found["components"]["schemas"].keys()
    ids = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids))


def test_an_answer_is_any_object_only_where_it_is_the_users_own() -> None:
    bare = {
        path
        for path, methods in document("1")["paths"].items()
        for described in methods.values()
        for status, answer in described["responses"].items()
        for content in answer.get("content", {}).values()
        if status.startswith("2")
        if content["schema"].get("additionalProperties") is True
    }
    assert bare == {"/api/workflow/execute/{name}", "/api/payloads/{token}", "/api-docs"}


def test_the_answer_to_a_dry_run_is_published() -> None:
    told = document("1")["paths"]
    dry_runs = {
        path: one["responses"]["200"].get("content", {}).keys()
        for path, methods in told.items()
        for one in methods.values()
        if "dryRun" in [each["name"] for each in one.get("parameters", ())]
    }
    assert "/api/workflow/{workflow_id}/upgrade" in dry_runs
    assert {path for path, kinds in dry_runs.items() if "application/json" not in kinds} == set()
    rerun = told["/api/workflow/{workflow_id}/rerun"]["post"]["responses"]["200"]["content"]
    assert rerun.keys() == {"text/plain", "application/json"}


@pytest.mark.parametrize("name", ["WorkflowDef.json", "Task.json"])
def test_published_schemas_stand_alone(name: str) -> None:
    schema = orjson.loads(files()[name])
    needed = set(re.findall(r"#/\$defs/(\w+)", orjson.dumps(schema).decode()))
    assert needed <= schema["$defs"].keys()

"""Lists of what is stored are read one document after the other, however large each is."""

from __future__ import annotations

import json
import weakref
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app, documents
from conductor_py.api.admission import Admission
from conductor_py.codec import schedules as codec_of_schedules
from conductor_py.engine.definitions import readable
from conductor_py.model.json_bounds import HEAVY_VALUES
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.outside import HeavyPlace
from tests.heavy import another_has

_MANY = 4
_LISTS = (
    "/api/metadata/workflow",
    "/api/metadata/workflow/names",
    "/api/metadata/workflow/names-and-versions",
    "/api/metadata/workflow/large0/versions",
    "/api/metadata/workflow/latest-versions",
    "/api/metadata/taskdefs",
    "/api/schema",
    "/api/scheduler/schedules",
    "/api/scheduler/schedules/search",
)
_HEAVY_LISTS = tuple(path for path in _LISTS if "scheduler" not in path)
"""A schedule has at most 256 kB."""
_WHOLE_LISTS = tuple(
    path for path in _LISTS if not path.endswith(("/names", "/names-and-versions", "/versions"))
)
"""Those that answer the documents themselves."""


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def place() -> HeavyPlace:
    return HeavyPlace()


@pytest.fixture
def client(engine: MemoryEngine, place: HeavyPlace) -> FlaskClient:
    admission = Admission(threads=8, working=4, resting=4, wait_s=0.01, heavy_s=0.01, heavy=place)
    return create_app(engine.engine, instance="here", admission=admission).test_client()


def _fill(engine: MemoryEngine, client: FlaskClient, values: int) -> None:
    """Store as many of everything that is listed, each of so many values."""
    metadata = engine.ports.metadata
    many: list[list[Any]] = [[] for _ in range(values)]
    for at in range(_MANY):
        name = f"large{at}"
        given = {"name": "t", "taskReferenceName": "t", "inputParameters": {"b": many}}
        definition = {"name": name, "version": 1, "tasks": [given]}
        metadata.put_workflow(name, 1, orjson.dumps(definition), create=True)
        template = {"name": name, "inputTemplate": {"b": many}}
        metadata.put_task(name, orjson.dumps(template), must_exist=False)
        schema = {"name": name, "version": 1, "data": {"b": many}}
        metadata.put_schema(name, 1, orjson.dumps(schema))
        request = {"name": name, "input": {"b": many[:50_000]}}
        asked = {"name": name, "cronExpression": "@yearly", "startWorkflowRequest": request}
        assert client.post("/api/scheduler/schedules", json=asked).status_code == 200


class _Parsed(dict[str, Any]):
    """An object of a parsed document; of those with a member ``b`` the living are counted."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class _Parsing:
    """Stands for ``orjson`` and knows how much of what it has parsed was there at once."""

    def __init__(self) -> None:
        self._living: weakref.WeakSet[_Parsed] = weakref.WeakSet()
        self.most = 0

    def loads(self, text: bytes) -> Any:
        return json.loads(text, object_hook=self._parsed)

    def __getattr__(self, name: str) -> Any:
        return getattr(orjson, name)

    def _parsed(self, found: dict[str, Any]) -> _Parsed:
        parsed = _Parsed(found)
        if "b" in found:
            self._living.add(parsed)
            self.most = max(self.most, len(self._living))
        return parsed


@pytest.mark.parametrize("path", _LISTS)
def test_a_list_of_large_documents_holds_two_of_them_and_not_all(
    engine: MemoryEngine, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    _fill(engine, client, 10)
    parsing = _Parsing()
    for module in (readable, codec_of_schedules):
        monkeypatch.setattr(module, "orjson", parsing)
    assert client.get(path).status_code == 200
    assert 1 <= parsing.most <= 2


@pytest.mark.parametrize("path", _HEAVY_LISTS)
@pytest.mark.thorough(target="fuzz")
def test_a_list_of_heavy_documents_is_read_by_one_request_at_a_time(
    engine: MemoryEngine, client: FlaskClient, place: HeavyPlace, path: str
) -> None:
    _fill(engine, client, HEAVY_VALUES + 1)
    with another_has(place):
        assert client.get(path).status_code == 503
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("path", _WHOLE_LISTS)
def test_a_list_of_more_than_an_answer_holds_is_refused(
    engine: MemoryEngine, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    _fill(engine, client, 1_000)
    monkeypatch.setattr(documents, "MOST_BYTES", 10_000)
    assert client.get(path).status_code == 413


def test_exports_and_comparisons_of_the_catalog_are_made_one_at_a_time(
    client: FlaskClient, place: HeavyPlace
) -> None:
    tasks = [{"name": "t", "taskReferenceName": "t", "type": "SIMPLE"}]
    workflow = {"name": "w", "tasks": tasks}
    code = client.post("/api/catalog/workflows", json=workflow).json["code"]  # type: ignore[index]
    changed = client.put(f"/api/catalog/workflows/{code}", json={**workflow, "description": "d"})
    assert changed.status_code == 200
    for path in ("export?name=w", f"workflows/{code}/diff?from=1&to=2"):
        with another_has(place):
            assert client.get(f"/api/catalog/{path}").status_code == 503
        assert client.get(f"/api/catalog/{path}").status_code == 200

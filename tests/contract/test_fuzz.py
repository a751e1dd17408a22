"""Requests made of the published interface: none fails the server, none is answered off its schema.

Each endpoint gets an engine of its own that knows a few things; their ids and names are mixed into
the requests, else everything would end at 404. Nothing that is sent may make the engine log an
error either: what callers do wrong is theirs.
"""

import copy
import itertools
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis
import orjson
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.api import create_app
from conductor_py.decider.expressions.expressions import check
from conductor_py.engine.port_set import FilePorts
from conductor_py.testing import FakeClock
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.openapi import document
from tests.script_processes import unhurried

_EXAMPLES = 25
_FILE_BYTES = 1_000
_STRANGERS = ("nobody", "0" * 36, "\u00e9 *", "__proto__")
"""Names of nothing."""
_DOCUMENT = document("fuzz")


def _refutable(told: dict[str, Any]) -> bool:
    """Whether a request can be wrong at all: parts of paths are mostly any text."""
    typed = any(one["schema"] != {"type": "string"} for one in told["parameters"])
    return typed or "requestBody" in told


_ELSEWHERE = ("/api/payloads/", "/actuator/prometheus")
"""Served only where payloads are files, and where metrics are on."""
_OPERATIONS = [
    (mode, method.upper(), path)
    for path, methods in sorted(_DOCUMENT["paths"].items())
    for method, told in methods.items()
    for mode in GenerationMode
    if not path.startswith(_ELSEWHERE) and (mode is GenerationMode.POSITIVE or _refutable(told))
]
load_all_checks()
_CHECKS = [
    CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
]
_SERVER_ERROR = CHECKS.get_one("not_a_server_error")
_READ_ONLY = ("/api/secrets/{key}", 501)
"""What Conductor answers to a change of what it has from its environment."""
_CONTENT_TYPE = CHECKS.get_one("content_type_conformance")
_TEXT_OR_NOTHING = ("/api/tasks/{workflow_id}/{ref}/{status}",)
"""Nothing has no content type, as in Conductor; the dialect of the schema cannot say that."""
_DEFINITION: dict[str, Any] = {
    "name": "thumbs",
    "tasks": [
        {"name": "resize", "taskReferenceName": "first"},
        {"name": "hold", "taskReferenceName": "hold", "type": "WAIT"},
        {"name": "resize", "taskReferenceName": "last"},
    ],
}
_HANDLER = {
    "name": "handler",
    "event": "conductor:thumbs:done",
    "active": True,
    "actions": [{"action": "start_workflow", "start_workflow": {"name": "thumbs"}}],
}
_SCHEDULE = {
    "name": "nightly",
    "cronExpression": "0 0 2 * * *",
    "startWorkflowRequest": {"name": "thumbs"},
}


@pytest.fixture(scope="module")
def scripts() -> Iterator[QuickJsScripts]:
    with unhurried(), closing(QuickJsScripts(workers=1)) as running:
        yield running


@pytest.fixture
def engine(
    scripts: QuickJsScripts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> MemoryEngine:
    """Offer an engine whose ids are the same in every run, with files."""
    numbers = itertools.count(1)
    monkeypatch.setattr("secrets.token_hex", lambda size=16: f"{next(numbers):0{size * 2}x}")
    clock = FakeClock()
    contents = DirectoryContents(tmp_path, now_ms=clock, max_bytes=_FILE_BYTES)
    records = MemoryFileRecords(MemorySpace(clock=clock))
    files = FilePorts(records=records, contents=contents, served=contents)
    return memory_engine(clock=clock, bench=MemoryBench, scripts=scripts, files=files)


@pytest.fixture
def schema(engine: MemoryEngine) -> Any:
    """Serve the engine, and publish what it knows with the interface."""
    app = _app(engine)
    return _published(app, _with(_known(app.test_client(), engine), _STRANGERS))


def _app(engine: MemoryEngine) -> Any:
    stop = threading.Event()
    stop.set()  # no long polls
    files = engine.engine.files
    return create_app(engine.engine, files=files, check_expressions=check, stop=stop)


def _published(app: Any, interface: dict[str, Any]) -> Any:
    made = schemathesis.openapi.from_dict(interface)
    made.app = app
    return made


def _known(client: Any, engine: MemoryEngine) -> dict[str, list[str]]:
    """Make things, and list their names by what the interface calls them."""
    for path, body in (
        ("/api/metadata/workflow", _DEFINITION),
        ("/api/metadata/taskdefs", [{"name": "resize"}]),
        ("/api/event", _HANDLER),
        ("/api/scheduler/schedules", _SCHEDULE),
        ("/api/schema", {"name": "picture", "version": 1, "type": "JSON", "data": {}}),
    ):
        assert client.post(path, json=body).status_code < 500
    start = {"name": "thumbs", "correlationId": "c"}
    running, held, paused, ended, failed = (
        client.post("/api/workflow", json=start).text for _ in range(5)
    )
    client.post(f"/api/tasks/{held}/first/COMPLETED", json={})
    client.post(f"/api/tasks/{failed}/first/FAILED_WITH_TERMINAL_ERROR", json={})
    client.put(f"/api/workflow/{paused}/pause")
    client.delete(f"/api/workflow/{ended}")
    client.get("/api/tasks/poll/batch/resize?count=1")
    engine.clock.advance(seconds=2)
    engine.settle()
    files = _files(client, running)
    ids = [running, held, paused, ended, failed]
    tasks = [f"{running}-1", f"{held}-2", f"{failed}-1"]
    names = ["thumbs", "resize", "handler", "nightly", "picture"]
    return {
        **files,
        "part_number": ["1"],
        "workflow_id": ids,
        "workflowId": ids,
        "workflowInstanceId": ids,
        "task_id": tasks,
        "taskId": tasks,
        "name": names,
        "workflowName": names,
        "ref": ["first", "hold", "last"],
        "taskRefName": ["first", "hold", "last"],
        "task_type": ["resize"],
        "taskType": ["resize"],
        "correlation_id": ["c"],
        "correlationId": ["c"],
        "event": ["conductor:thumbs:done"],
        "*": [*ids, *names],
    }


def _files(client: Any, owner: str) -> dict[str, list[str]]:
    """Files of an execution: one complete, one that is sent, one begun, one of whose parts one is
    sent. Their ids, and what the upload in parts goes by.
    """

    def recorded() -> str:
        told = client.post("/api/files", json={"workflowId": owner})
        assert told.status_code == 201, told.json
        return str(told.json["fileHandleId"]).rpartition("/")[2]

    complete, sent, begun, parts = (recorded() for _ in range(4))
    for file in (complete, sent):
        answer = client.put(f"/api/files/content/{owner}/{file}", data=b"bytes")
        assert answer.status_code == 204, answer.json
    taken = client.post(f"/api/files/{owner}/{complete}/upload-complete")
    assert taken.status_code == 200, taken.json
    told = client.post(f"/api/files/{owner}/{parts}/multipart")
    assert told.status_code == 200, told.json
    upload = str(told.json["uploadId"])
    query = f"?uploadId={upload}&partNumber=1"
    part = client.put(f"/api/files/content/{owner}/{parts}{query}", data=b"bytes")
    assert part.status_code == 204, part.json
    return {
        "file_id": [complete, sent, begun, parts],
        "upload_id": [upload],
        "uploadId": [upload],
        "partETags": [part.headers["ETag"]],
    }


def _with(known: dict[str, list[str]], strangers: Sequence[str]) -> dict[str, Any]:
    """Name things that exist, and some that do not, where the interface takes any name. What is
    answered may name others, so requests have schemas of their own.
    """

    def mix(holder: dict[str, Any], member: str, values: list[str] | None) -> None:
        # Not "one of these, or any text": what draws the requests reads that as any text.
        if values and holder.get(member) == {"type": "string"}:
            holder[member] = {"type": "string", "enum": [*values, *strangers]}

    published = copy.deepcopy(_DOCUMENT)
    schemas = published["components"]["schemas"]
    sent = _renamed(schemas)
    for described in sent.values():
        for name in described.get("properties", {}):
            mix(described["properties"], name, known.get(name))
            mix(described["properties"][name], "items", known.get(name))
    for path, methods in published["paths"].items():
        for described in methods.values():
            for parameter in described["parameters"]:
                values = known.get(parameter["name"])
                if values and path.startswith("/api/files/"):
                    values = values[:4]  # the first is whose the files are
                mix(parameter, "schema", values)
            for content in described.get("requestBody", {}).get("content", {}).values():
                content["schema"] = _renamed(content["schema"])
                mix(content["schema"], "items", known["*"])
    published["components"]["schemas"] = schemas | {
        f"Sent{name}": schema for name, schema in sent.items()
    }
    return published


def _renamed(schema: Any) -> Any:
    """Refer to the schemas of what is sent."""
    text = orjson.dumps(schema).replace(b"#/components/schemas/", b"#/components/schemas/Sent")
    return orjson.loads(text)


@pytest.mark.thorough(target="fuzz")
@pytest.mark.parametrize(("mode", "method", "path"), _OPERATIONS, ids=str)
def test_no_request_is_answered_off_its_schema(  # noqa: PLR0917 - fixtures
    schema: Any,
    engine: MemoryEngine,
    mode: GenerationMode,
    method: str,
    path: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)

    @hypothesis.settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=schema[path][method].as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        response = case.call()
        engine.clock.advance(seconds=1)
        engine.settle()
        checks = _CHECKS
        if path in _TEXT_OR_NOTHING and not response.content:
            checks = [check for check in _CHECKS if check is not _CONTENT_TYPE]
        if (path, response.status_code) == _READ_ONLY:
            checks = [check for check in _CHECKS if check is not _SERVER_ERROR]
        case.validate_response(response, checks=checks)
        assert [record.getMessage() for record in caplog.records] == []

    send()


_OF_FILES = [
    (method, path)
    for mode, method, path in _OPERATIONS
    if mode is GenerationMode.POSITIVE and path.startswith("/api/files")
]


@pytest.mark.parametrize(("method", "path"), _OF_FILES, ids=str)
def test_requests_drawn_for_files_are_also_answered_with_them(
    engine: MemoryEngine, method: str, path: str
) -> None:
    """Where only what exists is named. Else each of them could end at a name of nothing."""
    app = _app(engine)
    known = _known(app.test_client(), engine)
    owner = known["workflow_id"][:1]
    named = known | {"workflow_id": owner, "workflowId": owner}
    if "{upload_id}" in path:
        named["file_id"] = known["file_id"][-1:]  # the one that comes in parts
    seen: list[int] = []

    @hypothesis.settings(
        max_examples=2 * _EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(case=_published(app, _with(named, ()))[path][method].as_strategy())
    def send(case: Any) -> None:
        response = case.call()
        case.validate_response(response, checks=_CHECKS)
        seen.append(response.status_code)

    send()
    assert any(200 <= status < 300 for status in seen), seen

"""What no client should send: endpoints answer it as a mistake of the caller's, or take it."""

import logging
import re
import threading
from typing import Any
from urllib.parse import quote

import pytest

from conductor_py.api import create_app
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import memory_engine
from conductor_py.wire import answers
from conductor_py.wire.fields import load
from conductor_py.wire.openapi import document

_PATHS = document("1")["paths"]
_ELSEWHERE = ("/api/payloads/", "/actuator/prometheus")
_OPERATIONS = [
    (method.upper(), path)
    for path, methods in sorted(_PATHS.items())
    for method in methods
    if not path.startswith(_ELSEWHERE)
]
_ERROR = next(form for form in answers.FORMS if type(form).__name__ == "ErrorResponseForm")
_BODIES = (
    b"",
    b"{",
    b"{}",
    b"[]",
    b"[[]]",
    b"[null]",
    b"[{}]",
    b"null",
    b"0",
    b'"x"',
    b"NaN",
    b"1e999",
    b"\xff\xfe\x00",
    b'{"name": "\\ud800"}',
    b'{"name": "a\\u0000b", "version": 1e30}',
    b'{"name": null, "tasks": null, "input": null, "status": null}',
    b'{"name": {}, "tasks": [null], "input": [], "status": 7, "taskId": [], "actions": [null]}',
    b'{"a": 99999999999999999999999999}',
    b"[" * 5_000 + b"]" * 5_000,
)
_VALUES = ("", "None", "x", "-1", "1.5", "99999999999999999999", "\x00", "é", "'\"\\*", "%")
_SEGMENTS = (
    "x",
    "None",
    "0",
    "-1",
    "\x00",
    "é",
    "..",
    "a b",
    "00000000-0000-0000-0000-000000000001",
)


@pytest.fixture(autouse=True)
def _errors_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


@pytest.fixture(scope="module")
def client() -> Any:
    stop = threading.Event()
    stop.set()  # no long polls
    made = create_app(memory_engine(bench=MemoryBench).engine, stop=stop).test_client()
    task = {"name": "resize", "taskReferenceName": "r"}
    made.post("/api/metadata/workflow", json={"name": "x", "tasks": [task]})
    return made


def _sent(client: Any, method: str, url: str, **more: Any) -> None:
    answer = client.open(url, method=method, **more)
    if answer.status_code != 501 or answer.json["code"] != "READ_ONLY":  # secrets, as on Conductor
        assert answer.status_code < 500, (method, url, more, answer.text)
    if answer.status_code >= 400:
        assert load(_ERROR, answer.json)["status"] == answer.status_code


def _filled(path: str, value: str = "x") -> str:
    return re.sub(r"\{\w+\}", quote(value, safe=""), path)


@pytest.mark.thorough(target="fuzz")
@pytest.mark.parametrize(
    ("method", "path"), [one for one in _OPERATIONS if one[0] != "GET"], ids=lambda part: part
)
def test_bodies_that_make_no_sense_are_the_callers_mistake(
    client: Any, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    for body in _BODIES:
        for content_type in ("application/json", "text/plain", "multipart/form-data"):
            _sent(client, method, _filled(path), data=body, content_type=content_type)
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.thorough(target="fuzz")
@pytest.mark.parametrize(("method", "path"), _OPERATIONS, ids=lambda part: part)
def test_parameters_that_make_no_sense_are_the_callers_mistake(
    client: Any, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    told = _PATHS[path][method.lower()]
    names = [one["name"] for one in told["parameters"] if one["in"] == "query"]
    for value in _VALUES:
        query = "&".join(f"{name}={quote(value)}" for name in names)
        _sent(client, method, f"{_filled(path)}?{query}")
        for name in names:
            _sent(client, method, f"{_filled(path)}?{name}={quote(value)}")
    for segment in _SEGMENTS if "{" in path else ():
        _sent(client, method, _filled(path, segment))
    assert [record.getMessage() for record in caplog.records] == []

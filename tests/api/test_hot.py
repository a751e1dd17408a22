"""A request means the same whether it is answered in front of Flask or by it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import orjson
import pytest
from flask import Flask
from werkzeug.exceptions import HTTPException

from conductor_py.api import create_app
from conductor_py.api.errors import UNANSWERED, Errors
from conductor_py.api.hot import HotPath, HotView
from conductor_py.errors import (
    ClaimLost,
    Conflict,
    EpochConflict,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    StoreDamaged,
    StoreFull,
    StoreUnavailable,
    Violation,
)
from tests.api.fake_engine import TASK_ID, WORKFLOW_ID, FakeEngine

RECORDED: Final = Path(__file__).parents[1] / "golden" / "client_requests.jsonl"
_LIMIT: Final = 100_000
Json = dict[str, Any]
_SENT: Final[list[Json]] = [*map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())]


class Way:
    """One of the two, over an engine of its own."""

    def __init__(self) -> None:
        self.engine = FakeEngine()
        found = {"workflowId": WORKFLOW_ID, "status": "RUNNING", "tasks": [{"taskId": TASK_ID}]}
        self.engine.executions.documents[WORKFLOW_ID] = found
        self.engine.tasks.waiting = [{"taskId": "1"}, {"taskId": "2", "inputData": {"a": "ü"}}]
        self.timed: list[tuple[str, str, int]] = []
        self.unanswered = False
        self.app: Flask = create_app(
            self.engine, instance="here", max_body_bytes=_LIMIT, timed=self._time
        )

    def _time(self, method: str, rule: str, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.timed.append((method, rule, status))

    def by_flask(self, sent: Json) -> tuple[str, list[tuple[str, str]], bytes] | None:
        return self._answered(lambda *asked: type(self.app).wsgi_app(self.app, *asked), sent)

    def in_front(self, sent: Json) -> tuple[str, list[tuple[str, str]], bytes] | None:
        """Answer it, if it is hot."""
        return self._answered(self.hot().before(lambda *_: ()), sent)

    def hot(self) -> HotPath:
        return HotPath(self.app, Errors("here"), limit=_LIMIT, timed=self._time)

    def _answered(self, application: Any, sent: Json) -> Any:
        told: list[Any] = []
        environ = _environ(sent)
        body = b"".join(application(environ, lambda *begun: told.extend(begun)))
        self.unanswered = environ.get(UNANSWERED, False)
        return (told[0], told[1], body) if told else None

    def asked(self) -> tuple[object, ...]:
        """What its engine was asked, and what was counted."""
        engine = self.engine
        return (engine.executions, engine.tasks, sorted(self.timed), self.unanswered)


def _environ(sent: Json) -> Json:
    body = sent.get("body", "").encode()
    environ = {
        "REQUEST_METHOD": sent["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": sent["path"],
        "QUERY_STRING": sent.get("query", ""),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "8080",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": io.StringIO(),
        "CONTENT_LENGTH": str(len(body)) if body else "",
    }
    for name, value in sent.get("headers", {}).items():
        if name == "content-type":
            environ["CONTENT_TYPE"] = value
        else:
            environ[f"HTTP_{name.upper().replace('-', '_')}"] = value
    return environ | sent.get("more", {})


def _both(sent: Json, failure: Exception | None = None) -> bool:
    """Send it both ways, which have to agree; whether it was hot."""
    front, flask = Way(), Way()
    for way in (front, flask):
        way.engine.executions.failure = way.engine.tasks.failure = failure
    return _agree(front, flask, sent)


def _agree(front: Way, flask: Way, sent: Json) -> bool:
    timed = len(front.timed)
    answered = front.in_front(sent)
    if answered is None:
        assert len(front.timed) == timed
        return False
    assert answered == flask.by_flask(sent), sent
    assert front.asked() == flask.asked(), sent
    return True


@pytest.mark.parametrize("client", sorted({sent["client"] for sent in _SENT}))
def test_what_official_clients_send_is_answered_alike(client: str) -> None:
    recorded = [_handed_on(sent) for sent in _SENT if sent["client"] == client]
    front, flask = Way(), Way()
    hot = [sent for sent in recorded if _agree(front, flask, sent)]
    find = front.hot().find
    assert hot == [sent for sent in recorded if find(sent["method"], sent["path"])[0] is not None]
    asked = {find(sent["method"], sent["path"])[1] for sent in hot}
    assert asked >= {"/api/workflow", "/api/tasks/poll/batch/<task_type>"}
    assert asked & {"/api/tasks", "/api/tasks/update-v2"}


def _handed_on(sent: Json) -> Json:
    """What is answered: a body in chunks has been read by then, a path been decoded."""
    headers = sent.get("headers", {})
    left = {name: value for name, value in headers.items() if name != "transfer-encoding"}
    return sent | {"path": unquote(sent["path"], "latin-1"), "headers": left}


_START: Final = {"name": "thumbs", "version": 1, "input": {"a": 1}}
_RESULT: Final = {"workflowInstanceId": WORKFLOW_ID, "taskId": TASK_ID, "status": "COMPLETED"}
_HOT: Final[tuple[Json, ...]] = (
    {"method": "POST", "path": "/api/workflow", "body": json.dumps(_START)},
    {"method": "POST", "path": "/api/workflow/thumbs", "body": "{}"},
    {"method": "POST", "path": "/api/workflow/thumbs", "query": "priority=9&correlationId=a%20b+c"},
    {"method": "GET", "path": f"/api/workflow/{WORKFLOW_ID}"},
    {"method": "GET", "path": f"/api/workflow/{WORKFLOW_ID}", "query": "includeTasks=false"},
    {"method": "GET", "path": f"/api/workflow/{WORKFLOW_ID}/status", "query": "includeOutput=1"},
    {"method": "GET", "path": "/api/tasks/poll/resize", "query": "workerid=w&domain="},
    {"method": "GET", "path": "/api/tasks/poll/batch/resize", "query": "count=2&timeout=0"},
    {"method": "GET", "path": "/api/tasks/poll/batch/a~b:c@d"},
    {"method": "POST", "path": "/api/tasks", "body": json.dumps(_RESULT)},
    {"method": "POST", "path": "/api/tasks/update-v2", "body": json.dumps(_RESULT)},
    # -- and what is wrong with them
    {"method": "POST", "path": "/api/workflow", "body": "{"},
    {"method": "POST", "path": "/api/workflow", "body": "[" * 500 + "]" * 500},
    {"method": "POST", "path": "/api/workflow", "body": "{}"},
    {"method": "POST", "path": "/api/workflow"},
    {"method": "POST", "path": "/api/workflow/thumbs", "query": "priority=many"},
    {"method": "GET", "path": "/api/workflow/nobody"},
    {"method": "GET", "path": f"/api/workflow/{WORKFLOW_ID}", "query": "includeTasks=perhaps"},
    {"method": "GET", "path": "/api/tasks/poll/HTTP"},
    {"method": "GET", "path": "/api/tasks/poll/batch/resize", "query": "count=0"},
    {"method": "GET", "path": "/api/tasks/poll/batch/resize", "query": "count=1&count=2&&x&=y"},
    {
        "method": "GET",
        "path": "/api/tasks/poll/batch/resize",
        "query": "workerid=%ff%C3%BC;count=2",
    },
    {"method": "POST", "path": "/api/tasks", "body": '{"status": "ODD"}'},
    {
        "method": "POST",
        "path": "/api/tasks/update-v2",
        "body": "\N{LATIN SMALL LETTER U WITH DIAERESIS}",
    },
)


@pytest.mark.parametrize("sent", _HOT, ids=lambda sent: f"{sent['method']} {sent['path'][:50]}")
def test_what_is_hot_is_answered_alike(sent: Json) -> None:
    assert _both(sent)


@pytest.mark.parametrize(
    "failure",
    [
        NotFound("none"),
        Conflict("not now"),
        ClaimLost(),
        EpochConflict(epoch=7),
        PayloadTooLarge(),
        LimitExceeded(),
        StoreUnavailable("away", unanswered=True),
        StoreUnavailable("later", retry_after_s=9),
        StoreFull(),
        StoreDamaged(),
        InvalidInput("no"),
        InvalidInput(violations=(Violation(path="$.a", message="is wrong", invalid_value="b"),)),
        ValueError("nobody foresaw"),
        orjson.JSONDecodeError("stored", "{", 0),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("sent", [_HOT[0], _HOT[6], _HOT[9], _HOT[10]], ids=lambda s: s["path"])
def test_a_failure_is_answered_alike(
    sent: Json, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    assert _both(sent, failure)
    told = [(record.message, record.__dict__.get("endpoint")) for record in caplog.records]
    assert told[: len(told) // 2] == told[len(told) // 2 :]


@pytest.mark.parametrize(
    "sent",
    [
        {"method": "HEAD", "path": f"/api/workflow/{WORKFLOW_ID}"},
        {"method": "OPTIONS", "path": "/api/workflow"},
        {"method": "PUT", "path": "/api/workflow"},
        {"method": "GET", "path": "/api/workflow/"},
        {"method": "GET", "path": "/api/workflow//status"},
        {"method": "GET", "path": f"/api/workflow/{WORKFLOW_ID}/"},
        {"method": "POST", "path": "/api/workflow/thumbs/", "body": "{}"},
        {"method": "GET", "path": "/api/tasks/poll/resize/"},
        {"method": "GET", "path": "/api/tasks/poll/batch/resize/"},
        {"method": "POST", "path": "/api/workflow", "headers": {"upgrade": "websocket"}},
        {"method": "POST", "path": "/api/workflow", "more": {"CONTENT_LENGTH": "9" * 5_000}},
        {"method": "GET", "path": "/api/workflow/\u00c3\u00bc"},
        {"method": "GET", "path": "/api/workflow/a\tb"},
        {"method": "GET", "path": "/api/tasks/poll/resize", "query": "workerid=\u00fc"},
        {"method": "GET", "path": "/api/tasks/poll/resize", "body": "{}"},
        {"method": "POST", "path": "/api/workflow", "body": json.dumps({"a": "x" * _LIMIT})},
        {"method": "POST", "path": "/api/workflow", "more": {"SCRIPT_NAME": "/there"}},
        {"method": "POST", "path": "/api/workflow", "headers": {"transfer-encoding": "chunked"}},
        {"method": "POST", "path": "/api/workflow", "body": "{}", "more": {"CONTENT_LENGTH": "9"}},
        {"method": "POST", "path": "/api/workflow", "body": "{}", "more": {"CONTENT_LENGTH": "-2"}},
    ],
    ids=lambda sent: f"{sent['method']} {sent['path'][:40]}",
)
def test_what_is_unusual_goes_to_flask(sent: Json) -> None:
    assert not _both(sent)


def test_a_body_that_ends_early_is_still_there_for_flask() -> None:
    environ = _environ({"method": "POST", "path": "/api/workflow", "body": "{}"})
    environ["CONTENT_LENGTH"] = "9"
    seen: list[bytes] = []

    def further(handed: Json, _: object) -> tuple[bytes, ...]:
        seen.append(handed["wsgi.input"].read())
        return ()

    hot = HotPath(Way().app, Errors("here"), limit=_LIMIT, timed=None)
    assert hot.before(further)(environ, lambda *_: lambda _: None) == ()
    assert seen == [b"{}"]


def _paths(rule: str) -> set[str]:
    """Paths that a rule may mean: its variable parts are anything, and words of other rules."""
    words = ("x1", "search", "running", "status", "batch", "poll", "bulk", "execute")
    found = {re.sub(r"<[^>]+>", word, rule) for word in words}
    return found | {f"{path}/" for path in found}


def test_the_table_finds_what_flask_finds() -> None:
    app = Way().app
    adapter = app.url_map.bind("localhost")
    hot = HotPath(app, Errors("here"), limit=_LIMIT, timed=None)
    paths = {path for rule in app.url_map.iter_rules() for path in _paths(rule.rule)}
    found = 0
    for path in paths:
        for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"):
            view, rule, segments = hot.find(method, path)
            if view is None:
                continue
            found += 1
            try:
                matched, values = adapter.match(path, method, return_rule=True)
            except HTTPException as error:
                raise AssertionError((method, path, rule)) from error
            assert isinstance(app.view_functions[matched.endpoint], HotView)
            assert (matched.rule, tuple(values.values())) == (rule, segments)
    assert found > 20


def test_whatever_flask_finds_to_be_hot_is_in_the_table() -> None:
    app = Way().app
    hot = HotPath(app, Errors("here"), limit=_LIMIT, timed=None)
    for rule in app.url_map.iter_rules():
        if isinstance(app.view_functions[rule.endpoint], HotView):
            (method,) = (rule.methods or set()) - {"HEAD", "OPTIONS"}
            assert hot.find(method, re.sub(r"<[^>]+>", "x1", rule.rule))[1] == rule.rule

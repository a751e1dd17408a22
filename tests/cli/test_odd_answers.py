"""Whatever a server answers, a command ends with an exit code and legible text: no exception."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest

from conductor_py.cli import connection
from conductor_py.sdk import Backoff, Client
from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer
from tests.waiting import PATIENCE_S

_ID = "000f3a52-1111-4222-8333-444455556666"
_CRON = '{"name": "s"}'
_OBJECT = str(Path(__file__).parents[2] / "schemas" / "TaskDef.json")

COMMANDS = (
    ("workflow", "start", "orders"),
    ("workflow", "get", _ID),
    ("workflow", "terminate", _ID),
    ("workflow", "search", "status=FAILED"),
    ("workflow", "pause", _ID),
    ("workflow", "resume", _ID),
    ("workflow", "retry", _ID),
    ("workflow", "restart", _ID),
    ("workflow", "rerun", _ID),
    ("workflow", "skip", _ID, "r"),
    ("workflow", "jump", _ID, "r"),
    ("workflow", "upgrade", _ID, "2"),
    ("workflow", "variables", _ID, "{}"),
    ("workflow", "message", _ID),
    ("workflow", "signal", _ID),
    ("workflow", "execute", "orders"),
    ("workflow", "test", "orders"),
    ("workflow", "remove", _ID),
    ("task", "report", _ID, "r"),
    ("task", "logs", f"{_ID}-1"),
    ("task", "poll-data"),
    ("task", "queues"),
    ("task", "queues", "resize"),
    ("definition", "list"),
    ("definition", "list", "--tasks"),
    ("definition", "get", "orders"),
    ("definition", "get", "resize", "--task"),
    ("dag", "list"),
    ("dag", "list", "--tasks"),
    ("dag", "get", "orders"),
    ("dag", "get", "7", "--task"),
    ("dag", "get", "7", "--pins"),
    ("dag", "versions", "orders"),
    ("dag", "diff", "orders"),
    ("dag", "lineage", "orders"),
    ("dag", "export", "orders"),
    ("dag", "import", _OBJECT),
    ("dag", "publish", "orders"),
    ("dag", "withdraw", "orders"),
    ("dag", "switch", "orders", "2"),
    ("dag", "uses", "7"),
    ("dag", "delete", "orders"),
    ("dag", "purge", "orders", "1"),
    ("schedule", "save", _CRON),
    ("schedule", "list"),
    ("schedule", "get", "s"),
    ("schedule", "next", "0 0 3 * * *"),
    ("schedule", "run", "s"),
    ("schedule", "pause", "s"),
    ("schedule", "resume", "s"),
    ("schedule", "runs"),
    ("schedule", "delete", "s"),
    ("event", "register", _CRON),
    ("event", "list"),
    ("event", "delete", "h"),
    ("event", "executions"),
)

_HOSTILE = "\x1b[2J\x1b]0;owned\x07 \x9b31m \x7f \u202egnp.exe \u2028 end"
_ODD: dict[str, object] = {
    "name": {"a": [_HOSTILE]},
    "version": "three",
    "status": None,
    "startTime": 10**30,
    "endTime": -(10**18),
    "updateTime": [1],
    "nextRunTime": 1e300,
    "createdTime": True,
    "tasks": [None, 7, {"taskType": 3, "workflowTask": "x", "outputData": [], "startTime": "soon"}],
    "results": [{"workflowId": 5, "startTime": {}}, "text", None],
    "totalHits": "many",
    "input": "text",
    "output": 3,
    "variables": [1],
    "failedReferenceTaskNames": [1, None],
    "bulkErrorResults": 3,
    "validationErrors": [{"path": 1}, 3],
    "actions": "none",
    "cronSchedules": [3],
    "startWorkflowRequest": "x",
}
ODD_BODIES = (
    b"",
    b"null",
    b"[]",
    b"{}",
    b"3",
    b'"text"',
    b"[1, null, {}]",
    b"not json",
    b"\xff\xfe\x00",
    b'{"tasks": 3, "results": {}}',
    json.dumps(_ODD).encode(),
    json.dumps([_ODD, _ODD]).encode(),
    json.dumps({"reasonForIncompletion": "x" * 300_000, "tasks": [{}] * 50}).encode(),
    b"[" * 5_000,
    b'{"status": "\\ud800"}',
)
STATUSES = (202, 301, 400, 404, 429, 503)
MORE_STATUSES = (204, 401, 403, 405, 409, 410, 413, 415, 418, 500, 502)
# What a terminal obeys, but for the ends of our own lines.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\u2028]")


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is away is not asked again."""
    monkeypatch.setattr(
        connection,
        "Client",
        functools.partial(Client, backoff=Backoff(tries=1), timeout_s=PATIENCE_S),
    )


def _answering(stub: StubServer, reply: Reply) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        stub.on(method, ".*", reply)


def _is_legible(text: str) -> bool:
    return not _OBEYED.search(text) and "Traceback" not in text


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_odd_body_is_no_exception(run: Run, stub: StubServer, command: tuple[str, ...]) -> None:
    for body in ODD_BODIES:
        _answering(stub, Reply(200, body))
        for more in ((), ("--json",)):
            outcome = run(*command, *more)
            assert outcome.code in {0, 1}, body
            assert _is_legible(outcome.out + outcome.err), body


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "statuses",
    [
        pytest.param(STATUSES, id="some"),
        pytest.param(MORE_STATUSES, id="others", marks=pytest.mark.thorough(target="fuzz")),
    ],
)
def test_every_error_is_one_sentence_and_1(
    run: Run, stub: StubServer, command: tuple[str, ...], statuses: tuple[int, ...]
) -> None:
    told = {"message": f"refused {_HOSTILE}", "code": "ODD", "retryable": 7}
    for status in statuses:
        for body in (json.dumps(told).encode(), b"<html>", b"", b"[]"):
            _answering(stub, Reply(status, body))
            outcome = run(*command)
            assert _is_legible(outcome.out + outcome.err), status
            if status >= 300:
                assert outcome.code == 1, status
                assert outcome.err.startswith("Error: "), status
                assert outcome.out == "", status
            else:
                assert outcome.code in {0, 1}, status


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_connection_that_breaks_is_a_sentence(
    run: Run, stub: StubServer, command: tuple[str, ...]
) -> None:
    _answering(stub, Reply(drop=True))
    outcome = run(*command)
    assert outcome.code == 1
    assert outcome.err.startswith("Error: ")


def test_what_a_terminal_would_obey_is_shown_as_its_number(run: Run, stub: StubServer) -> None:
    task = {"referenceTaskName": _HOSTILE, "taskType": _HOSTILE, "status": _HOSTILE}
    found = {"workflowName": _HOSTILE, "status": _HOSTILE, "tasks": [task]}
    stub.on("GET", ".*", Reply(200, json.dumps(found).encode()))
    shown = run("workflow", "get", _ID).out
    assert _is_legible(shown)
    assert "\\x1b[2J" in shown
    assert "\\u202egnp.exe" in shown


def test_json_for_programs_means_what_the_server_said(run: Run, stub: StubServer) -> None:
    found = {"workflowName": "\x9b31m\x7f\u202e\u2028 é 字", "status": "RUNNING"}
    stub.on("GET", ".*", Reply(200, json.dumps(found).encode()))
    shown = run("workflow", "get", _ID, "--json").out
    assert _is_legible(shown)
    assert json.loads(shown) == found


def test_columns_stand_below_each_other_for_wide_characters(run: Run, stub: StubServer) -> None:
    stub.on("GET", ".*", Reply(200, {"字字": 1, "ab": 2}))
    lines = run("task", "queues").out.splitlines()
    assert lines == ["queue  waiting", "ab     2", "字字   1"]

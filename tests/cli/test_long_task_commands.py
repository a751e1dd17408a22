"""``workflow checkpoints`` and the commands that ask something of a long task."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_ID = "00000000-0000-0000-0000-000000000001"
_PATH = f"/api/workflow/{_ID}/checkpoints"
_PAST = {"epoch": 2, "time": 1_700_000_000_000, "bytes": 321, "hash": "ab"}
_KEPT: dict[str, Any] = {
    "copy": {
        "token": 17,
        "parts": {
            "files": {"epoch": 2, "noteCount": 4, "history": [_PAST, {**_PAST, "epoch": 1}]},
            "begun": {"epoch": 0, "noteCount": 1, "history": []},
        },
        "savepoints": [{"name": "noon", "time": 1_700_000_000_000, "epochs": {"files": 1}}],
        "request": {"action": "STOP", "number": 3, "time": 1_700_000_000_000, "now": False},
    }
}


def test_what_is_kept_is_printed_with_savepoints_and_requests(run: Run, stub: StubServer) -> None:
    stub.on("GET", _PATH, Reply(200, _KEPT))
    said = run("workflow", "checkpoints", _ID)
    assert said.code == 0
    head, files, begun, *rest = said.out.splitlines()
    assert head.split()[:3] == ["task", "part", "epoch"]
    assert files.split() == ["copy", "files", "2", "2023-11-14", "22:13:20Z", "321", "4", "2", "1"]
    assert begun.split() == ["copy", "begun", "0", "0", "1"]
    assert rest == [
        "copy: savepoint noon of 2023-11-14 22:13:20Z: files 1",
        "copy: STOP is asked since 2023-11-14 22:13:20Z",
    ]
    assert json.loads(run("workflow", "checkpoints", _ID, "--json").out) == _KEPT


@pytest.mark.parametrize(
    ("command", "verb", "body"),
    [
        (("stop-task",), "stop", {"now": False}),
        (
            ("stop-task", "--savepoint", "evening", "--now"),
            "stop",
            {"now": True, "savepoint": "evening"},
        ),
        (("pause-task",), "pause", {}),
        (("cancel-task",), "cancel", {}),
        (("resume-task",), "resume", {}),
        (
            ("resume-task", "--epoch", "3", "--part", "files"),
            "resume",
            {"epoch": 3, "part": "files"},
        ),
        (("resume-task", "--savepoint", "noon"), "resume", {"savepoint": "noon"}),
        (
            ("resume-task", "--savepoint", "noon", "--rewind"),
            "resume",
            {"savepoint": "noon", "rewind": True},
        ),
    ],
)
def test_a_request_is_sent_as_given(
    run: Run, stub: StubServer, command: tuple[str, ...], verb: str, body: dict[str, Any]
) -> None:
    stub.on("POST", f"{_PATH}/copy/{verb}", Reply(200, {"number": 1}))
    said = run("workflow", command[0], _ID, "copy", *command[1:])
    assert (said.code, said.out) == (0, "")
    assert stub.requests[-1].json() == body
    shown = run("workflow", command[0], _ID, "copy", *command[1:], "--json")
    assert json.loads(shown.out) == {"number": 1}


def test_a_savepoint_is_made_and_forgotten(run: Run, stub: StubServer) -> None:
    stub.on("POST", f"{_PATH}/copy/savepoint", Reply(200, {"number": 0}))
    stub.on("DELETE", f"{_PATH}/copy/savepoints/noon", Reply(200))
    assert run("workflow", "savepoint", _ID, "copy", "noon").code == 0
    assert stub.requests[-1].json() == {"name": "noon"}
    assert run("workflow", "delete-savepoint", _ID, "copy", "noon").code == 0


def test_a_refusal_is_a_sentence_and_exit_code_1(run: Run, stub: StubServer) -> None:
    told = {
        "status": 409,
        "code": "CONFLICT",
        "message": "Task copy has ended.",
        "retryable": False,
    }
    stub.on("POST", f"{_PATH}/copy/stop", Reply(409, told))
    said = run("workflow", "stop-task", _ID, "copy")
    assert said.code == 1
    assert "Task copy has ended." in said.err

"""``conductor-py event``: handlers registered, listed, removed; what they did."""

import json

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_HANDLER = {"name": "h", "event": "conductor:w:q", "active": True, "actions": []}


def test_a_handler_is_registered(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/event", Reply(200, ""))

    outcome = run("event", "register", json.dumps(_HANDLER))

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "registered event handler h\n")
    assert stub.seen("POST")[0].json() == _HANDLER


def test_what_is_hardly_meant_in_a_handler_is_said(run: Run, stub: StubServer) -> None:
    stub.on("POST", "/api/event", Reply(200, ""))
    said = [{"path": "$.event", "message": "is of 'foo'"}]
    stub.on("POST", "/api/event/validate", Reply(200, {"warnings": said}))
    outcome = run("event", "register", json.dumps(_HANDLER))
    assert (outcome.code, outcome.err.splitlines()[0]) == (0, "warning: h: $.event is of 'foo'")


def test_of_a_server_that_cannot_check_handlers_what_is_seen_without_is_said(
    run: Run, stub: StubServer
) -> None:
    stub.on("POST", "/api/event", Reply(200, ""))
    stub.on("POST", "/api/event/validate", Reply(405, {"status": 405, "message": "no"}))
    outcome = run("event", "register", json.dumps({**_HANDLER, "conditoin": "1"}))
    assert outcome.code == 0
    assert "warning: h: $.conditoin is not a known member" in outcome.err


@pytest.mark.parametrize("active", [False, None])
def test_of_a_handler_that_is_not_active_it_is_said(
    run: Run, stub: StubServer, active: bool | None
) -> None:
    stub.on("POST", "/api/event", Reply(200, ""))
    given = json.dumps({**_HANDLER, "active": active})
    assert "It is not active" in run("event", "register", given).err
    assert "It is not active" in run("event", "register", given, "--json").err


def test_a_handler_that_exists_is_replaced_when_asked(run: Run, stub: StubServer) -> None:
    taken = {"status": 409, "code": "CONFLICT", "message": "already exists"}
    stub.on("POST", "/api/event", Reply(409, taken))
    stub.on("PUT", "/api/event", Reply(200, ""))

    assert run("event", "register", json.dumps(_HANDLER)).code != 0
    assert stub.seen("PUT") == []
    assert run("event", "register", json.dumps(_HANDLER), "--overwrite").code == 0
    assert stub.seen("PUT")[0].json() == _HANDLER


def test_handlers_are_listed_and_removed(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/event", Reply(200, [_HANDLER]))
    stub.on("DELETE", "/api/event/h", Reply(200, ""))

    assert "h     conductor:w:q  True" in run("event", "list").out
    assert json.loads(run("event", "list", "--json").out) == [_HANDLER]
    assert run("event", "delete", "h").code == 0


def test_what_handlers_did_is_listed(run: Run, stub: StubServer) -> None:
    record = {
        "name": "h",
        "event": "conductor:w:q",
        "status": "FAILED",
        "action": "start_workflow",
        "messageId": "m",
        "output": {"error": "no such workflow"},
    }
    stub.on("GET", "/api/event/executions", Reply(200, [record]))

    found = run("event", "executions", "--handler", "h").out

    assert "FAILED" in found
    assert "no such workflow" in found
    assert stub.seen("GET")[0].query["name"] == ["h"]

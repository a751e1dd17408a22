"""``workflow why``, ``audit`` and ``quarantine``: what they print, and their exit codes."""

import io
import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_ID = "00000000-0000-0000-0000-000000000001"
_CAUSE = {
    "code": "no-worker-ever",
    "sentence": "a task a is in queue a that no worker ever asked.",
    "advice": "Start a worker for it; check the spelling of the task type.",
    "workflowId": _ID,
    "taskId": f"{_ID}-1",
    "referenceTaskName": "a",
    "since": 1_700_000_000_000,
    "evidence": {"queue": "a"},
}
_FINDING = {
    "code": "no-place",
    "invariant": "I3",
    "meaning": "An open attempt is in no queue, not claimed and not parked",
    "subject": _ID,
    "task": f"{_ID}-1",
    "detail": "a is in 0 places of a",
}
_REMARK = {**_FINDING, "code": "dead-timer", "invariant": "", "task": "", "subject": "timers:s0"}


def page(*findings: dict[str, Any], cursor: str = "") -> Reply:
    violations = sum(bool(one["invariant"]) for one in findings)
    answer = {"executions": 2, "keys": 5, "cursor": cursor, "violations": violations}
    return Reply(200, {**answer, "findings": list(findings)})


def test_why_prints_the_cause_the_evidence_and_the_advice(run: Run, stub: StubServer) -> None:
    found = {"workflowId": _ID, "cause": _CAUSE, "causes": [_CAUSE], "path": ["child"]}
    stub.on("GET", f"/api/workflow/{_ID}/why", Reply(200, found))
    said = run("workflow", "why", _ID)
    assert said.code == 0
    assert "through sub-workflow child" in said.out
    assert "no-worker-ever: a task a is in queue a" in said.out
    assert "since 2023-11-14 22:13:20Z" in said.out
    assert '"queue": "a"' in said.out
    assert "what to do: Start a worker for it" in said.out
    assert json.loads(run("workflow", "why", _ID, "--json").out) == found


def test_who_looks_at_an_open_execution_is_told_how_to_ask_what_it_waits_for(
    run: Run, stub: StubServer
) -> None:
    found = {"workflowId": _ID, "workflowName": "w", "status": "RUNNING", "tasks": []}
    ended = {**found, "status": "COMPLETED"}
    stub.on("GET", f"/api/workflow/{_ID}", Reply(200, found), Reply(200, found), Reply(200, ended))
    assert (
        run("workflow", "get", _ID).err == f"What it waits for: conductor-py workflow why {_ID}\n"
    )
    assert run("workflow", "get", _ID, "--json").err == ""
    assert run("workflow", "get", _ID).err == ""


def test_why_lists_the_causes_of_several_tasks(run: Run, stub: StubServer) -> None:
    other = {**_CAUSE, "code": "wait-timer", "referenceTaskName": "t", "sentence": "t waits."}
    found = {"workflowId": _ID, "cause": _CAUSE, "causes": [_CAUSE, other]}
    stub.on("GET", f"/api/workflow/{_ID}/why", Reply(200, found))
    assert "wait-timer" in run("workflow", "why", _ID).out


def test_an_audit_without_violations_ends_with_0(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/admin/audit", page(_REMARK))
    said = run("audit")
    assert said.code == 0
    assert "dead-timer" in said.out
    assert said.err == "No violation: 2 executions, 5 keys looked at.\n"
    assert "dead-timer" not in run("audit", "--no-remarks").out


def test_an_audit_goes_through_all_pages_and_ends_with_1(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/admin/audit", page(_FINDING, cursor="next"), page(_REMARK))
    said = run("audit", "--size", "7")
    assert said.code == 1
    assert "I3" in said.out
    assert f"{_ID}-1" in said.out
    assert said.err == "1 violation: 4 executions, 10 keys looked at.\n"
    first, second = stub.seen("GET")
    assert first.query == {"size": ["7"]}
    assert second.query == {"size": ["7"], "cursor": ["next"]}


def test_an_audit_names_the_execution_of_a_field(run: Run, stub: StubServer) -> None:
    counted = {**_FINDING, "code": "miscounted", "invariant": "I5", "task": "h"}
    stub.on("GET", "/api/admin/audit", page(counted))
    assert f"{_ID} h " in run("audit").out


def test_an_audit_as_json_is_for_programs(run: Run, stub: StubServer) -> None:
    stub.on("GET", f"/api/admin/audit/{_ID}", page(_FINDING))
    said = run("audit", "--execution", _ID, "--json")
    assert said.code == 1
    found = json.loads(said.out)
    assert (found["violations"], found["findings"]) == (1, [_FINDING])


def test_an_audit_that_cannot_look_ends_with_2(
    run: Run, stub: StubServer, monkeypatch: Any
) -> None:
    missing = {"status": 404, "code": "NOT_FOUND", "message": "No such workflow"}
    stub.on("GET", f"/api/admin/audit/{_ID}", Reply(404, missing))
    assert run("audit", "--execution", _ID).code == 2
    stub.close()
    monkeypatch.setenv("CONDUCTOR_SERVER_URL", "http://127.0.0.1:9/api")
    said = run("audit")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Error: ")


def test_quarantine_is_listed(run: Run, stub: StubServer) -> None:
    one = {"workflowId": _ID, "since": 1_700_000_000_000, "tries": 5, "reason": "it is broken"}
    found = {"totalHits": 1, "results": [{**one, "retryAt": 1_700_000_600_000}]}
    stub.on("GET", "/api/admin/quarantine", Reply(200, found))
    said = run("quarantine", "list")
    assert f"{_ID}  2023-11-14 22:13:20Z  5" in said.out
    assert "it is broken" in said.out
    assert json.loads(run("quarantine", "list", "--json").out) == found


def test_quarantine_is_retried_one_by_one_or_all(run: Run, stub: StubServer) -> None:
    path = f"/api/admin/quarantine/{_ID}/retry"
    stub.on("POST", path, Reply(200, {"workflowId": _ID, "decided": True}))
    stub.on("POST", "/api/admin/quarantine/retry", Reply(200, {"decided": 2, "failed": 1}))
    assert run("quarantine", "retry", _ID).code == 0
    said = run("quarantine", "retry", "--all")
    assert (said.code, said.err) == (1, "2 are out of quarantine, 1 are not.\n")
    for wrong in ((), (_ID, "--all")):
        assert run("quarantine", "retry", *wrong).code == 2


def test_all_are_retried_in_as_many_requests_as_it_takes(run: Run, stub: StubServer) -> None:
    path = "/api/admin/quarantine/retry"
    stub.on(
        "POST",
        path,
        Reply(200, {"decided": 2, "failed": 1, "left": 3, "cursor": "7 x"}),
        Reply(200, {"decided": 3, "failed": 0, "left": 0, "cursor": ""}),
    )
    said = run("quarantine", "retry", "--all")
    assert said.code == 1
    assert said.err.splitlines() == [
        "2 are out of quarantine, 1 are not, 3 are to be tried.",
        "5 are out of quarantine, 1 are not.",
    ]
    assert [asked.query for asked in stub.seen("POST")] == [{}, {"cursor": ["7 x"]}]


def test_what_is_damaged_is_listed_below_and_tried_again_by_its_name(
    run: Run, stub: StubServer
) -> None:
    entry = "0 schedules:due nightly"
    one = {"entry": entry, "since": 1_700_000_000_000, "tries": 3, "reason": "it is not JSON"}
    damaged = [{**one, "retryAt": 1_700_000_600_000}]
    stub.on(
        "GET",
        "/api/admin/quarantine",
        Reply(200, {"totalHits": 0, "results": [], "damaged": damaged}),
    )
    said = run("quarantine", "list")
    assert f"{entry}  2023-11-14 22:13:20Z  3" in said.out
    stub.on("POST", "/api/admin/quarantine/damaged/retry", Reply(200, {"entry": entry}))
    assert run("quarantine", "retry", entry).code == 0
    (asked,) = stub.seen("POST")
    assert asked.query == {"entry": [entry]}


def test_what_is_in_quarantine_is_dropped_when_somebody_says_so(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = "0 schedules:due nightly"
    stub.on("POST", f"/api/admin/quarantine/{_ID}/drop", Reply(200, {"workflowId": _ID}))
    stub.on("POST", "/api/admin/quarantine/damaged/drop", Reply(200, {"entry": entry}))
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run("quarantine", "drop", _ID).code == 1, "nobody says yes"
    assert stub.seen("POST") == []
    for name in (_ID, entry):
        said = run("quarantine", "drop", name, "--yes")
        assert (said.code, said.err) == (0, f"{name} is dropped.\n")
    execution, damaged = stub.seen("POST")
    assert (execution.query, damaged.query) == ({}, {"entry": [entry]})

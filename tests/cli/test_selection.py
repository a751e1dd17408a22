"""Verbs on what a query finds: counted first, asked for, and each refusal told."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, Request, StubServer

_BASE = "/api/workflow"
_QUERY = "workflowType=orders AND status=FAILED"


def finds(stub: StubServer, count: int, total: int | None = None) -> None:
    """A search that finds so many, in pages as asked."""
    found = [{"workflowId": f"w-{n}", "workflowType": "orders"} for n in range(count)]

    def page(request: Request) -> Reply:
        start, size = int(request.query["start"][0]), int(request.query["size"][0])
        hits = count if total is None else total
        return Reply(200, {"totalHits": hits, "results": found[start : start + size]})

    stub.on("GET", f"{_BASE}/search", page)


def acted(stub: StubServer, method: str) -> list[str]:
    return [request.path.removeprefix(f"{_BASE}/") for request in stub.seen(method)]


@pytest.mark.parametrize(
    ("arguments", "method", "end"),
    [
        (("pause",), "PUT", "/pause"),
        (("resume",), "PUT", "/resume"),
        (("retry", "--subworkflows"), "POST", "/retry"),
        (("restart", "--latest"), "POST", "/restart"),
        (("terminate", "--reason", "over"), "DELETE", ""),
        (("remove", "--no-archive"), "DELETE", "/remove"),
    ],
)
def test_a_verb_takes_all_that_a_query_finds(
    run: Run, stub: StubServer, arguments: tuple[str, ...], method: str, end: str
) -> None:
    finds(stub, 3)
    stub.on(method, f"{_BASE}/w-.*", Reply(200))
    outcome = run("workflow", *arguments, "--query", _QUERY, "--yes")
    assert outcome.code == 0
    assert acted(stub, method) == [f"w-{n}{end}" for n in range(3)]
    assert outcome.err.startswith("3 of 3 are ")


def test_a_dry_run_counts_and_does_nothing(run: Run, stub: StubServer) -> None:
    finds(stub, 1_200)
    outcome = run("workflow", "terminate", "--query", _QUERY, "--dry-run")
    assert outcome.code == 0
    assert "1200 would be terminated." in outcome.err
    assert "… and 1190 more" in outcome.out
    assert {request.method for request in stub.requests} == {"GET"}
    found = json.loads(run("workflow", "terminate", "--query", _QUERY, "--dry-run", "--json").out)
    assert found["count"] == len(set(found["workflowIds"])) == 1_200


@pytest.mark.parametrize(
    ("verb", "count", "others"),
    [
        (("terminate",), 2, "1 COMPLETED, 1 FAILED"),
        (("pause",), 2, "1 COMPLETED, 1 FAILED"),
        (("resume",), 1, "1 COMPLETED, 1 FAILED, 1 RUNNING"),
        (("retry",), 1, "1 COMPLETED, 1 PAUSED, 1 RUNNING"),
        (("restart",), 2, "1 PAUSED, 1 RUNNING"),
        (("remove",), 2, "1 PAUSED, 1 RUNNING"),
        (("remove", "--no-archive"), 4, ""),
    ],
)
def test_a_dry_run_counts_what_lets_it_happen_and_tells_of_the_rest(
    run: Run, stub: StubServer, verb: tuple[str, ...], count: int, others: str
) -> None:
    states = ("RUNNING", "PAUSED", "COMPLETED", "FAILED")
    found = [{"workflowId": f"w-{each}", "status": each} for each in states]
    stub.on("GET", f"{_BASE}/search", Reply(200, {"totalHits": 4, "results": found}))
    said = run("workflow", *verb, "--query", _QUERY, "--dry-run").err
    assert f"{count} would be " in said
    assert (f"It finds {others} besides, to which this is not done." in said) == bool(others)
    told = json.loads(run("workflow", *verb, "--query", _QUERY, "--dry-run", "--json").out)
    assert (told["count"], len(told["workflowIds"]), told["found"]) == (count, count, 4)


def found_in(stub: StubServer, *searches: dict[str, str]) -> None:
    """Searches that find these statuses by id, one search after the other; the last one stays."""
    left = list(searches)

    def page(_: Request) -> Reply:
        states = left.pop(0) if len(left) > 1 else left[0]
        rows = [{"workflowId": name, "status": status} for name, status in states.items()]
        return Reply(200, {"totalHits": len(rows), "results": rows})

    stub.on("GET", f"{_BASE}/search", page)


_EACH = {f"w-{each}": each for each in ("RUNNING", "PAUSED", "COMPLETED", "FAILED")}


@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize(
    ("verb", "method", "done"),
    [
        (("terminate",), "DELETE", ["w-RUNNING", "w-PAUSED"]),
        (("pause",), "PUT", ["w-RUNNING/pause", "w-PAUSED/pause"]),
        (("resume",), "PUT", ["w-PAUSED/resume"]),
        (("retry",), "POST", ["w-FAILED/retry"]),
        (("restart",), "POST", ["w-COMPLETED/restart", "w-FAILED/restart"]),
        (("remove",), "DELETE", ["w-COMPLETED/remove", "w-FAILED/remove"]),
        (("remove", "--no-archive"), "DELETE", [f"{each}/remove" for each in _EACH]),
    ],
)
def test_a_verb_is_done_to_those_only_whose_status_lets_it_happen(  # noqa: PLR0917 - fixtures
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    verb: tuple[str, ...],
    method: str,
    done: list[str],
    *,
    is_asked: bool,
) -> None:
    found_in(stub, _EACH)
    stub.on(method, f"{_BASE}/w-.*", Reply(200))
    monkeypatch.setattr(sys, "stdin", Typing("y\n"))
    outcome = run("workflow", *verb, "--query", _QUERY, *(() if is_asked else ("--yes",)))
    assert acted(stub, method) == done
    assert outcome.code == 0
    assert f"{len(done)} of {len(done)} are " in outcome.err
    assert outcome.err.count("besides, to which this is not done.") == (len(done) < len(_EACH))


def test_what_changes_its_status_while_somebody_thinks_is_left_alone(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {"w-0": "FAILED", "w-1": "FAILED", "w-2": "RUNNING"}
    found_in(stub, before, {"w-0": "RUNNING", "w-1": "FAILED", "w-2": "FAILED"})
    stub.on("POST", f"{_BASE}/w-.*", Reply(200))
    monkeypatch.setattr(sys, "stdin", Typing("y\n"))
    outcome = run("workflow", "restart", "--query", _QUERY)
    assert (outcome.code, acted(stub, "POST")) == (0, ["w-1/restart"])


@pytest.mark.parametrize("more", [(), ("--yes",)])
def test_where_no_status_lets_it_happen_nobody_is_asked_and_nothing_done(
    run: Run, stub: StubServer, more: tuple[str, ...]
) -> None:
    found_in(stub, {"w-0": "RUNNING"})
    outcome = run("workflow", "restart", "--query", _QUERY, *more)
    assert (outcome.code, acted(stub, "POST")) == (0, [])
    assert outcome.err.splitlines() == [
        "It finds 1 RUNNING besides, to which this is not done.",
        "0 of 0 are restarted.",
    ]


def test_when_all_refuse_nothing_is_said_to_be_done(run: Run, stub: StubServer) -> None:
    finds(stub, 2)
    stub.on("DELETE", f"{_BASE}/w-.*", Reply(409, {"status": 409, "message": "it runs"}))
    outcome = run("workflow", "remove", "--query", _QUERY, "--yes")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == "Nothing was done: none of 2 let it happen."


def test_nobody_is_asked_where_nobody_can_answer(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    finds(stub, 2)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    outcome = run("workflow", "terminate", "--query", _QUERY)
    assert outcome.code == 2
    assert "2 executions would be terminated; say --yes, or look with --dry-run" in outcome.err
    assert not stub.seen("DELETE")


class Typing(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("said", "code", "count"), [("y\n", 0, 2), ("n\n", 1, 0)])
def test_at_a_terminal_one_is_asked_first(
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    *,
    said: str,
    code: int,
    count: int,
) -> None:
    finds(stub, 2)
    stub.on("DELETE", f"{_BASE}/w-.*", Reply(200))
    monkeypatch.setattr(sys, "stdin", Typing(said))
    outcome = run("workflow", "terminate", "--query", _QUERY)
    assert outcome.code == code
    assert "w-1" in outcome.out
    assert len(stub.seen("DELETE")) == count


def test_one_that_refuses_is_told_and_keeps_none_from_their_turn(
    run: Run, stub: StubServer
) -> None:
    finds(stub, 3)
    stub.on("PUT", f"{_BASE}/w-.*", Reply(200))
    refusal = {"status": 409, "message": "Workflow w-1 has ended", "retryable": False}
    stub.on("PUT", f"{_BASE}/w-1/pause", Reply(409, refusal))
    outcome = run("workflow", "pause", "--query", _QUERY, "--yes")
    assert outcome.code == 1
    assert "w-1: " in outcome.err
    assert "Workflow w-1 has ended" in outcome.err
    assert "2 of 3 are paused." in outcome.err
    shown = json.loads(run("workflow", "pause", "--query", _QUERY, "--yes", "--json").out)
    assert shown["done"] == ["w-0", "w-2"]
    assert list(shown["refused"]) == ["w-1"]


def refusing(stub: StubServer, workflow_id: str, status: int) -> None:
    message = f"Workflow {workflow_id} does not like it"
    refusal = {"status": status, "message": message, "retryable": status == 503}
    stub.on("PUT", f"{_BASE}/{workflow_id}/pause", Reply(status, refusal))


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_an_id_that_refuses_keeps_no_other_id_from_its_turn(
    run: Run, stub: StubServer, status: int
) -> None:
    stub.on("PUT", f"{_BASE}/w-.*", Reply(200))
    refusing(stub, "w-1", status)
    refusing(stub, "w-3", 409)
    outcome = run("workflow", "pause", *(f"w-{n}" for n in range(5)))
    assert outcome.code == 1
    assert acted(stub, "PUT") == [f"w-{n}/pause" for n in range(5)]
    told = outcome.err.splitlines()
    assert [line.split(" ")[0] for line in told] == ["w-0", "w-1:", "w-2", "w-3:", "w-4"]
    assert "Workflow w-1 does not like it" in told[1]
    shown = run("workflow", "pause", "w-0", "w-1", "w-2", "--json")
    assert json.loads(shown.out) == [{"workflowId": "w-0"}, {"workflowId": "w-2"}]
    assert shown.code == 1


@pytest.mark.parametrize("status", [401, 403, 503])
def test_a_server_that_lets_nobody_in_is_asked_once_and_the_ids_left_are_named(
    run: Run, stub: StubServer, status: int
) -> None:
    stub.on("PUT", f"{_BASE}/w-.*", Reply(200))
    refusing(stub, "w-1", status)
    outcome = run("workflow", "pause", "w-0", "w-1", "w-2", "w-3")
    assert outcome.code == 1
    assert set(acted(stub, "PUT")) == {"w-0/pause", "w-1/pause"}
    told = outcome.err.splitlines()
    assert told[:2] == ["w-0 is paused.", "Stopped at w-1. Not tried: w-2, w-3"]
    assert told[2].startswith("Error: ")
    assert "w-1 does not like it" in told[2]
    assert json.loads(run("workflow", "pause", "w-0", "w-1", "w-2", "--json").out) == [
        {"workflowId": "w-0"}
    ]


def test_of_a_query_the_first_ids_that_were_not_tried_are_named(run: Run, stub: StubServer) -> None:
    finds(stub, 20)
    refusing(stub, "w-0", 403)
    outcome = run("workflow", "pause", "--query", _QUERY, "--yes")
    assert outcome.code == 1
    assert acted(stub, "PUT") == ["w-0/pause"]
    assert "Stopped at w-0. Not tried: w-1, " in outcome.err
    assert "w-10 and 9 more\n" in outcome.err


def test_too_many_are_refused_before_anything_is_done(run: Run, stub: StubServer) -> None:
    finds(stub, 10, total=10_001)
    outcome = run("workflow", "remove", "--query", _QUERY, "--yes")
    assert outcome.code == 2
    assert "finds 10001 executions" in outcome.err
    assert not stub.seen("DELETE")


def test_nothing_found_is_no_failure(run: Run, stub: StubServer) -> None:
    finds(stub, 0)
    outcome = run("workflow", "remove", "--query", _QUERY)
    assert (outcome.code, outcome.err) == (0, "Nothing found.\n")


@pytest.mark.parametrize(
    "arguments",
    [(), ("w-1", "--query", "status=FAILED"), ("w-1", "--dry-run"), ("w-1", "--yes")],
)
def test_ids_or_a_query_are_wanted(run: Run, stub: StubServer, arguments: tuple[str, ...]) -> None:
    assert run("workflow", "pause", *arguments).code == 2
    assert not stub.requests


# -- what is likely misspelt -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "noted"),
    [
        ("status=FAILD", "FAILD is no status; did you mean FAILED?"),
        ("workflowType=a AND status IN (FAILED, TIMEDOUT)", "did you mean TIMED_OUT?"),
        ("status NOT IN ('running')", "running is no status; did you mean RUNNING?"),
        ("status != blue", "blue is no status; there are RUNNING, PAUSED"),
        ("status = FAIL*", ""),
        ("workflowStatus=FAILD", ""),
        ("status=COMPLETED", ""),
    ],
)
def test_a_status_that_is_none_is_warned_about(
    run: Run, stub: StubServer, query: str, noted: str
) -> None:
    finds(stub, 0)
    for arguments in (("search", query), ("pause", "--query", query)):
        warned = [
            line for line in run("workflow", *arguments).err.splitlines() if "warning" in line
        ]
        assert bool(warned) == bool(noted)
        assert all(noted in line for line in warned)


def test_a_key_that_is_likely_misspelt_is_warned_about(
    run: Run, stub: StubServer, tmp_path: Any
) -> None:
    stub.on("POST", "/api/metadata/.*", Reply(200, {"warnings": []}))
    file = tmp_path / "task.json"
    file.write_text(json.dumps({"name": "t", "retryCuont": 3, "x-team": "a"}))
    noted = "warning: t: $.retryCuont is not a known member; did you mean retryCount?"
    for verb in ("register", "validate"):
        assert run("definition", verb, str(file)).err.splitlines()[0] == noted


def test_an_inline_definition_is_warned_about(run: Run, stub: StubServer) -> None:
    warning = {"path": "$.inputParamters", "message": "did you mean inputParameters?"}
    stub.on("POST", "/api/metadata/workflow/validate", Reply(200, {"warnings": [warning]}))
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    outcome = run("workflow", "start", "--definition", '{"name": "w", "inputParamters": []}')
    assert (outcome.code, outcome.out) == (0, "w-1\n")
    assert outcome.err == "warning: w: $.inputParamters did you mean inputParameters?\n"


def test_a_definition_that_is_tested_is_warned_about(run: Run, stub: StubServer) -> None:
    warning = {"path": "$.inputParamters", "message": "did you mean inputParameters?"}
    stub.on("POST", "/api/metadata/workflow/validate", Reply(200, {"warnings": [warning]}))
    stub.on("POST", "/api/workflow/test", Reply(200, {"status": "COMPLETED"}))
    outcome = run("workflow", "test", "--definition", '{"name": "w", "inputParamters": []}')
    assert outcome.code == 0
    assert outcome.err == "warning: w: $.inputParamters did you mean inputParameters?\n"


@pytest.mark.parametrize(
    ("words", "document", "noted"),
    [
        (
            ("dag", "save"),
            {"name": "d", "tasks": [{"name": "t", "inputParamters": {}}]},
            ("$.tasks[0].inputParamters", "inputParameters"),
        ),
        (
            ("dag", "save", "--task"),
            {"name": "d", "type": "SIMPLE", "inputParamters": {}},
            ("$.inputParamters", "inputParameters"),
        ),
        (
            ("schedule", "save"),
            {"name": "d", "startWorkflowRequest": {"name": "w", "corelationId": "c"}},
            ("$.startWorkflowRequest.corelationId", "correlationId"),
        ),
        (("schedule", "save"), {"name": "d", "timezone": "UTC"}, ("$.timezone", "zoneId")),
        (
            ("schedule", "save"),
            {"name": "d", "cronSchedules": [{}, {"timeZone": "UTC"}]},
            ("$.cronSchedules[1].timeZone", "zoneId"),
        ),
        (
            ("event", "register"),
            {"name": "d", "actions": [{"action": "start_workflow", "start_worklow": {}}]},
            ("$.actions[0].start_worklow", "start_workflow"),
        ),
    ],
)
def test_a_document_with_a_key_that_is_likely_misspelt_is_warned_about(  # noqa: PLR0917 - one case
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    document: dict[str, Any],
    noted: tuple[str, str],
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(document)))
    stub.on("GET", "/api/.*", Reply(200, []))
    stub.on("POST", "/api/.*", Reply(200, {"name": "d", "code": "1", "version": 1}))
    outcome = run(*words, "-")
    assert outcome.code == 0
    path, meant = noted
    assert outcome.err.splitlines()[0] == (
        f"warning: d: {path} is not a known member; did you mean {meant}?"
    )
    assert stub.seen("POST", "/api/.*")


def test_a_file_that_is_not_there_is_said_in_words(run: Run) -> None:
    for arguments in (
        ("definition", "register", "no.json"),
        ("schedule", "save", "@no.json"),
        ("workflow", "start", "w", "--input", "@no.json"),
        ("server", "--config", "no.properties"),
        ("doctor", "--config", "no.properties"),
    ):
        outcome = run(*arguments)
        assert outcome.code == 2
        assert "Errno" not in outcome.err
        assert "no such file or directory" in outcome.err.lower()
    assert "no.json cannot be read: no such file or directory" in (
        run("definition", "register", "no.json").err
    )


# -- lines, zones ----------------------------------------------------------------------------------


def test_json_in_lines_has_each_entry_on_its_own(run: Run, stub: StubServer) -> None:
    finds(stub, 3)
    stub.on("GET", "/api/metadata/workflow", Reply(200, [{"name": "a"}, {"name": "b"}]))
    stub.on("GET", f"{_BASE}/w-1", Reply(200, {"workflowId": "w-1", "tasks": []}))
    searched = run("workflow", "search", "--jsonl").out.splitlines()
    assert [json.loads(line)["workflowId"] for line in searched] == ["w-0", "w-1", "w-2"]
    listed = run("definition", "list", "--jsonl").out.splitlines()
    assert [json.loads(line)["name"] for line in listed] == ["a", "b"]
    assert len(run("workflow", "get", "w-1", "--jsonl").out.splitlines()) == 1
    assert len(json.loads(run("workflow", "search", "--json").out)["results"]) == 3


_AT_MS = 1_700_000_000_000
_RUN_OF = {"startTime": _AT_MS, "endTime": _AT_MS, "updateTime": _AT_MS}


@pytest.mark.parametrize(
    ("path", "answer", "command"),
    [
        ("/api/workflow/search", {"results": [_RUN_OF]}, ("workflow", "search")),
        (
            f"{_BASE}/w-1",
            _RUN_OF | {"tasks": [_RUN_OF], "lastRetriedTime": _AT_MS},
            ("workflow", "get", "w-1"),
        ),
        (
            f"{_BASE}/w-1/why",
            {"cause": {"code": "C", "sentence": "s", "advice": "a", "since": _AT_MS}},
            ("workflow", "why", "w-1"),
        ),
        ("/api/tasks/t-1/log", [{"createdTime": _AT_MS, "log": "x"}], ("task", "logs", "t-1")),
        (
            "/api/tasks/queue/polldata/all",
            [{"queueName": "q", "lastPollTime": _AT_MS}],
            ("task", "poll-data"),
        ),
        (
            "/api/admin/quarantine",
            {"results": [{"workflowId": "w", "since": _AT_MS, "retryAt": _AT_MS}]},
            ("quarantine", "list"),
        ),
        ("/api/admin/servers", [{"lastRenewal": _AT_MS}], ("deployment", "servers")),
        ("/api/workers", [{"lastSeen": _AT_MS}], ("deployment", "workers")),
        (
            "/api/scheduler/schedules",
            [{"name": "s", "nextRunTime": _AT_MS}],
            ("schedule", "list"),
        ),
        (
            "/api/scheduler/search/executions",
            {"results": [{"scheduledTime": _AT_MS}]},
            ("schedule", "runs"),
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_every_command_prints_its_times_in_the_zone_of_the_reader(  # noqa: PLR0917 - fixtures
    run: Run,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    answer: object,
    command: tuple[str, ...],
) -> None:
    stub.on("GET", path, Reply(200, answer))
    utc = run(*command).out
    monkeypatch.setenv("CONDUCTOR_CLIENT_ZONE", "Europe/Berlin")
    there = run(*command).out
    assert "2023-11-14 22:13:20Z" in utc
    assert "2023-11-14 23:13:20+01:00" in there
    assert "22:13:20" not in there


def test_times_are_printed_in_the_zone_that_is_asked_for(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_ms = 1_700_000_000_000
    stub.on("GET", "/api/scheduler/nextFewSchedules", Reply(200, [at_ms]))

    def printed(*more: str) -> str:
        return run("schedule", "next", "0 0 9 * * *", *more).out.strip()

    assert printed() == "2023-11-14 22:13:20Z"
    assert printed("--zone", "Europe/Berlin") == "2023-11-14 23:13:20+01:00"
    assert printed("--zone", "GMT+5:30") == "2023-11-15 03:43:20+05:30"
    monkeypatch.setenv("CONDUCTOR_CLIENT_ZONE", "America/New_York")
    assert printed() == "2023-11-14 17:13:20-05:00"
    monkeypatch.setenv("CONDUCTOR_CLIENT_ZONE", "Europe/Atlantis")
    outcome = run("schedule", "next", "0 0 9 * * *")
    assert outcome.code == 2
    assert "there is no time zone 'Europe/Atlantis'" in outcome.err


@pytest.mark.parametrize("query", ["", "  "])
def test_an_empty_query_is_not_everything(run: Run, stub: StubServer, query: str) -> None:
    finds(stub, 3)
    outcome = run("workflow", "terminate", "--query", query, "--yes")
    assert outcome.code == 2
    assert "--query is empty" in outcome.err
    assert acted(stub, "DELETE") == []

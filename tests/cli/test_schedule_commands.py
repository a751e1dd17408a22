"""``conductor-py schedule``: data on standard output, messages on standard error."""

import json

import pytest

from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_AT = 1_800_063_000_000
_SCHEDULE = {
    "name": "nightly",
    "cronExpression": "0 30 2 * * ?",
    "zoneId": "Europe/Berlin",
    "cronSchedules": [],
    "startWorkflowRequest": {"name": "report"},
    "paused": False,
    "nextRunTime": _AT,
}
_PATH = "/api/scheduler/schedules"


def test_save_sends_the_document_and_says_when_it_runs(run: Run, stub: StubServer) -> None:
    stub.on("POST", _PATH, Reply(200, _SCHEDULE))

    stub.on("GET", "/api/metadata/workflow/report", Reply(200, {"name": "report"}))
    outcome = run("schedule", "save", '{"name": "nightly"}')

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "saved schedule nightly, next run: 2027-01-16 01:30:00Z\n"
    assert stub.seen("POST")[0].json() == {"name": "nightly"}
    assert json.loads(run("schedule", "save", "{}", "--json").out) == _SCHEDULE


def test_a_schedule_of_a_workflow_that_is_not_registered_is_saved_with_a_warning(
    run: Run, stub: StubServer
) -> None:
    stub.on("POST", _PATH, Reply(200, _SCHEDULE))
    stub.on("GET", "/api/metadata/workflow/report", Reply(404, {"message": "none"}))
    given: dict[str, object] = {"name": "nightly", "startWorkflowRequest": {"name": "report"}}

    outcome = run("schedule", "save", json.dumps(given))

    assert outcome.code == 0
    assert outcome.err.startswith("warning: nightly: workflow report is not registered")
    inline = {
        "name": "nightly",
        "startWorkflowRequest": {"name": "report", "workflowDef": {"a": 1}},
    }
    assert "warning" not in run("schedule", "save", json.dumps(inline)).err


def test_a_schedule_whose_end_has_passed_is_warned_about(run: Run, stub: StubServer) -> None:
    stub.on("POST", _PATH, Reply(200, _SCHEDULE))
    passed = run("schedule", "save", '{"name": "n", "scheduleEndTime": 1700000000000}')
    assert passed.err.splitlines()[0] == (
        "warning: n: $.scheduleEndTime has passed: the schedule starts nothing"
    )
    to_come = run("schedule", "save", '{"name": "n", "scheduleEndTime": 99999999999999}')
    assert "warning" not in to_come.err


def test_wrong_expression_is_1_with_its_position(run: Run, stub: StubServer) -> None:
    wrong = {"path": "$.cronExpression", "message": "not a cron expression, at position 3: …"}
    body = {"status": 400, "code": "INVALID_INPUT", "message": "x", "validationErrors": [wrong]}
    stub.on("POST", _PATH, Reply(400, body))

    outcome = run("schedule", "save", "{}")

    assert outcome.code == 1
    assert "$.cronExpression: not a cron expression, at position 3" in outcome.err


def test_list_is_a_table_with_next_runs_and_reasons(run: Run, stub: StubServer) -> None:
    listed = [
        _SCHEDULE,
        {
            **_SCHEDULE,
            "name": "other",
            "cronSchedules": [{"cronExpression": "@daily", "zoneId": "UTC"}],
            "paused": True,
            "pausedReason": "holidays",
            "nextRunTime": None,
        },
    ]
    stub.on("GET", _PATH, Reply(200, listed))

    lines = run("schedule", "list", "--workflow", "report").out.splitlines()

    assert lines[0].split() == ["name", "cron", "workflow", "nextRunTime", "paused"]
    assert "0 30 2 * * ? Europe/Berlin  report" in lines[1]
    assert lines[1].endswith("2027-01-16 01:30:00Z  no")
    assert "@daily UTC" in lines[2]
    assert lines[2].endswith("holidays")
    assert stub.seen("GET")[0].query == {"workflowName": ["report"]}


@pytest.mark.parametrize(
    ("arguments", "sent", "query"),
    [
        (("pause", "a b", "--reason", "why"), ("PUT", "a b/pause"), {"reason": ["why"]}),
        (("resume", "a b"), ("PUT", "a b/resume"), {}),
        (("resume", "a b", "--catch-up"), ("PUT", "a b/resume"), {"catchup": ["true"]}),
        (("delete", "a b"), ("DELETE", "a b"), {}),
    ],
)
def test_changes_print_no_data_and_say_what_they_did(
    run: Run,
    stub: StubServer,
    arguments: tuple[str, ...],
    sent: tuple[str, str],
    query: dict[str, list[str]],
) -> None:
    method, path = sent
    stub.on("GET", f"{_PATH}/a b", Reply(200, {"name": "a b"}))
    stub.on(method, f"{_PATH}/.*", Reply(200, b""))

    outcome = run("schedule", *arguments)

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("schedule a b ")
    (request,) = stub.seen(method)
    assert (request.path, request.query) == (f"{_PATH}/{path}", query)


def test_run_prints_the_id(run: Run, stub: StubServer) -> None:
    stub.on("POST", f"{_PATH}/nightly/run", Reply(200, "w-1"))

    assert run("schedule", "run", "nightly").out == "w-1\n"
    assert json.loads(run("schedule", "run", "nightly", "--json").out) == {"workflowId": "w-1"}


def test_get_prints_json(run: Run, stub: StubServer) -> None:
    stub.on("GET", f"{_PATH}/nightly", Reply(200, _SCHEDULE))

    assert json.loads(run("schedule", "get", "nightly").out) == _SCHEDULE


def test_next_prints_instants(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/scheduler/nextFewSchedules", Reply(200, [_AT, _AT + 60_000]))

    outcome = run("schedule", "next", "0 30 2 * * ?", "--zone", "Europe/Berlin")

    assert outcome.out == "2027-01-16 02:30:00+01:00\n2027-01-16 02:31:00+01:00\n"
    query = {"cronExpression": ["0 30 2 * * ?"], "zoneId": ["Europe/Berlin"], "limit": ["5"]}
    assert stub.seen("GET")[0].query == query
    assert json.loads(run("schedule", "next", "@daily", "--json").out) == [_AT, _AT + 60_000]


@pytest.mark.parametrize(
    ("arguments", "start_ms"),
    [
        (("--from", "2027-03-28T01:30", "--zone", "Europe/Berlin"), 1_806_193_800_000),
        (("--from", "2027-03-28T01:30Z", "--zone", "Europe/Berlin"), 1_806_197_400_000),
        (("--from", "2027-03-28T01:30"), 1_806_197_400_000),
        (("--from", "2027-03-28"), 1_806_192_000_000),
        (("--from", "1806192000000"), 1_806_192_000_000),
    ],
)
def test_next_may_begin_on_another_day(
    run: Run, stub: StubServer, arguments: tuple[str, ...], start_ms: int
) -> None:
    stub.on("GET", "/api/scheduler/nextFewSchedules", Reply(200, [_AT]))

    assert run("schedule", "next", "0 30 2 * * ?", *arguments).code == 0

    assert stub.seen("GET")[0].query["scheduleStartTime"] == [str(start_ms)]


def test_next_takes_a_start_without_offset_for_one_of_the_zone_of_printed_times(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.on("GET", "/api/scheduler/nextFewSchedules", Reply(200, [_AT]))
    monkeypatch.setenv("CONDUCTOR_CLIENT_ZONE", "Europe/Berlin")

    run("schedule", "next", "@daily", "--from", "2027-03-28T01:30")

    assert stub.seen("GET")[0].query["scheduleStartTime"] == ["1806193800000"]


@pytest.mark.parametrize(
    "arguments", [("--from", "tomorrow"), ("--from", "2027-03-28", "--zone", "Mars/Base")]
)
def test_next_from_no_time_is_wrong_usage(
    run: Run, stub: StubServer, arguments: tuple[str, ...]
) -> None:
    outcome = run("schedule", "next", "@daily", *arguments)

    assert (outcome.code, stub.requests) == (2, [])
    assert "--from" in outcome.err


def test_backfill_of_a_schedule_prints_the_id(run: Run, stub: StubServer) -> None:
    answer = {"workflowId": "w-1", "count": 3, "lanes": [[_AT], [_AT + 1]]}
    stub.on("POST", "/api/scheduler/backfills", Reply(200, answer))
    options = ("--from", "2027-01-01", "--to", "2027-01-03", "--lanes", "2", "--newest-first")

    outcome = run("schedule", "backfill", "nightly", *options, "--on-failure", "CONTINUE")

    assert (outcome.code, outcome.out, outcome.err) == (0, "w-1\n", "3 runs are to come.\n")
    (sent,) = stub.seen("POST")
    assert sent.query == {}
    assert sent.json() == {
        "scheduleName": "nightly",
        "from": "2027-01-01",
        "to": "2027-01-03",
        "lanes": 2,
        "newestFirst": True,
        "onFailure": "CONTINUE",
    }


def test_backfill_may_be_a_document_and_only_be_told(run: Run, stub: StubServer) -> None:
    answer = {"count": 2, "lanes": [[_AT], [_AT + 60_000]]}
    stub.on("POST", "/api/scheduler/backfills", Reply(200, answer))
    document = '{"startWorkflowRequest": {"name": "w"}, "businessTimes": [1], "lanes": 9}'

    outcome = run("schedule", "backfill", document, "--lanes", "2", "--dry-run")

    assert outcome.out.splitlines() == [
        "lane  business time",
        "1     2027-01-16 01:30:00Z",
        "2     2027-01-16 01:31:00Z",
    ]
    (sent,) = stub.seen("POST")
    assert sent.query == {"dryRun": ["true"]}
    assert sent.json()["lanes"] == 2
    assert sent.json()["businessTimes"] == [1]


def test_answer_of_another_form_is_1(run: Run, stub: StubServer) -> None:
    stub.on("GET", "/api/scheduler/nextFewSchedules", Reply(200, {"a": 1}))

    assert run("schedule", "next", "@daily").code == 1


def test_runs_are_a_table(run: Run, stub: StubServer) -> None:
    found = {
        "scheduledTime": _AT,
        "scheduleName": "nightly",
        "state": "FAILED",
        "reason": "no\nway",
    }
    page = {"totalHits": 1, "results": [found]}
    stub.on("GET", "/api/scheduler/search/executions", Reply(200, page))

    outcome = run("schedule", "runs", "state IN (FAILED)", "--size", "5")

    assert "2027-01-16 01:30:00Z  nightly" in outcome.out
    assert outcome.out.rstrip().endswith("no way")
    assert stub.seen("GET")[0].query["size"] == ["5"]
    assert json.loads(run("schedule", "runs", "--json").out) == page


@pytest.mark.parametrize(
    ("query", "noted"),
    [
        ("scheduleName=a AND state IN (FAILD)", "FAILD is no state; did you mean FAILED?"),
        ("state = RUNNING", "RUNNING is no state; there are"),
        ("state=EXECUTED", ""),
        ("status=nonsense", ""),
    ],
)
def test_a_state_of_runs_that_is_none_is_warned_about(
    run: Run, stub: StubServer, query: str, noted: str
) -> None:
    page: dict[str, object] = {"totalHits": 0, "results": []}
    stub.on("GET", "/api/scheduler/search/executions", Reply(200, page))
    assert noted in run("schedule", "runs", query).err
    assert ("warning" in run("schedule", "runs", query).err) == bool(noted)

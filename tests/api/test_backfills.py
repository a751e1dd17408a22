"""Backfills over HTTP, on a real engine in memory."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wire.backfills import FORMS
from conductor_py.wire.fields import load

_NOW = 1_800_000_000_000
"""15 January 2027, 08:00 UTC."""
_DAY = 86_400_000
_FIRST = _NOW - 14 * _DAY - 6 * 3_600_000 - 1_800_000
"""1 January 2027, 02:30 in Berlin."""
_REQUEST: dict[str, Any] = {"name": "report", "version": 1, "input": {"scope": "all", "a.b": [1]}}


@pytest.fixture
def engine() -> MemoryEngine:
    """Offer an engine that knows one workflow, which says what it is about."""
    return memory_engine(clock=FakeClock(_NOW))


@pytest.fixture
def client(engine: MemoryEngine) -> FlaskClient:
    """Offer a client of its front, with a schedule for each night."""
    client = create_app(engine.engine, instance="here").test_client()
    write = {"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}
    write["inputParameters"] = {
        "day": "${param.day}",
        "all": "${workflow.input}",
    }  # type: ignore[assignment]
    report = {"name": "report", "tasks": [write], "parameters": {"day": "$[yyyyMMdd]"}}
    assert client.post("/api/metadata/workflow", json=report).status_code == 200
    schedule = {
        "name": "nightly",
        "cronExpression": "0 30 2 * * ?",
        "zoneId": "Europe/Berlin",
        "startWorkflowRequest": _REQUEST,
    }
    assert client.post("/api/scheduler/schedules", json=schedule).status_code == 200
    return client


def _post(client: FlaskClient, body: Any, **query: Any) -> Any:
    return client.post("/api/scheduler/backfills", json=body, query_string=query)


def _started(client: FlaskClient, **body: Any) -> str:
    answer = _post(client, {"scheduleName": "nightly", **body})
    assert answer.status_code == 200, answer.json
    return str(answer.json["workflowId"])


def _runs(engine: MemoryEngine, backfill: str) -> dict[str, str]:
    return {
        task["referenceTaskName"]: task["status"] for task in engine.workflow(backfill)["tasks"]
    }


def test_a_schedule_is_made_up_for_day_by_day(client: FlaskClient, engine: MemoryEngine) -> None:
    answer = _post(client, {"scheduleName": "nightly", "from": "2027-01-01", "to": "2027-01-03"})
    load(FORMS[1], answer.json)
    assert (answer.json["count"], len(answer.json["lanes"])) == (3, 1)
    assert answer.json["lanes"][0] == [_FIRST + n * _DAY for n in range(3)]
    days = []
    for _ in range(3):
        (task,) = engine.poll("write", count=10)
        days.append(task["inputData"]["day"])
        assert task["inputData"]["all"] == {
            "scope": "all",
            "a.b": [1],
            "_startedByScheduler": "nightly",
            "_scheduledTime": answer.json["lanes"][0][len(days) - 1],
            "_schedulerCron": "0 30 2 * * ? Europe/Berlin",
        }
        engine.complete(task)
        engine.settle()
    assert days == ["20270101", "20270102", "20270103"]
    assert engine.workflow(answer.json["workflowId"])["status"] == "COMPLETED"
    assert engine.workflow(answer.json["workflowId"])["workflowName"] == "backfill_report"


def test_lanes_run_side_by_side_and_the_newest_may_be_first(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    more = {"lanes": 2, "newestFirst": True, "priority": "HIGH"}
    started = _started(client, **{"from": "2027-01-01", "to": "2027-01-05"}, **more)
    tasks = engine.poll("write", count=10)
    assert sorted(task["inputData"]["day"] for task in tasks) == ["20270104", "20270105"]
    assert {task["workflowPriority"] for task in tasks} == {70}
    for task in tasks:
        engine.complete(task)
    engine.settle()
    assert len(engine.poll("write", count=10)) == 2
    assert engine.workflow(started)["priority"] == 70


@pytest.mark.parametrize(
    ("on_failure", "next_", "ended"),
    [("STOP_LANE", 0, "FAILED"), ("CONTINUE", 1, "RUNNING"), ("STOP_ALL", 0, "FAILED")],
)
def test_what_follows_a_failure_is_what_was_asked_for(
    client: FlaskClient, engine: MemoryEngine, on_failure: str, next_: int, ended: str
) -> None:
    between = {"from": "2027-01-01", "to": "2027-01-02"}
    started = _started(client, **between, onFailure=on_failure)
    (task,) = engine.poll("write")
    engine.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    engine.settle()
    assert len(engine.poll("write")) == next_
    assert engine.workflow(started)["status"] == ended


def test_a_retry_runs_what_failed_and_nothing_that_has_succeeded(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    between = {"from": "2027-01-01", "to": "2027-01-03"}
    started = _started(client, **between, onFailure="CONTINUE")
    for status in ("COMPLETED", "FAILED_WITH_TERMINAL_ERROR", "COMPLETED"):
        (task,) = engine.poll("write")
        engine.complete(task, status=status)
        engine.settle()
    assert engine.workflow(started)["status"] == "FAILED"
    assert client.post(f"/api/workflow/{started}/retry").status_code == 204
    engine.settle()
    (task,) = engine.poll("write", count=10)
    assert task["inputData"]["day"] == "20270102"
    engine.complete(task)
    engine.settle()
    assert engine.workflow(started)["status"] == "COMPLETED"


def test_times_may_be_named_and_a_definition_sent_along(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    write = {"name": "write", "taskReferenceName": "w", "type": "SIMPLE"}
    write["inputParameters"] = {"day": "${param.d}"}  # type: ignore[assignment]
    inline = {"name": "own", "tasks": [write], "parameters": {"d": "$[yyyy-MM-dd HH:mm]"}}
    body = {
        "startWorkflowRequest": {"name": "own", "workflowDef": inline},
        "businessTimes": ["2026-12-24T18:00", "2026-02-28"],
        "zoneId": "America/New_York",
        "lanes": 2,
    }
    assert _post(client, body).status_code == 200
    days = {task["inputData"]["day"] for task in engine.poll("write", count=10)}
    assert days == {"2026-12-24 18:00", "2026-02-28 00:00"}


def test_a_dry_run_tells_and_starts_nothing(client: FlaskClient, engine: MemoryEngine) -> None:
    answer = _post(client, {"scheduleName": "nightly", "from": _FIRST}, dryRun="true")
    assert "workflowId" not in answer.json
    assert answer.json["count"] == 15, "up to this morning"
    assert engine.poll("write") == []


def test_the_last_day_is_meant_whole_and_a_last_time_to_the_minute(client: FlaskClient) -> None:
    def count(to: str) -> int:
        body = {"scheduleName": "nightly", "from": "2027-01-01", "to": to}
        return int(_post(client, body, dryRun="true").json["count"])

    assert count("2027-01-03") == 3
    assert count("20270103") == 3
    assert count("2027-01-03T02:00") == 2
    assert count("2027-01-15") == 15, "today, as far as it has passed"
    assert count("2027-01-31") == 15, "what has not passed yet is left out"
    assert count("2027-W01-1") == 4, "Monday the 4th"


def test_a_key_makes_a_repeat_find_the_first_and_what_that_runs(client: FlaskClient) -> None:
    body = {"scheduleName": "nightly", "from": "2027-01-01", "idempotencyKey": "once"}
    first = _post(client, {**body, "to": "2027-01-02"}).json
    assert _post(client, {**body, "to": "2027-01-09", "lanes": 5}).json == first
    assert first["count"] == 2


def test_a_key_is_not_that_of_a_workflow_of_the_same_name(client: FlaskClient) -> None:
    task = {"name": "x", "taskReferenceName": "x", "type": "SIMPLE"}
    own = {"name": "backfill_report", "tasks": [task]}
    request = {"name": "backfill_report", "workflowDef": own, "idempotencyKey": "once"}
    started = client.post("/api/workflow", json=request).text
    assert _started(client, **{"from": "2027-01-14"}, idempotencyKey="once") != started


def test_all_runs_have_the_version_of_the_start(client: FlaskClient, engine: MemoryEngine) -> None:
    body = {
        "startWorkflowRequest": {"name": "report"},
        "businessTimes": ["2027-01-01", "2027-01-02"],
    }
    _post(client, body)
    other = {"name": "other", "taskReferenceName": "other", "type": "SIMPLE"}
    newer = {"name": "report", "version": 2, "tasks": [other]}
    client.post("/api/metadata/workflow", json=newer)
    (task,) = engine.poll("write")
    engine.complete(task)
    engine.settle()
    assert len(engine.poll("write")) == 1


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        ({"from": "2027-01-01"}, "$.scheduleName", "either scheduleName or"),
        (
            {"scheduleName": "nightly", "startWorkflowRequest": _REQUEST},
            "$.startWorkflowRequest",
            "must not be given with scheduleName",
        ),
        ({"scheduleName": "nightly"}, "$.from", "must be given, or businessTimes"),
        ({"scheduleName": "nightly", "from": "monday"}, "$.from", "ISO 8601"),
        ({"scheduleName": "nightly", "from": "2027-02-01"}, "$.from", "in the future"),
        ({"scheduleName": "nightly", "from": "2026-01-01", "to": "soon"}, "$.to", "ISO 8601"),
        ({"scheduleName": "nightly", "from": _FIRST, "zoneId": "Mars"}, "$.zoneId", "Mars"),
        ({"scheduleName": "nightly", "businessTimes": [_FIRST], "zoneId": " "}, "$.zoneId", ""),
        (
            {"scheduleName": "nightly", "from": "2027-01-01", "input": {"k" * 1001: 1}},
            "$.startWorkflowRequest.input",
            "1,000 characters",
        ),
        (
            {"startWorkflowRequest": {"name": "a${workflow.input.x}"}, "businessTimes": [_FIRST]},
            "$.startWorkflowRequest.name",
            "no expression",
        ),
        (
            {
                "startWorkflowRequest": _REQUEST,
                "businessTimes": [_FIRST],
                "cronExpression": "@daily",
            },
            "$.cronExpression",
            "with businessTimes",
        ),
        (
            {"scheduleName": "nightly", "from": "2027-01-03", "to": "2027-01-01"},
            "$.to",
            "before from",
        ),
        (
            {"scheduleName": "nightly", "from": "2027-01-01T03:00", "to": "2027-01-01T04:00"},
            "$.from",
            "no instant",
        ),
        ({"scheduleName": "nightly", "from": "2000-01-01"}, "$.to", "more than 1000 runs"),
        ({"scheduleName": "nightly", "businessTimes": []}, "$.businessTimes", "1 to 1000"),
        (
            {"scheduleName": "nightly", "businessTimes": ["2027-01-01", "20270101"]},
            "$.businessTimes[1]",
            "businessTimes[0]",
        ),
        (
            {"scheduleName": "nightly", "businessTimes": ["2027-01-01"], "from": "2027-01-01"},
            "$.businessTimes",
            "with from and to",
        ),
        ({"scheduleName": "nightly", "from": "2027-01-01", "lanes": 101}, "$.lanes", "100"),
        ({"scheduleName": "nightly", "onFailure": "STOP"}, "$.onFailure", "STOP_LANE"),
        (
            {"startWorkflowRequest": _REQUEST, "from": "2027-01-01"},
            "$.cronExpression",
            "must be given",
        ),
        (
            {"startWorkflowRequest": _REQUEST, "from": "2027-01-01", "cronExpression": "daily"},
            "$.cronExpression",
            "cron",
        ),
        (
            {"startWorkflowRequest": {**_REQUEST, "idempotencyKey": "k"}},
            "$.startWorkflowRequest.idempotencyKey",
            "starts many",
        ),
        (
            {"startWorkflowRequest": {**_REQUEST, "input": {"it's": 1}}},
            "$.startWorkflowRequest.input",
            "apostrophes",
        ),
        (
            {"startWorkflowRequest": {**_REQUEST, "workflowDef": {"name": "r"}}},
            "$.startWorkflowRequest.workflowDef.tasks",
            "",
        ),
        ({"startWorkflowRequest": _REQUEST, "zoneId": "Mars"}, "$.zoneId", "Mars"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    client: FlaskClient, body: dict[str, Any], path: str, words: str
) -> None:
    answer = _post(client, body)
    assert answer.status_code == 400, answer.json
    found = {each["path"]: each["message"] for each in answer.json["validationErrors"]}
    assert words in found[path]


@pytest.mark.parametrize("query", [{}, {"dryRun": "true"}])
def test_what_is_not_there_is_not_found(client: FlaskClient, query: dict[str, str]) -> None:
    body: dict[str, Any] = {"scheduleName": "daily", "from": "2027-01-01"}
    assert _post(client, body, **query).status_code == 404
    body = {"startWorkflowRequest": {"name": "report", "version": 7}}
    assert _post(client, {**body, "businessTimes": [_FIRST]}, **query).status_code == 404


def test_a_thousand_runs_are_taken(client: FlaskClient, engine: MemoryEngine) -> None:
    body = {"scheduleName": "nightly", "from": "2024-04-20T04:00", "lanes": 10}
    answer = _post(client, body)
    assert (answer.status_code, answer.json["count"]) == (200, 1_000), answer.json
    assert len(engine.poll("write", count=100)) == 10


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2026-10-25"),
        ("America/Santiago", "2026-04-04"),
        ("Africa/Cairo", "2026-10-29"),
        ("America/Havana", "2026-11-01"),
    ],
)
def test_a_day_on_which_clocks_are_put_back_is_meant_whole(
    client: FlaskClient, zone: str, day: str
) -> None:
    hourly = {"cronExpression": "0 0 * * * *", "zoneId": zone, "from": day, "to": day}
    body = {"startWorkflowRequest": _REQUEST, **hourly}
    assert _post(client, body, dryRun="true").json["count"] == 25


def test_the_zone_of_the_request_is_that_of_the_expression(client: FlaskClient) -> None:
    request = {**_REQUEST, "zoneId": "Asia/Tokyo"}
    body = {"startWorkflowRequest": request, "cronExpression": "@daily", "from": "2027-01-05"}
    (lane,) = _post(client, {**body, "to": "2027-01-05"}, dryRun="true").json["lanes"]
    assert lane == [1_799_074_800_000], "midnight in Tokyo"


def test_input_may_be_added_to_that_of_a_schedule(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    _started(client, **{"from": "2027-01-14"}, input={"scope": "one", "why": "${not.read}"})
    (task,) = engine.poll("write")
    given = task["inputData"]["all"]
    assert (given["scope"], given["a.b"], given["why"]) == ("one", [1], "${not.read}")


def test_what_a_schedule_is_named_is_no_expression(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    name = "of ${workflow.workflowId}"
    schedule = {"name": name, "cronExpression": "@daily", "startWorkflowRequest": _REQUEST}
    client.post("/api/scheduler/schedules", json=schedule)
    _post(client, {"scheduleName": name, "from": "2027-01-14", "to": "2027-01-14"})
    (task,) = engine.poll("write")
    assert task["inputData"]["all"]["_startedByScheduler"] == name


def test_what_the_workflow_masks_the_backfill_masks(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    write = {"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}
    secretive = {"name": "secretive", "tasks": [write], "maskedFields": ["password"]}
    client.post("/api/metadata/workflow", json=secretive)
    request = {"name": "secretive", "input": {"password": "open sesame"}}
    started = _post(client, {"startWorkflowRequest": request, "businessTimes": [_FIRST]}).json
    assert "open sesame" not in client.get(f"/api/workflow/{started['workflowId']}").text
    assert len(engine.poll("write")) == 1


def test_what_no_run_would_be_started_with_starts_nothing(client: FlaskClient) -> None:
    write = {"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}
    schema = {"name": "s", "version": 1, "type": "JSON", "data": {"required": ["day"]}}
    strict = {"name": "strict", "tasks": [write], "inputSchema": schema, "enforceSchema": True}
    assert client.post("/api/metadata/workflow", json=strict).status_code == 200
    body = {"startWorkflowRequest": {"name": "strict"}, "businessTimes": [_FIRST]}
    assert _post(client, body).status_code == 400
    assert _post(client, body, dryRun="true").status_code == 400


def test_members_times_runs_are_bounded(client: FlaskClient) -> None:
    wide = {f"k{number}": number for number in range(200)}
    body = {"scheduleName": "nightly", "from": "2025-01-01", "input": wide}
    answer = _post(client, body)
    assert answer.status_code == 400
    assert "at most 247 runs" in answer.json["validationErrors"][0]["message"]


@pytest.mark.parametrize("on_failure", ["STOP_LANE", "STOP_ALL"])
def test_a_failure_stops_its_lane_or_all_of_them(
    client: FlaskClient, engine: MemoryEngine, on_failure: str
) -> None:
    between = {"from": "2027-01-01", "to": "2027-01-04"}
    started = _started(client, **between, lanes=2, onFailure=on_failure)
    one, two = engine.poll("write", count=2)
    engine.complete(one, status="FAILED_WITH_TERMINAL_ERROR")
    engine.settle()
    statuses = [task["status"] for task in engine.workflow(started)["tasks"]]
    if on_failure == "STOP_ALL":
        assert sorted(statuses) == ["CANCELED", "FAILED"]
        return
    engine.complete(two)
    engine.settle()
    (three,) = engine.poll("write", count=2)
    engine.complete(three)
    engine.settle()
    statuses = [task["status"] for task in engine.workflow(started)["tasks"]]
    assert sorted(statuses) == ["COMPLETED", "COMPLETED", "FAILED"]
    assert engine.workflow(started)["status"] == "FAILED"


def test_one_day_runs_again_alone_and_what_was_terminated_goes_on(
    client: FlaskClient, engine: MemoryEngine
) -> None:
    started = _started(client, **{"from": "2027-01-13", "to": "2027-01-14"})
    (task,) = engine.poll("write")
    engine.complete(task)
    engine.settle()
    client.delete(f"/api/workflow/{started}")
    engine.settle()
    client.post(f"/api/workflow/{started}/retry")
    engine.settle()
    (task,) = engine.poll("write", count=2)
    assert task["inputData"]["day"] == "20270114"
    engine.complete(task)
    engine.settle()
    assert engine.workflow(started)["status"] == "COMPLETED"
    again = {"reRunFromTaskReferenceName": "20270113T023000", "mode": "TASK_ONLY"}
    assert client.post(f"/api/workflow/{started}/rerun", json=again).status_code == 200
    engine.settle()
    (task,) = engine.poll("write", count=2)
    assert task["inputData"]["day"] == "20270113"

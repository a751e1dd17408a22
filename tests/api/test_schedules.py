"""Schedules over HTTP, on a real engine in memory."""

from typing import Any

import pytest
from flask.testing import FlaskClient

from conductor_py.api import create_app
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wire import answers, schedules
from conductor_py.wire.fields import WireSchema, load
from conductor_py.wire.schedules import read_run_query, read_run_sort

_FORMS: dict[str, WireSchema] = {
    type(form).__name__: form for form in (*answers.FORMS, *schedules.FORMS)
}
_NOW = 1_800_000_000_000
"""15 January 2027, 08:00 UTC."""
_SCHEDULE: dict[str, Any] = {
    "name": "nightly",
    "cronExpression": "0 30 2 * * ?",
    "zoneId": "Europe/Berlin",
    "startWorkflowRequest": {"name": "report", "version": 1, "input": {"a": 1}},
}
_NEXT = 1_800_063_000_000
"""16 January, 02:30 in Berlin."""


@pytest.fixture
def engine() -> MemoryEngine:
    """Offer an engine that knows one workflow."""
    return memory_engine(clock=FakeClock(_NOW))


@pytest.fixture
def client(engine: MemoryEngine) -> FlaskClient:
    """Offer a client of its front."""
    client = create_app(engine.engine, instance="here").test_client()
    tasks = [{"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}]
    client.post("/api/metadata/workflow", json={"name": "report", "tasks": tasks})
    return client


def save(client: FlaskClient, **more: Any) -> Any:
    return client.post("/api/scheduler/schedules", json={**_SCHEDULE, **more})


def violations(answer: Any) -> dict[str, str]:
    assert answer.status_code == 400, answer.json
    return {found["path"]: found["message"] for found in answer.json["validationErrors"]}


def test_saved_schedule_is_answered_and_read_with_its_next_run(client: FlaskClient) -> None:
    answer = save(client)
    assert answer.status_code == 200
    assert answer.json == {
        **_SCHEDULE,
        "cronSchedules": [],
        "runCatchupScheduleInstances": False,
        "paused": False,
        "createTime": _NOW,
        "updatedTime": _NOW,
        "createdBy": "",
        "updatedBy": "",
        "nextRunTime": _NEXT,
    }
    load(_FORMS["WorkflowScheduleForm"], answer.json)
    assert client.get("/api/scheduler/schedules/nightly").json == answer.json
    assert client.get("/api/scheduler/schedules").json == [answer.json]


def test_saving_again_keeps_who_made_it_and_when(client: FlaskClient, engine: MemoryEngine) -> None:
    save(client, createdBy="ann", updatedBy="ann")
    engine.clock.advance(seconds=1)
    again = save(client, createdBy="bob", updatedBy="bob", createTime=5).json
    assert (again["createdBy"], again["updatedBy"]) == ("ann", "bob")
    assert (again["createTime"], again["updatedTime"]) == (_NOW, _NOW + 1_000)


def test_list_of_expressions_takes_precedence(client: FlaskClient) -> None:
    listed = [{"cronExpression": "0 0 9 * * ?"}, {"cronExpression": "@hourly", "zoneId": "+05:30"}]
    saved = save(client, cronSchedules=listed).json
    assert saved["cronSchedules"][0]["zoneId"] == "UTC"
    assert saved["nextRunTime"] == _NOW + 1_800_000


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"cronExpression": "0 99 * * * *"}, "$.cronExpression", "position 3"),
        ({"cronExpression": "* * * * *"}, "$.cronExpression", "cron"),
        ({"cronExpression": "0 0 0 30 2 ?"}, "$.cronExpression", "never fires"),
        ({"cronExpression": None}, "$.cronExpression", "cron expression must be given"),
        ({"cronSchedules": [{"cronExpression": "x"}]}, "$.cronSchedules[0].cronExpression", "cron"),
        ({"cronSchedules": [{}]}, "$.cronSchedules[0].cronExpression", "must be given"),
        (
            {"cronSchedules": [{"cronExpression": "@daily", "zoneId": "Mars"}]},
            "$.cronSchedules[0].zoneId",
            "Mars",
        ),
        ({"zoneId": "Europe/Atlantis"}, "$.zoneId", "no time zone"),
        ({"name": " "}, "$.name", "empty"),
        ({"name": "a/b"}, "$.name", "slash"),
        ({"name": "search"}, "$.name", "another name"),
        ({"name": "x" * 256}, "$.name", "255"),
        ({"name": None}, "$.name", "must be given"),
        ({"startWorkflowRequest": None}, "$.startWorkflowRequest", "must be given"),
        ({"startWorkflowRequest": {}}, "$.startWorkflowRequest.name", "must be given"),
        ({"startWorkflowRequest": {"name": ""}}, "$.startWorkflowRequest.name", "empty"),
        (
            {"startWorkflowRequest": {"name": "r", "priority": 100}},
            "$.startWorkflowRequest.priority",
            "99",
        ),
        (
            {"startWorkflowRequest": {"name": "r", "businessTime": "2026-01-01"}},
            "$.startWorkflowRequest.businessTime",
            "instant of each run",
        ),
        (
            {"startWorkflowRequest": {"name": "r", "workflowDef": {"name": "r"}}},
            "$.startWorkflowRequest.workflowDef.tasks",
            "",
        ),
        ({"scheduleStartTime": 2, "scheduleEndTime": 1}, "$.scheduleEndTime", "before"),
        ({"scheduleEndTime": -1}, "$.scheduleEndTime", "less than 0"),
        ({"overlapPolicy": "QUEUE"}, "$.overlapPolicy", "ALLOW, SKIP"),
        ({"tags": [{"value": "v"}]}, "$.tags[0].key", "must be given"),
    ],
)
def test_wrong_schedule_is_refused_with_its_path(
    client: FlaskClient, more: dict[str, Any], path: str, words: str
) -> None:
    found = violations(save(client, **more))
    assert path in found
    assert words in found[path]
    assert client.get("/api/scheduler/schedules").json == []


def test_everything_that_is_wrong_is_told_at_once(client: FlaskClient) -> None:
    wrong = {"cronExpression": "x", "zoneId": "y", "startWorkflowRequest": {"name": " "}}
    found = violations(save(client, name="a/b", **wrong))
    assert list(found) == [
        "$.name",
        "$.cronExpression",
        "$.zoneId",
        "$.startWorkflowRequest.name",
    ]


def test_schedule_is_removed_once_or_not_at_all(client: FlaskClient) -> None:
    save(client)
    for _ in range(2):
        answer = client.delete("/api/scheduler/schedules/nightly")
        assert (answer.status_code, answer.data) == (200, b"")
    missing = client.get("/api/scheduler/schedules/nightly")
    assert missing.status_code == 404
    assert "nightly" in missing.json["message"]  # type: ignore[index]


def test_pause_and_resume(client: FlaskClient) -> None:
    save(client)
    paused = client.put("/api/scheduler/schedules/nightly/pause?reason=holidays")
    assert (paused.status_code, paused.data) == (200, b"")
    found = client.get("/api/scheduler/schedules/nightly").json
    assert (found["paused"], found["pausedReason"]) == (True, "holidays")  # type: ignore[index]
    assert client.put("/api/scheduler/schedules/nightly/resume").status_code == 200
    found = client.get("/api/scheduler/schedules/nightly").json
    assert (found["paused"], found["nextRunTime"]) == (False, _NEXT)  # type: ignore[index]
    assert client.put("/api/scheduler/schedules/nightly/resume").status_code == 404
    assert client.put("/api/scheduler/schedules/none/pause").status_code == 404
    catch_up = client.put("/api/scheduler/schedules/nightly/pause")
    assert catch_up.status_code == 200
    assert client.put("/api/scheduler/schedules/nightly/resume?catchup=true").status_code == 400


def test_older_clients_pause_and_resume_by_get(client: FlaskClient) -> None:
    save(client)
    assert client.get("/api/scheduler/schedules/nightly/pause").status_code == 200
    assert client.get("/api/scheduler/schedules/nightly").json["paused"]  # type: ignore[index]
    assert client.get("/api/scheduler/schedules/nightly/resume").status_code == 200
    assert not client.get("/api/scheduler/schedules/nightly").json["paused"]  # type: ignore[index]


def test_bulk_pause_and_resume_tell_what_became_of_each(client: FlaskClient) -> None:
    save(client)
    paused = client.put("/api/scheduler/bulk/pause", json=["nightly", "none"]).json
    assert paused["bulkSuccessfulResults"] == ["nightly"]  # type: ignore[index]
    assert list(paused["bulkErrorResults"]) == ["none"]  # type: ignore[index]
    resumed = client.put("/api/scheduler/bulk/resume", json=["nightly"]).json
    assert resumed == {"bulkErrorResults": {}, "bulkSuccessfulResults": ["nightly"]}
    for body in ([], ["x"] * 1_001, {"a": 1}, [1]):
        assert "$" in violations(client.put("/api/scheduler/bulk/pause", json=body))


def test_search_for_schedules(client: FlaskClient) -> None:
    for name in ("b-two", "a-one", "c-one"):
        save(client, name=name)
    save(client, name="other", paused=True, startWorkflowRequest={"name": "tidy"})

    def found(query: str) -> list[str]:
        answer = client.get(f"/api/scheduler/schedules/search?{query}").json
        assert answer is not None
        return [one["name"] for one in answer["results"]]

    assert found("freeText=*") == ["a-one", "b-two", "c-one", "other"]
    assert found("scheduleName=ONE") == ["a-one", "c-one"]
    assert found("workflowName=tidy") == ["other"]
    assert found("paused=false&start=1&size=1") == ["b-two"]
    assert [
        one["name"] for one in client.get("/api/scheduler/schedules?workflowName=tidy").get_json()
    ] == ["other"]


def test_preview_of_an_expression(client: FlaskClient) -> None:
    preview = "/api/scheduler/nextFewSchedules?cronExpression=0 0 9 * * MON-FRI"
    nine, day = _NOW + 3_600_000, 86_400_000
    assert client.get(preview).json == [nine + day * n for n in (0, 3, 4, 5, 6)]
    assert client.get(f"{preview}&limit=50").json == client.get(preview).json
    assert client.get(f"{preview}&limit=1").json == [nine]
    window = f"&scheduleStartTime={nine + 1}&scheduleEndTime={nine + 3 * day}"
    assert client.get(preview + window).json == [nine + 3 * day]
    assert client.get(f"{preview}&scheduleStartTime={nine}&limit=1").json == [nine]
    assert client.get(f"{preview}&zoneId=Europe/Berlin&limit=1").json == [
        nine + 3 * day - 3_600_000
    ]


def test_wrong_preview_is_refused(client: FlaskClient) -> None:
    assert "?cronExpression" in violations(client.get("/api/scheduler/nextFewSchedules"))
    preview = "/api/scheduler/nextFewSchedules?cronExpression=0 0 25 * * *"
    assert "position 5" in violations(client.get(preview))["?cronExpression"]


def test_runs_are_found_by_query(client: FlaskClient, engine: MemoryEngine) -> None:
    save(client, cronExpression="0 * * * * *")
    save(client, name="broken", cronExpression="@hourly", startWorkflowRequest={"name": "none"})
    for _ in range(60):
        engine.clock.advance(seconds=60)
        engine.settle()

    def found(query: str, more: str = "") -> Any:
        answer = client.get(f"/api/scheduler/search/executions?query={query}{more}")
        assert answer.status_code == 200, answer.json
        return answer.json

    everything = found("")
    assert everything["totalHits"] == 61
    assert len(found("", "&size=7&start=58")["results"]) == 3
    for run in everything["results"]:
        load(_FORMS["WorkflowScheduleExecutionForm"], run)
    times = [run["scheduledTime"] for run in everything["results"]]
    assert times == sorted(times, reverse=True)
    assert found("scheduleName IN (broken,other)")["totalHits"] == 1
    assert found("broken")["totalHits"] == 1
    assert found("state IN (FAILED) AND scheduleName IN (nightly)")["totalHits"] == 0
    (failed,) = found("state IN (FAILED, POLLED)")["results"]
    assert "none" in failed["reason"]
    assert found(f"scheduledTime>{times[5]} AND scheduledTime<{times[0]}")["totalHits"] == 3
    assert found("workflowName=epor")["totalHits"] == 60
    assert found("scheduleName = 'broken' AND state=FAILED")["totalHits"] == 1
    assert found(f"executionId={failed['executionId']}")["results"] == [failed]
    assert found("workflowType IN (report*, none) AND status IN (EXECUTED)")["totalHits"] == 60
    assert found(f"startTime>{times[5]} AND startTime<{times[0]}")["totalHits"] == 3
    ids = [run["executionId"] for run in found("", "&sort=executionId:ASC")["results"]]
    assert ids == sorted(ids)
    ascending = found("", "&sort=scheduleName:DESC,scheduledTime:ASC&size=1")["results"]
    assert ascending[0]["scheduledTime"] == times[-1]
    assert found("*", "&sort=startTime:DESC") == everything


def test_the_start_of_a_record_is_its_planned_time_in_a_query_and_in_an_order() -> None:
    assert read_run_query("startTime>5") == read_run_query("scheduledTime>5")
    iso = read_run_query("scheduledTime>=2026-11-24T02:00 AND scheduledTime<'2026-11-25T00:00Z'")
    assert (iso.after_ms, iso.before_ms) == (1_795_485_599_999, 1_795_564_800_000)
    assert read_run_query("scheduledTime<=5").before_ms == 6
    assert read_run_sort(["startTime:ASC"]) == read_run_sort(["scheduledTime:ASC"])


@pytest.mark.parametrize(
    "query",
    [
        "query=state IN (DONE)",
        "query=state=DONE",
        "query=correlationId=FAILED",
        "query=state>FAILED",
        "query=scheduleName=a AND colour IN (red)",
        "query=scheduledTime>soon",
        "sort=colour:ASC",
        "size=-1",
    ],
)
def test_wrong_query_for_runs_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/api/scheduler/search/executions?{query}").status_code == 400


def test_run_now_answers_the_id(client: FlaskClient) -> None:
    save(client)
    answer = client.post("/api/scheduler/schedules/nightly/run")
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    assert client.get(f"/api/workflow/{answer.text}").json["input"]["a"] == 1  # type: ignore[index]
    assert client.post("/api/scheduler/schedules/none/run").status_code == 404


def test_all_schedules_are_halted_and_go_on(client: FlaskClient, engine: MemoryEngine) -> None:
    save(client, cronExpression="0 * * * * *")
    assert client.get("/api/scheduler/admin/pause").json == {"status": "done"}
    engine.clock.advance(seconds=90)
    engine.settle()
    assert client.get("/api/scheduler/search/executions").json["totalHits"] == 0  # type: ignore[index]
    assert client.get("/api/scheduler/admin/resume").json == {"status": "done"}
    engine.settle()
    assert client.get("/api/scheduler/search/executions").json["totalHits"] == 1  # type: ignore[index]
    assert client.get("/api/scheduler/admin/requeue").json == {
        "recordIds.size": 0,
        "sampleIds": [],
    }


def test_tags_are_added_and_taken_away(client: FlaskClient) -> None:
    save(client)
    tags = "/api/scheduler/schedules/nightly/tags"
    team, cost = {"key": "team", "value": "a"}, {"key": "cost", "value": "7", "type": "METADATA"}
    assert client.get(tags).json == []
    assert client.put(tags, json=[team, cost]).status_code == 200
    assert client.put(tags, json=[team]).status_code == 200
    assert client.get(tags).json == [cost, team]
    save(client)
    assert client.get(tags).json == [cost, team]
    assert client.delete(tags, json=[cost]).status_code == 200
    assert client.get("/api/scheduler/schedules/nightly").json["tags"] == [team]  # type: ignore[index]
    assert client.put(tags, json={"key": "x"}).status_code == 400
    assert client.put("/api/scheduler/schedules/none/tags", json=[team]).status_code == 404

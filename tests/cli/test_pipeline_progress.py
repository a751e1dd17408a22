"""``pipeline progress``: how far pipelines are, drawn from what their worker tells."""

import json
from typing import Any

import pytest

import conductor_py.cli.pipeline_progress as command
from tests.cli.conftest import Run
from tests.sdk.stub import Reply, StubServer

_ID = "00000000-0000-0000-0000-000000000001"
_PATH = f"/api/workflow/{_ID}"
_LAKE: dict[str, Any] = {
    "id": "p-6f2a",
    "state": "RUNNING",
    "epoch": 41,
    "restarts": 1,
    "splits": {"discovered": 1840, "complete": True, "done": 703, "quarantined": 217},
    "bytes": {"read": 911_822_331, "estimatedTotal": 2_402_000_000},
    "rows": {"read": 3_301_221, "bad": 12},
    "sinks": {"lake": {"rows": 3_288_400}, "mart": {"rows": 31}},
    "rate": {"rowsPerSecond": 151_000},
    "etaSeconds": 67,
    "lag": {},
    "lastError": {"code": "SINK_UNAVAILABLE", "message": "the database\nis away"},
}
_AMOUNTS = "911.8 MB of about 2.4 GB, 151,000 rows/s, done in about 1 m 07 s"
_CLICKS: dict[str, Any] = {
    "id": "p-77",
    "state": "WAITING",
    "splits": {"discovered": 4, "complete": False, "done": 2},
    "lag": {
        "clicks": {"splits": 2, "rows": 80, "bytes": 1234, "seconds": 3.6},
        "views": {"splits": 0, "rows": 0, "bytes": 0, "seconds": 0},
    },
}


def _execution(*tasks: dict[str, Any], status: str = "RUNNING") -> dict[str, Any]:
    return {"workflowId": _ID, "status": status, "tasks": list(tasks)}


def _task(reference: str, *, told: list[dict[str, Any]] | None = None, **more: Any) -> Any:
    said = {} if told is None else {"progress": {"state": "RUNNING", "pipelines": told}}
    return {
        "referenceTaskName": reference,
        "taskType": "SPARK_PIPELINE",
        "status": "IN_PROGRESS",
        **said,
        **more,
    }


def test_each_pipeline_is_drawn_with_its_bar_amounts_and_error(run: Run, stub: StubServer) -> None:
    other = {"referenceTaskName": "grade", "taskType": "INLINE", "status": "COMPLETED"}
    stub.on("GET", _PATH, Reply(200, _execution(other, _task("load", told=[_LAKE]))))
    said = run("pipeline", "progress", _ID)
    assert (said.code, said.out.splitlines()) == (
        0,
        [
            "load  IN_PROGRESS",
            "  p-6f2a → lake, mart: RUNNING epoch 41",
            "    [############............] 703 of 1,840 splits, 217 set aside",
            f"    3,301,221 rows, 12 of them bad, {_AMOUNTS}, restarts: 1",
            "    last error SINK_UNAVAILABLE: the database is away",
        ],
    )


def test_an_unbounded_pipeline_has_a_lag_for_each_source(run: Run, stub: StubServer) -> None:
    stub.on("GET", _PATH, Reply(200, _execution(_task("watch", told=[_CLICKS]))))
    lines = run("pipeline", "progress", _ID).out.splitlines()
    assert lines[2:] == [
        "    [############............] 2 of 4 splits found so far",
        "    0 rows, 0 B, 0 rows/s",
        "    lag clicks: 2 splits, 80 rows, 1.2 kB, for 4 s; views: none",
    ]


def test_one_of_several_tasks_is_named_and_an_unknown_one_is_refused(
    run: Run, stub: StubServer
) -> None:
    stub.on("GET", _PATH, Reply(200, _execution(_task("load", told=[_LAKE]), _task("later"))))
    assert run("pipeline", "progress", _ID, "--task", "later").out.splitlines() == [
        "later  IN_PROGRESS",
        "  No worker has told anything of it yet.",
    ]
    missing = run("pipeline", "progress", _ID, "--task", "lod")
    assert missing.code == 1
    assert "there are load, later" in missing.err


def test_followed_pipelines_are_told_when_they_change_until_the_execution_ends(
    run: Run, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PAUSE_S", 0.0)
    working = _execution(_task("load", told=[_LAKE]))
    ended = {**_LAKE, "state": "FINISHED", "etaSeconds": None, "lastError": None}
    done = _task("load", told=[_LAKE], status="COMPLETED", outputData={"pipelines": [ended]})
    stub.on(
        "GET",
        _PATH,
        Reply(200, _execution()),
        Reply(200, working),
        Reply(200, working),
        Reply(200, _execution(done, status="COMPLETED")),
    )
    lines = run("pipeline", "progress", _ID, "--follow").out.splitlines()
    heads = [line for line in lines if "epoch" in line or not line.startswith(" ")]
    assert heads == [
        "No task of data pipelines has been reached.",
        "load  IN_PROGRESS",
        "  p-6f2a → lake, mart: RUNNING epoch 41",
        "load  COMPLETED",
        "  p-6f2a → lake, mart: FINISHED epoch 41",
    ]


@pytest.mark.parametrize(
    ("status", "tasks", "code"),
    [
        ("FAILED", [_task("load", status="FAILED")], 1),
        ("COMPLETED", [_task("load", status="FAILED"), _task("load", status="COMPLETED")], 0),
        ("FAILED", [_task("load", status="COMPLETED")], 0),
        ("TERMINATED", [_task("a", status="COMPLETED"), _task("b", status="CANCELED")], 1),
        ("FAILED", [], 1),
        ("COMPLETED", [], 0),
    ],
)
def test_following_ends_with_1_when_a_pipeline_has_failed(
    run: Run, stub: StubServer, status: str, tasks: list[Any], code: int
) -> None:
    stub.on("GET", _PATH, Reply(200, _execution(*tasks, status=status)))
    assert run("pipeline", "progress", _ID, "--follow").code == code
    assert run("pipeline", "progress", _ID).code == 0


def test_as_json_it_is_what_the_worker_told(run: Run, stub: StubServer) -> None:
    stub.on("GET", _PATH, Reply(200, _execution(_task("load", told=[_LAKE]))))
    told = json.loads(run("pipeline", "progress", _ID, "--json").out)
    assert told == {"load": {"status": "IN_PROGRESS", "state": "RUNNING", "pipelines": [_LAKE]}}


def test_event_time_is_told_by_transform(run: Run, stub: StubServer) -> None:
    streams = {
        "minutes": {
            "watermark": "2024-05-01T10:01:10+00:00",
            "lagSeconds": 90,
            "stateRows": 2000,
            "lateRows": 1,
        },
        "once": {"watermark": None, "lagSeconds": None, "stateRows": 0, "lateRows": 0},
    }
    stub.on(
        "GET", _PATH, Reply(200, _execution(_task("load", told=[_CLICKS | {"eventTime": streams}])))
    )
    said = run("pipeline", "progress", _ID)
    reached = "watermark 2024-05-01T10:01:10+00:00, 1 m 30 s ago"
    assert [line.strip() for line in said.out.splitlines()[-2:]] == [
        f"minutes: {reached}, 2,000 rows kept, 1 late",
        "once: no watermark yet, 0 rows kept, 0 late",
    ]

"""The endpoints that take executions up again or elsewhere, over a fake engine."""

from typing import Any

import pytest

from conductor_py.errors import Violation
from conductor_py.model.requests import ForceRequest, RerunRequest, UpgradeRequest
from tests.api.fake_engine import WORKFLOW_ID, FakeEngine

_PATH = f"/api/workflow/{WORKFLOW_ID}"


def test_retry_and_restart_answer_204_without_a_body(client: Any, engine: FakeEngine) -> None:
    for path in ("retry", "retry?resumeSubworkflowTasks=true", "restart?useLatestDefinitions=true"):
        answer = client.post(f"{_PATH}/{path}")
        assert (answer.status_code, answer.data) == (204, b"")
    assert engine.recovery.asked == [
        ("retry", WORKFLOW_ID, False),
        ("retry", WORKFLOW_ID, True),
        ("restart", WORKFLOW_ID, True),
    ]


def test_rerun_answers_the_id_as_text(client: Any, engine: FakeEngine) -> None:
    body = {
        "reRunFromWorkflowId": "ignored",
        "reRunFromTaskId": f"{WORKFLOW_ID}-3",
        "taskInput": {"a": 1},
        "workflowInput": {"b": 2},
        "correlationId": "c",
    }
    answer = client.post(f"{_PATH}/rerun", json=body)
    assert (answer.status_code, answer.text) == (200, WORKFLOW_ID)
    assert answer.mimetype == "text/plain"
    wanted = RerunRequest(
        from_task=f"{WORKFLOW_ID}-3",
        task_input={"a": 1},
        workflow_input={"b": 2},
        correlation_id="c",
    )
    assert engine.recovery.asked == [("rerun", WORKFLOW_ID, wanted)]


def test_rerun_of_a_part_names_a_reference_and_a_mode(client: Any, engine: FakeEngine) -> None:
    body = {"reRunFromTaskReferenceName": "b", "mode": "TASK_ONLY"}
    assert client.post(f"{_PATH}/rerun", json=body).status_code == 200
    dry = client.post(f"{_PATH}/rerun?dryRun=true", json=body)
    assert dry.json == {"runsAgain": ["b"], "kept": ["a"], "stale": ["c"]}
    wanted = RerunRequest(from_ref="b", mode="TASK_ONLY")
    assert engine.recovery.asked == [
        ("rerun", WORKFLOW_ID, wanted),
        ("preview", WORKFLOW_ID, wanted),
    ]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"reRunFromTaskReferenceName": "b", "mode": "task_only"}, "$.mode"),
        ({"mode": "TASK_ONLY"}, "$.mode"),
        ({"mode": "TASK_POST"}, "$.mode"),
        (
            {"reRunFromTaskReferenceName": "b", "reRunFromTaskId": f"{WORKFLOW_ID}-3"},
            "$.reRunFromTaskReferenceName",
        ),
    ],
)
def test_rerun_that_says_too_little_or_too_much_is_400(
    client: Any, engine: FakeEngine, body: dict[str, str], path: str
) -> None:
    answer = client.post(f"{_PATH}/rerun", json=body)
    assert answer.status_code == 400
    assert [each["path"] for each in answer.json["validationErrors"]] == [path]
    assert engine.recovery.asked == []


def test_rerun_with_a_task_input_that_is_no_object_is_400(client: Any, engine: FakeEngine) -> None:
    answer = client.post(f"{_PATH}/rerun", json={"taskInput": 3})
    assert answer.status_code == 400
    assert answer.json["validationErrors"][0]["path"] == "$.taskInput"
    assert engine.recovery.asked == []


def test_force_success_says_what_who_and_why(client: Any, engine: FakeEngine) -> None:
    path = f"{_PATH}/tasks/load/force-success"
    said: dict[str, Any] = {"output": {"v": 1}, "by": "ann", "reason": "by hand"}
    for body in (said, None):
        answer = client.post(path, json=body) if body else client.post(path)
        assert (answer.status_code, answer.data) == (200, b"")
    assert engine.recovery.asked == [
        ("force_success", WORKFLOW_ID, "load", ForceRequest(**said)),
        ("force_success", WORKFLOW_ID, "load", ForceRequest()),
    ]
    answer = client.post(path, json={"output": [1]})
    assert [each["path"] for each in answer.json["validationErrors"]] == ["$.output"]


def test_jump_reads_its_task_where_official_clients_put_it(client: Any, engine: FakeEngine) -> None:
    """They leave the placeholder in the path, and name the task in the query."""
    path = f"{_PATH}/jump/%7BtaskReferenceName%7D"
    answer = client.post(f"{path}?taskReferenceName=there", json={"a": 1})
    assert answer.status_code == 200
    assert engine.recovery.asked == [("jump", WORKFLOW_ID, "there", {"a": 1})]


def test_jump_takes_the_tasks_input_as_its_body(client: Any, engine: FakeEngine) -> None:
    answer = client.post(f"{_PATH}/jump/there", json={"a": 1})
    assert (answer.status_code, answer.data) == (200, b"")
    assert engine.recovery.asked == [("jump", WORKFLOW_ID, "there", {"a": 1})]


def test_upgrade_and_its_dry_run(client: Any, engine: FakeEngine) -> None:
    body = {"name": "w", "version": 2, "taskOutput": {"a": {"x": 1}}, "workflowInput": {"i": 1}}
    wanted = UpgradeRequest(
        name="w", version=2, task_output={"a": {"x": 1}}, workflow_input={"i": 1}
    )
    assert client.post(f"{_PATH}/upgrade", json=body).status_code == 200
    dry = client.post(f"{_PATH}/upgrade?dryRun=true", json=body)
    assert dry.json == {"upgradable": True, "validationErrors": []}
    engine.recovery.found = (Violation(path="$.tasks[0]", message="is gone"),)
    dry = client.post(f"{_PATH}/upgrade?dryRun=true", json=body)
    assert dry.json == {
        "upgradable": False,
        "validationErrors": [{"path": "$.tasks[0]", "message": "is gone"}],
    }
    assert engine.recovery.asked == [
        ("upgrade", WORKFLOW_ID, wanted),
        ("check", WORKFLOW_ID, wanted),
        ("check", WORKFLOW_ID, wanted),
    ]

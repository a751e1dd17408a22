"""Executions and tasks as Conductor's JSON."""

from dataclasses import replace
from typing import Any

import pytest

from conductor_py.model.definitions import TaskDef, WorkflowDef, WorkflowTask
from conductor_py.model.execution import Attempt, ClaimSide, Ending, External, Header, Meta, Vector
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.model.view import ExecutionView, TaskView
from conductor_py.wire import answers
from conductor_py.wire.execution import status_to_json, task_to_json, workflow_to_json
from conductor_py.wire.fields import WireSchema, load
from conductor_py.wire.summaries import (
    classifier_of,
    summary_of,
    task_summary_of,
    timestamp,
)

_ID = "00000000-0000-0000-0000-000000000001"
_TASK = WorkflowTask(name="resize", task_reference_name="resize_1")
_DEFINITION = WorkflowDef(name="thumbs", tasks=(_TASK,))


def _header(**more: Any) -> Header:
    values = {"status": WorkflowStatus.RUNNING, "generation": 1, "created_at": 1_000, **more}
    return Header(plan="p", name="thumbs", version=2, home="s0", **values)


def _task(*, task: WorkflowTask = _TASK, **more: Any) -> TaskView:
    held = ClaimSide(claim=7, held=True, until=9_000, worker="w", polls=1, first_at=1_300)
    attempt: dict[str, Any] = {
        "seq": 1,
        "ref": task.task_reference_name,
        "vector": Vector(""),
        "plan": "p",
        "type": task.type,
        "definition": task.name,
        "status": TaskStatus.SCHEDULED,
        "generation": 1,
        "scheduled_at": 1_100,
        "response_timeout_ms": 3_600_000,
    }
    return TaskView(
        execution=_ID,
        header=more.pop("header", _header()),
        claim=more.pop("claim", held),
        task=task,
        input=more.pop("input", {"url": "x"}),
        output=more.pop("output", {}),
        progress=more.pop("progress", None),
        attempt=Attempt(**(attempt | more)),
    )


def _execution(**more: Any) -> ExecutionView:
    values = {
        "header": _header(),
        "definition": _DEFINITION,
        "meta": Meta(),
        "ending": Ending(),
        "input": {"url": "x"},
        "output": {},
        "variables": {},
        "task_to_domain": {},
        **more,
    }
    return ExecutionView(execution=_ID, version=5, **values)


_NOT_HELD = ClaimSide()


def test_polled_task_has_the_members_that_conductor_sends() -> None:
    shown = task_to_json(_task())
    part = shown.pop("workflowTask")
    assert (part["name"], part["taskReferenceName"]) == ("resize", "resize_1")
    assert shown == {
        "taskId": f"{_ID}-1",
        "taskType": "resize",
        "taskDefName": "resize",
        "referenceTaskName": "resize_1",
        "status": "IN_PROGRESS",
        "workflowInstanceId": _ID,
        "workflowType": "thumbs",
        "inputData": {"url": "x"},
        "outputData": {},
        "seq": 1,
        "retryCount": 0,
        "retried": False,
        "executed": False,
        "pollCount": 1,
        "iteration": 0,
        "loopOverTask": False,
        "scheduledTime": 1_100,
        "startTime": 1_300,
        "endTime": 0,
        "updateTime": 1_300,
        "firstStartTime": 0,
        "queueWaitTime": 200,
        "startDelayInSeconds": 0,
        "callbackAfterSeconds": 0,
        "callbackFromWorker": True,
        "responseTimeoutSeconds": 3600,
        "workerId": "w",
        "workflowPriority": 0,
        "rateLimitPerFrequency": 0,
        "rateLimitFrequencyInSeconds": 1,
        "subworkflowChanged": False,
        "taskDefinition": None,
        "executionMetadata": {"additionalContext": {}, "empty": True, "additionalContextMap": {}},
        "claimToken": 7,
    }


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"claim": _NOT_HELD}, "SCHEDULED"),
        ({}, "IN_PROGRESS"),
        ({"status": TaskStatus.IN_PROGRESS, "claim": _NOT_HELD}, "IN_PROGRESS"),
        ({"status": TaskStatus.FAILED}, "FAILED"),
        ({"header": _header(status=WorkflowStatus.TERMINATED, ended_at=5_000)}, "CANCELED"),
        ({"header": _header(generation=2)}, "CANCELED"),
        ({"header": _header(generation=2), "status": TaskStatus.COMPLETED}, "COMPLETED"),
        ({"header": _header(status=WorkflowStatus.PAUSED)}, "IN_PROGRESS"),
    ],
)
def test_status_is_derived_from_attempt_claim_and_execution(
    change: dict[str, Any], status: str
) -> None:
    shown = task_to_json(_task(**change))
    assert shown["status"] == status
    assert ("claimToken" in shown) is (status == "IN_PROGRESS" and change.get("claim") is None)


def test_what_was_cut_off_ended_with_its_execution() -> None:
    ended = _header(status=WorkflowStatus.TERMINATED, ended_at=5_000)
    assert task_to_json(_task(header=ended))["endTime"] == 5_000


@pytest.mark.parametrize(
    ("vector", "reference", "iteration"),
    [("", "resize_1", 0), ("2", "resize_1__2", 2), ("1.12", "resize_1__1__12", 12)],
)
def test_reference_carries_its_iterations(vector: str, reference: str, iteration: int) -> None:
    shown = task_to_json(_task(vector=Vector(vector)))
    assert (shown["referenceTaskName"], shown["iteration"]) == (reference, iteration)
    assert shown["loopOverTask"] is (iteration > 0)


@pytest.mark.parametrize(
    ("kind", "wire_type", "definition"),
    [
        ("SIMPLE", "resize", "resize"),
        ("HTTP", "HTTP", "resize"),
        ("FORK_JOIN", "FORK", "FORK"),
        ("FORK_JOIN_DYNAMIC", "FORK", "FORK"),
        ("SWITCH", "SWITCH", "resize"),
    ],
)
def test_type_is_that_of_conductors_tasks(kind: str, wire_type: str, definition: str) -> None:
    shown = task_to_json(_task(task=replace(_TASK, type=kind)))
    assert (shown["taskType"], shown["taskDefName"]) == (wire_type, definition)


def test_optional_members_are_there_when_set() -> None:
    definition = TaskDef(name="resize", isolation_group_id="i", execution_name_space="n")
    claim = ClaimSide(claim=7, held=True, until=9_000, leased=True)
    shown = task_to_json(
        _task(
            task=replace(_TASK, task_definition=definition),
            header=_header(correlation_id="c", priority=3),
            claim=claim,
            retried_seq=4,
            reason="r" * 600,
            domain="eu",
            child="child",
            progress={"rows": 1},
            input=External("task/input/x.json"),
            output=External("task/output/x.json"),
        )
    )
    assert (shown["inputData"], shown["outputData"]) == ({}, {})
    assert shown["externalInputPayloadStoragePath"] == "task/input/x.json"
    assert shown["externalOutputPayloadStoragePath"] == "task/output/x.json"
    assert shown["retriedTaskId"] == f"{_ID}-4"
    assert shown["leaseUntil"] == 9_000
    assert len(shown["reasonForIncompletion"]) == 500
    assert (shown["domain"], shown["subWorkflowId"]) == ("eu", "child")
    assert (shown["isolationGroupId"], shown["executionNameSpace"]) == ("i", "n")
    assert shown["taskDefinition"]["name"] == "resize"
    assert (shown["correlationId"], shown["workflowPriority"]) == ("c", 3)
    assert shown["progress"] == {"rows": 1}


def test_execution_has_the_members_that_conductor_sends() -> None:
    shown = workflow_to_json(_execution())
    assert shown.pop("workflowDefinition")["name"] == "thumbs"
    assert shown == {
        "workflowId": _ID,
        "workflowName": "thumbs",
        "workflowVersion": 2,
        "status": "RUNNING",
        "ownerApp": "",
        "createTime": 1_000,
        "startTime": 1_000,
        "updateTime": 0,
        "endTime": 0,
        "lastRetriedTime": 0,
        "input": {"url": "x"},
        "output": {},
        "variables": {},
        "tasks": [],
        "taskToDomain": {},
        "priority": 0,
        "failedReferenceTaskNames": [],
        "failedTaskNames": [],
        "history": [],
        "rateLimited": False,
    }


def _failed() -> ExecutionView:
    header = _header(
        status=WorkflowStatus.FAILED,
        ended_at=4_500,
        updated_at=4_000,
        parent="00000000-0000-0000-0000-000000000009",
        parent_seq=3,
        correlation_id="c",
    )
    failed = _task(header=header, status=TaskStatus.FAILED, vector=Vector("2"), ended_at=4_000)
    return _execution(
        header=header,
        ending=Ending(reason="why"),
        meta=Meta(created_by="me", event="e", idempotency_key="k"),
        input=External("workflow/input/x.json"),
        task_to_domain={"*": "eu"},
        tasks=(_task(header=header), failed),
    )


def test_failed_execution_says_what_failed_and_why() -> None:
    shown = workflow_to_json(_failed())
    assert shown["failedReferenceTaskNames"] == ["resize_1__2"]
    assert shown["failedTaskNames"] == ["resize"]
    assert shown["reasonForIncompletion"] == "why"
    assert shown["parentWorkflowTaskId"] == "00000000-0000-0000-0000-000000000009-3"
    assert (shown["createdBy"], shown["event"], shown["idempotencyKey"]) == ("me", "e", "k")
    assert shown["input"] == {}
    assert shown["externalInputPayloadStoragePath"] == "workflow/input/x.json"
    assert [task["status"] for task in shown["tasks"]] == ["CANCELED", "FAILED"]


def test_status_shows_what_is_asked_for() -> None:
    view = _execution(output={"o": 1}, variables={"v": 2})
    assert status_to_json(view) == {"workflowId": _ID, "status": "RUNNING"}
    shown = status_to_json(view, include_output=True, include_variables=True)
    assert (shown["output"], shown["variables"]) == ({"o": 1}, {"v": 2})


def test_summary_of_an_execution() -> None:
    shown = summary_of(_failed())
    assert (shown["workflowType"], shown["version"], shown["status"]) == ("thumbs", 2, "FAILED")
    assert shown["startTime"] == "1970-01-01T00:00:01.000Z"
    assert (shown["endTime"], shown["executionTime"]) == ("1970-01-01T00:00:04.500Z", 3_500)
    assert shown["failedReferenceTaskNames"] == "resize_1__2"
    assert (shown["input"], shown["inputSize"]) == ("{}", 2)
    assert shown["classifier"] == "workflow"
    running = summary_of(_execution())
    assert "endTime" not in running
    assert (running["updateTime"], running["parentWorkflowId"]) == ("1970-01-01T00:00:00.000Z", "")
    assert running["input"] == '{"url":"x"}'


def test_summary_of_a_task() -> None:
    shown = task_summary_of(_task(status=TaskStatus.COMPLETED, ended_at=2_000, output={"a": None}))
    assert (shown["taskId"], shown["referenceTaskName"]) == (f"{_ID}-1", "resize_1")
    assert (shown["executionTime"], shown["queueWaitTime"]) == (700, 200)
    assert shown["output"] == '{"a":null}'
    assert task_summary_of(_task())["endTime"] == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("metadata", "classifier"),
    [
        ({}, "workflow"),
        ({"classifier": "own"}, "own"),
        ({"classifier": " "}, "workflow"),
        ({"agentDef": {}}, "workflow"),
        ({"agent_sdk": "x"}, "agent"),
    ],
)
def test_classifier_comes_from_metadata(metadata: dict[str, Any], classifier: str) -> None:
    assert classifier_of(metadata) == classifier


def test_timestamps_have_milliseconds_and_are_utc() -> None:
    assert timestamp(1_767_225_600_007) == "2026-01-01T00:00:00.007Z"


_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in answers.FORMS}


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("TaskForm", task_to_json(_task())),
        ("WorkflowForm", workflow_to_json(_failed())),
        ("WorkflowSummaryForm", summary_of(_failed())),
        ("TaskSummaryForm", task_summary_of(_task())),
        ("WorkflowStatusForm", status_to_json(_execution(), include_output=True)),
    ],
)
def test_published_forms_know_every_member_that_is_sent(form: str, shown: dict[str, Any]) -> None:
    load(_FORMS[form], shown)
    assert shown.keys() <= {field.data_key for field in _FORMS[form].fields.values()}

"""The shape of answers, member by member: what is always there, what is left out, what defaults."""

from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine

_TASK_DEF = {
    "name": "resize",
    "updateTime": 0,
    "createdBy": "",
    "retryCount": 3,
    "retryLogic": "FIXED",
    "retryDelaySeconds": 60,
    "backoffScaleFactor": 1,
    "maxRetryDelaySeconds": 0,
    "backoffJitterMs": 0,
    "timeoutSeconds": 0,
    "timeoutPolicy": "TIME_OUT_WF",
    "responseTimeoutSeconds": 3600,
    "totalTimeoutSeconds": 0,
    "rateLimitPerFrequency": 0,
    "rateLimitFrequencyInSeconds": 1,
    "inputKeys": [],
    "outputKeys": [],
    "inputTemplate": {},
    "runtimeMetadata": [],
    "taskStatusListenerEnabled": True,
    "enforceSchema": False,
}
_WORKFLOW_TASK = {
    "name": "resize",
    "taskReferenceName": "resize_1",
    "type": "SIMPLE",
    "inputParameters": {},
    "decisionCases": {},
    "defaultCase": [],
    "forkTasks": [],
    "startDelay": 0,
    "joinOn": [],
    "optional": False,
    "defaultExclusiveJoinTask": [],
    "asyncComplete": False,
    "loopOver": [],
    "onStateChange": {},
    "permissive": False,
    "metadata": {},
}
_WORKFLOW_DEF = {
    "name": "thumbs",
    "version": 1,
    "updateTime": 0,
    "tasks": [_WORKFLOW_TASK],
    "inputParameters": [],
    "outputParameters": {},
    "schemaVersion": 2,
    "restartable": True,
    "workflowStatusListenerEnabled": False,
    "timeoutPolicy": "ALERT_ONLY",
    "timeoutSeconds": 0,
    "variables": {},
    "inputTemplate": {},
    "enforceSchema": True,
    "metadata": {},
    "maskedFields": [],
}
_EXECUTION = {
    "workflowId",
    "workflowName",
    "workflowVersion",
    "workflowDefinition",
    "status",
    "ownerApp",
    "createTime",
    "startTime",
    "updateTime",
    "endTime",
    "lastRetriedTime",
    "input",
    "output",
    "variables",
    "tasks",
    "taskToDomain",
    "priority",
    "failedReferenceTaskNames",
    "failedTaskNames",
    "history",
    "rateLimited",
}
_TASK = {
    "taskId",
    "taskType",
    "taskDefName",
    "referenceTaskName",
    "status",
    "workflowInstanceId",
    "workflowType",
    "inputData",
    "outputData",
    "seq",
    "retryCount",
    "retried",
    "executed",
    "pollCount",
    "iteration",
    "loopOverTask",
    "scheduledTime",
    "startTime",
    "endTime",
    "updateTime",
    "firstStartTime",
    "queueWaitTime",
    "startDelayInSeconds",
    "callbackAfterSeconds",
    "callbackFromWorker",
    "responseTimeoutSeconds",
    "workflowPriority",
    "rateLimitPerFrequency",
    "rateLimitFrequencyInSeconds",
    "subworkflowChanged",
    "executionMetadata",
    "workflowTask",
    "taskDefinition",
}


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()


@pytest.fixture
def client(engine: MemoryEngine) -> Any:
    made = create_app(engine.engine).test_client()
    assert made.post("/api/metadata/taskdefs", json=[{"name": "resize"}]).status_code == 200
    task = {"name": "resize", "taskReferenceName": "resize_1"}
    sent = made.post("/api/metadata/workflow", json={"name": "thumbs", "tasks": [task]})
    assert sent.status_code == 200
    return made


def test_definitions_are_answered_with_every_default(client: Any, engine: MemoryEngine) -> None:
    made = {"createTime": engine.clock.now_ms}
    assert client.get("/api/metadata/taskdefs/resize").json == _TASK_DEF | made
    assert client.get("/api/metadata/workflow/thumbs").json == _WORKFLOW_DEF | made


def test_executions_and_tasks_have_every_member_that_is_always_there(client: Any) -> None:
    workflow_id = client.post("/api/workflow", json={"name": "thumbs"}).text
    scheduled = client.get(f"/api/workflow/{workflow_id}").json
    assert scheduled.keys() == _EXECUTION
    (task,) = scheduled["tasks"]
    assert task.keys() == _TASK
    assert [task[name] for name in ("startTime", "endTime", "queueWaitTime")] == [0, 0, 0]
    polled = client.get("/api/tasks/poll/resize?workerid=w").json
    assert polled.keys() == _TASK | {"workerId", "claimToken"}


def test_nulls_in_payloads_stay_and_unset_members_are_left_out(client: Any) -> None:
    body = {"name": "thumbs", "input": {"a": None, "b": {"c": None}}, "correlationId": None}
    workflow_id = client.post("/api/workflow", json=body).text
    found = client.get(f"/api/workflow/{workflow_id}").json
    assert found["input"] == {"a": None, "b": {"c": None}}
    assert "correlationId" not in found


def test_what_failed_is_named_with_tasks_and_without_live_and_archived(
    client: Any, engine: MemoryEngine
) -> None:
    workflow_id = client.post("/api/workflow", json={"name": "thumbs"}).text
    (task,) = engine.poll("resize")
    engine.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    for _ in range(2):
        for include in ("true", "false"):
            found = client.get(f"/api/workflow/{workflow_id}?includeTasks={include}").json
            assert found["failedReferenceTaskNames"] == ["resize_1"]
            assert found["failedTaskNames"] == ["resize"]
            assert len(found["tasks"]) == (1 if include == "true" else 0)
        engine.clock.advance(seconds=120)
        engine.settle()


def test_what_timed_out_is_named_with_tasks_and_without(client: Any, engine: MemoryEngine) -> None:
    slow = {
        "name": "slow",
        "taskReferenceName": "slow_1",
        "type": "SIMPLE",
        "taskDefinition": {"name": "slow", "retryCount": 0, "responseTimeoutSeconds": 5},
    }
    body = {"name": "slow", "workflowDef": {"name": "slow", "version": 1, "tasks": [slow]}}
    workflow_id = client.post("/api/workflow", json=body).text
    engine.poll("slow")
    engine.clock.advance(seconds=6)
    engine.settle()
    for include in ("true", "false"):
        found = client.get(f"/api/workflow/{workflow_id}?includeTasks={include}").json
        assert found["status"] == "TIMED_OUT"
        assert found["failedReferenceTaskNames"] == ["slow_1"]


def test_time_in_the_queue_is_told(client: Any, engine: MemoryEngine) -> None:
    client.post("/api/workflow", json={"name": "thumbs"})
    engine.clock.advance(milliseconds=250)
    assert client.get("/api/tasks/poll/resize?workerid=w").json["queueWaitTime"] == 250

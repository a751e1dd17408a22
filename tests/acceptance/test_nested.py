"""A thousand workflows within one another, and one thread of everything: no circle of waits."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.sdk import Backoff, Client, Worker, worker_task
from tests.acceptance.deployment import Api, Deployment
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(300),
]

_DEPTH = 1_000
_ONE_OF_EACH = {
    "conductor.server.workers": "1",
    "conductor.server.blockingThreads": "1",
    "conductor.server.turnWait": "5s",
    "conductor.app.sweeperThreadCount": "1",
    "conductor.app.systemTaskWorkerThreadCount": "1",
    "conductor.effects.workers": "1",
    "conductor.scripts.workers": "1",
    "conductor.limits.subWorkflowDepth": str(_DEPTH),
    "conductor.tasks.http.allowedNetworks": "127.0.0.0/8",
}


@worker_task("less", concurrency=1)
def less(left: int) -> dict[str, int]:
    """The only worker: each level needs it before it goes deeper."""
    return {"left": left - 1}


def _document(client: Client, execution: str) -> Any:
    return client.get_workflow(execution)


def _task(type_: str, ref: str, **more: Any) -> Any:
    return {"name": ref, "taskReferenceName": ref, "type": type_, **more}


def _nested(server: Api) -> Any:
    """It starts itself until nothing is left; a message from each level on the way back, and a call
    of this very server from the innermost.
    """
    deeper = _task(
        "SUB_WORKFLOW",
        "deeper",
        inputParameters={"left": "${less.output.left}"},
        subWorkflowParam={"name": "nested", "version": 1},
    )
    request = {"uri": f"http://127.0.0.1:{server.port}/health", "method": "GET"}
    choice = _task(
        "SWITCH",
        "choice",
        evaluatorType="value-param",
        expression="left",
        inputParameters={"left": "${less.output.left}"},
        decisionCases={
            "0": [_task("HTTP", "call", inputParameters={"http_request": request})],
        },
        defaultCase=[deeper, _task("EVENT", "told", sink="conductor")],
    )
    given = {"left": "${workflow.input.left}"}
    tasks = [_task("SIMPLE", "less", inputParameters=given), choice]
    return {"name": "nested", "version": 1, "tasks": tasks, "outputParameters": {}}


def test_thousand_nested_workflows_end_where_there_is_one_thread_of_everything(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    words = [word for key, value in _ONE_OF_EACH.items() for word in ("--set", f"{key}={value}")]
    server = deployment.server(*shape, *words)
    client = Client(f"http://127.0.0.1:{server.port}/api", timeout_s=30, backoff=Backoff(tries=20))
    client.register_workflow(_nested(server))
    worker = Worker(client, [less])
    worker.start()
    try:
        started = client.start_workflow("nested", version=1, input={"left": _DEPTH + 1})
        until(lambda: client.get_workflow(started)["status"] != "RUNNING", 240, what="the end")
        level, found = 0, _document(client, started)
        while found["status"] == "COMPLETED":
            below = [task for task in found["tasks"] if task["taskType"] == "SUB_WORKFLOW"]
            if not below:
                break
            level, found = level + 1, _document(client, below[0]["subWorkflowId"])
        assert (level, found["status"]) == (_DEPTH, "COMPLETED")
        assert found["tasks"][-1]["taskType"] == "HTTP"
    finally:
        worker.stop()
        client.close()

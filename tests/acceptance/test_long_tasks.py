"""A long task without Spark: real processes, killed, frozen, stopped; each step counts once."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from conductor_py.sdk import Client
from tests.acceptance.deployment import Api, Deployment, Process
from tests.acceptance.programs import Program
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(300),
]

_UPTO = 40
_SUM = _UPTO * (_UPTO + 1) // 2
_STEP_MS = 250


@pytest.fixture
def server(deployment: Deployment, newest_redis: RealRedis) -> Api:
    shared = ("--redis", newest_redis.url, "--data", str(deployment.folder / "data"))
    server = deployment.serve(Api(deployment.folder / "server", "api", *shared))
    deployment.run("sweeper", "sweeper", *shared)
    return server


def _worker(deployment: Deployment, server: Api, name: str) -> Process:
    folder = deployment.folder / "steps"
    folder.mkdir(exist_ok=True)
    script = str(Path(__file__).with_name("long_worker.py"))
    given = (server.client.server_url, name, str(folder), str(_STEP_MS))
    worker = Program(deployment.folder / name, script, *given)
    deployment.processes.append(worker)
    worker.start()
    return worker


def _start(client: Client) -> str:
    task: Any = {
        "name": "add",
        "taskReferenceName": "add",
        "type": "SIMPLE",
        "inputParameters": {"upto": _UPTO},
    }
    return client.start_workflow(definition={"name": "adding", "version": 1, "tasks": [task]})


def _epoch(client: Client, workflow: str) -> int:
    kept: Any = client.workflow_checkpoints(workflow).get("add", {"parts": {}})
    found: int = kept["parts"].get("sum", {"epoch": 0})["epoch"]
    return found


def _output(client: Client, workflow: str) -> dict[str, Any]:
    until(
        lambda: client.get_workflow(workflow)["status"] != "RUNNING", 120, what="the task has ended"
    )
    found: Any = client.get_workflow(workflow)
    assert found["status"] == "COMPLETED"
    output: dict[str, Any] = found["tasks"][-1]["outputData"]
    return output


def test_a_killed_worker_is_followed_by_one_that_goes_on(
    deployment: Deployment, server: Api
) -> None:
    client = server.client
    first = _worker(deployment, server, "first")
    workflow = _start(client)
    until(lambda: _epoch(client, workflow) >= 3, what="three steps are kept")
    first.kill()
    kept = _epoch(client, workflow)
    second = _worker(deployment, server, "second")
    assert _output(client, workflow) == {"total": _SUM, "epoch": _UPTO}
    assert f"begins {kept}" in second.said
    assert client.get_workflow(workflow)["failedReferenceTaskNames"] == []


def test_a_frozen_worker_that_wakes_is_refused_and_changes_nothing(
    deployment: Deployment, server: Api
) -> None:
    client = server.client
    first = _worker(deployment, server, "first")
    workflow = _start(client)
    until(lambda: _epoch(client, workflow) >= 2, what="two steps are kept")
    os.kill(first.pid, signal.SIGSTOP)
    second = _worker(deployment, server, "second")
    until(lambda: "begins" in second.said, what="another worker goes on")
    os.kill(first.pid, signal.SIGCONT)
    assert _output(client, workflow) == {"total": _SUM, "epoch": _UPTO}
    assert first.said.count("begins") == 1
    tokens = {name.name.split("-")[1] for name in (deployment.folder / "steps").iterdir()}
    assert len(tokens) == 2


def test_a_task_that_is_stopped_goes_on_with_another_worker_from_its_savepoint(
    deployment: Deployment, server: Api
) -> None:
    client = server.client
    first = _worker(deployment, server, "first")
    workflow = _start(client)
    until(lambda: _epoch(client, workflow) >= 2, what="two steps are kept")
    client.stop_task(workflow, "add", savepoint="evening")
    until(lambda: _is_put_off(client, workflow), what="the worker puts it off")
    kept = _epoch(client, workflow)
    listed: Any = client.workflow_checkpoints(workflow)
    (savepoint,) = listed["add"]["savepoints"]
    assert (savepoint["name"], savepoint["epochs"]) == ("evening", {"sum": kept})
    assert first.terminate() == 0
    assert client.get_workflow(workflow)["status"] == "RUNNING"

    client.resume_task(workflow, "add", savepoint="evening")
    second = _worker(deployment, server, "second")
    assert _output(client, workflow) == {"total": _SUM, "epoch": _UPTO}
    assert f"begins {kept}" in second.said


def _is_put_off(client: Client, workflow: str) -> bool:
    tasks: Any = client.get_workflow(workflow)["tasks"]
    (found,) = tasks
    return bool(found["status"] == "SCHEDULED" and found["callbackAfterSeconds"] == 300)

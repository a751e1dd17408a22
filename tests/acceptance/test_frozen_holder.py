"""Who held a lease or a claim, froze past its end and wakes: nothing that it writes is taken."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conductor_py.sdk import Client, ConductorError
from tests.acceptance.deployment import Api, Deployment, Process, deployed
from tests.acceptance.programs import Program
from tests.acceptance.stories import finish, run_script, start, status, take
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_LEASE_S = 3.0
_JSON_LOG = ("--set", "conductor.log.format=json")
_SLOW = """
(function () {
  var began = Date.now();
  while (Date.now() - began < 1200) {}
  return 42;
})()
"""


def _simple(name: str) -> dict[str, Any]:
    return {"name": name, "taskReferenceName": name, "type": "SIMPLE", "inputParameters": {}}


_SLOW_DECISION: Any = {
    "name": "slow_decision",
    "tasks": [
        _simple("step"),
        {
            "name": "slow",
            "taskReferenceName": "slow",
            "type": "INLINE",
            "inputParameters": {"evaluatorType": "javascript", "expression": _SLOW},
        },
        _simple("after"),
        _simple("last"),
    ],
    "outputParameters": {"answer": "${slow.output.result}"},
}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with deployed(tmp_path) as made:
        yield made


def _servers(deployment: Deployment, redis: RealRedis) -> tuple[Api, Api]:
    """Two API servers over one Redis, and one sweeper for both."""
    shared = ("--redis", redis.url, "--data", str(deployment.folder / "data"), *_JSON_LOG)
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", *shared))
        for name in ("first", "second")
    )
    deployment.run("sweeper", "sweeper", *shared)
    return first, second


def _fields(redis: Redis, workflow: str) -> dict[bytes, bytes]:
    """Everything that is stored of an execution, byte for byte."""
    (key,) = redis.scan_iter(match=f"*exec:{workflow}", count=10_000)
    fields: Any = redis.hgetall(key)
    return dict(fields)


def _holder(fields: dict[bytes, bytes]) -> bytes:
    """Who has the lease; it may be renewed at any time."""
    return fields.get(b"l", b"").partition(b" ")[2]


@contextmanager
def _frozen(family: dict[int, str]) -> Iterator[None]:
    """Stop the processes; they go on at the end."""
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in family:
            # The first that goes on may end another: a script that is late by now.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _refusals(server: Process, workflow: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return [
        line
        for line in lines
        if line.get("action") == "decision_refused" and line["workflow_id"] == workflow
    ]


def _poll(client: Client, task_type: str) -> dict[str, Any]:
    (task,) = client.poll_batch(task_type, worker_id="w", timeout_ms=5000)
    return dict(task)


def _report(client: Client, task: dict[str, Any]) -> None:
    client.update_task(
        {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "workerId": "w",
            "status": "COMPLETED",
            "outputData": {},
        }
    )


def test_a_server_frozen_in_mid_decision_writes_nothing_when_it_wakes(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis)
    run_script(first.client)  # its script process is there from now on
    family = first.family()
    assert len(family) >= 3
    workflow = first.client.start_workflow(definition=_SLOW_DECISION)
    step = _poll(first.client, "step")
    answers: list[str] = []

    def report() -> None:
        with Client(first.client.server_url, timeout_s=60) as client:
            try:
                _report(client, step)
            except ConductorError as error:
                answers.append(error.code)
            else:
                answers.append("accepted")

    reporter = threading.Thread(target=report)
    with Redis.from_url(newest_redis.url) as redis:
        reporter.start()
        # The report took the lease; the script runs for more than a second in the decision.
        holder = until(lambda: _holder(_fields(redis, workflow)), what="the lease is held")
        with _frozen(family):
            frozen_at = _fields(redis, workflow)
            assert _holder(frozen_at) == holder  # it froze inside
            # The result was stored before: whoever comes next decides on it, and work goes on.
            after = _poll_when_there(second.client, "after")
            _report(second.client, after)
            until(lambda: _is_offered(second.client, workflow, "last"), what="the last task")
            document = second.client.get_workflow(workflow)
            stored = _fields(redis, workflow)
            assert stored[b"v"] != frozen_at[b"v"]
            assert _refusals(first, workflow) == []

        until(lambda: _refusals(first, workflow), 15, what="the late decision is refused")
        reporter.join(10)

        assert [refusal["outcome"] for refusal in _refusals(first, workflow)] == ["STALE"]
        assert answers == ["accepted"]
        assert _fields(redis, workflow) == stored
        assert second.client.get_workflow(workflow) == document
        assert first.client.get_workflow(workflow) == document
    tasks: Any = document["tasks"]
    assert [(task["referenceTaskName"], task["status"]) for task in tasks] == [
        ("step", "COMPLETED"),
        ("slow", "COMPLETED"),
        ("after", "COMPLETED"),
        ("last", "SCHEDULED"),
    ]

    # Who froze is as good as any other afterwards.
    _report(first.client, _poll(first.client, "last"))
    ended = first.client.get_workflow(workflow)
    assert (ended["status"], ended["output"]) == ("COMPLETED", {"answer": 42})
    run_script(first.client)


def _poll_when_there(client: Client, task_type: str) -> dict[str, Any]:
    """Claim the task once the lease of the frozen one has ended and another one has decided."""

    def poll() -> dict[str, Any] | None:
        found = client.poll_batch(task_type, worker_id="w", timeout_ms=1000)
        return dict(found[0]) if found else None

    task = until(poll, 4 * _LEASE_S, what=f"a task {task_type}")
    assert task is not None
    return task


def _is_offered(client: Client, workflow: str, reference: str) -> bool:
    tasks: Any = client.get_workflow(workflow)["tasks"]
    return any(t["referenceTaskName"] == reference and t["status"] == "SCHEDULED" for t in tasks)


def _late_worker(deployment: Deployment, server: Api, mode: str) -> Process:
    """A worker in a process of its own; it goes on when there is a file `go` in its folder."""
    worker = Program(
        deployment.folder / "worker",
        str(Path(__file__).with_name("late_worker.py")),
        *(server.client.server_url, mode, str(deployment.folder / "worker" / "go")),
    )
    deployment.processes.append(worker)
    worker.start()
    return worker


def _replaced(client: Client, workflow: str) -> bool:
    tasks: Any = client.get_workflow(workflow)["tasks"]
    return len(tasks) == 2 and tasks[0]["status"] == "CANCELED"


def test_a_worker_frozen_past_its_lease_is_refused_when_it_reports(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis)
    worker = _late_worker(deployment, first, "careless")
    workflow = start(first.client, 21)
    until(lambda: "claimed" in worker.said, what="the worker claims the task")

    with _frozen(worker.family()), Redis.from_url(newest_redis.url) as redis:
        until(lambda: _replaced(second.client, workflow), what="another attempt")
        (task,) = take(second.client, timeout_ms=5000)
        document, stored = second.client.get_workflow(workflow), _fields(redis, workflow)
    (worker.folder / "go").touch()
    assert worker.wait() == 0

    with Redis.from_url(newest_redis.url) as redis:
        assert _fields(redis, workflow) == stored
    assert second.client.get_workflow(workflow) == document
    assert worker.said.splitlines()[1:] == ["extend CONFLICT", "report CONFLICT"]
    finish(second.client, task)
    assert second.client.get_workflow(workflow)["output"] == {"double": 42}


def test_a_worker_of_the_sdk_frozen_past_its_lease_reports_nothing(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis)
    worker = _late_worker(deployment, first, "careful")
    workflow = start(first.client, 21)
    until(lambda: "claimed" in worker.said, what="the worker claims the task")

    with _frozen(worker.family()):
        until(lambda: _replaced(second.client, workflow), what="another attempt")
        (task,) = take(second.client, timeout_ms=5000)
        document = second.client.get_workflow(workflow)
        (worker.folder / "go").touch()
    until(lambda: "returned" in worker.said, what="the function returns")
    # Asked to stop, it reports what it has to report first.
    assert worker.terminate() == 0

    assert second.client.get_workflow(workflow) == document
    finish(second.client, task)
    assert status(second.client, workflow) == "COMPLETED"

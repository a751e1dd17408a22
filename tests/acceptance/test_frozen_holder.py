"""Who held a lease or a claim, froze past its end and wakes: nothing that it writes is taken."""

import copy
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conductor_py.sdk import Client, ConductorError
from tests.acceptance.deployment import Api, Deployment, Process
from tests.acceptance.programs import Program
from tests.acceptance.stories import finish, run_script, start, status, take
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_WORKER_LEASE_S = 2.0
_TRIES = 5
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
    """Who has the lease to decide; it may be renewed at any time.

    An execution that waits for long scripts is nobody's.
    """
    return fields.get(b"l", b"").partition(b" ")[2].removeprefix(b"scripts")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A step that is reported from a thread, while its server may freeze."""

    workflow: str
    family: dict[int, str]
    thread: threading.Thread
    answers: list[str]
    holder: bytes = b""


def _reported(server: Api, number: int) -> Report:
    """Start an execution and report its first step: a slow script runs in the decision on that.

    It is another one for each number: what has proved to take long is run outside of decisions.
    """
    family, definition = server.family(), copy.deepcopy(_SLOW_DECISION)
    definition["tasks"][1]["inputParameters"]["expression"] += f"// {number}"
    workflow = server.client.start_workflow(definition=definition)
    step, answers = _poll(server.client, "step"), list[str]()

    def report() -> None:
        with Client(server.client.server_url, timeout_s=60) as client:
            try:
                _report(client, step)
            except ConductorError as error:
                answers.append(error.code)
            else:
                answers.append("accepted")

    thread = threading.Thread(target=report)
    thread.start()
    return Report(workflow=workflow, family=family, thread=thread, answers=answers)


@contextmanager
def _frozen_inside(server: Api, holder_of: Callable[[str], bytes]) -> Iterator[Report]:
    """Freeze a server in a decision, which whoever holds the execution is in.

    A test that stalled itself comes too late for that, and tries again with another execution.
    """
    for number in range(_TRIES):
        report = _reported(server, number)
        holder = _first_holder(report, holder_of)
        with _frozen(report.family):
            is_inside = report.thread.is_alive() and holder_of(report.workflow) == holder
            if holder and is_inside:
                yield replace(report, holder=holder)
                return
        report.thread.join(PATIENCE_S)
        server.client.terminate_workflow(report.workflow)
    raise AssertionError(f"not once in {_TRIES} times it froze inside")


def _first_holder(report: Report, holder_of: Callable[[str], bytes]) -> bytes:
    """Who decides; nobody when the report is over before that was seen."""
    seen: list[bytes] = []

    def look() -> bool:
        is_over = not report.thread.is_alive()
        seen.append(holder_of(report.workflow))
        return is_over or bool(seen[-1])

    until(look, what="somebody decides")
    return seen[-1]


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
    with Redis.from_url(newest_redis.url) as redis:
        # The report takes the lease; the script runs for more than a second in the decision.
        with _frozen_inside(first, lambda each: _holder(_fields(redis, each))) as report:
            assert len(report.family) >= 3
            workflow = report.workflow
            frozen_at = _fields(redis, workflow)
            # The result was stored before: whoever comes next decides on it, and work goes on.
            after = _poll_when_there(second.client, "after")
            _report(second.client, after)
            until(lambda: _is_offered(second.client, workflow, "last"), what="the last task")
            document = second.client.get_workflow(workflow)
            stored = _fields(redis, workflow)
            assert stored[b"v"] != frozen_at[b"v"]
            assert _refusals(first, workflow) == []

        until(lambda: _refusals(first, workflow), what="the late decision is refused")
        report.thread.join(PATIENCE_S)

        assert [refusal["outcome"] for refusal in _refusals(first, workflow)] == ["STALE"]
        assert report.answers == ["accepted"]
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

    task = until(poll, what=f"a task {task_type}")
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


def test_a_worker_whose_server_freezes_stops_its_tasks_after_one_lease_and_reports_nothing(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis)
    worker = _late_worker(deployment, first, "patient")
    soft: Any = {
        "name": "soft",
        "tasks": [{**_simple("soft_step"), "taskDefinition": {"name": "soft_step"}}],
    }
    workflows = [start(first.client, 21), first.client.start_workflow(definition=soft)]
    until(lambda: worker.said.count("claimed") == 2, what="the worker claims both")

    with _frozen(first.family()):
        frozen_at = time.time()
        until(lambda: worker.said.count("stopped") == 2, what="both functions are stopped")
        until(
            lambda: all(_replaced(second.client, each) for each in workflows),
            what="other attempts",
        )
        (task,) = take(second.client, timeout_ms=5000)
        (soft_task,) = second.client.poll_batch("soft_step", worker_id="w", timeout_ms=5000)
        documents = [second.client.get_workflow(workflow) for workflow in workflows]
    stopped = [line.split()[-2:] for line in worker.said.splitlines() if "stopped" in line]
    for stopped_at, stalled_s in stopped:
        assert float(stopped_at) - frozen_at <= _WORKER_LEASE_S + 0.5 + float(stalled_s)

    # The server is back. Asked to stop, the worker reports first what it has to report.
    until(first.is_healthy, what="the server is awake")
    assert worker.terminate() == 0
    assert [second.client.get_workflow(workflow) for workflow in workflows] == documents
    finish(second.client, task)
    _report(second.client, dict(soft_task))
    assert {status(second.client, workflow) for workflow in workflows} == {"COMPLETED"}

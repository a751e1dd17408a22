"""Who held a lease or a claim, froze past its end and wakes: nothing that it writes is taken."""

import time
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from conductor_py.sdk import Client
from tests.acceptance.deployment import Api, Deployment, Process
from tests.acceptance.freezing import (
    JSON_LOG,
    deciding,
    fields,
    frozen,
    holder,
    is_offered,
    poll,
    poll_when_there,
    refusals,
    report,
    simple,
)
from tests.acceptance.gate import gate_before
from tests.acceptance.programs import Program
from tests.acceptance.stories import finish, run_script, start, status, take
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_WORKER_LEASE_S = 2.0


def _servers(deployment: Deployment, redis: RealRedis, way: str = "") -> tuple[Api, Api]:
    """Two API servers over one Redis, the first of them by `way`, and one sweeper for both."""
    shared = ("--data", str(deployment.folder / "data"), *JSON_LOG)
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", "--redis", url, *shared))
        for name, url in (("first", way or redis.url), ("second", redis.url))
    )
    deployment.run("sweeper", "sweeper", "--redis", redis.url, *shared)
    return first, second


def test_a_server_frozen_in_mid_decision_writes_nothing_when_it_wakes(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    with (
        gate_before(newest_redis.url) as gate,
        Redis.from_url(newest_redis.url) as redis,
    ):
        first, second = _servers(deployment, newest_redis, gate.url)
        run_script(first.client)  # its script process is there from now on
        with deciding(first, gate) as decision:
            assert len(decision.family) >= 3
            workflow, frozen_at = decision.workflow, fields(redis, decision.workflow)
            assert holder(frozen_at)
            with frozen(decision.family):
                # The result was stored before: whoever comes next decides, and work goes on.
                after = poll_when_there(second.client, "after")
                report(second.client, after)
                until(lambda: is_offered(second.client, workflow, "last"), what="the last task")
                document = second.client.get_workflow(workflow)
                stored = fields(redis, workflow)
                assert stored[b"v"] != frozen_at[b"v"]
                assert refusals(first, workflow) == []
            gate.open()
            until(lambda: refusals(first, workflow), what="the late decision is refused")

        assert [refusal["outcome"] for refusal in refusals(first, workflow)] == ["STALE"]
        assert decision.answers == ["accepted"]
        assert fields(redis, workflow) == stored
        assert second.client.get_workflow(workflow) == document
        assert first.client.get_workflow(workflow) == document
        tasks: Any = document["tasks"]
        assert [(task["referenceTaskName"], task["status"]) for task in tasks] == [
            ("step", "COMPLETED"),
            ("script", "COMPLETED"),
            ("after", "COMPLETED"),
            ("last", "SCHEDULED"),
        ]

        # Who froze is as good as any other afterwards.
        report(first.client, poll(first.client, "last"))
        ended = first.client.get_workflow(workflow)
        assert (ended["status"], ended["output"]) == ("COMPLETED", {"answer": 42})
        run_script(first.client)


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

    with frozen(worker.family()), Redis.from_url(newest_redis.url) as redis:
        until(lambda: _replaced(second.client, workflow), what="another attempt")
        (task,) = take(second.client, timeout_ms=5000)
        document, stored = second.client.get_workflow(workflow), fields(redis, workflow)
    (worker.folder / "go").touch()
    assert worker.wait() == 0

    with Redis.from_url(newest_redis.url) as redis:
        assert fields(redis, workflow) == stored
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

    with frozen(worker.family()):
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
        "tasks": [{**simple("soft_step"), "taskDefinition": {"name": "soft_step"}}],
    }
    workflows = [start(first.client, 21), first.client.start_workflow(definition=soft)]
    until(lambda: worker.said.count("claimed") == 2, what="the worker claims both")

    with frozen(first.family()):
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
    report(second.client, dict(soft_task))
    assert {status(second.client, workflow) for workflow in workflows} == {"COMPLETED"}

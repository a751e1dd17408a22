"""Real servers that lock executions in a real ZooKeeper: frozen, killed, and without it."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from redis import Redis

from tests.acceptance.deployment import Api, Deployment, Process
from tests.acceptance.freezing import (
    JSON_LOG,
    THREE_STEPS,
    deciding,
    fields,
    frozen,
    is_offered,
    poll,
    poll_when_there,
    refusals,
    report,
)
from tests.acceptance.gate import gate_before
from tests.acceptance.stories import run_script, status
from tests.conftest import RealRedis
from tests.services import start_zookeeper
from tests.services.zookeeper import ZooKeeper
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(180),
]

_NAMESPACE = "acceptance"
_SESSION_MS = 3_000


def _servers(
    deployment: Deployment, redis: RealRedis, zookeeper: ZooKeeper, *more: str, way: str = ""
) -> tuple[Api, Api]:
    """Two API servers over one Redis and one ZooKeeper, and one sweeper for both; the first server
    gets to Redis by `way`.
    """
    settings = {
        "workflow-execution-lock.type": "zookeeper",
        "zookeeper-lock.connectionString": zookeeper.hosts,
        "zookeeper-lock.namespace": f"{_NAMESPACE}/{deployment.folder.name}",
        "zookeeper-lock.sessionTimeout": f"{_SESSION_MS}ms",
    }
    sets = [w for key, value in settings.items() for w in ("--set", f"conductor.{key}={value}")]
    shared = ("--data", str(deployment.folder / "data"), *JSON_LOG, *sets, *more)
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", "--redis", url, *shared))
        for name, url in (("first", way or redis.url), ("second", redis.url))
    )
    deployment.run("sweeper", "sweeper", "--redis", redis.url, *shared)
    return first, second


@contextmanager
def _looking_at(zookeeper: ZooKeeper) -> Iterator[Any]:
    client = KazooClient(hosts=zookeeper.hosts, timeout=20)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def _actions(process: Process) -> list[str]:
    lines = [json.loads(line) for line in process.log.splitlines() if line.startswith("{")]
    return [str(line.get("action")) for line in lines]


def _value(client: Any, lock: str) -> bytes:
    """Who has the lock; nothing when nobody has."""
    try:
        return bytes(client.get(lock)[0])
    except NoNodeError:
        return b""


def test_a_server_frozen_under_its_lock_loses_it_and_writes_nothing_when_it_wakes(
    deployment: Deployment, newest_redis: RealRedis, zookeeper_server: ZooKeeper
) -> None:
    locks = f"/{_NAMESPACE}/{deployment.folder.name}/locks"
    with (
        gate_before(newest_redis.url) as gate,
        _looking_at(zookeeper_server) as client,
        Redis.from_url(newest_redis.url) as redis,
    ):
        first, second = _servers(deployment, newest_redis, zookeeper_server, way=gate.url)
        run_script(first.client)  # its script process is there from now on
        with deciding(first, gate) as decision:
            workflow, frozen_at = decision.workflow, fields(redis, decision.workflow)
            assert int(_value(client, f"{locks}/{workflow}").split()[1]) in decision.family
            with frozen(decision.family):
                # The session ends, the lock with it, and the next one decides.
                after = poll_when_there(second.client, "after")
                report(second.client, after)
                until(lambda: is_offered(second.client, workflow, "last"), what="the last task")
                document, stored = second.client.get_workflow(workflow), fields(redis, workflow)
                assert stored[b"v"] != frozen_at[b"v"]
            gate.open()
            until(lambda: refusals(first, workflow), what="the late decision is refused")
            until(lambda: "lock_session_lost" in _actions(first), what="the session's end is said")
            until(lambda: "lock_lost" in _actions(first), what="the loss is reported")

        assert {refusal["outcome"] for refusal in refusals(first, workflow)} == {"STALE"}
        assert fields(redis, workflow) == stored
        assert first.client.get_workflow(workflow) == document

        # Who froze is as good as any other afterwards.
        report(first.client, poll(first.client, "last"))
        assert status(first.client, workflow) == "COMPLETED"
        assert client.get_children(locks) == []


def test_while_zookeeper_is_down_fenced_servers_go_on(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    zookeeper = start_zookeeper()
    try:
        first, second = _servers(deployment, newest_redis, zookeeper)
        workflow = first.client.start_workflow(definition=THREE_STEPS)
        zookeeper.kill()
        report(first.client, poll(first.client, "step"))
        report(second.client, poll_when_there(second.client, "after"))
        zookeeper.start()
        report(first.client, poll_when_there(first.client, "last"))
        until(lambda: status(first.client, workflow) == "COMPLETED", what="the end")
        assert "lock_away" in _actions(first)
    finally:
        zookeeper.stop()


def test_while_zookeeper_is_down_unfenced_servers_take_results_in_and_decide_later(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    zookeeper = start_zookeeper()
    try:
        off = ("--set", "conductor.app.fencing.enabled=false")
        first, second = _servers(deployment, newest_redis, zookeeper, *off)
        assert "lock_check" in _actions(first), "what is not safe is said"
        definition: Any = {
            "name": "two_steps",
            "tasks": [
                {"name": name, "taskReferenceName": name, "type": "SIMPLE"}
                for name in ("one", "two")
            ],
        }
        workflow = first.client.start_workflow(definition=definition)
        task = poll(first.client, "one")
        zookeeper.kill()
        report(first.client, task)
        assert not is_offered(second.client, workflow, "two")
        zookeeper.start()
        two = poll_when_there(second.client, "two")
        assert two["workflowInstanceId"] == workflow
    finally:
        zookeeper.stop()


def test_the_lock_of_a_killed_server_costs_one_session(
    deployment: Deployment, newest_redis: RealRedis, zookeeper_server: ZooKeeper
) -> None:
    with (
        gate_before(newest_redis.url) as gate,
        _looking_at(zookeeper_server) as client,
    ):
        first, second = _servers(deployment, newest_redis, zookeeper_server, way=gate.url)
        run_script(first.client)
        with deciding(first, gate) as decision:
            workflow = decision.workflow
            assert client.exists(f"/{_NAMESPACE}/{deployment.folder.name}/locks/{workflow}")
            for pid in decision.family:
                # The first that is gone may end another.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            # What it had sent is lost with it, as far as anybody can see.
            after = poll_when_there(second.client, "after")
            assert after["workflowInstanceId"] == workflow

"""Real servers that lock executions in a real ZooKeeper: frozen, killed, and without it."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from redis import Redis

from conductor_py.sdk import Client
from tests.acceptance.deployment import Api, Deployment, Process
from tests.acceptance.stories import run_script, status
from tests.acceptance.test_frozen_holder import (
    _JSON_LOG,
    _SLOW_DECISION,
    _fields,
    _frozen_inside,
    _is_offered,
    _poll,
    _poll_when_there,
    _refusals,
    _report,
)
from tests.conftest import RealRedis
from tests.services import start_zookeeper
from tests.services.zookeeper import ZooKeeper
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(180),
]

_NAMESPACE = "acceptance"
_SESSION_MS = 3_000


def _servers(
    deployment: Deployment, redis: RealRedis, zookeeper: ZooKeeper, *more: str
) -> tuple[Api, Api]:
    """Two API servers over one Redis and one ZooKeeper, and one sweeper for both."""
    settings = {
        "workflow-execution-lock.type": "zookeeper",
        "zookeeper-lock.connectionString": zookeeper.hosts,
        "zookeeper-lock.namespace": f"{_NAMESPACE}/{deployment.folder.name}",
        "zookeeper-lock.sessionTimeout": f"{_SESSION_MS}ms",
    }
    sets = [w for key, value in settings.items() for w in ("--set", f"conductor.{key}={value}")]
    shared = ("--redis", redis.url, "--data", str(deployment.folder / "data"), *_JSON_LOG)
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", *shared, *sets, *more))
        for name in ("first", "second")
    )
    deployment.run("sweeper", "sweeper", *shared, *sets, *more)
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
    first, second = _servers(deployment, newest_redis, zookeeper_server)
    run_script(first.client)  # its script process is there from now on
    locks = f"/{_NAMESPACE}/{deployment.folder.name}/locks"

    with _looking_at(zookeeper_server) as client, Redis.from_url(newest_redis.url) as redis:
        with _frozen_inside(first, lambda each: _value(client, f"{locks}/{each}")) as report:
            workflow = report.workflow
            assert int(report.holder.split()[1]) in report.family
            frozen_at = _fields(redis, workflow)
            # The session ends, the lock with it, and the next one decides.
            after = _poll_when_there(second.client, "after")
            _report(second.client, after)
            until(lambda: _is_offered(second.client, workflow, "last"), what="the last task")
            document, stored = second.client.get_workflow(workflow), _fields(redis, workflow)
            assert stored[b"v"] != frozen_at[b"v"]

        until(lambda: _refusals(first, workflow), what="the late decision is refused")
        until(lambda: "lock_session_lost" in _actions(first), what="the session's end is said")
        # Frozen before it had read that the lock is its own, it decides as one without an answer.
        said = {"lock_lost", "lock_away"}
        until(lambda: said & set(_actions(first)), what="the loss is reported")
        report.thread.join(PATIENCE_S)
        assert {refusal["outcome"] for refusal in _refusals(first, workflow)} == {"STALE"}
        assert _fields(redis, workflow) == stored
        assert first.client.get_workflow(workflow) == document

        # Who froze is as good as any other afterwards.
        _report(first.client, _poll(first.client, "last"))
        assert status(first.client, workflow) == "COMPLETED"
        assert client.get_children(locks) == []


def test_while_zookeeper_is_down_fenced_servers_go_on(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    zookeeper = start_zookeeper()
    try:
        first, second = _servers(deployment, newest_redis, zookeeper)
        workflow = first.client.start_workflow(definition=_SLOW_DECISION)
        zookeeper.kill()
        _report(first.client, _poll(first.client, "step"))
        _report(second.client, _poll_when_there(second.client, "after"))
        zookeeper.start()
        _report(first.client, _poll_when_there(first.client, "last"))
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
        task = _poll(first.client, "one")
        zookeeper.kill()
        _report(first.client, task)
        assert not _is_offered(second.client, workflow, "two")
        zookeeper.start()
        two = _poll_when_there(second.client, "two")
        assert two["workflowInstanceId"] == workflow
    finally:
        zookeeper.stop()


def test_the_lock_of_a_killed_server_costs_one_session(
    deployment: Deployment, newest_redis: RealRedis, zookeeper_server: ZooKeeper
) -> None:
    first, second = _servers(deployment, newest_redis, zookeeper_server)
    run_script(first.client)
    workflow = first.client.start_workflow(definition=_SLOW_DECISION)
    step = _poll(first.client, "step")
    lock = f"/{_NAMESPACE}/{deployment.folder.name}/locks/{workflow}"
    with _looking_at(zookeeper_server) as client:
        done = threading.Event()

        def report() -> None:
            with Client(first.client.server_url, timeout_s=10) as dying:
                try:
                    _report(dying, step)
                except Exception:  # noqa: BLE001 - its server is killed under it
                    done.set()

        threading.Thread(target=report, daemon=True).start()
        until(lambda: client.exists(lock), what="the lock is held")
        for pid in first.family():
            # The first that is gone may end another.
            with suppress(ProcessLookupError):
                os.kill(pid, 9)
        after = until(
            lambda: second.client.poll_batch("after", worker_id="w", timeout_ms=1000),
            what="another server has decided",
        )
        assert dict(after[0])["workflowInstanceId"] == workflow
        done.wait(PATIENCE_S)

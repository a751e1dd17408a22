"""Deployments of several processes over one Redis that is not theirs."""

import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.deployment import Api, Deployment, await_gone
from tests.acceptance.stories import finish, found, run_script, start, status, take, work_off
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]


def _shared(deployment: Deployment, redis: RealRedis) -> tuple[str, ...]:
    """Options that put a process over the Redis and the search file of all."""
    return ("--redis", redis.url, "--data", str(deployment.folder / "data"))


def _servers(
    deployment: Deployment, redis: RealRedis, strategy: str, *more: str
) -> tuple[Api, Api]:
    settings = (
        *_shared(deployment, redis),
        *("--set", f"conductor.redis.queueShardingStrategy={strategy}"),
        *more,
    )
    first, second = (
        deployment.serve(Api(deployment.folder / name, "server", *settings))
        for name in ("first", "second")
    )
    return first, second


def test_under_round_robin_any_server_hands_out_any_task(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis, "roundRobin")

    workflows = {start(first.client, number) for number in range(10)}
    work_off(second.client, 10)

    assert {status(first.client, each) for each in workflows} == {"COMPLETED"}
    until(lambda: found(first.client, "COMPLETED") == workflows, what="all are found")


def test_under_local_only_tasks_stay_with_the_server_that_started_them(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    first, second = _servers(deployment, newest_redis, "localOnly")
    workflow = start(first.client, 1)

    assert take(second.client, timeout_ms=1000) == []
    (task,) = take(first.client, timeout_ms=5000)
    finish(second.client, task)

    assert status(second.client, workflow) == "COMPLETED"


@pytest.mark.parametrize("strategy", ["roundRobin", "localOnly"])
def test_the_work_of_a_server_that_is_killed_is_taken_over(
    deployment: Deployment, newest_redis: RealRedis, strategy: str
) -> None:
    brief = ("--set", "conductor.redis.shardLease=2s")
    first, second = _servers(deployment, newest_redis, strategy, *brief)
    workflows = {start(first.client, number) for number in range(5)}
    (held,) = take(first.client, timeout_ms=5000, lease_s=3)
    family = first.family()

    first.kill()
    await_gone(family)

    # The held task comes again when its lease ends: by a timer of the shard that changed hands.
    work_off(second.client, 5)
    assert {status(second.client, each) for each in workflows} == {"COMPLETED"}
    assert held["workflowInstanceId"] in workflows


def test_each_process_runs_by_its_own_command(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    shared = _shared(deployment, newest_redis)
    api = deployment.serve(Api(deployment.folder / "api", "api", *shared))
    others = [deployment.run(name, name, *shared) for name in ("sweeper", "effects")]

    workflow = start(api.client, 1)
    lost = take(api.client, timeout_ms=5000, lease_s=2)
    assert len(lost) == 1
    # Only the sweeper gives the task of a worker that is gone to another one.
    work_off(api.client, 1)

    assert status(api.client, workflow) == "COMPLETED"
    until(lambda: found(api.client, "COMPLETED") == {workflow}, what="found by search")
    family = [pid for each in (api, *others) for pid in each.family()]
    assert [each.terminate() for each in (api, *others)] == [0, 0, 0]
    await_gone(family)


def test_an_api_node_that_is_killed_leaves_no_worker_process(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    api = deployment.serve(
        Api(deployment.folder / "api", "api", *_shared(deployment, newest_redis))
    )
    run_script(api.client)
    family = api.family()
    assert len(family) >= 3  # itself, a worker, and a script process of that

    api.kill()

    await_gone(family)


def test_a_worker_process_that_is_killed_is_replaced(
    deployment: Deployment, newest_redis: RealRedis
) -> None:
    api = deployment.serve(
        Api(deployment.folder / "api", "api", *_shared(deployment, newest_redis))
    )
    (worker,) = [pid for pid in api.family() if pid != api.pid]

    os.kill(worker, signal.SIGKILL)

    await_gone([worker])
    until(api.is_healthy, what="healthy again")
    assert api.terminate() == 0


def test_a_redis_that_is_away_is_one_sentence(deployment: Deployment, tmp_path: Path) -> None:
    process = deployment.run("api", "server", "--redis", f"unix://{tmp_path}/nobody")

    assert process.wait() == 1
    (line,) = process.log.splitlines()
    assert line.startswith("Error: Redis does not answer: ")


@pytest.mark.parametrize("command", ["api", "sweeper", "effects"])
def test_a_process_without_a_redis_is_one_sentence(deployment: Deployment, command: str) -> None:
    process = deployment.run(command, command)

    assert process.wait() == 2
    (line,) = process.log.splitlines()
    assert line.startswith("Error: no Redis is named: ")

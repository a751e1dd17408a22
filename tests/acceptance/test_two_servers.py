"""Which task goes to which shard, and who serves it: two servers over one Redis."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from redis import Redis

from tests.acceptance.asking import ask
from tests.acceptance.deployment import Api, Deployment, Stalls, await_gone
from tests.acceptance.stories import ONE_STEP, start, status, take, take_all
from tests.conftest import RealRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_LEASE_S = 3.0
"""Where a server is killed; where none is, a machine that stalls must not move its shard."""
_BRIEF = ("--set", f"conductor.redis.shardLease={_LEASE_S:.0f}s")
_TWO_STEPS: Any = {
    "name": "two_steps",
    "tasks": [
        *ONE_STEP["tasks"],
        {"name": "second", "taskReferenceName": "second", "type": "SIMPLE", "inputParameters": {}},
    ],
}
Say = Callable[[str], None]


@pytest.fixture
def redis(newest_redis: RealRedis) -> Iterator[Redis]:
    with Redis.from_url(newest_redis.url) as client:
        yield client


def _servers(
    deployment: Deployment, redis: RealRedis, strategy: str, *more: str
) -> tuple[Api, Api]:
    """Two API servers that know of each other, and a sweeper for both."""
    shared = (
        *("--redis", redis.url, "--data", str(deployment.folder / "data")),
        *("--set", f"conductor.redis.queueShardingStrategy={strategy}"),
        *more,
    )
    first, second = (
        deployment.serve(Api(deployment.folder / name, "api", *shared))
        for name in ("first", "second")
    )
    deployment.run("sweeper", "sweeper", *shared)
    return first, second


def _queued(server: Api, queue: str) -> dict[str, int]:
    """How many tasks of a queue wait, by shard."""
    found = ask(server, "GET", "/api/tasks/queue/all/verbose").body.get(queue, {})
    return {shard: each["size"] for shard, each in found.items() if each["size"]}


def _shard_of(redis: Redis, workflow: str) -> str:
    """The shard that an execution's newest task was given."""
    (key,) = redis.scan_iter(match=f"*exec:{workflow}", count=10_000)
    fields: Any = redis.hgetall(key)
    states = {
        int(name[2:]): json.loads(value) for name, value in fields.items() if name.startswith(b"a:")
    }
    return str(states[max(states)]["sh"])


def _homes(redis: Redis) -> set[str]:
    """The shards that are held just now."""
    (key,) = redis.scan_iter(match="*:shards", count=10_000)
    names: Any = redis.hkeys(key)
    return {name.decode() for name in names}


def _now_ms(redis: Redis) -> int:
    """By the clock of the store, which terms are instants of."""
    found: Any = redis.time()
    return int(found[0]) * 1000 + int(found[1]) // 1000


def _term(server: Api, shard: str) -> int:
    """When the shard was taken over by whoever holds it."""
    listed: Any = server.client.list_servers()
    terms = {each["shard"]: each["term"] for one in listed for each in one["shards"]}
    return int(terms[shard])


def _know_each_other(first: Api, second: Api) -> None:
    """Wait until each gives tasks to both shards: seen from what it does with probes."""
    for number, server in enumerate((first, second)):
        queue = f"probe_{number}"
        task = {"name": queue, "taskReferenceName": queue, "type": "SIMPLE"}

        def spread(server: Api = server, queue: str = queue, task: Any = task) -> bool:
            server.client.start_workflow(definition={"name": queue, "tasks": [task]})
            return len(_queued(server, queue)) == 2

        until(spread, what="tasks for both shards")


def test_round_robin_gives_each_task_to_the_next_live_shard(
    deployment: Deployment, newest_redis: RealRedis, redis: Redis, say: Say
) -> None:
    first, second = _servers(deployment, newest_redis, "roundRobin")
    _know_each_other(first, second)
    for name, server in (("first", first), ("second", second)):
        before = _queued(first, "step")
        shards = [_shard_of(redis, start(server.client, number)) for number in range(10)]
        say(f"round-robin, started at the {name}: {' '.join(shards)}; {_queued(first, 'step')}")

        assert set(shards) == _homes(redis)
        assert all(one != next_one for one, next_one in pairwise(shards))
        after = _queued(first, "step")
        assert {shard: after[shard] - before.get(shard, 0) for shard in after} == dict.fromkeys(
            set(shards), 5
        )
    # Whoever is asked hands out all of them.
    take_all(second.client, 20)
    assert take(second.client, timeout_ms=100) == []
    assert _queued(first, "step") == {}


def test_local_only_keeps_all_tasks_of_an_execution_with_the_server_that_started_it(
    deployment: Deployment, newest_redis: RealRedis, redis: Redis, say: Say
) -> None:
    first, second = _servers(deployment, newest_redis, "localOnly")
    workflows: dict[str, set[str]] = {}
    shards: dict[str, str] = {}
    for name, server in (("first", first), ("second", second)):
        ids = [server.client.start_workflow(definition=_TWO_STEPS) for _ in range(5)]
        (shards[name],) = {_shard_of(redis, each) for each in ids}
        workflows[name] = set(ids)
    say(f"local-only: {shards}; {_queued(first, 'step')}")
    assert shards["first"] != shards["second"]
    assert _queued(first, "step") == dict.fromkeys(shards.values(), 5)

    for name, server, other in (("first", first, second), ("second", second, first)):
        tasks = take_all(server.client, 5)
        assert take(server.client, timeout_ms=100) == []
        assert {task["workflowInstanceId"] for task in tasks} == workflows[name]
        # Wherever the results go, what follows stays where the execution is at home.
        for task in tasks:
            _finish(other, task)
        assert {_shard_of(redis, each) for each in workflows[name]} == {shards[name]}
        assert other.client.poll_batch("second", worker_id="w", count=10, timeout_ms=500) == []
        found = server.client.poll_batch("second", worker_id="w", count=10, timeout_ms=1000)
        assert {dict(task)["workflowInstanceId"] for task in found} == workflows[name]
        for offered in found:
            _finish(server, dict(offered))
        assert {status(other.client, each) for each in workflows[name]} == {"COMPLETED"}


def _finish(server: Api, task: dict[str, Any]) -> None:
    """Report a task's end at a server that did not hand it out."""
    names = ("workflowInstanceId", "taskId")
    result = {name: task[name] for name in names} | {"workerId": "w", "status": "COMPLETED"}
    server.client.update_task({**result, "outputData": {}})


def test_under_local_only_the_shard_of_a_killed_server_is_served_within_one_lease(
    deployment: Deployment, newest_redis: RealRedis, redis: Redis, say: Say
) -> None:
    first, second = _servers(deployment, newest_redis, "localOnly", *_BRIEF)
    workflows = {start(first.client, number) for number in range(5)}
    shard = _shard_of(redis, next(iter(workflows)))
    assert take(second.client, timeout_ms=100) == []
    family = first.family()

    with Stalls() as stalls:
        first.kill()
        killed_at, killed_at_ms = time.monotonic(), _now_ms(redis)
        await_gone(family)
        tasks = until(lambda: take(second.client, 10, timeout_ms=100), what="its tasks are served")
        gap_s = time.monotonic() - killed_at
        took_ms = _term(second, shard) - killed_at_ms
        tasks += take_all(second.client, 5 - len(tasks))
        assert take(second.client, timeout_ms=100) == []

    say(
        f"local-only: {shard} is served by the other {gap_s:.2f} s after -9, "
        f"taken over after {took_ms} ms; lease {_LEASE_S} s"
    )
    assert {task["workflowInstanceId"] for task in tasks} == workflows
    assert took_ms <= _LEASE_S * 1000 + stalls.longest_ms


def test_under_round_robin_the_shard_of_a_killed_server_has_no_gap(
    deployment: Deployment, newest_redis: RealRedis, redis: Redis, say: Say
) -> None:
    first, second = _servers(deployment, newest_redis, "roundRobin", *_BRIEF)
    _know_each_other(first, second)
    workflows = {start(first.client, number) for number in range(6)}
    assert len(_queued(second, "step")) == 2
    family = first.family()

    first.kill()
    killed_at = time.monotonic()
    await_gone(family)
    tasks = take_all(second.client, 6)
    gap_s = time.monotonic() - killed_at
    assert take(second.client, timeout_ms=100) == []

    say(f"round-robin: {len(_homes(redis))} shards are served by the other {gap_s:.2f} s after -9")
    assert {task["workflowInstanceId"] for task in tasks} == workflows
    # What is started now goes to shards that somebody serves.
    later = {start(second.client, number) for number in range(4)}
    found = take_all(second.client, 4)
    assert take(second.client, timeout_ms=100) == []
    assert {task["workflowInstanceId"] for task in found} == later

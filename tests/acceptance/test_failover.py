"""One of two servers is killed with -9 under load: how long do its executions stand still?"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, Self

import pytest
from redis import Redis

from conductor_py.errors import ConductorError, Conflict, StoreUnavailable
from conductor_py.sdk import Backoff, Client
from tests.acceptance.deployment import Api, Deployment, Stalls, await_gone
from tests.acceptance.stories import status
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(180),
]

_LEASE_S: Final = 4.0
_CLAIM_S: Final = 2
_LOCK_S: Final = 3.0
"""How long an execution waits that the dead server was just deciding on (lockLeaseTime)."""
_ROUNDS: Final = 8
_EACH: Final = 10
_ROUND: Final = (
    {"name": "step", "type": "SIMPLE", "inputParameters": {}},
    {"name": "rest", "type": "WAIT", "inputParameters": {"duration": "1 seconds"}},
)
_LONG: Final[Any] = {
    "name": "long",
    "tasks": [
        {**task, "taskReferenceName": f"{task['name']}_{number}"}
        for number in range(_ROUNDS)
        for task in _ROUND
    ],
}
_SHORT: Final[Any] = {**_LONG, "name": "short", "tasks": _LONG["tasks"][: len(_ROUND)]}
Say = Callable[[str], None]


class Hands:
    """Workers of every server: what one of them was given it reports to whichever answers."""

    def __init__(self, *servers: Api) -> None:
        self._urls = [server.client.server_url for server in servers]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(url,)) for url in self._urls]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _work(self, url: str) -> None:
        clients = {each: Client(each, timeout_s=2, backoff=Backoff(tries=1)) for each in self._urls}
        own = clients.pop(url)
        while not self._stop.is_set():
            try:
                tasks = own.poll_batch(
                    "step", worker_id=url, count=5, timeout_ms=500, lease_s=_CLAIM_S
                )
            except ConductorError:
                self._stop.wait(0.1)
                continue
            for task in tasks:
                self._report(dict(task), [own, *clients.values()], url)
        for client in (own, *clients.values()):
            client.close()

    def _report(self, task: dict[str, Any], clients: list[Client], worker: str) -> None:
        names = ("workflowInstanceId", "taskId", "claimToken")
        result = {name: task[name] for name in names} | {"workerId": worker}
        for client in clients:
            # An answer that is lost leaves a doubt, which the claim token makes harmless.
            with suppress(StoreUnavailable):
                # After a freeze it may come too late: then the task was given to somebody else.
                with suppress(Conflict):
                    client.update_task({**result, "status": "COMPLETED", "outputData": {}})
                return


def _server(
    deployment: Deployment, name: str, redis: RealRedis, strategy: str, shape: tuple[str, ...]
) -> Api:
    return Api(
        deployment.folder / name,
        "server",
        *shape,
        *("--redis", redis.url, "--data", str(deployment.folder / "data")),
        *("--set", f"conductor.redis.queueShardingStrategy={strategy}"),
        *("--set", f"conductor.redis.shardLease={_LEASE_S:.0f}s"),
        *("--set", f"conductor.redis.shards={name}"),
    )


def _shards(server: Api) -> list[list[str]]:
    """What each live server serves."""
    listed: Any = server.client.list_servers()
    return sorted(sorted(each["shard"] for each in one["shards"]) for one in listed)


def _terms(server: Api) -> dict[str, int]:
    listed: Any = server.client.list_servers()
    return {each["shard"]: each["term"] for one in listed for each in one["shards"]}


def _kill_all(server: Api, redis: Redis) -> int:
    """SIGKILL of the server and everything that it runs, at once; when that was."""
    family = server.family()
    killed_at = _now_ms(redis)
    for pid in family:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.wait()
    await_gone(family)
    return killed_at


def _now_ms(redis: Redis) -> int:
    """By the clock of the store, which terms are instants of."""
    found: Any = redis.time()
    return int(found[0]) * 1000 + int(found[1]) // 1000


def _silence_ms(server: Api, workflow: str, since_ms: int) -> int:
    """The longest time after an instant in which nothing of an execution was written."""
    tasks: Any = server.client.get_workflow(workflow)["tasks"]
    names = ("scheduledTime", "startTime", "endTime", "updateTime")
    written = sorted({task[name] for task in tasks for name in names if task.get(name)})
    instants = [since_ms, *(at for at in written if at > since_ms)]
    assert len(instants) > 1, f"{workflow} never went on"
    return max(after - before for before, after in pairwise(instants))


@pytest.mark.parametrize("strategy", ["localOnly", "roundRobin"])
def test_executions_of_a_killed_server_go_on_within_one_lease_and_it_gets_its_shard_back(
    strategy: str,
    shape: tuple[str, ...],
    deployment: Deployment,
    newest_redis: RealRedis,
    say: Say,
) -> None:
    east, west = (
        deployment.serve(_server(deployment, name, newest_redis, strategy, shape))
        for name in ("east", "west")
    )
    until(lambda: _shards(west) == [["east"], ["west"]], what="each holds its own shard")
    began_under = _terms(west)["east"]
    url = newest_redis.url
    with Hands(east, west), Redis.from_url(url) as redis, Stalls() as stalls:
        of_east, of_west = (
            [server.client.start_workflow(definition=_LONG) for _ in range(_EACH)]
            for server in (east, west)
        )
        until(lambda: _has_begun(west, of_east), what="all of them are under way")

        killed_at = _kill_all(east, redis)
        until(lambda: _shards(west) == [["east", "west"]], what="the take-over")
        taken_under = _terms(west)["east"]

        everything = (*of_east, *of_west)
        until(
            lambda: all(status(west.client, each) == "COMPLETED" for each in everything),
            60,
            what="nothing is lost",
        )
        gaps = [_silence_ms(west, each, killed_at) for each in of_east]
        others = [_silence_ms(west, each, killed_at) for each in of_west]
        say(
            f"{strategy}: {_EACH} executions of a server killed with -9 stood still for "
            f"{min(gaps)} to {max(gaps)} ms, those of the other for at most {max(others)} ms; "
            f"taken over after {taken_under - killed_at} ms; shard lease {_LEASE_S:.0f} s; "
            f"the machine stalled for at most {stalls.longest_ms} ms"
        )
        assert taken_under > began_under
        assert taken_under - killed_at <= _LEASE_S * 1000 + stalls.longest_ms
        assert max(gaps) <= (_LEASE_S + 1) * 1000 + stalls.longest_ms
        # The lock, a step, and a busy machine.
        assert max(others) <= _LOCK_S * 1000 + 1_500 + stalls.longest_ms
        _done_once(west, everything)

        east.start()
        ready_at = _now_ms(redis)

        until(lambda: _shards(east) == [["east"], ["west"]], what="its shard is its own")
        assert taken_under < _terms(west)["east"]
        assert _terms(west)["east"] - ready_at <= _LEASE_S * 1000 + stalls.longest_ms
        again = east.client.start_workflow(definition=_SHORT)
        until(lambda: status(east.client, again) == "COMPLETED", what="it works as before")


def test_a_server_that_freezes_under_load_is_stood_in_for_and_does_nothing_twice_when_it_wakes(
    deployment: Deployment, shape: tuple[str, ...], newest_redis: RealRedis, say: Say
) -> None:
    east, west = (
        deployment.serve(_server(deployment, name, newest_redis, "localOnly", shape))
        for name in ("east", "west")
    )
    until(lambda: _shards(west) == [["east"], ["west"]], what="each holds its own shard")
    url = newest_redis.url
    with Hands(east, west), Redis.from_url(url) as redis, Stalls() as stalls:
        workflows = [east.client.start_workflow(definition=_LONG) for _ in range(_EACH)]
        until(lambda: _has_begun(west, workflows), what="all of them are under way")
        family = east.family()
        frozen_at = _now_ms(redis)
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: _shards(west) == [["east", "west"]], what="the take-over")
            taken_under = _terms(west)["east"]
            before = _progress(west, workflows)
            until(lambda: _progress(west, workflows) > before + _EACH, what="they go on")
        finally:
            for pid in family:
                os.kill(pid, signal.SIGCONT)

        woken_at = _now_ms(redis)
        until(lambda: _shards(west) == [["east"], ["west"]], what="the hand-back")
        handed_back_under = _terms(west)["east"]
        until(
            lambda: all(status(west.client, each) == "COMPLETED" for each in workflows),
            60,
            what="nothing is lost",
        )
        gaps = [_silence_ms(west, each, frozen_at) for each in workflows]
        say(
            f"frozen: its executions stood still for {max(gaps)} ms; "
            f"taken over after {taken_under - frozen_at} ms, handed back after "
            f"{handed_back_under - woken_at} ms; shard lease {_LEASE_S:.0f} s; "
            f"the machine stalled for at most {stalls.longest_ms} ms"
        )
        assert taken_under < handed_back_under
        assert taken_under - frozen_at <= _LEASE_S * 1000 + stalls.longest_ms
        assert handed_back_under - woken_at <= _LEASE_S * 1000 + stalls.longest_ms
        assert max(gaps) <= (_LEASE_S + 1) * 1000 + stalls.longest_ms
        _done_once(west, workflows)


def _progress(server: Api, workflows: list[str]) -> int:
    """How many tasks have been done."""
    documents: Any = [server.client.get_workflow(each) for each in workflows]
    return sum(task["status"] == "COMPLETED" for each in documents for task in each["tasks"])


def _done_once(server: Api, workflows: Iterable[str]) -> None:
    """Every step of every execution is done, and is done once."""
    wanted = {task["taskReferenceName"]: 1 for task in _LONG["tasks"]}
    for workflow in workflows:
        tasks: Any = server.client.get_workflow(workflow)["tasks"]
        done = [task["referenceTaskName"] for task in tasks if task["status"] == "COMPLETED"]
        assert Counter(done) == wanted, workflow


def _has_begun(server: Api, workflows: list[str]) -> bool:
    """Whether each is past its first round."""
    for workflow in workflows:
        tasks: Any = server.client.get_workflow(workflow)["tasks"]
        if len(tasks) < 3:
            return False
    return True

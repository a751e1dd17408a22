"""Several servers or API nodes over a cluster, and over a Redis that Sentinel watches: a primary is
killed under load, and what was accepted before goes on.
"""

import itertools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest
from redis.crc import key_slot

from conductor_py.errors import ConductorError, NotFound, StoreUnavailable
from conductor_py.sdk import Backoff, Client
from tests.acceptance.deployment import ONE_PROCESS, Api, Deployment
from tests.conftest import RealRedis
from tests.services import absent
from tests.services.cache import Unobtainable
from tests.services.redis_groups import RedisCluster, WatchedRedis
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(300),
]

_PARTITIONS = 8
_BEFORE_S, _AFTER_S, _FINISH_S = 4.0, 8.0, 90.0
"""Load lasts at least so long before a kill and after it; then its work must have ended."""
_GOES_ON_S = 60.0
_REPLICATED_S = 1.0
"""What was answered so long before the kill is on the replica."""
_TWO_STEPS: Any = {
    "name": "two_steps",
    "version": 1,
    "tasks": [
        {
            "name": name,
            "taskReferenceName": name,
            "type": "SIMPLE",
            "inputParameters": {"number": "${workflow.input.number}"},
            "taskDefinition": {
                "name": name,
                "retryCount": 10,
                "retryDelaySeconds": 0,
                "responseTimeoutSeconds": 5,
                **more,
            },
        }
        for name, more in (("first", {}), ("second", {"concurrentExecLimit": 6}))
    ],
    "outputParameters": {"number": "${second.output.number}"},
}


class Group(Protocol):
    """Servers of which one can be killed."""

    def hosts(self) -> str: ...


@dataclass
class Load:
    """Who starts and who works, on threads of their own, until `stop`."""

    clients: list[Client]
    stop: threading.Event = field(default_factory=threading.Event)
    enough: threading.Event = field(default_factory=threading.Event)
    pause: threading.Event = field(default_factory=threading.Event)
    accepted: dict[str, tuple[int, float]] = field(default_factory=dict)
    answers: list[tuple[float, float]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    threads: list[threading.Thread] = field(default_factory=list)

    def begin(self) -> None:
        turn = itertools.cycle(self.clients)
        for work in (self._start, self._work, self._work, self._work):
            thread = threading.Thread(target=work, args=(next(turn),), daemon=True)
            thread.start()
            self.threads.append(thread)

    def lasts_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for what the load brings about; without it, tell how the load has fared."""
        try:
            until(condition, _GOES_ON_S, what=what)
        except AssertionError as error:
            error.add_note(f"refused {dict(self.refused)}; done {dict(self.done)}")
            raise

    def _start(self, client: Client) -> None:
        for number in itertools.count():
            if self.enough.is_set():
                return
            began = time.monotonic()
            try:
                # What was not answered is started again under the same key.
                found = self._insisted(
                    lambda number=number: client.start_workflow(  # type: ignore[misc]
                        definition=_TWO_STEPS,
                        input={"number": number},
                        idempotency_key=f"n{number}",
                        idempotency_strategy="RETURN_EXISTING",
                    )
                )
            except ConductorError as error:
                self.refused[error.code] += 1
                continue
            now = time.monotonic()
            self.accepted[found] = (number, now)
            self.answers.append((began, now - began))
            self.enough.wait(0.02)

    def _insisted(self, call: Callable[[], str]) -> str:
        while True:
            try:
                return call()
            except StoreUnavailable:
                self.refused["503"] += 1
                if self.enough.wait(0.1):
                    raise

    def _work(self, client: Client) -> None:
        kinds = itertools.cycle(("first", "second"))
        while not self.stop.is_set():
            kind = next(kinds)
            try:
                tasks = client.poll_batch(kind, worker_id="w", count=4, timeout_ms=100)
            except ConductorError as error:
                self.refused[f"poll {error.code}"] += 1
                self.stop.wait(0.1)
                continue
            for task in tasks:
                self._report(client, task)

    def _report(self, client: Client, task: Any) -> None:
        result = {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "workerId": "w",
            "claimToken": task.get("claimToken", 0),
            "status": "COMPLETED",
            "outputData": {"number": task["inputData"]["number"]},
        }
        for _ in range(100):
            try:
                client.update_task(result)
            except StoreUnavailable:
                self.refused["report 503"] += 1
                self.pause.wait(0.1)
            except ConductorError as error:  # gone with the last moment of its primary
                self.refused[f"report {error.code}"] += 1
                return
            else:
                self.done[str(task["taskType"])] += 1
                return


def _served(
    deployment: Deployment,
    shape: tuple[str, ...],
    group: Group,
    queue: RealRedis,
    *options: str,
) -> tuple[Api, Api]:
    """Two that serve HTTP: servers of one process, or API nodes with the other parts apart."""
    shared = (
        *("--set", f"conductor.redis.hosts={group.hosts()}"),
        *("--set", f"conductor.effects.redisUrl={queue.url}"),
        *("--data", str(deployment.folder / "data")),
        *options,
    )
    command = ("server", *shape) if shape == ONE_PROCESS else ("api",)
    first, second = (
        deployment.serve(Api(deployment.folder / name, *command, *shared))
        for name in ("first", "second")
    )
    if shape != ONE_PROCESS:
        for name in ("sweeper", "effects"):
            deployment.run(name, name, *shared)
    return first, second


def _through(
    servers: tuple[Api, Api], kill: Callable[[], float], say: Callable[[str], None]
) -> None:
    """Load, a kill in the middle of it, and the proof that nothing hangs."""
    clients = [
        Client(f"http://127.0.0.1:{server.port}/api", timeout_s=20, backoff=Backoff(tries=1))
        for server in servers
        for _ in range(2)
    ]
    load = Load(clients)
    began_at = time.monotonic()
    load.begin()
    load.pause.wait(_BEFORE_S)
    load.lasts_until("executions come to their end", lambda: load.done["second"] > 10)
    killed_at = kill()
    load.pause.wait(_AFTER_S)
    late = killed_at + _AFTER_S / 2
    load.lasts_until(
        "somebody can start something after the failover",
        lambda: any(began > late for began, _ in tuple(load.answers)),
    )

    # No more is started; the workers go on until nothing is left.
    load.enough.set()
    lasted_s = time.monotonic() - began_at
    load.threads[0].join(30)
    starts_end = dict(load.accepted)
    reader = servers[0].client
    left = set(starts_end)
    states: Counter[str] = Counter()
    lost: list[str] = []

    def all_ended() -> bool:
        for execution in tuple(left):
            try:
                state = str(reader.workflow_status(execution)["status"])
            except NotFound:
                lost.append(execution)
            except StoreUnavailable:
                return False
            else:
                if state == "RUNNING":
                    continue
                states[state] += 1
            left.discard(execution)
        return not left

    try:
        try:
            until(all_ended, _FINISH_S, what="every execution has ended")
        except AssertionError as error:
            error.add_note(_told(reader, load, left))
            raise
        _each_step_once(reader, {each: starts_end[each][0] for each in starts_end.keys() - lost})
        _nothing_broken(reader)
    finally:
        load.enough.set()
        load.stop.set()
        for thread in load.threads:
            thread.join(30)
        for client in clients:
            client.close()
        longest = max((took for _, took in load.answers), default=0)
        say(
            f"{len(starts_end)} accepted, {len(starts_end) / lasted_s:.0f} a second, "
            f"{dict(states)}, {len(lost)} lost, {len(left)} left; "
            f"longest start {longest:.1f} s; refused {dict(load.refused)}"
        )
    assert set(states) == {"COMPLETED"}
    early = [one for one in lost if starts_end[one][1] < killed_at - _REPLICATED_S]
    assert early == [], "what was on the replica is lost"


def _told(reader: Client, load: Load, left: set[str]) -> str:
    """What keeps those that are left, and whether anybody still works."""
    counts = f"{len(left)} of {len(load.accepted)} left; done {dict(load.done)}"
    alive = [thread.is_alive() for thread in load.threads]
    lines = [f"{counts}; refused {dict(load.refused)}; alive {alive}"]
    asks = (reader.get_workflow, reader.explain_workflow)
    for ask, execution in itertools.product(asks, sorted(left)[:3]):
        try:
            lines.append(str(ask(execution)))
        except ConductorError as error:
            lines.append(f"{execution}: {error!r}")
    return "\n".join(lines)


def _each_step_once(reader: Client, numbers: dict[str, int]) -> None:
    """Each execution has done each step once, with what it was started with."""
    assert len(set(numbers.values())) == len(numbers), "one key has led to two executions"
    for execution, number in numbers.items():
        found: Any = reader.get_workflow(execution)
        assert found["output"] == {"number": number}
        done = [
            (task["referenceTaskName"], task["outputData"])
            for task in found["tasks"]
            if task["status"] == "COMPLETED"
        ]
        assert done == [(step, {"number": number}) for step in ("first", "second")], execution


def _nothing_broken(reader: Client) -> None:
    """The audit of the whole store finds no violation."""
    cursor: str | None = None
    while cursor != "":
        page: Any = reader.audit_page(cursor or "", size=500)
        cursor = str(page["cursor"])
        assert [found for found in page["findings"] if found.get("invariant")] == []


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def told(sentence: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {sentence}\n")

    return told


@pytest.fixture
def cluster(redis_servers: object) -> Iterator[RedisCluster]:
    found = _or_absent(RedisCluster)
    yield found
    found.stop()


@pytest.fixture
def watched(redis_servers: object) -> Iterator[WatchedRedis]:
    found = _or_absent(WatchedRedis)
    yield found
    found.stop()


def _or_absent(kind: Any) -> Any:
    try:
        return kind().start()
    except Unobtainable as error:
        sentence = str(error)
    return absent(sentence)


def test_primary_of_a_cluster_is_killed_under_load(
    deployment: Deployment,
    shape: tuple[str, ...],
    cluster: RedisCluster,
    newest_redis: RealRedis,
    say: Callable[[str], None],
) -> None:
    kind = ("--set", "conductor.db.type=redis_cluster")
    partitions = ("--set", f"conductor.redis.partitions={_PARTITIONS}")
    servers = _served(deployment, shape, cluster, newest_redis, *kind, *partitions)

    def kill() -> float:
        # The one with definitions, shards and schedules.
        cluster.owner(key_slot(b"{conductor:0}")).kill()
        return time.monotonic()

    _through(servers, kill, say)
    assert len(cluster.primaries()) == 3


def test_primary_behind_sentinel_is_killed_under_load(
    deployment: Deployment,
    shape: tuple[str, ...],
    watched: WatchedRedis,
    newest_redis: RealRedis,
    say: Callable[[str], None],
) -> None:
    kind = ("--set", "conductor.db.type=redis_sentinel")
    master = ("--set", f"conductor.redis.sentinelMasterName={watched.master}")
    servers = _served(deployment, shape, watched, newest_redis, *kind, *master)

    def kill() -> float:
        watched.primary().kill()
        return time.monotonic()

    _through(servers, kill, say)

"""What each lock gives with and without the comparison of versions, and what it does not.

Two servers over one real Redis, the table of docs/explanation/consistency.md. The holder of a lock
sleeps past its end in mid-decision, and wakes with a commit in its hands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from conductor_py.adapters.machine_lock import MachineLock
from conductor_py.adapters.redis.connection import Connection
from conductor_py.config import load
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.lock import Lock
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wiring import locks as wiring
from tests.anomalies import world as worlds
from tests.anomalies.test_on_redis import RedisWorld
from tests.anomalies.world import LEASE_S
from tests.builders import Json, fork, join, simple, status_of, workflow
from tests.conftest import RealRedis
from tests.services.zookeeper import LONGEST_SESSION_MS, ZooKeeper
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.service, pytest.mark.timeout(300)]

_DEADLINE_S = 60


class OwnLock:
    """A lock that somebody installed: leases in a dictionary, by the clock of the test."""

    clock: FakeClock
    leases: dict[str, tuple[str, int]]

    def __init__(self, given: Any) -> None:
        assert given["conductor.workflow-execution-lock.type"] == "own"

    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        _, until = self.leases.get(execution, ("", 0))
        if until > self.clock():
            return False
        self.leases[execution] = (holder, self.clock() + lease_ms)
        return True

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        by, until = self.leases.get(execution, ("", 0))
        return by == holder and until > self.clock()

    def release(self, execution: ExecutionId, holder: str) -> bool:
        kept = self.renew(execution, holder, lease_ms=0)
        if kept:
            del self.leases[execution]
        return kept


@dataclass(slots=True)
class _Locks:
    """The locks of two servers, and how the first one loses what it holds, beside by time."""

    of_servers: tuple[Lock | None, Lock | None] = (None, None)
    take_lease: bool = False
    lose: Callable[[], object] = lambda: None
    closing: list[Callable[[], object]] = field(default_factory=list)


@pytest.fixture
def connection(newest_redis: RealRedis) -> Iterator[Connection]:
    opened = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    yield opened
    opened.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def _made(kind: str, clock: FakeClock, folder: Path, request: pytest.FixtureRequest) -> _Locks:
    match kind:
        case "redis":
            return _Locks(take_lease=True)
        case "none":
            return _Locks()
        case "zookeeper":
            return _zookeeper(request.getfixturevalue("zookeeper_server"), folder, clock)
        case "own":
            return _own(clock)
    folders = (folder, folder if kind == "local_only" else folder / "elsewhere")
    first, second = (MachineLock(f / "locks", monotonic=clock.monotonic) for f in folders)
    return _Locks((first, second))


def _zookeeper(server: ZooKeeper, folder: Path, clock: FakeClock) -> _Locks:
    from conductor_py.adapters.zookeeper.lock import ZookeeperLock
    from tests.adapters.test_zookeeper_lock import expire

    namespace = f"test/{folder.name}"
    first, second = (
        ZookeeperLock(
            server.hosts,
            namespace=namespace,
            connect_ms=60_000,
            session_ms=LONGEST_SESSION_MS,
            monotonic=clock.monotonic,
        )
        for _ in range(2)
    )
    return _Locks(
        (first, second), lose=lambda: expire(first, server), closing=[first.close, second.close]
    )


def _own(clock: FakeClock) -> _Locks:
    OwnLock.clock, OwnLock.leases = clock, {}
    points = EntryPoints([EntryPoint("own", f"{__name__}:OwnLock", "conductor_py.locks")])
    settings = load(flags={"conductor.workflow-execution-lock.type": "own"})
    with (
        patch.object(wiring, "entry_points", lambda **_: points),
        patch.object(EntryPoint, "load", lambda _: OwnLock),
    ):
        return _Locks((wiring.lock_of(settings), wiring.lock_of(settings)))


class _Servers(RedisWorld):
    """Two servers, and what the store answered to the decisions of each."""

    def __init__(
        self, connection: Connection, clock: FakeClock, locks: _Locks, *, fencing: bool
    ) -> None:
        remaining = iter(locks.of_servers)

        def server(**options: Any) -> MemoryEngine:
            return memory_engine(lock=next(remaining), take_lease=locks.take_lease, **options)

        with patch.object(worlds, "memory_engine", server):
            super().__init__(connection, clock=clock, fencing=fencing)
        self.outcomes: tuple[list[str], list[str]] = ([], [])
        for engine, outcomes in zip(self.servers, self.outcomes, strict=True):
            _note(engine, outcomes)


def _note(engine: MemoryEngine, outcomes: list[str]) -> None:
    store: Any = engine.ports.store
    commit = store.commit

    def noting(order: Any) -> Any:
        reply = commit(order)
        outcomes.append(reply.outcome.value)
        return reply

    store.commit = noting


@dataclass(frozen=True, slots=True)
class Gives:
    """What a combination gives: the columns of the table."""

    alone: bool
    """While one server decides on an execution, the other leaves it alone."""
    ended_stays: bool
    """What one that woke up decided because of the time changes nothing any more."""


ROWS = {
    ("redis", "on"): Gives(alone=True, ended_stays=True),
    ("redis", "off"): Gives(alone=True, ended_stays=False),
    ("zookeeper", "on"): Gives(alone=True, ended_stays=True),
    ("zookeeper", "off"): Gives(alone=True, ended_stays=False),
    ("local_only", "on"): Gives(alone=True, ended_stays=True),
    ("local_only", "off"): Gives(alone=True, ended_stays=False),
    ("local_only_two_machines", "on"): Gives(alone=False, ended_stays=True),
    ("local_only_two_machines", "off"): Gives(alone=False, ended_stays=False),
    ("none", "on"): Gives(alone=False, ended_stays=True),
    ("none", "off"): Gives(alone=False, ended_stays=False),
    ("own", "on"): Gives(alone=True, ended_stays=True),
    ("own", "off"): Gives(alone=True, ended_stays=False),
}


@pytest.mark.anomaly("A-24")
@pytest.mark.anomaly("A-25")
@pytest.mark.parametrize(("lock", "fencing"), ROWS, ids=map("-".join, ROWS))
def test_what_lock_and_fencing_give(  # noqa: PLR0917 - the row, and what it is played with
    lock: str,
    fencing: str,
    connection: Connection,
    clock: FakeClock,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    gives, locks = ROWS[lock, fencing], _made(lock, clock, tmp_path, request)
    with ExitStack() as stack:
        for close in locks.closing:
            stack.callback(close)
        for story in (_at_the_same_time, _slept_over_results, _slept_over_a_deadline):
            with closing(_Servers(connection, clock, locks, fencing=fencing == "on")) as servers:
                story(servers, locks, gives)


def _at_the_same_time(servers: _Servers, _: _Locks, gives: Gives) -> None:
    """The second takes a result in while the first decides. Neither result is lost in any row."""
    first, second = servers.servers
    branches = fork("f", [simple("a")], [simple("b")])
    started = first.start(workflow("w", branches, join("j", "a", "b"), simple("c")))
    (a,), (b,) = first.poll("a"), first.poll("b")
    servers.meanwhile(0, "store.commit", lambda: second.complete(b))
    first.complete(a)

    assert (servers.outcomes[1] == []) is gives.alone
    refused = ["OK"] if gives.alone else ["STALE"]
    assert servers.outcomes[0][:1] == refused, "alone nothing is decided in vain"
    servers.clock.advance(seconds=LEASE_S)
    second.engine.steering.decide(started)
    assert _tasks(first, started) == ["a COMPLETED", "b COMPLETED", "c SCHEDULED"]
    second.run("c")
    assert status_of(second, started) == "COMPLETED"
    assert servers.entries() == []


def _slept_over_results(servers: _Servers, locks: _Locks, _: Gives) -> None:
    """Events are numbered: a decision on those that are consumed by now is refused in any row."""
    first, second = servers.servers
    started = first.start(workflow("w", simple("a"), simple("b"), simple("c")))
    (a,) = first.poll("a")
    before: list[Json] = []

    def meanwhile() -> None:
        locks.lose()
        second.engine.steering.decide(started)
        second.run("b")
        before.append(second.workflow(started))

    servers.held_up(0, "store.commit", meanwhile)
    first.complete(a)

    assert servers.outcomes[0] == ["STALE"]
    assert servers.outcomes[1] == ["OK", "OK"]
    assert first.workflow(started) == before[0]
    assert _tasks(first, started) == ["a COMPLETED", "b COMPLETED", "c SCHEDULED"]
    assert len(first.poll("c", 5)) == 1


def _slept_over_a_deadline(servers: _Servers, locks: _Locks, gives: Gives) -> None:
    """Nothing came in that could tell the store, nothing is cleaned up: only the version can."""
    first, second = servers.servers
    started = _idle_until_its_deadline(first)
    servers.clock.advance(seconds=_DEADLINE_S + 1)
    before: list[Json] = []

    def meanwhile() -> None:
        locks.lose()
        second.engine.steering.decide(started)
        before.append(second.workflow(started))

    servers.outcomes[0].clear()
    servers.held_up(0, "store.commit", meanwhile)
    first.engine.sweeper.tick()

    (ended,), after = before, second.workflow(started)
    assert ended["status"] == after["status"] == "TIMED_OUT", "terminal stays terminal"
    assert servers.outcomes[0][0] == ("STALE" if gives.ended_stays else "OK")
    assert (after == ended) is gives.ended_stays
    if not gives.ended_stays:
        assert after["endTime"] < ended["endTime"], "it has ended a second time, and earlier"


def _idle_until_its_deadline(server: MemoryEngine) -> str:
    """Start an execution that waits until another of its kind has ended: it has no task yet."""
    more = {
        "timeoutSeconds": _DEADLINE_S,
        "timeoutPolicy": "TIME_OUT_WF",
        "rateLimitConfig": {"rateLimitKey": "one", "concurrentExecLimit": 1},
    }
    server.start(workflow("w", simple("a"), **{**more, "timeoutSeconds": 0}))
    return server.start(workflow("w", simple("a"), **more))


def _tasks(server: MemoryEngine, started: str) -> list[str]:
    tasks = server.workflow(started)["tasks"]
    plain = [task for task in tasks if task["referenceTaskName"] in {"a", "b", "c"}]
    return [f"{task['referenceTaskName']} {task['status']}" for task in plain]


@pytest.mark.parametrize("lock", ["zookeeper", "local_only", "own"])
def test_without_fencing_a_lock_that_is_lost_before_the_commit_begins_stops_it(
    lock: str,
    connection: Connection,
    clock: FakeClock,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The holder asks for its lock once more: what it slept over before that is not committed."""
    locks = _made(lock, clock, tmp_path, request)
    with ExitStack() as stack:
        for close in locks.closing:
            stack.callback(close)
        servers = stack.enter_context(closing(_Servers(connection, clock, locks, fencing=False)))
        first, second = servers.servers
        started = _idle_until_its_deadline(first)
        clock.advance(seconds=_DEADLINE_S + 1)
        ended: list[Json] = []
        asked: Any = locks.of_servers[0]
        renew = asked.renew

        def sleeps(*given: Any, **named: Any) -> Any:
            asked.renew = renew
            clock.advance(seconds=LEASE_S + 1)
            locks.lose()
            second.engine.steering.decide(started)
            ended.append(second.workflow(started))
            return renew(*given, **named)

        asked.renew = sleeps
        servers.outcomes[0].clear()
        first.engine.sweeper.tick()

        assert servers.outcomes == ([], ["OK"])
        assert second.workflow(started) == ended[0]

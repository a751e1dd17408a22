"""What ``ports/lock.py`` promises, kept by the file of a machine and by a real ZooKeeper."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor_py.adapters.machine_lock import MachineLock
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.lock import Lock
from conductor_py.testing import FakeClock
from tests.services.zookeeper import LONGEST_SESSION_MS, ZooKeeper
from tests.waiting import PATIENCE_S, until

_LEASE_MS = 3_000
_ONE = ExecutionId("000" + "1" * 29)
_OTHER = ExecutionId("000" + "2" * 29)
_LONGER_THAN_PATIENCE_MS = 600_000
Servers = Callable[[], Lock]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["local_only", pytest.param("zookeeper", marks=pytest.mark.service)])
def server(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> Iterator[Servers]:
    """Make locks of one service, as servers of a deployment do."""
    if request.param == "local_only":
        yield lambda: MachineLock(tmp_path / "locks", monotonic=clock.monotonic)
        return
    from conductor_py.adapters.zookeeper.lock import ZookeeperLock

    zookeeper: ZooKeeper = request.getfixturevalue("zookeeper_server")
    made: list[ZookeeperLock] = []

    def make() -> Lock:
        namespace = f"test/{tmp_path.name}"
        made.append(
            ZookeeperLock(
                zookeeper.hosts,
                namespace=namespace,
                connect_ms=60_000,
                session_ms=LONGEST_SESSION_MS,
                monotonic=clock.monotonic,
            )
        )
        return made[-1]

    yield make
    for lock in made:
        lock.close()


def _acquire(lock: Lock, holder: str, execution: ExecutionId = _ONE, wait_ms: int = 0) -> bool:
    return lock.acquire(execution, holder, wait_ms=wait_ms, lease_ms=_LEASE_MS)


def test_one_holder_at_a_time_on_every_server(server: Servers) -> None:
    first, second = server(), server()
    assert _acquire(first, "a")
    assert not _acquire(second, "b")
    assert not _acquire(first, "c")
    assert _acquire(second, "b", _OTHER)
    assert first.release(_ONE, "a")
    assert _acquire(second, "b")
    assert second.release(_ONE, "b")
    assert second.release(_OTHER, "b")


def test_only_the_holder_renews_and_releases(server: Servers) -> None:
    first, second = server(), server()
    assert _acquire(first, "a")
    for lock in (first, second):
        assert not lock.renew(_ONE, "b", lease_ms=_LEASE_MS)
        assert not lock.release(_ONE, "b")
    assert not _acquire(second, "b"), "still held"
    assert first.renew(_ONE, "a", lease_ms=_LEASE_MS)
    assert first.release(_ONE, "a")
    assert not first.release(_ONE, "a"), "given up already"


def test_whoever_sleeps_past_the_lease_has_lost_it_and_takes_nothing_from_the_next(
    server: Servers, clock: FakeClock
) -> None:
    first, second = server(), server()
    assert _acquire(first, "a")
    clock.advance(milliseconds=_LEASE_MS + 1)
    until(lambda: _acquire(second, "b"), what="the lease of the sleeper is over")
    assert not first.renew(_ONE, "a", lease_ms=_LEASE_MS)
    assert not first.release(_ONE, "a")
    assert not _acquire(first, "c"), "what the other has by now stays"
    assert second.release(_ONE, "b")


def test_a_renewed_lock_lasts(server: Servers, clock: FakeClock) -> None:
    first, second = server(), server()
    assert _acquire(first, "a")
    for _ in range(3):
        clock.advance(milliseconds=_LEASE_MS - 1)
        assert first.renew(_ONE, "a", lease_ms=_LEASE_MS)
        assert not _acquire(second, "b")
    assert first.release(_ONE, "a")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same-server", "another-server"])
def test_who_waits_gets_the_lock_when_it_is_given_up(server: Servers, *, elsewhere: bool) -> None:
    first = server()
    second = server() if elsewhere else first
    assert _acquire(first, "a")
    assert not _acquire(second, "b", wait_ms=30), "nobody lets go"
    began = threading.Event()
    got: list[bool] = []

    def wait() -> None:
        began.set()
        got.append(_acquire(second, "b", wait_ms=_LONGER_THAN_PATIENCE_MS))

    waiting = threading.Thread(target=wait)
    waiting.start()
    began.wait()
    assert first.release(_ONE, "a")
    waiting.join(PATIENCE_S)
    assert got == [True], "it is told, not timed out"
    assert second.release(_ONE, "b")


def test_many_threads_of_two_servers_never_hold_it_together(server: Servers) -> None:
    locks = [server(), server()]
    inside: list[str] = []
    most: list[int] = []

    def work(number: int) -> None:
        lock = locks[number % 2]
        for turn in range(5):
            holder = f"{number}-{turn}"
            assert _acquire(lock, holder, wait_ms=_LONGER_THAN_PATIENCE_MS)
            inside.append(holder)
            most.append(len(inside))
            inside.remove(holder)
            assert lock.release(_ONE, holder)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 30
    assert max(most) == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_a_connection_of_its_own(server: Servers) -> None:
    """Granian and RQ fork: the child neither uses what its parent has open, nor breaks it."""
    lock = server()
    assert _acquire(lock, "parent")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fine = not _acquire(lock, "child") and _acquire(lock, "child", _OTHER)
            code = 0 if fine and lock.release(_OTHER, "child") else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert lock.renew(_ONE, "parent", lease_ms=_LEASE_MS)
    assert lock.release(_ONE, "parent")

"""Locks in a real ZooKeeper: sessions that end, processes that die, servers that go and come."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from conductor_py.adapters.zookeeper.lock import ZookeeperLock
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import FakeClock
from tests.services import start_zookeeper
from tests.services.processes import die_with_parent
from tests.services.zookeeper import LONGEST_SESSION_MS, ZooKeeper
from tests.waiting import PATIENCE_S, until

_ONE = ExecutionId("000" + "1" * 29)
_OTHER = ExecutionId("000" + "2" * 29)
_ROOT = Path(__file__).parents[2]
_PATIENCE_MS = int(PATIENCE_S * 1000)
_HOLDER = """
import sys, threading
from conductor_py.adapters.zookeeper.lock import ZookeeperLock
hosts, namespace, session_ms, execution = sys.argv[1:]
lock = ZookeeperLock(hosts, namespace=namespace, session_ms=int(session_ms), connect_ms=60_000)
assert lock.acquire(execution, "child", wait_ms=0, lease_ms=600_000)
print("held", flush=True)
threading.Event().wait()
"""


def _client(lock: ZookeeperLock) -> Any:
    return lock._locks.get()._session._client


def _nodes(client: Any, folder: str) -> list[str]:
    return list(client.get_children(folder)) if client.exists(folder) else []


def expire(lock: ZookeeperLock, server: ZooKeeper) -> None:
    """End the session of a lock, as the server does when it has not heard of it for long."""
    client = _client(lock)
    lost = client.client_id

    def ended() -> bool:
        thief = KazooClient(hosts=server.hosts, client_id=lost, timeout=10)
        thief.start(timeout=PATIENCE_S)
        same = thief.client_id == lost
        thief.stop()
        thief.close()
        return not same  # there is no such session any more

    until(ended, what="the session is over")
    until(lambda: client.connected and client.client_id != lost, what="a new session")


def _acquire(
    lock: ZookeeperLock, holder: str, execution: ExecutionId = _ONE, wait_ms: int = 0
) -> bool:
    return lock.acquire(execution, holder, wait_ms=wait_ms, lease_ms=600_000)


@pytest.fixture
def namespace(tmp_path: Path) -> str:
    return f"test/{tmp_path.name}"


@pytest.fixture
def locks(
    zookeeper_server: ZooKeeper, namespace: str
) -> Iterator[tuple[ZookeeperLock, ZookeeperLock]]:
    made = [
        ZookeeperLock(
            zookeeper_server.hosts,
            namespace=namespace,
            connect_ms=_PATIENCE_MS,
            session_ms=LONGEST_SESSION_MS,
        )
        for _ in range(2)
    ]
    yield made[0], made[1]
    for lock in made:
        lock.close()


def test_a_session_that_ends_loses_its_locks_aloud_and_takes_none_from_the_next_holder(
    locks: tuple[ZookeeperLock, ZookeeperLock],
    zookeeper_server: ZooKeeper,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = locks
    assert _acquire(first, "a")
    with caplog.at_level(logging.WARNING):
        expire(first, zookeeper_server)
    assert _acquire(second, "b", wait_ms=_PATIENCE_MS)
    assert not first.renew(_ONE, "a", lease_ms=600_000)
    assert not first.release(_ONE, "a")
    assert not _acquire(first, "c"), "the node of the other is still there"
    (lost,) = [r for r in caplog.records if getattr(r, "action", "") == "lock_session_lost"]
    assert lost.__dict__["locks"] == 1
    assert second.release(_ONE, "b")
    assert _acquire(first, "d"), "the next session of the first is as good"
    assert first.release(_ONE, "d")


def test_nothing_is_left_of_what_was_locked(
    locks: tuple[ZookeeperLock, ZookeeperLock], namespace: str
) -> None:
    first, second = locks
    for number in range(20):
        execution = ExecutionId(f"{number:032x}")
        assert _acquire(first, "a", execution)
        assert first.release(execution, "a")
    assert _acquire(second, "b")
    assert _nodes(_client(first), f"/{namespace}/locks") == [_ONE]
    assert second.release(_ONE, "b")
    assert _nodes(_client(first), f"/{namespace}/locks") == []
    assert len(_nodes(_client(first), f"/{namespace}/sessions")) == 2


@pytest.mark.thorough(target="timing")
def test_the_lock_of_a_killed_process_passes_on_with_its_session(
    zookeeper_server: ZooKeeper, namespace: str, locks: tuple[ZookeeperLock, ZookeeperLock]
) -> None:
    holder = subprocess.Popen(
        (
            *(sys.executable, "-c", _HOLDER, zookeeper_server.hosts, namespace),
            *("10_000", _ONE),
        ),
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - one system call, libc already loaded
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert not _acquire(locks[0], "a")
        holder.send_signal(signal.SIGKILL)
        assert _acquire(locks[0], "a", wait_ms=_PATIENCE_MS)
        assert locks[0].release(_ONE, "a")
    finally:
        holder.kill()
        holder.communicate()


def test_a_node_that_was_made_behind_a_broken_connection_goes_by_itself(
    locks: tuple[ZookeeperLock, ZookeeperLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = locks
    session = first._locks.get()._session
    real = session.create

    def create(name: str, value: bytes) -> str:
        real(name, value)
        raise StoreUnavailable("The answer was lost.")

    monkeypatch.setattr(session, "create", create)
    with pytest.raises(StoreUnavailable):
        _acquire(first, "a")
    monkeypatch.undo()
    assert _acquire(second, "b", wait_ms=_PATIENCE_MS)
    assert second.release(_ONE, "b")


def test_a_node_that_was_not_removed_goes_by_itself(
    locks: tuple[ZookeeperLock, ZookeeperLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = locks
    assert _acquire(first, "a")
    session = first._locks.get()._session

    def delete(name: str, anchor: str) -> bool:
        raise StoreUnavailable("There is no connection.")

    with monkeypatch.context() as patched:
        patched.setattr(session, "delete", delete)
        with pytest.raises(StoreUnavailable):
            first.release(_ONE, "a")
    assert _acquire(second, "b", wait_ms=_PATIENCE_MS)
    assert second.release(_ONE, "b")


@pytest.mark.thorough(target="timing")
def test_a_server_that_is_away_is_said_at_once_and_its_locks_are_there_again_when_it_is_back() -> (
    None
):
    server = start_zookeeper()
    lock = ZookeeperLock(server.hosts, connect_ms=10_000, session_ms=20_000)
    try:
        assert _acquire(lock, "a")
        server.kill()
        until(lambda: not _client(lock).connected, what="the connection is gone")
        began = time.monotonic()
        for call in (
            lambda: _acquire(lock, "b", _OTHER),
            lambda: lock.release(_ONE, "a"),
        ):
            with pytest.raises(StoreUnavailable, match="ZooKeeper"):
                call()
        assert time.monotonic() - began < 5
        server.start()
        until(lambda: _client(lock).connected, what="the connection is back")
        assert _acquire(lock, "c", wait_ms=_PATIENCE_MS), "what was given up meanwhile is free"
        assert lock.release(_ONE, "c")
    finally:
        lock.close()
        server.stop()


def test_a_server_that_is_not_there_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    monkeypatch.setattr("conductor_py.adapters.zookeeper.session.time", clock)
    lock = ZookeeperLock("127.0.0.1:1", connect_ms=300)
    connected, waits = lock._locks.get()._session._connected, list[float]()

    def noted(seconds: float) -> bool:
        waits.append(seconds)
        clock.advance(seconds=1)
        return False

    monkeypatch.setattr(connected, "wait", noted)
    try:
        with pytest.raises(StoreUnavailable, match="no connection to ZooKeeper"):
            _acquire(lock, "a")
        with pytest.raises(StoreUnavailable, match="no connection to ZooKeeper"):
            _acquire(lock, "a")
        assert waits[0] > 0
        assert len(waits) > 1
        assert not any(waits[1:])
    finally:
        lock.close()

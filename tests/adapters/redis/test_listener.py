"""The listener of wake-ups lives through a lost connection, and then wakes everybody."""

import socket
import threading
from pathlib import Path

import pytest

from conductor_py.adapters.redis.connection import Connection, Wire
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.errors import StoreUnavailable
from tests.conftest import RealRedis
from tests.waiting import PATIENCE_S, until


def test_lost_connection_is_made_again_and_wakes_everybody(newest_redis: RealRedis) -> None:
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    namespace = Namespace("test")
    wakeups = RedisWakeups(connection, namespace)
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", namespace.channel_of("q"), "q:task") == 1)
    until(lambda: wakeups.ticket("q:task") > wakeups.ticket("x:never-published"))
    seen = {topic: wakeups.ticket(topic) for topic in ("q:task", "x:never-published")}
    connection.command("CLIENT", "KILL", "TYPE", "pubsub")
    for topic, ticket in seen.items():
        assert wakeups.wait(topic, PATIENCE_S, ticket) > ticket
    until(lambda: connection.command("PUBLISH", namespace.channel_of("q"), "q:task") == 1)
    wakeups.close()
    connection.close()


def test_store_that_is_away_when_the_listener_connects_is_asked_again(
    newest_redis: RealRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, namespace = (
        Connection(newest_redis.url, socket_timeout_s=PATIENCE_S),
        Namespace("test"),
    )
    connect, tries = connection.listener, iter((True, True))

    def listener() -> Wire:
        if next(tries, False):
            raise StoreUnavailable("The primary does not answer.")
        return connect()

    monkeypatch.setattr(connection, "listener", listener)
    wakeups = RedisWakeups(connection, namespace)
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", namespace.channel_of("q"), "q:task") == 1)
    wakeups.close()
    connection.close()


def test_a_process_hears_only_of_what_it_waits_for(newest_redis: RealRedis) -> None:
    connection, namespace = (
        Connection(newest_redis.url, socket_timeout_s=PATIENCE_S),
        Namespace("test"),
    )
    wakeups = RedisWakeups(connection, namespace)
    heard = {kind: namespace.channel_of(kind) for kind in "eoqx"}

    def listeners() -> dict[str, int]:
        return {k: int(connection.command("PUBLISH", heard[k], f"{k}:this")) for k in heard}

    wakeups.ticket("w:own")
    wakeups.ticket("q:task")
    until(lambda: listeners() == {"e": 0, "o": 0, "q": 1, "x": 0})
    before = wakeups.ticket("x:execution")
    assert wakeups.wait("x:execution", PATIENCE_S, before) > before  # it looks again, as it listens
    until(lambda: listeners() == {"e": 0, "o": 0, "q": 1, "x": 1})
    wakeups.close()
    connection.close()


def test_listener_ends_when_closed(newest_redis: RealRedis) -> None:
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    wakeups = RedisWakeups(connection, Namespace("test"))
    wakeups.ticket("q:task")
    until(lambda: connection.command("PUBLISH", "test:wake:q", "q:task") == 1)
    wakeups.close()
    until(lambda: connection.command("PUBLISH", "test:wake:q", "q:task") == 0)
    assert wakeups.wait("q:other", 3_600, 99) <= 99
    connection.close()


def test_nobody_waits_for_a_server_that_accepts_and_says_nothing(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(tmp_path / "s"))
        frozen.listen()
        wakeups = RedisWakeups(Connection(f"unix://{tmp_path}/s"), Namespace("test"))
        before = wakeups.ticket("q:task")
        accepted, _ = frozen.accept()
        assert accepted.recv(1)  # the listener has greeted, and waits

        def poll() -> None:
            wakeups.wake_one("q:task")
            wakeups.wait_turn("x:other", 0.0, wakeups.ticket("x:other"))

        asked = threading.Thread(target=poll, daemon=True)
        asked.start()
        asked.join(PATIENCE_S)
        assert not asked.is_alive()
        assert wakeups.ticket("q:task") == before
        accepted.close()
    wakeups.close()

"""What `Connection` promises: errors wrapped, broken connections replaced, nothing sent twice."""

import socket
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.redis.connection import (
    Connection,
    not_carried_out,
    pack,
    pack_plainly,
)
from conductor_py.adapters.redis.inspector import RedisInspector
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import ConfigurationError, StoreDamaged, StoreUnavailable
from tests.conformance.stores import Clock, redis_store
from tests.conftest import RealRedis
from tests.services import RedisServer, start_redis
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def connection(newest_redis: RealRedis) -> Iterator[Connection]:
    connection = Connection(newest_redis.url, socket_timeout_s=PATIENCE_S)
    yield connection
    connection.close()


def test_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        Connection("unix:///nowhere/at/all").command("PING")


class EmptiedInBetween(deque[Any]):
    """What another thread empties right after it was looked at."""

    def __bool__(self) -> bool:
        was_there = len(self) > 0
        self.clear()
        return was_there


@pytest.mark.parametrize("form", ["unix://{path}", "redis://127.0.0.1:{port}"])
def test_server_that_takes_commands_and_says_nothing_is_unavailable(
    form: str, tmp_path: Path
) -> None:
    path = tmp_path / "silent"
    with socket.socket(socket.AF_UNIX) as local, socket.socket() as far:
        local.bind(str(path))
        far.bind(("127.0.0.1", 0))
        for listening in (local, far):
            listening.listen()
        url = form.format(path=path, port=far.getsockname()[1])
        connection = Connection(url, socket_timeout_s=0.05)
        with pytest.raises(StoreUnavailable, match="Timeout reading") as refused:
            connection.call("PING", again=False)
    assert refused.value.unanswered


@pytest.mark.parametrize("form", ["unix://{path}", "redis://127.0.0.1:{port}"])
def test_a_long_command_has_one_deadline_however_slowly_it_is_read(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, over = tmp_path / "slow", threading.Event()

    def read_slowly(listening: socket.socket) -> None:
        with listening.accept()[0] as reader:
            reader.sendall(b"+OK\r\n" * 3)  # what is said about the client first, and the PING
            while not over.wait(0.05):
                reader.recv(1 << 20)

    with socket.socket(socket.AF_UNIX) as local, socket.socket() as far:
        local.bind(str(path))
        far.bind(("127.0.0.1", 0))
        listening = local if form.startswith("unix") else far
        listening.listen()
        reading = threading.Thread(target=read_slowly, args=(listening,))
        reading.start()
        url = form.format(path=path, port=far.getsockname()[1])
        connection = Connection(url, socket_timeout_s=PATIENCE_S)
        try:
            connection.call("PING")
            (wire,) = connection._idle
            monkeypatch.setattr(wire, "socket_timeout", 0.2)
            with pytest.raises(StoreUnavailable, match="Timeout writing"):
                connection.call("SET", "k", b"x" * (64 << 20), again=False)
        finally:
            over.set()
            reading.join()


def test_two_threads_may_close_the_idle_connections_at_once(connection: Connection) -> None:
    connection.command("PING")
    connection._idle = EmptiedInBetween(connection._idle)
    connection.close()
    assert connection.command("PING") == b"PONG"


def test_error_of_a_command_leaves_the_connection_usable(connection: Connection) -> None:
    connection.command("SET", "k", "v")
    with pytest.raises(StoreDamaged, match="WRONGTYPE"):
        connection.command("LPUSH", "k", "v")
    assert connection.command("GET", "k") == b"v"
    assert connection.reconnects == 0


def test_command_that_may_be_repeated_outlives_a_broken_connection(connection: Connection) -> None:
    connection.command("PING")
    connection.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
    assert connection.command("PING") == b"PONG"
    assert connection.reconnects == 1


def test_command_that_must_not_be_repeated_fails_on_a_broken_connection(
    connection: Connection,
) -> None:
    connection.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
    with pytest.raises(StoreUnavailable):
        connection.call("INCR", "n", again=False)
    assert connection.call("INCR", "n", again=False) == 1


def _kill_idle(connection: Connection, server: RealRedis) -> None:
    connection.command("PING")
    other = Connection(server.url)
    other.command("CLIENT", "KILL", "TYPE", "normal")
    other.close()


def test_several_commands_outlive_a_broken_connection(
    connection: Connection, newest_redis: RealRedis
) -> None:
    _kill_idle(connection, newest_redis)
    assert connection.each([("ECHO", 1), ("NONSENSE",)])[0] == b"1"
    _kill_idle(connection, newest_redis)
    assert connection.pipeline([("ECHO", 1), ("ECHO", 2)]) == [b"1", b"2"]
    assert connection.reconnects == 2


def test_the_first_look_after_a_cut_finds_redis_well(
    connection: Connection, newest_redis: RealRedis
) -> None:
    inspector = RedisInspector(Scripts(connection, Namespace("cut", 4)))
    inspector.check()
    _kill_idle(connection, newest_redis)
    inspector.check()


def test_only_what_nobody_answered_is_sent_once_more(tmp_path: Path) -> None:
    """Its first client is answered once, then cut off."""
    asked: list[bytes] = []
    commands = [("GET", "a"), ("GET", "b"), ("GET", "c")]

    def serve() -> None:
        for answers in (b"+first\r\n", b"+second\r\n+third\r\n"):
            client, _ = server.accept()
            told = b""
            while not told.endswith(pack(commands[-1])):
                told += client.recv(1_000)
                if b"SETINFO" in told and told.endswith(b"\r\n"):  # who the client is
                    client.sendall(b"+OK\r\n")
                    told = b""
            asked.append(told)
            client.sendall(answers)
            client.close()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        made = Connection(f"unix://{tmp_path / 's'}", socket_timeout_s=PATIENCE_S)
        assert made.each(commands) == [b"first", b"second", b"third"]
        serving.join()
    assert asked == [b"".join(map(pack, commands)), b"".join(map(pack, commands[1:]))]


def test_several_commands_leave_a_primary_that_was_demoted(
    newest_redis: RealRedis, fragile_redis: RedisServer, tmp_path: Path
) -> None:
    place = tmp_path / "primary"
    place.symlink_to(fragile_redis.socket)
    made = Connection(f"unix://{place}", socket_timeout_s=PATIENCE_S)
    made.command("PING")
    with fragile_redis.client() as old:
        old.replicaof("127.0.0.1", "1")
    (reply,) = made.each([("SET", "k", 1)])
    assert isinstance(reply, StoreUnavailable)
    assert not_carried_out(reply)
    place.unlink()
    place.symlink_to(newest_redis.url.removeprefix("unix://"))
    assert made.each([("SET", "k", 1)]) == [b"OK"]
    made.close()


def test_one_demoted_since_is_left_for_the_one_that_has_its_place_now(
    newest_redis: RealRedis, fragile_redis: RedisServer, tmp_path: Path
) -> None:
    place = tmp_path / "primary"
    place.symlink_to(fragile_redis.socket)
    made = Connection(f"unix://{place}", socket_timeout_s=PATIENCE_S)
    inspector = RedisInspector(Scripts(made, Namespace("moved", 4)))
    inspector.check()
    with fragile_redis.client() as old:
        old.replicaof("127.0.0.1", "1")
    place.unlink()
    place.symlink_to(newest_redis.url.removeprefix("unix://"))
    inspector.check()
    made.close()


def test_a_server_that_was_killed_has_another_life(fragile_redis: RedisServer) -> None:
    outbox = redis_store(fragile_redis.url, Clock()).outbox
    before = outbox.life(0)
    fragile_redis.kill()
    fragile_redis.start()
    assert outbox.life(0) not in {before, ""}


def test_restarted_server_is_found_again(fragile_redis: RedisServer) -> None:
    connection = Connection(fragile_redis.url, socket_timeout_s=PATIENCE_S)
    connection.command("PING")
    fragile_redis.kill()
    with pytest.raises(StoreUnavailable):
        connection.command("PING")
    fragile_redis.start()
    assert connection.command("PING") == b"PONG"


@pytest.fixture
def fragile_redis(redis_servers: object) -> Iterator[RedisServer]:
    server = start_redis()
    yield server
    server.stop()


def test_threads_do_not_share_a_connection(connection: Connection) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        replies = [int(connection.command("ECHO", number)) for _ in range(200)]
        wrong.extend(reply for reply in replies if reply != number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert connection.round_trips == 1_600


def test_settings_that_forget_data_are_refused(connection: Connection) -> None:
    version, warnings = connection.check()
    assert version >= "6.2"
    unbounded = "maxmemory is not set: it takes memory as long as there is some"
    assert warnings == (unbounded, "the append-only file is off")
    connection.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(ConfigurationError):
            connection.check()
        assert len(connection.check(strict=False)[1]) == 3
    finally:
        connection.command("CONFIG", "SET", "maxmemory-policy", "noeviction")


def test_a_bound_of_memory_is_asked_for(connection: Connection) -> None:
    connection.command("CONFIG", "SET", "maxmemory", 1 << 40)
    try:
        assert connection.check()[1] == ("the append-only file is off",)
    finally:
        connection.command("CONFIG", "SET", "maxmemory", 0)


def test_both_ways_to_pack_a_command_agree() -> None:
    arguments = ("EVALSHA", 1, b"\x00\r\n", "é", 2**53, "")
    assert pack(arguments) == pack_plainly(arguments)


def test_a_server_that_cannot_write_its_files_is_away_and_not_damaged() -> None:
    server = start_redis()
    connection = Connection(server.url, socket_timeout_s=PATIENCE_S)
    try:
        connection.command("SET", "there", "1")
        connection.command("CONFIG", "SET", "save", "3600 1")
        (server.socket.parent / "dump.rdb").mkdir()  # no file can take its place
        connection.command("BGSAVE")
        until(lambda: b"rdb_last_bgsave_status:err" in connection.command("INFO", "persistence"))
        script = "return redis.call('SET', KEYS[1], '2')"
        for name, *rest in (("SET", "there", "2"), ("EVAL", script, 1, "there")):
            with pytest.raises(StoreUnavailable) as refused:
                connection.command(str(name), *rest)
            assert not isinstance(refused.value, StoreDamaged)
            assert "cannot write its files" in refused.value.message
        assert connection.command("GET", "there") == b"1"
    finally:
        connection.command("CONFIG", "SET", "save", "")  # or it would not stop before it has saved
        connection.close()
        server.stop()

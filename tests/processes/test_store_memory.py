"""The embedded store gives back memory: on a real server, and by what a server says of itself."""

from __future__ import annotations

import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from conductor_py.processes import store_memory
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.processes.store_memory import StoreMemory, memory_of
from tests.services.processes import resident_mb
from tests.waiting import PATIENCE_S, until


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_small_values_that_are_removed_leave_the_memory_each_time_when_it_is_looked_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_memory, "_LOOK_S", 3_600.0)  # nobody else looks meanwhile
    with EmbeddedRedis(tmp_path) as store, redis.Redis(unix_socket_path=str(store.socket)) as one:
        if not str(one.info("memory")["mem_allocator"]).startswith("libc"):
            pytest.skip("the server has an allocator of its own, which gives back by itself")
        memory = StoreMemory(store.socket, threading.Event())
        for load in range(2):
            for number in range(100):
                small = {f"small:{number}:{at}": b"x" * 1_000 for at in range(500)}
                one.mset({**small, f"stays:{load}:{number}": b"x" * 1_000})
            # What the server says of itself is a tenth of a second old.
            until(lambda: int(one.info("memory")["used_memory_rss"]) > 50e6, PATIENCE_S)
            full_mb = resident_mb(store.pid)
            memory.look()  # all of it is in use
            assert resident_mb(store.pid) > full_mb - 2
            for number in range(100):
                one.delete(*(f"small:{number}:{at}" for at in range(500)))
            assert resident_mb(store.pid) > full_mb / 2
            memory.look()

            assert resident_mb(store.pid) < full_mb / 2
            assert one.exists(*(f"stays:{load}:{number}" for number in range(100))) == 100

    with EmbeddedRedis(tmp_path) as store, redis.Redis(unix_socket_path=str(store.socket)) as one:
        assert one.exists("stays:0:0") == 1


_FREE = {
    "mem_allocator": "libc",
    "number_of_libraries": "0",
    "used_memory_rss": "40000000",
    "used_memory": "2000000",
}


@pytest.mark.parametrize(
    "differs",
    [
        {"mem_allocator": "jemalloc-5.3.0"},
        {"number_of_libraries": "1"},
        {"number_of_libraries": ""},
    ],
    ids=["it gives back by itself", "functions of somebody", "older than functions"],
)
def test_memory_is_asked_for_only_where_that_helps_and_harms_nothing(
    differs: dict[str, str],
) -> None:
    assert memory_of(_FREE).free_bytes == 36_000_000
    assert memory_of(_FREE | differs).free_bytes == 0


def test_what_was_not_given_back_is_asked_for_again_only_when_more_is_free(tmp_path: Path) -> None:
    path, is_stopping, asked = tmp_path / "redis.sock", threading.Event(), list[bool]()
    is_stopping.set()  # nothing waits
    free_mb = ((40, 38), (40,), (45,), (49, 1), (49, 5), (40, 38), (5,), (40, 0))
    looks = [(2.0, *each) for each in free_mb]
    # It uses less than when it was last asked, a little and then half a megabyte.
    looks += [(9.0, 20, 12), (9.0, 13), (8.8, 13), (8.4, 13, 10), (8.4, 12)]

    with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor(1) as aside:
        listening.bind(str(path))
        listening.listen()
        memory = StoreMemory(path, is_stopping)
        for used, before, *after in looks:
            looked = aside.submit(memory.look)
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                assert connection.recv(100) == b"INFO memory\r\n"
                connection.sendall(_free(before, used))
                asked.append(connection.recv(100) == b"FUNCTION FLUSH SYNC\r\n")
                if asked[-1]:
                    connection.sendall(b"+OK\r\n")
                    assert connection.recv(100) == b"INFO memory\r\n"
                    connection.sendall(_free(after[0], used))
            looked.result(PATIENCE_S)

    assert asked == [bool(after) for _, _, *after in looks]


def _free(megabytes: float, used: float) -> bytes:
    """What a server answers that has so many megabytes more than twice of what it uses."""
    used_bytes, rss_bytes = int(used * 1e6), int((2 * used + megabytes) * 1e6)
    lines = _FREE | {"used_memory": str(used_bytes), "used_memory_rss": str(rss_bytes)}
    text = "".join(f"{name}:{value}\r\n" for name, value in lines.items())
    return f"${len(text)}\r\n{text}\r\n".encode()


def test_a_store_that_is_away_or_says_something_else_is_asked_again_later(tmp_path: Path) -> None:
    path = tmp_path / "no.sock"
    memory = StoreMemory(path, threading.Event())
    memory.look()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with ThreadPoolExecutor(1) as aside:
            looked = aside.submit(memory.look)
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"-LOADING the data set\r\n")
                looked.result(PATIENCE_S)
                assert connection.recv(100) == b""

"""When something was removed, and a file of commands that begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.removals import RedisHistory, RedisRemovalRecord
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.erasure import Removals
from conductor_py.processes.embedded_redis import EmbeddedRedis
from tests.waiting import until

_GONE = "k2f9-what-was-removed"
_STAYS = "h7d3-what-stays"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    with EmbeddedRedis(tmp_path, appendfsync="always") as made:
        yield made


@pytest.fixture
def redis(store: EmbeddedRedis) -> Iterator[Redis]:
    with Redis.from_url(f"unix://{store.socket}") as client:
        yield client


@pytest.fixture
def connection(store: EmbeddedRedis) -> Iterator[Connection]:
    made = Connection(f"unix://{store.socket}")
    yield made
    made.close()


def _in_files(folder: Path, text: str) -> bool:
    files = (path for path in folder.rglob("*") if path.is_file())
    return any(text.encode() in path.read_bytes() for path in files)


def test_both_instants_are_remembered_and_damaged_ones_are_none(
    connection: Connection, redis: Redis
) -> None:
    record = RedisRemovalRecord(Scripts(connection, Namespace("test")))
    assert record.read() == Removals()
    record.removed(5)
    record.erased(4)
    record.removed(7)
    assert record.read() == Removals(removed_ms=7, erased_ms=4)
    redis.hset("{test:0}:erasure", mapping={"removed": "9" * 40, "erased": "\xff{"})
    assert record.read() == Removals()


def test_the_file_of_commands_has_what_there_is_and_no_more(
    connection: Connection, redis: Redis, tmp_path: Path
) -> None:
    redis.config_set("slowlog-log-slower-than", 0)
    redis.set("gone", _GONE)
    redis.set("stays", _STAYS)
    redis.delete("gone")
    redis.config_set("slowlog-log-slower-than", -1)
    assert _in_files(tmp_path, _GONE)
    assert _GONE in str(redis.execute_command("SLOWLOG", "GET", "-1"))

    until(RedisHistory(connection).erase)

    until(lambda: not _in_files(tmp_path, _GONE), what="the file from before is removed")
    assert _in_files(tmp_path, _STAYS)
    assert _GONE not in str(redis.execute_command("SLOWLOG", "GET", "-1"))


def test_each_round_writes_the_file_anew(
    connection: Connection, redis: Redis, tmp_path: Path
) -> None:
    history = RedisHistory(connection)
    until(history.erase)
    redis.set("gone", _GONE)
    redis.delete("gone")
    until(history.erase)
    until(lambda: not _in_files(tmp_path, _GONE), what="the file from before is removed")


class Told:
    """A server that answers as it is told."""

    def __init__(self) -> None:
        self.facts = {
            "run_id": "one",
            "aof_enabled": "1",
            "aof_rewrite_in_progress": "0",
            "aof_rewrite_scheduled": "0",
            "aof_last_bgrewrite_status": "ok",
        }
        self.asked = 0

    def command(self, name: str, *_: object) -> object:
        if name == "INFO":
            return "\r\n".join(f"{key}:{value}" for key, value in self.facts.items()).encode()
        self.asked += name == "BGREWRITEAOF"
        return b"OK"


def _history(told: Told) -> RedisHistory:
    return RedisHistory(told)  # type: ignore[arg-type]


def test_a_rewrite_of_somebody_else_does_not_count() -> None:
    told = Told()
    history = _history(told)
    told.facts["aof_rewrite_in_progress"] = "1"
    assert not history.erase()
    assert told.asked == 0
    told.facts["aof_rewrite_in_progress"] = "0"
    assert not history.erase()
    assert told.asked == 1
    assert history.erase()


def test_a_server_that_was_started_again_is_asked_again() -> None:
    told = Told()
    history = _history(told)
    assert not history.erase()
    told.facts["run_id"] = "two"
    assert not history.erase()
    assert told.asked == 2
    assert history.erase()


def test_a_rewrite_that_failed_is_told_and_asked_for_again() -> None:
    told = Told()
    history = _history(told)
    assert not history.erase()
    told.facts["aof_last_bgrewrite_status"] = "err"
    with pytest.raises(StoreUnavailable, match="could not rewrite"):
        history.erase()
    assert not history.erase()
    assert told.asked == 2


def test_a_server_without_such_a_file_is_done() -> None:
    told = Told()
    told.facts["aof_enabled"] = "0"
    assert _history(told).erase()
    assert told.asked == 0

"""A Redis that answers and refuses what is written to it is not well."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.inspector import RedisInspector
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreFull, StoreUnavailable
from tests.services.redis_servers import RedisServer, start_redis
from tests.waiting import until


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    made = start_redis(append_only=True)
    yield made
    made.stop()


@pytest.fixture
def redis(server: RedisServer) -> Iterator[Redis]:
    with server.client() as client:
        yield client


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisInspector]:
    connection = Connection(server.url)
    yield RedisInspector(Scripts(connection, Namespace("writable", 4)))
    connection.close()


@pytest.mark.service
def test_a_redis_that_takes_writes_is_well_and_nothing_is_written(
    store: RedisInspector, redis: Redis
) -> None:
    store.check()
    before = redis.info("persistence")["aof_current_size"]
    for _ in range(100):
        store.check()
    assert (redis.info("persistence")["aof_current_size"], redis.dbsize()) == (before, 0)


@pytest.mark.service
def test_a_redis_that_cannot_save_is_away_and_says_why(
    store: RedisInspector, redis: Redis, server: RedisServer
) -> None:
    obstacle = server.socket.parent / "dump.rdb"
    obstacle.mkdir()
    redis.config_set("save", "3600 1")
    redis.bgsave()
    until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err")
    with pytest.raises(StoreUnavailable, match=r"disk is full.*MISCONF"):
        store.check()
    obstacle.rmdir()
    redis.config_set("save", "")
    store.check()


@pytest.mark.service
def test_a_redis_that_was_demoted_is_away(store: RedisInspector, redis: Redis) -> None:
    redis.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(StoreUnavailable, match="read-only"):
            store.check()
    finally:
        redis.replicaof("NO", "ONE")
    store.check()


@pytest.mark.service
def test_a_full_redis_says_so(store: RedisInspector, redis: Redis) -> None:
    redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFull):
            store.check()
    finally:
        redis.config_set("maxmemory", 0)
    store.check()

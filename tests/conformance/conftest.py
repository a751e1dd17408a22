"""The stores that the suites of the ports run on: memory, and every real Redis that is there."""

from collections.abc import Iterator

import pytest

from tests.conformance.stores import Clock, Store, memory_store, redis_store
from tests.conftest import RealRedis
from tests.services import REDIS_PARAMS


@pytest.fixture(params=["memory", *REDIS_PARAMS])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """One store in turn, empty."""
    clock = Clock()
    if request.param == "memory":
        yield memory_store(clock, partitions=2)
        return
    server = request.getfixturevalue("redis_servers").get(request.param)
    store = redis_store(server.url, clock, partitions=2)
    yield store
    store.wakeups.close()
    assert store.connection is not None
    store.connection.close()


@pytest.fixture
def newest_store(newest_redis: RealRedis) -> Iterator[Store]:
    """The store on the server that the embedded deployment runs, empty."""
    store = redis_store(newest_redis.url, Clock())
    yield store
    assert store.connection is not None
    store.connection.close()

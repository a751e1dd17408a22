"""The stores that the suites of the ports run on: memory, every real Redis that is there, and a
cluster of three.
"""

from collections.abc import Iterator

import pytest

from conductor_py.adapters.redis.cluster import ClusterConnection
from conductor_py.adapters.redis.connection import Connection
from tests.conformance.stores import Clock, Store, memory_store, redis_store, store_over
from tests.conftest import RealRedis
from tests.services import REDIS_PARAMS
from tests.services.redis_groups import RedisCluster


@pytest.fixture(
    params=[
        "memory",
        *REDIS_PARAMS,
        pytest.param(
            "cluster", marks=[pytest.mark.service, pytest.mark.thorough(target="versions")]
        ),
    ]
)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """One store in turn, empty."""
    clock = Clock()
    if request.param == "memory":
        yield memory_store(clock, partitions=2)
        return
    if request.param == "cluster":
        yield from _in_cluster(request.getfixturevalue("redis_cluster"), clock)
        return
    server = request.getfixturevalue("redis_servers").get(request.param)
    store = redis_store(server.url, clock, partitions=2)
    yield store
    store.wakeups.close()
    assert store.connection is not None
    store.connection.close()


def _in_cluster(cluster: RedisCluster, clock: Clock) -> Iterator[Store]:
    """A store whose two partitions are on two of three primaries."""
    primaries = cluster.flush()
    connection = ClusterConnection(
        "redis://127.0.0.1", [cluster.nodes[0].address], home="{test:0}:"
    )
    nodes = [Connection(f"redis://127.0.0.1:{node.port}") for node in primaries]
    store = store_over(connection, clock, 2, nodes)
    yield store
    store.wakeups.close()
    for each in (connection, *nodes):
        each.close()


@pytest.fixture
def newest_store(newest_redis: RealRedis) -> Iterator[Store]:
    """The store on the server that the embedded deployment runs, empty."""
    store = redis_store(newest_redis.url, Clock())
    yield store
    assert store.connection is not None
    store.connection.close()

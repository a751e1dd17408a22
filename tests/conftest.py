"""Fixtures that any test may ask for; those with a real service mark their tests `service`."""

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import hypothesis
import pytest

from conductor_py.cli.process import COLLECTED_AFTER
from tests.drawn_ids import drawn_from
from tests.script_processes import unhurried
from tests.services import (
    NEWEST_REDIS,
    REDIS_PARAMS,
    ObjectStore,
    RedisServer,
    SparkCluster,
    ZooKeeper,
    absent,
    start_elasticsearch,
    start_kafka,
    start_mariadb,
    start_mysql,
    start_object_store,
    start_opensearch,
    start_postgresql,
    start_redis,
    start_spark_cluster,
    start_zookeeper,
)
from tests.services.buckets import S3Bucket, fresh_bucket
from tests.services.cache import Unobtainable
from tests.services.redis_groups import RedisCluster
from tests.tiers.targets import MARKED

# How long an example takes says something of the machine, and nothing of the code.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")
# The examples of `make test` are always the same ones.
hypothesis.settings.register_profile("fixed", derandomize=True, database=None)

T = TypeVar("T")

_SERVICE_FIXTURES = frozenset(
    {
        "redis_servers",
        "object_store",
        "opensearch_server",
        "elasticsearch_server",
        "kafka_servers",
        "mariadb_server",
        "mysql_server",
        "postgresql_server",
        "spark_cluster",
        "zookeeper_server",
    }
)
_SERVICE_TIMEOUT_S = 900
"""What it may take to fetch and start a server on a fresh machine, and the test after that."""
_COSTLY_FIXTURES = {
    "spark": "spark",
    "kafka_servers": "kafka",
    "opensearch_server": "search",
    "elasticsearch_server": "search",
}
"""What takes long to start: the tests that need it run in one process, by the name of a group."""


@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark what needs a service, and allow it the time of a first download. What is thorough must
    name a target that runs it. A run that is divided among processes keeps together what shares
    servers, and begins with what may last longest.
    """
    divided = getattr(config.option, "loadgroup", False)
    _mark_services(items)
    if divided:
        for item in items:
            _group(item)
    yield
    if divided and items and not any("@" in item.nodeid for item in items):
        # So it was with pytest 9.2 and pytest-xdist 3.8, which writes where nobody reads any more.
        raise pytest.UsageError("pytest-xdist does not group the tests of this pytest")
    if divided:
        items.sort(key=_longest_first)


def pytest_collection_finish() -> None:
    """What has been collected stays: no look for garbage goes over thousands of tests again, and
    there are as few looks as in a server.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER, *gc.get_threshold()[1:])


def _group(item: pytest.Item) -> None:
    """A real deployment is its test's own; all other tests of a file may share something. Those
    that start Spark in processes of their own come one after the other: Spark gives a process of
    Python ten seconds to begin, and two cores are too few for two such tests.
    """
    fixtures = getattr(item, "fixturenames", ())
    group = next((name for need, name in _COSTLY_FIXTURES.items() if need in fixtures), None)
    if item.get_closest_marker("spark") is not None and "spark" not in fixtures:
        group = "spark processes"
    if group is None and item.get_closest_marker("acceptance") is None:
        group = str(item.path.relative_to(item.config.rootpath))
    if group is not None and item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(group))


def _longest_first(item: pytest.Item) -> float:
    allowed = item.get_closest_marker("timeout")
    return -float(allowed.args[0]) if allowed is not None and allowed.args else 0.0


def _mark_services(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("thorough"):
            if mark.args or mark.kwargs.get("target") not in MARKED:
                raise pytest.UsageError(f"{item.nodeid}: thorough(target=...) of {sorted(MARKED)}")
        if not _SERVICE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.service)
        if item.get_closest_marker("service") is not None:
            item.add_marker(pytest.mark.timeout(_SERVICE_TIMEOUT_S), append=False)


@pytest.fixture(autouse=True)
def _process_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sets it up as if it were its own."""
    mask, collected_after = os.umask(0o022), gc.get_threshold()
    os.umask(mask)
    yield
    os.umask(mask)
    gc.set_threshold(*collected_after)


@pytest.fixture(autouse=True)
def _unhurried_scripts(request: pytest.FixtureRequest) -> Iterator[None]:
    """In `make test` no script fails because the machine is busy."""
    if request.node.get_closest_marker("thorough") is not None:
        yield
        return
    with unhurried():
        yield


@pytest.fixture(autouse=True)
def _ids_of_the_seed(request: pytest.FixtureRequest, run_seed: int) -> Iterator[None]:
    """In `make test` the order of random ids is no chance; each test has its own ids."""
    if request.node.get_closest_marker("thorough") is not None:
        yield
        return
    with drawn_from(f"{run_seed} {request.node.nodeid}"):
        yield


@pytest.fixture(scope="session")
def run_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run, for tests that throw dice of their own: printed, and given again it
    repeats the run.
    """
    return int(request.config.getoption("randomly_seed", default=1))


def _or_absent(start: Callable[[], T]) -> T:
    try:
        return start()
    except Unobtainable as error:
        sentence = str(error)
    return absent(sentence)


class _RedisServers:
    """The servers of this session, each started when the first test asks for it."""

    def __init__(self) -> None:
        self._running: dict[str, RedisServer] = {}

    def get(self, name: str) -> RedisServer:
        """The running server, emptied."""
        server = self._running.get(name)
        if server is None:
            server = self._running[name] = _or_absent(lambda: start_redis(name))
        server.flush()
        return server

    def stop(self) -> None:
        """End all."""
        for server in self._running.values():
            server.stop()


@dataclass(frozen=True, slots=True)
class RealRedis:
    """One of the supported servers, empty: its name, and its URL for `redis.from_url`."""

    name: str
    url: str

    def __iter__(self) -> Iterator[str]:
        """Unpack as `name, url`."""
        return iter((self.name, self.url))


@pytest.fixture(scope="session")
def redis_servers() -> Iterator[_RedisServers]:
    """Redis servers by name; a session stops what it started."""
    servers = _RedisServers()
    yield servers
    servers.stop()


@pytest.fixture(params=REDIS_PARAMS)
def real_redis(request: pytest.FixtureRequest, redis_servers: _RedisServers) -> RealRedis:
    """The newest Redis, and every other supported one by `make test-versions`, empty."""
    server = redis_servers.get(request.param)
    return RealRedis(server.name, server.url)


@pytest.fixture
def newest_redis(redis_servers: _RedisServers) -> RealRedis:
    """The server that the embedded deployment runs, empty: for tests where one will do."""
    server = redis_servers.get(NEWEST_REDIS)
    return RealRedis(server.name, server.url)


@pytest.fixture(scope="session")
def redis_cluster(redis_servers: _RedisServers) -> Iterator[RedisCluster]:
    """A cluster of three primaries with a replica each; who kills one starts a cluster of its
    own.
    """
    cluster = _or_absent(lambda: RedisCluster(node_timeout_ms=15_000).start())
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """A real S3-compatible store."""
    store = _or_absent(start_object_store)
    yield store
    store.stop()


@pytest.fixture
def s3_bucket(object_store: ObjectStore) -> S3Bucket:
    """A bucket that nobody used before, with the endpoint and keys to reach it."""
    return fresh_bucket(object_store)


@pytest.fixture(scope="session")
def opensearch_server() -> Iterator[str]:
    """The URL of a real OpenSearch, for the session."""
    server = _or_absent(start_opensearch)
    yield server.url
    server.stop()


@pytest.fixture
def opensearch_url(opensearch_server: str) -> str:
    """The URL of a real OpenSearch; tests share it, so they name their own indices."""
    return opensearch_server


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[str]:
    """The URL of a real Elasticsearch, for the session."""
    server = _or_absent(start_elasticsearch)
    yield server.url
    server.stop()


@pytest.fixture
def elasticsearch_url(elasticsearch_server: str) -> str:
    """The URL of a real Elasticsearch 8.19; tests share it, so they name their own indices."""
    return elasticsearch_server


@pytest.fixture(scope="session")
def kafka_servers() -> Iterator[str]:
    """The bootstrap servers of a real Kafka, for the session; tests name their own topics."""
    broker = _or_absent(start_kafka)
    yield broker.servers
    broker.stop()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a database of a real PostgreSQL, for the session; tests name their own tables."""
    server = _or_absent(start_postgresql)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[str]:
    """The URL of a database of a real MariaDB, for the session; tests name their own tables."""
    server = _or_absent(start_mariadb)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[str]:
    """The URL of a database of a real MySQL, for the session; tests name their own tables. It is a
    download of 550 MB, and MariaDB speaks the same protocol: one kind of each tells enough.
    """
    server = _or_absent(start_mysql)
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[SparkCluster]:
    """A Spark cluster of two workers with a core each; who kills one starts it again."""
    cluster = _or_absent(start_spark_cluster)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeper]:
    """A real ZooKeeper, for the session; tests name their own namespaces."""
    server = _or_absent(start_zookeeper)
    yield server
    server.stop()

"""Fixtures that any test may ask for; those with a real service mark their tests `service`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import hypothesis
import pytest

from tests.script_processes import unhurried
from tests.services import (
    NEWEST_REDIS,
    REDIS_PARAMS,
    ObjectStore,
    RedisServer,
    absent,
    start_elasticsearch,
    start_kafka,
    start_object_store,
    start_opensearch,
    start_redis,
)
from tests.services.buckets import S3Bucket, fresh_bucket
from tests.services.cache import Unobtainable
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
    {"redis_servers", "object_store", "opensearch_server", "elasticsearch_server", "kafka_servers"}
)
_SERVICE_TIMEOUT_S = 900
"""What it may take to fetch and start a server on a fresh machine, and the test after that."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a service, and allow it the time of a first download. What is thorough must
    name a target that runs it.
    """
    for item in items:
        for mark in item.iter_markers("thorough"):
            if mark.args or mark.kwargs.get("target") not in MARKED:
                raise pytest.UsageError(f"{item.nodeid}: thorough(target=...) of {sorted(MARKED)}")
        if not _SERVICE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.service)
        if item.get_closest_marker("service") is not None:
            item.add_marker(pytest.mark.timeout(_SERVICE_TIMEOUT_S), append=False)


@pytest.fixture(autouse=True)
def _unhurried_scripts(request: pytest.FixtureRequest) -> Iterator[None]:
    """In `make test` no script fails because the machine is busy."""
    if request.node.get_closest_marker("thorough") is not None:
        yield
        return
    with unhurried():
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

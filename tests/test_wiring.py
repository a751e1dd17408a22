"""The composition root: which Redis, what is refused, and that settings arrive where they act."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conductor_py.adapters.elasticsearch import search as elasticsearch_search
from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.config import Settings, load
from conductor_py.engine import Engine
from conductor_py.errors import ConfigurationError
from conductor_py.wiring import (
    build_application,
    build_engine,
    check_redis,
    effects_url,
    redis_url,
)
from tests.conftest import RealRedis


def _settings(**flags: str) -> Settings:
    return load(flags={f"conductor.{key.replace('__', '.')}": v for key, v in flags.items()})


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ({"redis__hosts": "one:7000:rack"}, "redis://one:7000/0"),
        ({"redis__hosts": "one:7000::s/x", "redis__user": "m e"}, "redis://m%20e:s%2Fx@one:7000/0"),
        ({"redis__hosts": "one:7000:r", "redis__ssl": "true"}, "rediss://one:7000/0"),
        ({"redis__socket": "/run/a b", "redis__database": "2"}, "unix:///run/a%20b?db=2"),
    ],
)
def test_settings_lead_to_a_redis(flags: dict[str, str], url: str) -> None:
    assert redis_url(_settings(**flags)) == url


def test_the_job_queue_may_have_a_redis_of_its_own() -> None:
    shared = _settings(redis__hosts="one:7000:r")
    apart = _settings(redis__hosts="one:7000:r", effects__redisUrl="redis://two:7000/1")

    assert effects_url(shared) == redis_url(shared)
    assert effects_url(apart) == "redis://two:7000/1"


def test_without_any_redis_there_is_no_engine() -> None:
    with pytest.raises(ConfigurationError, match="no Redis is named"):
        build_engine(_settings(), server="s")


def _engine(redis: RealRedis, folder: Path, server: str, **flags: str) -> Engine:
    socket = redis.url.removeprefix("unix://")
    settings = _settings(redis__socket=socket, data__directory=str(folder), **flags)
    return build_engine(settings, server=server)


def test_servers_share_the_shards_and_processes_of_one_server_have_the_same(
    newest_redis: RealRedis, tmp_path: Path
) -> None:
    first, also_first, second = (
        _engine(newest_redis, tmp_path, name) for name in ("one", "one", "two")
    )

    assert first.shards.own == also_first.shards.own == ("s0",)
    assert second.shards.own == ("s1",)


def test_a_rack_that_is_near_names_the_shard(newest_redis: RealRedis, tmp_path: Path) -> None:
    named = _engine(newest_redis, tmp_path, "one", redis__shards="a,b")

    assert named.shards.own == ("a", "b")


def test_a_sweeper_beside_api_nodes_sweeps_their_shards_and_holds_none(
    newest_redis: RealRedis, tmp_path: Path
) -> None:
    node = _engine(newest_redis, tmp_path, "node")
    settings = _settings(
        redis__socket=newest_redis.url.removeprefix("unix://"), data__directory=str(tmp_path)
    )
    node.shards.keep()

    sweeper = build_engine(settings, server="sweeper", serves_all_shards=True)
    sweeper.sweeper.tick()

    assert sweeper.shards.own == ("s0",)
    sweeper.shards.release()
    assert _engine(newest_redis, tmp_path, "next").shards.own == ("s1",)


def test_the_number_of_partitions_of_a_namespace_stays(newest_redis: RealRedis) -> None:
    socket = newest_redis.url.removeprefix("unix://")
    two = _settings(redis__socket=socket, redis__partitions="2")
    other = _settings(redis__socket=socket, redis__workflowNamespacePrefix="other")

    check_redis(two)
    check_redis(two)
    check_redis(other)

    sentence = "the namespace conductor has 2 partitions, not 1: set conductor.redis.partitions=2"
    with pytest.raises(ConfigurationError, match=sentence):
        check_redis(_settings(redis__socket=socket))


@pytest.mark.parametrize("command", ["api", "sweeper", "effects", "server"])
def test_a_process_with_other_partitions_does_not_start(
    newest_redis: RealRedis, tmp_path: Path, command: str
) -> None:
    socket = newest_redis.url.removeprefix("unix://")
    check_redis(_settings(redis__socket=socket))

    ended = subprocess.run(
        (
            *(sys.executable, "-m", "conductor_py.cli", command, "--redis", newest_redis.url),
            *("--data", str(tmp_path), "--set", "conductor.redis.partitions=3"),
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: the namespace conductor has 1 partition, not 3: set ")
    assert len(ended.stderr.splitlines()) == 1


def test_the_front_has_the_limits_of_the_settings(newest_redis: RealRedis, tmp_path: Path) -> None:
    settings = _settings(
        redis__socket=newest_redis.url.removeprefix("unix://"),
        data__directory=str(tmp_path),
        server__longPollLimit="20ms",
        limits__searchResults="7",
    )
    engine = build_engine(settings, server="one")
    front = build_application(settings, engine, stop=threading.Event(), instance="one")
    client = front.test_client()

    assert client.get("/api/tasks/poll/batch/t?timeout=20").get_json() == []
    assert client.get("/api/tasks/poll/batch/t").get_json() == []
    assert "must not be more than 20" in client.get("/api/tasks/poll/batch/t?timeout=21").text
    assert client.get("/api/workflow/search?size=7").status_code == 200
    assert client.get("/api/tasks/search").status_code == 200
    assert "must not be more than 7" in client.get("/api/workflow/search?size=8").text


def test_each_process_names_the_settings_that_lead_to_its_elasticsearch() -> None:
    made: list[object] = []
    settings = _settings(
        redis__socket="/run/x",
        indexing__type="elasticsearch",
        elasticsearch__indexBatchSize="3",
        elasticsearch__indexRefreshInterval="2s",
        elasticsearch__waitForIndexRefresh="true",
        elasticsearch__autoIndexManagementEnabled="false",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(elasticsearch_search, "ElasticsearchSearch", made.append)
        build_engine(settings, server="s")

    (given,) = made
    assert isinstance(given, ElasticsearchSettings)
    assert (given.batch, given.refresh_ms, given.wait_for_refresh, given.manage) == (
        3,
        2_000,
        True,
        False,
    )

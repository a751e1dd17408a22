"""The composition root: which Redis, and what is refused rather than ignored."""

from pathlib import Path

import pytest

from conductor_py.config import Settings, load
from conductor_py.engine import Engine
from conductor_py.errors import ConfigurationError
from conductor_py.wiring import build_engine, effects_url, redis_url
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


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({}, "no Redis is named"),
        ({"db__type": "redis_cluster", "redis__hosts": "one:1:r"}, "redis_cluster is not avail"),
        ({"db__type": "memory"}, "memory is not available"),
        ({"workflow-execution-lock__type": "zookeeper"}, "zookeeper is not available"),
        ({"indexing__enabled": "false"}, "indexing.enabled=false is not available"),
    ],
)
def test_what_cannot_be_had_is_refused(flags: dict[str, str], sentence: str) -> None:
    reachable = (
        {"redis__socket": "/run/x"} if "zookeeper" in sentence or "index" in sentence else {}
    )

    with pytest.raises(ConfigurationError, match=sentence):
        build_engine(_settings(**reachable, **flags), server="s")


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
    assert _engine(newest_redis, tmp_path, "next").shards.own == ("s1",)

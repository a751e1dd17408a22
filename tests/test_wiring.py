"""The composition root: which Redis, what is refused, and that settings arrive where they act."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from redis import Redis

from conductor_py.adapters.elasticsearch import search as elasticsearch_search
from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.api.metrics import MOST_QUEUES, Metrics
from conductor_py.config import Settings, load
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.wiring import (
    build_application,
    build_engine,
    build_metrics,
    check_redis,
    effects_url,
    redis_url,
)
from conductor_py.wiring import engine as wired
from conductor_py.wiring.effects import thread_effect_queue
from tests.conftest import RealRedis

#: A server that stands still is not away, and nobody's shard is free because a test took long.
_PATIENT = {"redis__commandTimeout": "60s", "redis__shardLease": "10m"}


def _settings(**flags: str) -> Settings:
    given = _PATIENT | flags
    return load(flags={f"conductor.{key.replace('__', '.')}": v for key, v in given.items()})


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ({"redis__hosts": "one:7000:rack"}, "redis://one:7000/0"),
        ({"redis__hosts": "one:7000::s/x", "redis__user": "m e"}, "redis://m%20e:s%2Fx@one:7000/0"),
        ({"redis__hosts": "one:7000:r", "redis__ssl": "true"}, "rediss://one:7000/0"),
        (
            {"redis__hosts": "one:7000:r", "redis__ssl": "true", "redis__sslCaFile": "/c a.pem"},
            "rediss://one:7000/0?ssl_ca_certs=%2Fc%20a.pem",
        ),
        ({"redis__socket": "/run/a b", "redis__database": "2"}, "unix:///run/a%20b?db=2"),
        (
            {"db__type": "redis_sentinel", "redis__hosts": "one:1:r:pw;two:2:r"},
            "redis+sentinel://:pw@one:1,two:2/mymaster/0",
        ),
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


@pytest.mark.parametrize("is_here", [True, False])
def test_what_can_wait_gives_way_to_timers_where_one_process_has_both(
    is_here: bool, newest_redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def assembled(*given: Any, effects_give_way: bool, **more: Any) -> Engine:
        told.append(effects_give_way)
        return assemble(*given, effects_give_way=effects_give_way, **more)

    monkeypatch.setattr(wired, "assemble", assembled)
    socket = newest_redis.url.removeprefix("unix://")
    settings = _settings(redis__socket=socket, data__directory=str(tmp_path))
    queue = thread_effect_queue(settings) if is_here else None
    build_engine(settings, server="s", sweeps=True, effect_queue=queue)
    assert told == [is_here]


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


def test_processes_of_a_namespace_mint_no_code_twice_and_have_one_layout(
    newest_redis: RealRedis, tmp_path: Path
) -> None:
    engines = [
        _engine(newest_redis, tmp_path, name, app__codeLayout="41/8/4") for name in ("one", "one")
    ]
    minted = [code for _ in range(3) for engine in engines for code in engine.codes.codes(500)]
    assert len(set(minted)) == 3_000

    other = _engine(newest_redis, tmp_path, "two")
    with pytest.raises(ConfigurationError, match=r"set conductor\.app\.codeLayout=41/8/4"):
        other.codes.codes(1)


def test_a_redis_that_wants_a_password_is_said_so(newest_redis: RealRedis) -> None:
    settings = _settings(redis__socket=newest_redis.url.removeprefix("unix://"))
    with Redis.from_url(newest_redis.url) as client:
        client.config_set("requirepass", "secret")
        try:
            with pytest.raises(ConfigurationError, match="Redis refuses who asks") as refused:
                check_redis(settings)
        finally:
            client.config_set("requirepass", "")
    assert "host:port:rack:password" in str(refused.value)


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
            *("--set", "conductor.redis.commandTimeout=60s"),
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

    def make(given: object) -> Mock:
        made.append(given)
        return Mock()

    settings = _settings(
        redis__socket="/run/x",
        indexing__type="elasticsearch",
        elasticsearch__indexBatchSize="3",
        elasticsearch__indexRefreshInterval="2s",
        elasticsearch__waitForIndexRefresh="true",
        elasticsearch__autoIndexManagementEnabled="false",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(elasticsearch_search, "ElasticsearchSearch", make)
        build_engine(settings, server="s")

    (given,) = made
    assert isinstance(given, ElasticsearchSettings)
    assert (given.batch, given.refresh_ms, given.wait_for_refresh, given.manage) == (
        3,
        2_000,
        True,
        False,
    )


def test_metrics_tell_what_the_process_did(newest_redis: RealRedis, tmp_path: Path) -> None:
    settings = _settings(
        redis__socket=newest_redis.url.removeprefix("unix://"), data__directory=str(tmp_path)
    )
    metrics = build_metrics(settings)
    engine = build_engine(settings, server="one", metrics=metrics)
    stop = threading.Event()
    front = build_application(settings, engine, stop=stop, instance="one", metrics=metrics)
    client = front.test_client()
    task = {"name": "t", "taskReferenceName": "t", "type": "SIMPLE"}
    inline = {"name": "w", "version": 1, "tasks": [task]}
    for _ in range(2):
        assert client.post("/api/workflow", json={"name": "w", "workflowDef": inline}).text
    (claimed,) = client.get("/api/tasks/poll/batch/t?timeout=0").get_json()
    result = {name: claimed[name] for name in ("taskId", "workflowInstanceId")}
    client.post("/api/tasks", json={**result, "status": "COMPLETED", "outputData": {}})
    client.get("/api/tasks/poll/batch/other?timeout=0")
    assert client.get("/no/such/page").status_code == 404

    shown = client.get("/actuator/prometheus").text.splitlines()

    for line in (
        'conductor_starts_total{outcome="OK"} 2.0',
        'conductor_polls_total{outcome="FOUND"} 1.0',
        'conductor_polls_total{outcome="EMPTY"} 1.0',
        'conductor_claims_total{outcome="OK"} 1.0',
        'conductor_reports_total{outcome="OK"} 1.0',
        'conductor_decisions_total{outcome="OK"} 1.0',
        'conductor_queue_depth{queue="t"} 1.0',
    ):
        assert line in shown
    counted = "conductor_http_request_seconds_count"
    route = 'method="GET",route="/api/tasks/poll/batch/<task_type>",status="200"'
    assert f"{counted}{{{route}}} 2.0" in shown
    assert f'{counted}{{method="unknown",route="unknown",status="404"}} 1.0' in shown


def test_metrics_can_be_switched_off() -> None:
    assert build_metrics(_settings(**{"metrics-prometheus__enabled": "false"})) is None


def test_queues_of_invented_names_have_no_line_each_in_a_scrape() -> None:
    metrics = Metrics()
    sizes = {f"invented-{number}": 1 for number in range(MOST_QUEUES + 20)} | {"pay": 7}

    metrics.show_queues(lambda: sizes)

    lines = metrics.write().decode().splitlines()
    depths = [line for line in lines if line.startswith("conductor_queue_depth{")]
    assert len(depths) == MOST_QUEUES + 1
    assert 'conductor_queue_depth{queue="pay"} 7.0' in depths
    assert 'conductor_queue_depth{queue="(others)"} 21.0' in depths


def test_a_scrape_works_while_the_store_is_away() -> None:
    metrics = Metrics()

    def away() -> dict[str, int]:
        raise StoreUnavailable

    metrics.show_queues(away)

    assert b"# TYPE conductor_queue_depth gauge" in metrics.write()

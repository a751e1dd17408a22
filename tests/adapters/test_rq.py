"""Effects through RQ: strings and numbers in the job, a bounded queue, nothing kept afterwards."""

import json
import signal
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from conductor_py.adapters.front_turns import IN_A_ROW
from conductor_py.adapters.rq import queue as queue_module
from conductor_py.adapters.rq.connection import connect
from conductor_py.adapters.rq.job import handle_with
from conductor_py.adapters.rq.queue import RqEffectQueue
from conductor_py.adapters.rq.worker import _served, worker_of
from conductor_py.errors import StoreUnavailable
from conductor_py.processes.embedded_redis import EmbeddedRedis
from tests.conftest import RealRedis
from tests.services import absent, start_redis
from tests.services.cache import Unobtainable
from tests.waiting import PATIENCE_S, until

_LEASE_MS = 600_000


@pytest.fixture
def redis(newest_redis: RealRedis) -> Iterator[Redis]:
    with Redis.from_url(newest_redis.url) as client:
        yield client


@pytest.fixture
def effects(newest_redis: RealRedis, monkeypatch: pytest.MonkeyPatch) -> RqEffectQueue:
    monkeypatch.setattr(queue_module, "_TIMEOUT_S", PATIENCE_S)
    return RqEffectQueue(newest_redis.url, namespace="test", lease_ms=_LEASE_MS)


@pytest.fixture
def signals_restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _queue(redis: Redis) -> Queue:
    return Queue("test-effects", connection=redis, serializer=JSONSerializer())


def _burst(redis: Redis) -> None:
    worker_of("test-effects", redis).work(burst=True, logging_level="WARNING")


@pytest.mark.usefixtures("signals_restored")
def test_a_batch_reaches_the_handler_as_one_call(redis: Redis, effects: RqEffectQueue) -> None:
    calls: list[tuple[int, Sequence[str]]] = []
    handle_with(lambda partition, ids: calls.append((partition, ids)))

    effects.enqueue(3, ("a:index", "b:index"))
    effects.enqueue(0, ("c:remove",))
    _burst(redis)

    assert calls == [(3, ["a:index", "b:index"]), (0, ["c:remove"])]
    assert [key for key in redis.scan_iter() if b"rq:job:" in key] == []


def test_a_job_carries_json_and_lives_as_long_as_its_lease(
    redis: Redis, effects: RqEffectQueue
) -> None:
    effects.enqueue(1, ("a:index",))

    (job,) = _queue(redis).get_job_ids()
    stored = redis.hget(f"rq:job:{job}", "data")
    assert isinstance(stored, bytes)
    data = json.loads(zlib.decompress(stored))
    assert data == ["conductor_py.adapters.rq.job.run", None, [1, ["a:index"]], {}]
    assert 0 < redis.ttl(f"rq:job:{job}") <= _LEASE_MS // 1000


@pytest.mark.usefixtures("signals_restored")
def test_a_worker_serves_a_redis_whose_socket_lies_in_a_folder_with_a_space(
    tmp_path: Path,
) -> None:
    """What Redis says of such a connection cannot be taken apart."""
    calls: list[Sequence[str]] = []
    handle_with(lambda _, ids: calls.append(ids))
    with EmbeddedRedis(tmp_path / "a b") as server:
        url = f"unix://{quote(str(server.socket))}"
        RqEffectQueue(url, namespace="test", lease_ms=_LEASE_MS).enqueue(0, ("a:index",))
        with connect(url, timeout_s=None) as connection:
            _burst(connection)
    assert calls == [["a:index"]]


@pytest.mark.usefixtures("signals_restored")
def test_a_batch_that_fails_does_not_stop_the_next(redis: Redis, effects: RqEffectQueue) -> None:
    handled: list[Sequence[str]] = []

    def handler(_partition: int, ids: Sequence[str]) -> None:
        if "bad" in ids:
            raise StoreUnavailable
        handled.append(ids)

    handle_with(handler)
    effects.enqueue(0, ("bad",))
    effects.enqueue(0, ("good",))
    _burst(redis)

    assert handled == [["good"]]


def test_a_queue_that_nobody_serves_has_room_for_a_few_batches(
    redis: Redis, effects: RqEffectQueue
) -> None:
    for _ in range(100):
        if effects.has_room():
            effects.enqueue(0, ("a:index",))

    assert _queue(redis).count == 8


def test_a_queue_that_is_away_is_the_ports_error(tmp_path: object) -> None:
    effects = RqEffectQueue(f"unix://{tmp_path}/nobody", namespace="test", lease_ms=_LEASE_MS)

    with pytest.raises(StoreUnavailable, match="effects queue"):
        effects.enqueue(0, ("a:index",))


def test_a_queue_that_is_no_primary_any_more_is_looked_for_anew(
    redis: Redis, effects: RqEffectQueue
) -> None:
    """Behind a name or a shared address an open connection leads to the old one for ever."""
    effects.enqueue(0, ("a:index",))
    writer = effects._queue.connection.client_id()
    assert writer in _ids(redis)
    redis.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(StoreUnavailable, match="read-only"):
            effects.enqueue(0, ("b:index",))
        until(lambda: writer not in _ids(redis))
    finally:
        redis.replicaof("no", "one")

    effects.enqueue(0, ("b:index",))
    assert _queue(redis).count == 2


def _ids(redis: Redis) -> set[int]:
    return {int(client["id"]) for client in redis.client_list()}


@pytest.mark.service
@pytest.mark.usefixtures("signals_restored")
def test_a_worker_that_loses_redis_in_mid_job_leaves_no_thread_behind() -> None:
    try:
        server = start_redis()
    except Unobtainable as error:
        absent(str(error))
    before = set(threading.enumerate())
    handle_with(lambda partition, ids: server.kill())
    RqEffectQueue(server.url, namespace="test", lease_ms=_LEASE_MS).enqueue(0, ("a:index",))

    try:
        assert not _served(server.url, "test-effects")
        until(lambda: before.issuperset(threading.enumerate()), what="nobody listens")
    finally:
        server.stop()


def test_there_is_room_until_a_few_jobs_wait(redis: Redis, effects: RqEffectQueue) -> None:
    for number in range(queue_module._READY):
        assert effects.has_room()
        effects.enqueue(0, (f"{number}:index",))

    assert not effects.has_room()
    _queue(redis).empty()
    assert effects.has_room()


@pytest.mark.usefixtures("signals_restored")
def test_what_somebody_stands_still_for_goes_before_the_batches_that_wait(
    redis: Redis, effects: RqEffectQueue
) -> None:
    calls: list[str] = []
    handle_with(lambda _, ids: calls.extend(ids))
    for number in range(3):
        effects.enqueue(0, (f"{number}:index",))
    effects.enqueue_first(0, ("a:start:1",))
    _burst(redis)
    assert calls == ["a:start:1", "0:index", "1:index", "2:index"]


@pytest.mark.usefixtures("signals_restored")
def test_the_others_have_their_turn_however_many_batches_go_before_them(
    redis: Redis, effects: RqEffectQueue
) -> None:
    """A relay puts in one batch whenever a worker has taken one."""
    calls: list[str] = []

    def handler(_partition: int, ids: Sequence[str]) -> None:
        calls.extend(ids)
        if "start" in ids[0] and len(calls) < 100:
            effects.enqueue_first(0, (f"{len(calls)}:start:1",))

    handle_with(handler)
    effects.enqueue(0, ("a:index",))
    effects.enqueue_first(0, ("0:start:1",))
    _burst(redis)
    assert calls.index("a:index") == IN_A_ROW

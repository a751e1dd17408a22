"""Effects through RQ: strings and numbers in the job, a bounded queue, nothing kept afterwards."""

import json
import signal
import zlib
from collections.abc import Iterator, Sequence

import pytest
from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer
from rq.worker import SimpleWorker

from conductor_py.adapters.rq import queue as queue_module
from conductor_py.adapters.rq.job import handle_with
from conductor_py.adapters.rq.queue import RqEffectQueue
from conductor_py.errors import StoreUnavailable
from tests.conftest import RealRedis

_LEASE_MS = 600_000


@pytest.fixture
def redis(newest_redis: RealRedis) -> Iterator[Redis]:
    with Redis.from_url(newest_redis.url) as client:
        yield client


@pytest.fixture
def effects(newest_redis: RealRedis) -> RqEffectQueue:
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
    worker = SimpleWorker([_queue(redis)], connection=redis, serializer="json")
    worker.work(burst=True, logging_level="WARNING")


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


def test_a_queue_that_nobody_serves_stays_short(
    redis: Redis, effects: RqEffectQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_module, "_JOBS", 3)

    for _ in range(10):
        effects.enqueue(0, ("a:index",))

    assert _queue(redis).count == 3


def test_a_queue_that_is_away_is_the_ports_error(tmp_path: object) -> None:
    effects = RqEffectQueue(f"unix://{tmp_path}/nobody", namespace="test", lease_ms=_LEASE_MS)

    with pytest.raises(StoreUnavailable, match="effects queue"):
        effects.enqueue(0, ("a:index",))

"""Whoever can write to Redis gets no code run by the effects workers.

Each attack is a job as RQ stores it, with a name, a pickle or an address in a place that RQ itself
follows. The canary is a module that tells when it is imported; beside it the engine's own goes on.
"""

import json
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import rq.webhook
from redis import Redis

from conductor_py.adapters.rq import job as job_module
from conductor_py.adapters.rq.job import NAME, EffectsJob, handle_with
from conductor_py.adapters.rq.queue import RqEffectQueue
from conductor_py.adapters.rq.worker import worker_of
from conductor_py.errors import StoreUnavailable
from tests.adapters.test_rq import signals_restored  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("signals_restored")

_QUEUE = "test-effects"
_KEY = f"rq:queue:{_QUEUE}"
_JOB = "hostile"
_CANARY = "canary_of_the_effects_queue"
_FIRE = f"{_CANARY}.fire"
_BATCH: list[Any] = [NAME, None, [7, ["from:hostile"]], {}]

Fields = dict[str, str | bytes | int]


_PICKLE = f"c__builtin__\n__import__\n(S'{_CANARY}'\ntR.".encode()
"""Unpickled it imports the canary."""


def _job(data: object = _BATCH, **fields: str | bytes | int) -> Fields:
    text = data if isinstance(data, bytes) else zlib.compress(json.dumps(data).encode())
    return {
        "data": text,
        "origin": _QUEUE,
        "status": "queued",
        "timeout": 60,
        "result_ttl": 500,
        "created_at": "2026-01-01T00:00:00.000000Z",
        "enqueued_at": "2026-01-01T00:00:00.000000Z",
        **fields,
    }


_FOREIGN: dict[str, Fields] = {
    "a_function": _job([_FIRE, None, [], {}]),
    "a_shell": _job(["os.system", None, ["touch fired"], {}]),
    "a_builtin": _job(["builtins.__import__", None, [_CANARY], {}]),
    "a_function_of_this_module": _job([f"{job_module.__name__}.handle_with", None, [None], {}]),
    "a_path_through_this_module": _job([f"{NAME}.__globals__", None, [7, ["x"]], {}]),
    "an_instance": _job([NAME, {"run": _FIRE}, [7, ["x"]], {}]),
    "a_method_of_an_instance": _job(["__class__", "text", [], {}]),
    "named_arguments": _job([NAME, None, [7, ["x"]], {"handler": _FIRE}]),
    "a_number_that_is_none": _job([NAME, None, [True, ["x"]], {}]),
    "a_negative_partition": _job([NAME, None, [-1, ["x"]], {}]),
    "ids_that_are_none": _job([NAME, None, [7, [{"x": _FIRE}]], {}]),
    "too_many_ids": _job([NAME, None, [7, ["x"] * 20_000], {}]),
    "another_form": _job({"func": _FIRE}),
    "a_pickle": _job(_PICKLE),
    "a_pickle_in_zlib": _job(zlib.compress(_PICKLE)),
    "a_bomb": _job(zlib.compress(b" " * 50_000_000)),
    "deep_json": _job(zlib.compress(b"[" * 500_000)),
    "cut_off": _job(zlib.compress(json.dumps(_BATCH).encode())[:-9]),
    "empty": _job(b""),
    "no_data": {"origin": _QUEUE},
    "a_timeout_that_is_none": _job(timeout="for ever"),
    "a_timeout_that_never_comes": _job(timeout="-1"),
    "a_timeout_of_a_century": _job(timeout="3155760000"),
}

_ADDED: dict[str, Fields] = {
    "success_callback_name": _job(success_callback_name=_FIRE),
    "failure_callback_name": _job(failure_callback_name=_FIRE),
    "stopped_callback_name": _job(stopped_callback_name=_FIRE),
    "legacy_failure_callback_name": _job(_failure_callback_name=_FIRE),
    "callback_timeouts": _job(success_callback_timeout="x", failure_callback_timeout="x"),
    "webhooks": _job(
        webhooks=json.dumps(
            [
                {"url": "http://127.0.0.1:9/", "job_status": ending, "method": "POST"}
                for ending in ("finished", "failed")
            ]
        )
    ),
    "webhooks_that_are_none": _job(webhooks="[[["),
    "meta": _job(meta=_PICKLE),
    "result": _job(result=_PICKLE),
    "exc_info": _job(exc_info=_PICKLE),
    "description": _job(description=b"\xff\xfe"),
    "dependencies": _job(dependency_ids=json.dumps([_JOB]), dependency_id=_JOB),
    "dependencies_that_are_none": _job(dependency_ids="{"),
    "repeats": _job(repeats_left=5, repeat_intervals="[0, 0]"),
    "retries": _job(retries_left=5, retry_intervals="[0]"),
    "retries_that_are_none": _job(retries_left="many", number_of_retries="x"),
    "rate_limit": _job(rate_limit_key="k", rate_limit_concurrency=1),
    "group": _job(group_id=_FIRE),
    "names_of_classes": _job(
        serializer="pickle", job_class=_FIRE, worker_class=_FIRE, queue_class=_FIRE, func_name=_FIRE
    ),
    "exception_handlers": _job(exc_handler=_FIRE, exception_handlers=json.dumps([_FIRE])),
    "dates": _job(created_at="x", enqueued_at="x", started_at="x", last_heartbeat="x"),
    "status": _job(status="no status"),
    "worker_name": _job(worker_name=b"\xff", origin=b"\xff"),
    "ttl": _job(ttl="x", result_ttl="x", failure_ttl="x"),
    "a_field_that_is_no_text": {**_job(), b"\xff\xff": b"x"},  # type: ignore[dict-item]
}


class _Attacked:
    """A queue with something hostile in it, and the engine's handler beside."""

    def __init__(self, redis: Redis, effects: RqEffectQueue) -> None:
        self.redis = redis
        self.effects = effects
        self.calls: list[tuple[int, list[str]]] = []
        self.fails = False
        handle_with(self._handle)

    def _handle(self, partition: int, ids: Sequence[str]) -> None:
        self.calls.append((partition, list(ids)))
        if self.fails and partition == 7:
            raise StoreUnavailable

    def put(self, fields: Fields, name: str | bytes = _JOB) -> None:
        self.redis.hset(f"rq:job:{_JOB}", mapping=fields)  # type: ignore[arg-type]
        self.redis.rpush(_KEY, name)

    def go_on(self) -> list[tuple[int, list[str]]]:
        """Serve what is there and a batch of the engine's; return what was carried out."""
        self.effects.enqueue(0, ("a:index",))
        for _ in range(4):  # a worker that gave up is followed by another
            worker_of(_QUEUE, self.redis).work(burst=True, logging_level="WARNING")
        assert self.redis.llen(_KEY) == 0
        return self.calls


@pytest.fixture(params=["fake", "real"])
def attacked(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[_Attacked]:
    (tmp_path / f"{_CANARY}.py").write_text(
        "from pathlib import Path\n"
        f"Path({str(tmp_path / 'fired')!r}).touch()\n"
        "def fire(*given, **named):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    called: list[str] = []
    monkeypatch.setattr(rq.webhook, "urlopen", lambda request, **_: called.append(str(request)))
    if request.param == "fake":
        client: Redis = fakeredis.FakeRedis()
        monkeypatch.setattr("conductor_py.adapters.rq.queue.connect", lambda *_, **__: client)
        url = "unused"
    else:
        url = request.getfixturevalue("newest_redis").url
        client = Redis.from_url(url)
    yield _Attacked(client, RqEffectQueue(url, namespace="test", lease_ms=600_000))
    client.close()
    assert not (tmp_path / "fired").exists(), "the canary was called"
    assert sys.modules.pop(_CANARY, None) is None, "the canary was imported"
    assert called == [], "a web hook was called"


@pytest.mark.parametrize("attack", _FOREIGN)
def test_a_foreign_job_is_told_and_passed_over(
    attacked: _Attacked, caplog: pytest.LogCaptureFixture, attack: str
) -> None:
    attacked.put(_FOREIGN[attack])

    assert attacked.go_on() == [(0, ["a:index"])]
    told = [each for each in caplog.records if getattr(each, "job", None) == _JOB]
    assert [getattr(each, "action", None) for each in told] == ["effects_foreign_job"]
    assert 0 < attacked.redis.ttl(f"rq:job:{_JOB}") <= job_module.KEPT_S


@pytest.mark.parametrize("fails", [False, True], ids=["that_ends_well", "that_fails"])
@pytest.mark.parametrize("attack", _ADDED)
def test_what_is_added_to_a_batch_is_not_followed(
    attacked: _Attacked, attack: str, fails: bool
) -> None:
    """The batch runs once: its effects are the outbox's, who forges some finds none there."""
    attacked.fails = fails
    attacked.put(_ADDED[attack])

    assert attacked.go_on() == [(7, ["from:hostile"]), (0, ["a:index"])]
    assert not attacked.redis.exists(f"rq:job:{_JOB}")


def test_a_key_of_another_type_is_passed_over(attacked: _Attacked) -> None:
    attacked.redis.set(f"rq:job:{_JOB}", _PICKLE)
    attacked.redis.rpush(_KEY, _JOB)
    assert attacked.go_on() == [(0, ["a:index"])]


@pytest.mark.parametrize("name", ["../x y", "a:b", "", b"\xff\xfe", b"x" * 100_000])
def test_a_name_that_is_none_is_passed_over(attacked: _Attacked, name: str | bytes) -> None:
    attacked.redis.rpush(_KEY, name)
    assert attacked.go_on() == [(0, ["a:index"])]


def test_jobs_that_wait_for_a_batch_are_not_begun_by_it(attacked: _Attacked) -> None:
    attacked.redis.hset("rq:job:next", mapping=_job([_FIRE, None, [], {}], status="deferred"))  # type: ignore[arg-type]
    attacked.redis.sadd(f"rq:job:{_JOB}:dependents", "next")
    attacked.redis.zadd(f"rq:deferred:{_QUEUE}", {"next": 1})
    attacked.put(_job())
    assert attacked.go_on() == [(7, ["from:hostile"]), (0, ["a:index"])]


@pytest.mark.parametrize(
    "registry", ["wip", "ready", "scheduled", "deferred", "failed", "finished"]
)
def test_maintenance_loads_no_job_of_a_registry(attacked: _Attacked, registry: str) -> None:
    hostile = _job(
        [_FIRE, None, [], {}],
        status="started" if registry == "wip" else "ready_to_enqueue",
        failure_callback_name=_FIRE,
        meta=_PICKLE,
    )
    attacked.redis.hset(f"rq:job:{_JOB}", mapping=hostile)  # type: ignore[arg-type]
    attacked.redis.zadd(f"rq:{registry}:{_QUEUE}", {_JOB: 1, f"{_JOB}:execution": 1})
    attacked.redis.rpush(f"{_KEY}:intermediate", _JOB)
    attacked.redis.set(f"{_KEY}:intermediate:first_seen:{_JOB}", time.time() - 3600)
    attacked.redis.sadd("rq:groups", "g")
    attacked.redis.sadd("rq:group:g", _JOB)
    assert attacked.go_on() == [(0, ["a:index"])]


def test_workers_take_no_commands_over_a_channel(attacked: _Attacked) -> None:
    heard: list[object] = []
    handle_with(lambda *_: heard.extend(attacked.redis.pubsub_channels("rq:*")))
    attacked.go_on()
    assert heard == []


def test_names_of_jobs_that_were_taken_do_not_pile_up(attacked: _Attacked) -> None:
    for _ in range(300):
        attacked.put(_FOREIGN["a_function"])
    attacked.go_on()
    worker_of(_QUEUE, attacked.redis).work(burst=True, logging_level="WARNING")
    assert attacked.redis.llen(f"{_KEY}:intermediate") <= 100


def test_a_job_resolves_no_name_whatever_it_is_made_of() -> None:
    job = EffectsJob.create(_FIRE, connection=fakeredis.FakeRedis(), timeout=60)
    with pytest.raises(job_module.ForeignJob):
        job.perform()
    assert _CANARY not in sys.modules

"""Workers that are there: told by themselves, or seen by their polls; gone after one lease."""

from typing import Any

import pytest

from conductor_py.adapters.memory.presence import MemoryPresence
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.tasks.workers import Workers
from conductor_py.model.requests import PollRequest
from conductor_py.model.workers import TaskTypeLoad, WorkerSign
from conductor_py.testing import memory_engine
from conductor_py.testing.clock import FakeClock

_LEASE_MS = 30_000
_SIGN = WorkerSign(
    worker="w1",
    host="h1",
    version="7",
    sdk="conductor-py/1",
    task_types=(
        TaskTypeLoad(task_type="resize", running=2, capacity=4),
        TaskTypeLoad(task_type="charge", domain="eu", running=1, capacity=1),
    ),
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def workers(clock: FakeClock) -> Workers:
    return _over(MemoryPresence(MemorySpace(clock=clock)), clock)


def _over(presence: MemoryPresence, clock: FakeClock) -> Workers:
    return Workers(presence, lease_ms=_LEASE_MS, monotonic=clock.monotonic)


def _polls(workers: Workers, worker: str, task_type: str, domain: str = "") -> None:
    workers.polled(PollRequest(task_type=task_type, worker=worker, domain=domain))


def _ids(workers: Workers, task_type: str = "") -> list[Any]:
    return [each["workerId"] for each in workers.present(task_type)]


def test_a_worker_that_tells_is_listed_with_what_it_told(
    workers: Workers, clock: FakeClock
) -> None:
    assert workers.report(_SIGN) == _LEASE_MS
    (found,) = workers.present()
    assert found == {
        "workerId": "w1",
        "host": "h1",
        "version": "7",
        "sdk": "conductor-py/1",
        "taskTypes": [
            {"taskType": "resize", "running": 2, "capacity": 4},
            {"taskType": "charge", "domain": "eu", "running": 1, "capacity": 1},
        ],
        "running": 3,
        "capacity": 5,
        "reported": True,
        "lastSeen": clock(),
        "presentUntil": clock() + _LEASE_MS,
    }


def test_a_worker_is_gone_one_lease_after_its_last_sign(workers: Workers, clock: FakeClock) -> None:
    workers.report(_SIGN)
    clock.advance(milliseconds=_LEASE_MS - 1)
    assert _ids(workers) == ["w1"]
    clock.advance(milliseconds=1)
    assert _ids(workers) == []


def test_a_worker_that_leaves_is_gone_at_once(workers: Workers) -> None:
    workers.report(_SIGN)
    workers.leave("w1")
    workers.leave("nobody")
    assert _ids(workers) == []


def test_polls_written_after_a_farewell_do_not_bring_the_worker_back(
    clock: FakeClock,
) -> None:
    presence = MemoryPresence(MemorySpace(clock=clock))
    one, two = _over(presence, clock), _over(presence, clock)
    one.report(_SIGN)
    for worker in ("w1", "w2"):
        _polls(two, worker, "resize")
    one.leave("w1")
    clock.advance(milliseconds=_LEASE_MS // 2)
    two.flush()
    assert _ids(one) == ["w2"]
    clock.advance(milliseconds=_LEASE_MS - 1)
    assert _ids(two) == ["w2"]
    clock.advance(milliseconds=1)
    assert _ids(two) == []


def test_a_worker_that_comes_back_after_its_farewell_is_listed_again(workers: Workers) -> None:
    workers.report(_SIGN)
    workers.leave("w1")
    workers.report(_SIGN)
    assert _ids(workers) == ["w1"]


def test_of_a_worker_that_tells_nothing_its_polls_are_known(
    workers: Workers, clock: FakeClock
) -> None:
    for task_type, domain in (("resize", ""), ("charge", "eu"), ("resize", "")):
        _polls(workers, "w2", task_type, domain)
    _polls(workers, "", "resize")
    assert _ids(workers) == []  # nothing is written with a poll
    assert workers.flush() == 2
    (found,) = workers.present()
    assert found == {
        "workerId": "w2",
        "taskTypes": [{"taskType": "charge", "domain": "eu"}, {"taskType": "resize"}],
        "reported": False,
        "lastSeen": clock(),
        "presentUntil": clock() + _LEASE_MS,
    }


def test_polls_are_written_a_few_times_a_lease_and_keep_a_worker_listed(
    workers: Workers, clock: FakeClock
) -> None:
    written = 0
    for _ in range(120):
        _polls(workers, "w2", "resize")
        written += workers.flush()
        clock.advance(milliseconds=500)
        assert _ids(workers) == ["w2"]
    assert written == 8  # 60 s, each quarter of 30
    clock.advance(milliseconds=_LEASE_MS)
    assert workers.flush() == 1
    clock.advance(milliseconds=_LEASE_MS)
    assert workers.flush() == 0
    assert _ids(workers) == []


def test_what_a_worker_tells_comes_before_what_its_polls_say(
    workers: Workers, clock: FakeClock
) -> None:
    workers.report(_SIGN)
    clock.advance(milliseconds=5)
    _polls(workers, "w1", "other")
    workers.flush()
    (found,) = workers.present()
    assert (found["reported"], found["running"], found["lastSeen"]) == (True, 3, clock())
    assert "other" not in str(found["taskTypes"])


def test_workers_are_found_by_what_they_take(workers: Workers) -> None:
    workers.report(_SIGN)
    _polls(workers, "w2", "resize")
    workers.flush()
    assert _ids(workers, "resize") == ["w1", "w2"]
    assert _ids(workers, "charge") == ["w1"]
    assert _ids(workers, "none") == []


def test_all_servers_list_the_same(clock: FakeClock) -> None:
    presence = MemoryPresence(MemorySpace(clock=clock))
    one, two = _over(presence, clock), _over(presence, clock)
    one.report(_SIGN)
    _polls(two, "w2", "resize")
    two.flush()
    assert _ids(one) == _ids(two) == ["w1", "w2"]


def test_ids_that_no_worker_has_do_not_fill_the_store(workers: Workers) -> None:
    _polls(workers, "x" * 256, "resize")
    for number in range(6_000):
        _polls(workers, f"w{number}", "resize")
    assert workers.flush() == 4_999


def test_a_poll_of_the_engine_is_seen() -> None:
    engine = memory_engine()
    engine.engine.tasks.poll(PollRequest(task_type="a", worker="w", timeout_ms=0))
    engine.engine.workers.flush()
    assert _ids(engine.engine.workers) == ["w"]

"""One damaged member costs no reader anything else: with one member of each kind damaged in each
way, every list and every look of an operator answers, and shows the healthy ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from flask.testing import FlaskClient
from redis import Redis

from conductor_py.api import create_app
from conductor_py.api.metrics import Metrics
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine
from conductor_py.wiring.application import show_engine
from tests.builders import simple, typed, workflow
from tests.conftest import _RedisServers
from tests.damage.world import PREFIX, World, made, schedule_of
from tests.services import NEWEST_REDIS

HUGE = b"9" * 40
NO_TEXT = b"\xff\xfe"
WAYS: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: b"x",
    "cut": lambda whole: whole[: len(whole) // 2],
    "a huge number": lambda _: HUGE,
    "empty": lambda _: b"",
    "no text": lambda _: NO_TEXT,
    "another JSON type": lambda _: b"[1]",
    "JSON without members": lambda _: b"{}",
}
_FAST = 1
EACH_WAY = [
    pytest.param(way, marks=[pytest.mark.thorough(target="stories")] if at >= _FAST else [])
    for at, way in enumerate(WAYS)
]
MEMBERS = [b"x", NO_TEXT, HUGE, b"", b"x:" + HUGE, b"a:x", b"[1]"]
EACH_MEMBER = [
    pytest.param(member, marks=[pytest.mark.thorough(target="stories")] if at >= _FAST else [])
    for at, member in enumerate(MEMBERS)
]


@pytest.fixture(scope="module")
def _world(redis_servers: _RedisServers) -> Iterator[World]:
    world = made(redis_servers.get(NEWEST_REDIS).url)
    yield world
    world.close()


@pytest.fixture
def world(_world: World) -> World:
    _world.restore()
    return _world


class _Looks:
    """Two executions of one kind, of which one is damaged, and everything that shows many."""

    def __init__(self, world: World) -> None:
        self.server: MemoryEngine = world.server
        self.redis: Redis = world.redis
        asked = workflow("looked", simple("t"), typed("WAIT", "w"))
        self.bad, self.good = (self.server.start(asked) for _ in range(2))
        self.server.settle()
        engine = self.server.engine
        engine.auditor._pause = lambda _: None
        metrics = Metrics()
        show_engine(metrics, engine)
        self.app = create_app(engine, metrics=metrics.write)
        self.client: FlaskClient = self.app.test_client()

    def paths(self) -> Iterator[tuple[str, str]]:
        for rule in self.app.url_map.iter_rules():
            if "GET" in (rule.methods or ()) and not rule.arguments and "poll" not in rule.rule:
                yield "GET", rule.rule
        yield "GET", "/api/admin/audit?size=2000"
        yield "GET", "/api/admin/task/t"
        yield "GET", "/api/workflow/running/looked"
        yield "GET", f"/api/workflow/{self.good}"
        yield "GET", f"/api/workflow/{self.good}/why"
        yield "GET", f"/api/workflow/{self.bad}/why"
        yield "GET", f"/api/admin/audit/{self.bad}"
        yield "GET", "/api/tasks/queue/polldata?taskType=t"
        yield "GET", "/api/tasks/queue/sizes?taskType=t"
        yield "POST", "/api/tasks/queue/requeue/t"

    def wrong(self) -> list[str]:
        """What does not answer, or hides the healthy."""
        found = []
        for method, path in self.paths():
            answer = self.client.open(path, method=method)
            if answer.status_code >= 500:
                found.append(f"{method} {path}: {answer.text[:150]}")
        listed = self.client.get("/api/admin/task/t").text
        if self.good not in listed:
            found.append(f"/api/admin/task/t hides the healthy one: {listed[:100]}")
        return found


def _damage(redis: Redis, key: str, field: str, way: str) -> None:
    redis.hset(key, field, WAYS[way](redis.hget(key, field) or b""))  # type: ignore[arg-type]


def test_with_nothing_damaged_all_of_them_answer(world: World) -> None:
    assert "\n".join(_Looks(world).wrong()) == ""


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("field", ["v", "h", "l", "q", "k", "a:1", "c:1", "i:1", "meta", "input"])
def test_a_damaged_field_of_one_execution_hides_no_other(
    world: World, field: str, way: str
) -> None:
    looks = _Looks(world)
    _damage(world.redis, f"{PREFIX}exec:{looks.bad}", field, way)
    assert "\n".join(looks.wrong()) == ""


@pytest.mark.parametrize("kind", ["exec:", "inbox:", "park:", "log:", "ckpt:", "ans:"])
def test_a_key_of_the_wrong_type_of_one_execution_hides_no_other(world: World, kind: str) -> None:
    looks = _Looks(world)
    key = f"{PREFIX}{kind}{looks.bad}"
    world.redis.delete(key)
    world.redis.set(key, "of another type")
    assert "\n".join(looks.wrong()) == ""


_HASHES: dict[str, str] = {
    "effects": "bad:index",
    "schedules": "victim",
    "meta:handlers": "x",
    "meta:tasks": "a",
    "meta:workflow:kept": "1",
    "meta:schemas": "1 x",
    "meta:tags:workflow": "x",
    "shards": "s1",
    "servers": "other",
    "swept": "s1",
    "signs": "x",
    "polldata": "t\n",
    "numbers": "1",
    "permits:t:t": "0",
    "damaged": "outbox x",
    "event:counts": "FAILED",
    "limits": "t",
}


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("key", _HASHES)
def test_a_damaged_member_of_a_shared_hash_hides_no_other(world: World, key: str, way: str) -> None:
    looks = _Looks(world)
    _damage(world.redis, PREFIX + key, _HASHES[key], way)
    if key == "effects":
        world.redis.zadd(f"{PREFIX}outbox", {"bad:index": 0})
    assert "\n".join(looks.wrong()) == ""


_SETS = (
    "queue:t:s0", "delayed:t:s0", "timers:s0", "limit:t", "running:looked", "outbox",
    "schedules:due", "quarantine", "touched", "admitted:k", "waiting:k", "plans", "signs:until",
)  # fmt: skip


@pytest.mark.parametrize("member", EACH_MEMBER)
@pytest.mark.parametrize("key", _SETS)
def test_a_member_of_a_shared_set_that_is_none_hides_no_other(
    world: World, key: str, member: bytes
) -> None:
    looks = _Looks(world)
    world.redis.zadd(PREFIX + key, {member: 0})
    assert "\n".join(looks.wrong()) == ""


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize("field", ["v", "l", "q"])
def test_a_damaged_execution_in_quarantine_hides_no_other_there(
    world: World, field: str, way: str
) -> None:
    looks = _Looks(world)
    for one in (looks.bad, looks.good):
        _quarantine(looks, one)
    _damage(world.redis, f"{PREFIX}exec:{looks.bad}", field, way)
    assert "\n".join(looks.wrong()) == ""
    listed = looks.client.get("/api/admin/quarantine").get_json()["results"]
    assert looks.good in [one["workflowId"] for one in listed]


def test_an_audit_names_an_execution_without_record_and_comes_to_its_end(world: World) -> None:
    looks = _Looks(world)
    world.redis.hset(f"{PREFIX}exec:{looks.bad}", "v", "x")
    auditor, found, cursor = looks.server.engine.auditor, [], ""
    while True:
        page = auditor.page(cursor, 10)
        found += [one for one in page.findings if one.code == "unreadable"]
        cursor = page.cursor
        if not cursor:
            break
    assert (looks.bad, "v cannot be read") in {(one.subject, one.detail[-16:]) for one in found}


def test_why_says_what_cannot_be_read_of_an_execution_and_what_to_do(world: World) -> None:
    looks = _Looks(world)
    world.redis.hset(f"{PREFIX}exec:{looks.bad}", "v", "x")
    cause = looks.client.get(f"/api/workflow/{looks.bad}/why").get_json()["cause"]
    assert cause["code"] == "unknown-format"
    assert "cannot be read" in cause["sentence"]
    assert "the field v" in cause["sentence"]
    assert "quarantine drop" in str(cause)


def _quarantine(looks: _Looks, execution: str) -> None:
    one = ExecutionId(execution)
    found = looks.server.ports.inspector.inspect(one)
    assert found is not None
    for _ in range(5):
        looks.server.ports.quarantine.set_back(one, "x", found.version, "it is told why")


def test_an_execution_in_quarantine_without_record_is_listed_with_that_reason_and_dropped(
    world: World,
) -> None:
    looks = _Looks(world)
    _quarantine(looks, looks.bad)
    _quarantine(looks, looks.good)
    world.redis.hset(f"{PREFIX}exec:{looks.bad}", "v", "x")
    page = looks.client.get("/api/admin/quarantine").get_json()
    reasons = {one["workflowId"]: one["reason"] for one in page["results"]}
    assert reasons == {looks.bad: "the field v cannot be read", looks.good: "it is told why"}
    assert looks.client.post("/api/admin/quarantine/retry").status_code == 200

    dropped = looks.client.post(f"/api/admin/quarantine/{looks.bad}/drop")
    assert dropped.status_code == 200
    assert not world.redis.exists(f"{PREFIX}exec:{looks.bad}")
    assert looks.bad not in looks.client.get("/api/admin/quarantine").text
    assert looks.bad not in looks.client.get("/api/workflow/running/looked").text
    looks.server.settle()
    assert looks.client.get(f"/api/workflow/{looks.good}").status_code == 200


@pytest.mark.parametrize("way", ["garbage", "cut", "a huge number", "empty"])
def test_an_execution_in_quarantine_whose_header_nobody_can_read_is_dropped(
    world: World, way: str
) -> None:
    looks = _Looks(world)
    _quarantine(looks, looks.bad)
    key = f"{PREFIX}exec:{looks.bad}"
    _damage(world.redis, key, "h", way)
    dropped = looks.client.post(f"/api/admin/quarantine/{looks.bad}/drop")
    assert (dropped.status_code, world.redis.exists(key)) == (200, 0)
    assert looks.bad not in looks.client.get("/api/admin/quarantine").text


@pytest.mark.parametrize("header", [b'{"f":999,"name":"looked"}', b'{"f":1,"status":"NEW"}'])
def test_the_header_of_another_version_is_not_dropped(world: World, header: bytes) -> None:
    looks = _Looks(world)
    _quarantine(looks, looks.bad)
    key = f"{PREFIX}exec:{looks.bad}"
    world.redis.hset(key, "h", header)
    refused = looks.client.post(f"/api/admin/quarantine/{looks.bad}/drop")
    assert (refused.status_code, world.redis.exists(key)) == (409, 1)
    assert "stored" in refused.get_json()["message"]


def test_a_task_of_a_healthy_execution_is_requeued_beside_a_damaged_one(world: World) -> None:
    looks = _Looks(world)
    assert len(looks.server.poll("t", 2)) == 2
    world.redis.hset(f"{PREFIX}exec:{looks.bad}", "v", "x")
    answer = looks.client.post("/api/tasks/queue/requeue/t")
    assert answer.status_code == 200
    (again,) = looks.server.poll("t", 2)
    assert again["workflowInstanceId"] == looks.good


def test_a_header_that_counts_to_a_huge_number_does_not_hold_redis(world: World) -> None:
    looks = _Looks(world)
    key = f"{PREFIX}exec:{looks.bad}"
    header = world.redis.hget(key, "h")
    assert isinstance(header, bytes)
    world.redis.hset(key, "h", re.sub(rb'"next_seq": ?\d+', b'"next_seq":999999999999999', header))
    listed = looks.client.get("/api/admin/task/t").text
    assert looks.good in listed


_BULK = {
    "pause": "PUT",
    "resume": "PUT",
    "terminate": "POST",
    "retry": "POST",
    "restart": "POST",
    "remove": "DELETE",
    "search": "POST",
}


@pytest.mark.parametrize("field", ["v", "h", "a:1"])
@pytest.mark.parametrize("verb", _BULK)
def test_a_bulk_goes_on_beyond_a_damaged_execution(world: World, verb: str, field: str) -> None:
    looks = _Looks(world)
    if verb == "resume":
        looks.server.engine.steering.pause(looks.good)
    world.redis.hset(f"{PREFIX}exec:{looks.bad}", field, "x")
    ids = [looks.bad, looks.good]
    answer = looks.client.open(f"/api/workflow/bulk/{verb}", method=_BULK[verb], json=ids)
    assert answer.status_code == 200, answer.text
    if verb in {"pause", "resume", "terminate"}:
        assert looks.good in answer.get_json()["bulkSuccessfulResults"]


def test_a_bulk_of_schedules_goes_on_beyond_a_damaged_one(world: World) -> None:
    looks = _Looks(world)
    looks.server.schedule(schedule_of("fine"))
    world.redis.hset(f"{PREFIX}schedules", "victim", "1 1 1 1 0 {}")
    said = looks.server.engine.schedules.pause_all(["victim", "fine"])
    assert said["bulkSuccessfulResults"] == ["fine"]
    assert "cannot be read" in str(said["bulkErrorResults"])

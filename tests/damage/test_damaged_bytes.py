"""One damaged byte stops nobody else: each kind of key of ``keys.py``, each of its fields, damaged
in turn, with healthy executions beside it. A new kind of key is in here by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from conductor_py.adapters.redis.keys import KEYS, KeyName
from tests.conftest import _RedisServers
from tests.damage.beside import Beside
from tests.damage.world import World, made
from tests.services import NEWEST_REDIS

Text = str | bytes
_FAST: tuple[Text, ...] = ("no JSON",)
_MORE: tuple[Text, ...] = (
    b"\xff\xfe",
    "",
    '{"a":',
    "[1]",
    "null",
    "-1 -1 -1",
    "{}",
    '"text"',
    "1e999",
    "\xff\x00",
    b'{"a":"\xff"}',
    b"1\xb10",
    b"0 0 \xff",
    "a b c",
    "9" * 40,
    "x" * 100_000,
)
_LONG = "x" * 100_000
#: What nearly every decision reads. Of the others each run damages the keys, `test-all` each field.
_HOT = ("exec:", "inbox:", "queue:", "timers:", "outbox", "effects", "plan:", "running:")
_NAMED = {kind.name: kind for kind in KEYS}


@pytest.fixture(scope="module")
def _world(redis_servers: _RedisServers) -> Iterator[World]:
    world = made(redis_servers.get(NEWEST_REDIS).url)
    yield world
    world.close()


@pytest.fixture
def world(_world: World) -> World:
    _world.restore()
    return _world


def _wrong_type(redis: Redis, key: str) -> None:
    kind = redis.type(key)
    redis.delete(key)
    if kind == b"string":
        redis.hset(key, "a", "b")
    else:
        redis.set(key, "a string")


Damage = Callable[[], object]


def _members(text: Text) -> set[bytes]:
    told = text.encode() if isinstance(text, str) else text
    return {told, b"x:" + told, b"a:" + told, told + b"-1"}


def _damages(world: World, key: str, text: Text) -> Iterator[tuple[str, Damage]]:
    """Each way in which one key can be damaged with a text, by name."""
    redis = world.redis
    if world.spares(key):
        return
    kind = redis.type(key)
    if kind == b"string":
        yield key, lambda: redis.set(key, text)
    elif kind == b"hash":
        for field in [*redis.hkeys(key), b"damaged", b"d\xff"]:
            value = redis.hget(key, field) or b""
            if not world.spares(f"{field!r} {value!r}"):
                yield f"{key} {field!r}", lambda field=field: redis.hset(key, field, text)  # type: ignore[misc]
    elif kind == b"zset":
        for member in _members(text):
            yield f"{key} + {member[:20]!r}", lambda member=member: redis.zadd(key, {member: 0})  # type: ignore[misc]
    elif kind == b"set":
        yield f"{key} + {text[:20]!r}", lambda: redis.sadd(key, text)
    else:
        yield f"{key}[0]", lambda: redis.execute_command("LSET", key, 0, text)


def _try(world: World, kind: KeyName, texts: tuple[Text, ...], *, each: bool) -> list[str]:
    """Damage every field with every text; unless ``each``, fields that are called alike once."""
    failed: list[str] = []
    for text in texts:
        seen: set[str] = set()
        for key in list(world.keys(kind)):
            for case in _names(world, key, text):
                alike = re.sub(r"\d+", "0", case[1].removeprefix(key))
                if alike in seen and not each:
                    continue
                seen.add(alike)
                world.restore()
                _apply(world, case, text)
                if problem := Beside(world).go_on(waits=True):
                    failed.append(f"{case[1]} = {text[:12]!r}: {problem}")
    return failed


def _names(world: World, key: str, text: Text) -> list[tuple[str, str]]:
    world.restore()
    return [(key, name) for name, _ in _damages(world, key, text)]


def _apply(world: World, case: tuple[str, str], text: Text) -> None:
    key, wanted = case
    for name, damage in _damages(world, key, text):
        if name == wanted:
            damage()
            return
    raise AssertionError(f"{wanted} is not there")


@pytest.mark.parametrize("kind", [_NAMED[name] for name in _HOT], ids=_HOT)
def test_a_damaged_field_stops_nobody_else(world: World, kind: KeyName) -> None:
    assert _try(world, kind, _FAST, each=False) == []


@pytest.mark.parametrize("kind", KEYS, ids=lambda kind: kind.name)
def test_a_key_of_the_wrong_type_stops_nobody_else(world: World, kind: KeyName) -> None:
    failed: list[str] = []
    for key in [key for key in world.keys(kind) if not world.spares(key)][:3]:
        world.restore()
        _wrong_type(world.redis, key)
        problem = Beside(world).go_on(waits=False)
        if problem:
            failed.append(f"{key}: {problem}")
    assert failed == []


@pytest.mark.parametrize(("kind", "field"), [("exec:", "end"), ("plan:", "n:w")])
def test_a_field_that_is_json_of_another_form_stops_nobody_else(
    world: World, kind: str, field: str
) -> None:
    (found,) = [each for each in KEYS if each.name == kind]
    keys = [key for key in world.keys(found) if world.redis.hexists(key, field)]
    damaged = [key for key in keys if not world.spares(key)]
    assert damaged
    for key in damaged:
        world.restore()
        world.redis.hset(key, field, "[1]")
        beside = Beside(world)
        assert (beside.go_on(waits=True), beside.raised) == ("", [])


@pytest.mark.thorough(target="stories")
@pytest.mark.parametrize("kind", KEYS, ids=lambda kind: kind.name)
def test_whatever_a_field_holds_it_stops_nobody_else(world: World, kind: KeyName) -> None:
    assert _try(world, kind, (*_FAST, *_MORE, _LONG), each=True) == []

"""The parent of a child that is dropped hears of it, whatever fails meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import orjson
import pytest

from conductor_py.errors import StoreDamaged, StoreFailure, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import FakeClock, MemoryEngine
from tests.builders import typed, workflow
from tests.damage.world import PREFIX, World

_Drop = Callable[[World, MemoryEngine, str], None]


def _parent_and_child(server: MemoryEngine) -> tuple[str, str]:
    wait = typed("WAIT", "w", inputParameters={"duration": "9000 seconds"})
    params = {"name": "inner", "version": 1, "workflowDefinition": workflow("inner", wait)}
    parent = server.start(workflow("outer", typed("SUB_WORKFLOW", "s", subWorkflowParam=params)))
    return parent, str(server.workflow(parent)["tasks"][0]["subWorkflowId"])


def _drop_damaged(world: World, server: MemoryEngine, child: str) -> None:
    world.redis.zadd(f"{PREFIX}timers:s0", {f"x:{child}": 0})
    server.settle()
    server.engine.quarantine.drop_damaged(f"0 timers:s0 x:{child}")


def _end_in_quarantine(world: World, server: MemoryEngine, child: str) -> None:
    world.redis.hset(f"{PREFIX}exec:{child}", "l", "99999999999999 quarantine")
    assert server.engine.quarantine.end(child, "enough")


def _damage(world: World, execution: str, field: str, value: bytes = b"cannot be read") -> bytes:
    key = f"{PREFIX}exec:{execution}"
    before = world.redis.hget(key, field)
    assert isinstance(before, bytes)
    world.redis.hset(key, field, value)
    return before


def _heard(server: MemoryEngine, parent: str) -> bool:
    told = server.workflow(parent)
    return told["status"] == "TERMINATED" and "could not be read" in told["reasonForIncompletion"]


@contextmanager
def _nothing_is_sent(server: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def away(*_args: object, **_more: object) -> None:
        raise StoreUnavailable("not just now")

    with monkeypatch.context() as patch:
        patch.setattr(type(server.ports.store), "send", away)
        yield


_each_way = pytest.mark.parametrize("drop", [_drop_damaged, _end_in_quarantine])


@_each_way
def test_a_parent_hears_of_what_is_dropped_when_the_store_was_away_in_between(
    world: World, server: MemoryEngine, monkeypatch: pytest.MonkeyPatch, drop: _Drop
) -> None:
    parent, child = _parent_and_child(server)
    _damage(world, child, "v")
    with _nothing_is_sent(server, monkeypatch), suppress(StoreUnavailable):
        drop(world, server, child)
    server.settle()
    assert _heard(server, parent)


@_each_way
def test_a_damaged_parent_hears_of_what_is_dropped_when_it_is_mended(
    world: World, server: MemoryEngine, clock: FakeClock, drop: _Drop
) -> None:
    parent, child = _parent_and_child(server)
    _damage(world, child, "v")
    whole = _damage(world, parent, "v")
    with suppress(StoreDamaged):
        drop(world, server, child)
    server.settle()
    _damage(world, parent, "v", whole)
    clock.advance(seconds=600)
    server.settle()
    assert _heard(server, parent)


@_each_way
def test_a_header_that_is_cut_off_still_names_the_parent(
    world: World, server: MemoryEngine, drop: _Drop
) -> None:
    parent, child = _parent_and_child(server)
    _damage(world, child, "h", _damage(world, child, "h")[:-1])
    _damage(world, child, "v")
    drop(world, server, child)
    server.settle()
    assert _heard(server, parent)


def test_a_header_that_is_mended_while_its_execution_is_dropped_names_the_parent(
    world: World, server: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, child = _parent_and_child(server)
    whole = _damage(world, child, "h")
    _damage(world, child, "v")
    quarantine = server.ports.quarantine
    read, reads = quarantine.header, []

    def mended(execution: ExecutionId) -> bytes:
        reads.append(read(execution))
        _damage(world, child, "h", whole)
        return reads[-1]

    monkeypatch.setattr(quarantine, "header", mended)
    _drop_damaged(world, server, child)
    assert reads == [b"cannot be read", whole]
    server.settle()
    assert _heard(server, parent)


def test_what_orders_the_message_comes_before_anything_is_deleted(
    world: World, server: MemoryEngine, clock: FakeClock
) -> None:
    parent, child = _parent_and_child(server)
    _damage(world, child, "v")
    world.redis.zadd(f"{PREFIX}timers:s0", {f"x:{child}": 0})
    server.settle()
    entry = f"0 timers:s0 x:{child}"
    world.redis.rename(f"{PREFIX}effects", f"{PREFIX}away")
    world.redis.set(f"{PREFIX}effects", "of another type")
    with pytest.raises(StoreFailure):
        server.engine.quarantine.drop_damaged(entry)
    assert entry in [one["entry"] for one in server.engine.quarantine.damaged()]
    world.redis.rename(f"{PREFIX}away", f"{PREFIX}effects")
    server.engine.quarantine.drop_damaged(entry)
    clock.advance(seconds=60)
    server.settle()
    assert _heard(server, parent)


def test_the_parent_is_told_once_by_an_effect_that_leaves_the_outbox(
    world: World, server: MemoryEngine
) -> None:
    parent, child = _parent_and_child(server)
    _damage(world, child, "v")
    _drop_damaged(world, server, child)
    (post,) = server.ports.outbox.read(0, [f"{child}:post:dropped"])
    assert orjson.loads(post.document)["to"] == parent
    server.settle()
    assert server.ports.outbox.read(0, [post.id]) == ()

"""Shards of one server, and those of a process that serves all and holds none."""

from typing import Any

from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.shards import Shards
from conductor_py.testing.clock import FakeClock

_LEASE_MS = 10_000


def _shards(registry: MemoryShardRegistry, clock: FakeClock, server: str, **more: Any) -> Shards:
    return Shards(registry, server, lease_ms=_LEASE_MS, monotonic=clock.monotonic, **more)


def test_a_process_that_serves_all_sees_those_of_all_and_leases_none() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    one, two = (_shards(registry, clock, name) for name in ("one", "two"))
    watcher = _shards(registry, clock, "watcher", serves_all=True)
    assert not watcher.own

    one.keep()
    two.keep()
    watcher.keep(force=True)

    assert watcher.own == watcher.to_poll() == ("s0", "s1")
    assert {watcher.pick("s0") for _ in range(2)} == {"s0", "s1"}
    assert set(registry.servers()) == {"one", "two"}


def test_a_process_that_serves_all_looks_again_within_a_lease() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    watcher = _shards(registry, clock, "watcher", serves_all=True)
    assert not watcher.own
    _shards(registry, clock, "one").keep()

    clock.advance(milliseconds=_LEASE_MS // 2)

    assert watcher.own == ("s0",)


def test_a_process_that_serves_all_gives_nothing_back() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    one = _shards(registry, clock, "one")
    one.keep()

    _shards(registry, clock, "one", serves_all=True).release()

    assert registry.live() == one.own == ("s0",)

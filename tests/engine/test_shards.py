"""Shards of one server, and those of a process that serves all and holds none."""

import logging
from typing import Any

import pytest

from conductor_py.adapters.memory.shards import MemoryShardRegistry
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.shards import LOCAL_ONLY, ROUND_ROBIN, Shards
from conductor_py.errors import StoreUnavailable
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
    assert {server.name for server in registry.view().servers} == {"one", "two"}


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

    assert registry.view().live == one.own == ("s0",)


def _two(strategy: str = LOCAL_ONLY) -> tuple[FakeClock, MemoryShardRegistry, Shards, Shards]:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    one, two = (_shards(registry, clock, name, strategy=strategy) for name in ("one", "two"))
    for shards in (one, two, one):
        shards.keep(force=True)
    return clock, registry, one, two


def _live_on(clock: FakeClock, shards: Shards, milliseconds: int) -> None:
    """Do what a process does while nobody asks it for anything."""
    for _ in range(milliseconds * 12 // _LEASE_MS):
        clock.advance(milliseconds=_LEASE_MS // 12)
        shards.keep()


def test_shards_of_a_server_that_is_gone_are_served_within_one_lease() -> None:
    for asked_late_ms in range(0, _LEASE_MS // 4, 100):
        clock, _, one, two = _two()
        clock.advance(milliseconds=asked_late_ms)
        two.keep(force=True)
        one.keep(force=True)  # and this was the last that anybody heard of it

        _live_on(clock, two, _LEASE_MS)

        assert two.to_poll() == ("s0", "s1")


def test_a_server_that_was_frozen_serves_nothing_of_its_shard_before_it_has_renewed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, registry, one, two = _two()
    assert one.to_poll() == ("s0",)
    term = one._terms["s0"]
    _live_on(clock, two, 2 * _LEASE_MS)
    assert two.to_poll() == ("s0", "s1")

    with caplog.at_level(logging.WARNING):
        assert one.to_poll() == ()

    assert [record.action for record in caplog.records] == ["shards_lost"]  # type: ignore[attr-defined]
    (s0, _) = registry.view().shards
    assert (s0.server, s0.term > term) == ("two", True)
    # What it is given back later is another term.
    two.keep(force=True)
    assert (one.to_poll(), two.to_poll()) == (("s1",), ("s0",))


def test_a_server_that_was_frozen_serves_nothing_while_the_store_is_away() -> None:
    clock, registry, one, _ = _two()
    assert one.to_poll() == ("s0",)

    class Away:
        def lease(self, *_given: object) -> dict[str, int]:
            raise StoreUnavailable

    clock.advance(milliseconds=_LEASE_MS)
    one._registry = Away()  # type: ignore[assignment]
    for look in (one.to_poll, one.to_sweep):
        with pytest.raises(StoreUnavailable):
            look()
    one._registry = registry
    assert one.to_poll() == ("s0",)


def test_an_answer_that_arrived_in_a_frozen_process_counts_from_its_question() -> None:
    clock, registry, one, _ = _two()

    class Slow:
        def lease(self, *given: Any) -> dict[str, int]:
            found = registry.lease(*given)
            clock.advance(milliseconds=_LEASE_MS)  # frozen with the answer in its hand
            return found

        view = registry.view

    one._registry = Slow()  # type: ignore[assignment]
    one.keep(force=True)
    one._registry = registry
    asked = registry.view().servers
    assert one.to_poll() == ("s0",)
    assert registry.view().servers != asked  # it renewed before it told


def test_processes_of_one_server_share_its_term() -> None:
    clock, registry, one, _ = _two()
    sweeper = _shards(registry, clock, "one", strategy=LOCAL_ONLY, sweeps=True)
    sweeper.keep()
    assert sweeper._terms == one._terms


def test_under_local_only_each_server_fires_the_timers_of_its_own_shards() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    one, two = (
        _shards(registry, clock, name, strategy=LOCAL_ONLY, sweeps=True) for name in ("one", "two")
    )
    beside = _shards(registry, clock, "b", strategy=LOCAL_ONLY, serves_all=True, sweeps=True)
    for shards in (one, two, one, beside):
        shards.keep(force=True)

    assert (one.to_sweep(), two.to_sweep(), beside.to_sweep()) == (("s0",), ("s1",), ())
    assert beside.to_poll() == ("s0", "s1")


def test_timers_of_servers_without_a_sweeper_are_fired_by_one_beside_them() -> None:
    clock, registry, _, _ = _two()
    sweeping = _shards(registry, clock, "three", strategy=LOCAL_ONLY, sweeps=True)
    beside = _shards(registry, clock, "b", strategy=LOCAL_ONLY, serves_all=True, sweeps=True)
    sweeping.keep()
    assert sweeping.to_sweep() == ("s2",)
    assert beside.to_sweep() == ("s0", "s1")


def test_a_sweeper_beside_the_servers_fires_those_of_its_rack_and_leaves_them_to_it() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))

    def of(server: str, rack: str, **more: Any) -> Shards:
        return _shards(registry, clock, server, names=(rack,), strategy=LOCAL_ONLY, **more)

    for rack in ("east", "west"):
        of(f"node-{rack}", rack).keep()
    east, west = (
        of(f"sweeper-{rack}", rack, serves_all=True, sweeps=True) for rack in ("east", "west")
    )
    for shards in (east, west, east):
        shards.keep(force=True)
    assert (east.to_sweep(), west.to_sweep()) == (("east",), ("west",))

    for node in ("east", "west"):
        of(f"node-{node}", node).keep()
    _live_on(clock, east, _LEASE_MS)
    assert set(east.to_sweep()) == {"east", "west"}  # the other one fell silent
    west.keep()
    east.keep(force=True)
    assert (east.to_sweep(), west.to_sweep()) == (("east",), ("west",))


def test_a_sweeper_that_fell_silent_is_stood_in_for_within_one_lease() -> None:
    clock, registry, one, _ = _two()
    silent = _shards(registry, clock, "one", strategy=LOCAL_ONLY, sweeps=True)
    other = _shards(registry, clock, "two", strategy=LOCAL_ONLY, sweeps=True)
    silent.keep()
    other.keep()
    assert other.to_sweep() == ("s1",)

    for _ in range(12):
        clock.advance(milliseconds=_LEASE_MS // 12)
        one.keep()  # its other process lives: the shard stays its own
        other.keep()

    assert one.to_poll() == ("s0",)
    assert other.to_sweep() == ("s1", "s0")
    assert other.to_poll() == ("s1",)


def test_under_round_robin_a_sweeper_beside_the_servers_fires_all() -> None:
    clock, registry, _, _ = _two()
    beside = _shards(registry, clock, "b", serves_all=True, sweeps=True)
    assert beside.to_sweep() == ("s0", "s1")


def test_what_a_process_beside_the_servers_starts_is_at_home_where_somebody_serves() -> None:
    clock, registry, _, _ = _two()
    beside = _shards(registry, clock, "b", strategy=LOCAL_ONLY, serves_all=True)
    assert {beside.home for _ in range(4)} == {"s0", "s1"}
    nowhere = _shards(
        registry, clock, "c", strategy=LOCAL_ONLY, serves_all=True, names=("nowhere",)
    )
    assert nowhere.home in {"s0", "s1"}
    near = _shards(registry, clock, "d", strategy=LOCAL_ONLY, serves_all=True, names=("s1",))
    assert {near.home for _ in range(4)} == {"s1"}


def test_a_server_that_returns_gets_its_configured_shard_back() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))

    def of(server: str, rack: str) -> Shards:
        return _shards(registry, clock, server, names=(rack,), strategy=LOCAL_ONLY)

    east, west = of("one", "east"), of("two", "west")
    assert (east.to_poll(), west.to_poll()) == (("east",), ("west",))
    _live_on(clock, west, _LEASE_MS)
    assert west.to_poll() == ("east", "west")
    assert west.home == "west"

    back = of("one again", "east")
    assert back.to_poll() == ("east",)
    _live_on(clock, west, _LEASE_MS // 2)

    assert west.to_poll() == ("west",)


def test_servers_are_listed_with_their_shards_terms_and_last_renewal() -> None:
    clock, _, one, _ = _two()
    first, second = map(dict[str, Any], one.servers())
    assert (first["server"], second["server"]) == ("one", "two")
    assert first["lastRenewal"] == clock()
    (shard,) = first["shards"]
    assert shard == {
        "shard": "s0",
        "term": one._terms["s0"],
        "configured": False,
        "sweptUntil": 0,
    }


def _named(
    registry: MemoryShardRegistry, clock: FakeClock, server: str, *racks: str, **more: Any
) -> Shards:
    return _shards(registry, clock, server, names=racks, strategy=LOCAL_ONLY, **more)


def test_what_is_started_before_any_server_is_there_is_served_by_named_ones() -> None:
    for strategy in (LOCAL_ONLY, ROUND_ROBIN):
        clock = FakeClock()
        registry = MemoryShardRegistry(MemorySpace(clock=clock))
        beside = _shards(registry, clock, "b", strategy=strategy, serves_all=True)

        home = beside.home

        assert beside.pick(home) == home
        servers = [_named(registry, clock, rack, rack) for rack in ("east", "west")]
        for shards in servers:
            shards.keep()
        assert home in {name for shards in servers for name in shards.own}


def test_what_is_started_while_no_server_is_live_is_at_home_in_the_rack_of_who_starts_it() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    for rack in ("east", "west"):
        _named(registry, clock, rack, rack).keep()
    clock.advance(milliseconds=_LEASE_MS)

    assert _named(registry, clock, "b", "west", serves_all=True).home == "west"
    # A rack that no server is in is served by the others.
    beside = _named(registry, clock, "b", "nowhere", serves_all=True)
    assert [beside.home, beside.home] == ["nowhere", "nowhere"]
    back = _named(registry, clock, "east", "east")
    assert set(back.own) == {"east", "west", "nowhere"}


def test_what_is_started_while_no_server_is_live_is_at_home_in_a_shard_that_one_had() -> None:
    clock = FakeClock()
    registry = MemoryShardRegistry(MemorySpace(clock=clock))
    _named(registry, clock, "one", "east").keep()
    clock.advance(milliseconds=_LEASE_MS)

    assert _named(registry, clock, "b", serves_all=True).home == "east"
    assert [shard.name for shard in registry.view().shards] == ["east"]

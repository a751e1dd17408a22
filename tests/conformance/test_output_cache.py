"""What `OutputCache` promises, on every store."""

import pytest

from conductor_py.adapters.memory.cache import MemoryOutputCache
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.cache import RedisOutputCache
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.output_cache import CacheBounds, OutputCache
from tests.conformance.stores import Store

_BOUNDS = CacheBounds(entries=3, entry_bytes=100, ttl_ms=10_000)


@pytest.fixture
def cache(store: Store) -> OutputCache:
    """A small cache over the store in turn."""
    if store.connection is None:
        return MemoryOutputCache(MemorySpace(clock=store.clock), _BOUNDS)
    scripts = Scripts(store.connection, Namespace("test"), clock=store.clock)
    return RedisOutputCache(scripts, _BOUNDS)


def test_output_is_read_until_its_time_is_over(cache: OutputCache, store: Store) -> None:
    assert cache.get("k") is None
    cache.put("k", b'{"a":1}', 5_000)
    store.clock.advance(4_999)
    assert cache.get("k") == b'{"a":1}'
    store.clock.advance(1)
    assert cache.get("k") is None


def test_later_output_replaces_an_earlier_one(cache: OutputCache, store: Store) -> None:
    cache.put("k", b"1", 1_000)
    cache.put("k", b"2", 5_000)
    store.clock.advance(2_000)
    assert cache.get("k") == b"2"


def test_nothing_is_kept_longer_or_larger_than_the_bounds(cache: OutputCache, store: Store) -> None:
    cache.put("large", b"x" * 101, 5_000)
    assert cache.get("large") is None
    cache.put("k", b"1", 60_000)
    store.clock.advance(10_001)
    assert cache.get("k") is None


def test_what_expires_first_makes_room(cache: OutputCache) -> None:
    for name, ttl_ms in (("a", 9_000), ("b", 1_000), ("c", 8_000), ("d", 7_000)):
        cache.put(name, b"1", ttl_ms)
    assert [cache.get(name) for name in "abcd"] == [b"1", None, b"1", b"1"]

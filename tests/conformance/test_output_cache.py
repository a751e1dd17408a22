"""What `OutputCache` promises, on every store."""

import pytest

from conductor_py.adapters.memory.cache import MemoryOutputCache
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.redis.cache import RedisOutputCache
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.output_cache import CacheBounds, OutputCache
from tests.conformance.stores import Store

_HOUR_MS = 3_600_000
"""A server's keys end by its own clock, too, which goes on while a test stands still."""
_BOUNDS = CacheBounds(entries=3, entry_bytes=100, ttl_ms=10 * _HOUR_MS)


@pytest.fixture
def cache(store: Store) -> OutputCache:
    """A small cache over the store in turn."""
    if store.connection is None:
        return MemoryOutputCache(MemorySpace(clock=store.clock), _BOUNDS)
    scripts = Scripts(store.connection, Namespace("test"), clock=store.clock)
    return RedisOutputCache(scripts, _BOUNDS)


def test_output_is_read_until_its_time_is_over(cache: OutputCache, store: Store) -> None:
    assert cache.get("k") is None
    cache.put("k", b'{"a":1}', 5 * _HOUR_MS)
    store.clock.advance(5 * _HOUR_MS - 1)
    assert cache.get("k") == b'{"a":1}'
    store.clock.advance(1)
    assert cache.get("k") is None


def test_later_output_replaces_an_earlier_one(cache: OutputCache, store: Store) -> None:
    cache.put("k", b"1", _HOUR_MS)
    cache.put("k", b"2", 5 * _HOUR_MS)
    store.clock.advance(2 * _HOUR_MS)
    assert cache.get("k") == b"2"


def test_nothing_is_kept_longer_or_larger_than_the_bounds(cache: OutputCache, store: Store) -> None:
    cache.put("large", b"x" * 101, 5 * _HOUR_MS)
    assert cache.get("large") is None
    cache.put("k", b"1", 60 * _HOUR_MS)
    store.clock.advance(10 * _HOUR_MS + 1)
    assert cache.get("k") is None


def test_what_expires_first_makes_room(cache: OutputCache) -> None:
    for name, hours in (("a", 9), ("b", 1), ("c", 8), ("d", 7)):
        cache.put(name, b"1", hours * _HOUR_MS)
    assert [cache.get(name) for name in "abcd"] == [b"1", None, b"1", b"1"]

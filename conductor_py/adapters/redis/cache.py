"""Cached outputs in Redis: a key each, which expires by itself, and an index that bounds them."""

from __future__ import annotations

import zlib

from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.output_cache import CacheBounds


class RedisOutputCache:
    """``OutputCache`` on Redis, spread over the partitions by key."""

    def __init__(self, scripts: Scripts, bounds: CacheBounds | None = None) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._bounds = bounds or CacheBounds()

    def get(self, key: str) -> bytes | None:
        return self._scripts.run("get_output", self._of(key), (self._scripts.now(), key)) or None

    def put(self, key: str, output: bytes, ttl_ms: int) -> None:
        bounds = self._bounds
        if len(output) > bounds.entry_bytes or ttl_ms <= 0:
            return
        lasts = min(ttl_ms, bounds.ttl_ms)
        arguments = (self._scripts.now(), key, output, lasts, bounds.entries)
        self._scripts.run("put_output", self._of(key), arguments)

    def _of(self, key: str) -> int:
        return zlib.crc32(key.encode()) % self._scripts.namespace.partitions

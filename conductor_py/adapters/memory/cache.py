"""Cached outputs in memory: the reference implementation of the port."""

from __future__ import annotations

import zlib

from conductor_py.adapters.memory.space import MemorySpace, Partition
from conductor_py.ports.output_cache import CacheBounds


class MemoryOutputCache:
    """``OutputCache`` in memory."""

    def __init__(self, space: MemorySpace, bounds: CacheBounds | None = None) -> None:
        """Share the space with the other ports."""
        self._space = space
        self._bounds = bounds or CacheBounds()

    def get(self, key: str) -> bytes | None:
        with self._space.lock:
            partition = self._of(key)
            if partition.cached.scores.get(key, 0) <= self._space.clock():
                return None
            return partition.outputs.get(key)

    def put(self, key: str, output: bytes, ttl_ms: int) -> None:
        with self._space.lock:
            if len(output) > self._bounds.entry_bytes or ttl_ms <= 0:
                return
            now, partition = self._space.clock(), self._of(key)
            partition.outputs[key] = output
            partition.cached.put(key, now + min(ttl_ms, self._bounds.ttl_ms))
            while True:
                first = partition.cached.first()
                full = len(partition.cached) > self._bounds.entries
                if first is None or not (full or first[0] <= now):
                    return
                partition.cached.drop(first[1])
                partition.outputs.pop(first[1], None)

    def _of(self, key: str) -> Partition:
        return self._space.partition(zlib.crc32(key.encode()) % len(self._space.partitions))

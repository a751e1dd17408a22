"""Outputs of tasks that are used again for the same key, for a while."""

from __future__ import annotations

from typing import Protocol

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBounds:
    """``entries`` of one partition, ``entry_bytes`` of one output, ``ttl_ms`` of any."""

    entries: int = 10_000
    entry_bytes: int = 256 * 1024
    ttl_ms: int = 7 * 24 * 3_600_000


class OutputCache(Protocol):
    """Outputs by key, shared by all servers. A cache: what was put may be gone at any time."""

    def get(self, key: str) -> bytes | None:
        """Read an output that has not expired."""

    def put(self, key: str, output: bytes, ttl_ms: int) -> None:
        """Keep an output within the bounds; one that is too large is not kept, and what expires
        first makes room.
        """

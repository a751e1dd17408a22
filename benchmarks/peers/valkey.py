"""The Redis of peers that want one: what this server embeds, and its file kept as it keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.services.redis_servers import NEWEST_REDIS, RedisServer, redis_version, start_redis

KEEPS: Final = "append-only file, on disk within a second"


@contextmanager
def valkey(port: int = 0) -> Iterator[RedisServer]:
    """Run one, on a port if it is given one; ``Unobtainable`` when it is not installed."""
    store = start_redis(append_only=True, port=port)
    try:
        yield store
    finally:
        store.stop()


def version() -> str:
    """What it says of itself, in two words."""
    return f"Valkey {redis_version(NEWEST_REDIS).partition('v=')[2].split()[0]}"

"""Connections of the job queue: its own ones, because it blocks and wants plain settings.

The queue lives in the engine's Redis, or in one of its own (a cluster cannot hold it). Its keys
begin with ``rq:``, the engine's with ``{``: they do not meet in one database.
"""

from __future__ import annotations

from typing import Final

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_CONNECT_S: Final = 3.0


def connect(url: str, *, timeout_s: float | None) -> Redis:
    """Make a client; nothing is sent yet. ``timeout_s`` None is for a worker, which blocks."""
    return Redis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 0),
    )


def queue_name(namespace: str) -> str:
    """Name the queue of one deployment."""
    return f"{namespace}-effects"

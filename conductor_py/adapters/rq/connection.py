"""Connections of the job queue: its own ones, because it blocks and wants plain settings.

The queue lives in the engine's Redis, or in one of its own (a cluster cannot hold it). Its keys
begin with ``rq:``, the engine's with ``{``: they do not meet in one database. Behind Sentinel it
goes where the primary is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from conductor_py.adapters.redis.sentinel import SCHEMES, watched_of

_CONNECT_S: Final = 3.0
_SENTINEL: Final = cast("Callable[..., Any]", Sentinel)


def connect(url: str, *, timeout_s: float | None) -> Redis:
    """Make a client; nothing is sent yet. ``timeout_s`` None is for a worker, which blocks."""
    if url.startswith(SCHEMES):
        return _watched(url, timeout_s)
    return Redis.from_url(
        url,
        socket_timeout=timeout_s,
        socket_connect_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 0),
    )


def _watched(url: str, timeout_s: float | None) -> Redis:
    watched = watched_of(url)
    tls: dict[str, Any] = {"ssl": watched.ssl}
    if watched.ssl and watched.ca_file:
        tls["ssl_ca_certs"] = watched.ca_file
    sentinel = _SENTINEL(
        list(watched.sentinels),
        sentinel_kwargs={
            "socket_timeout": _CONNECT_S,
            "socket_connect_timeout": _CONNECT_S,
            "password": watched.sentinel_password or None,
            **tls,
        },
    )
    client: Redis = sentinel.master_for(
        watched.master,
        db=watched.database,
        username=watched.user or None,
        password=watched.password or None,
        socket_timeout=timeout_s,
        socket_connect_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 0),
        **tls,
    )
    return client


def queue_name(namespace: str) -> str:
    """Name the queue of one deployment."""
    return f"{namespace}-effects"

"""Whose files hold what was removed, chosen by settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.config import Settings
from conductor_py.engine.port_set import ErasurePorts
from conductor_py.ports.erasure import Eraser
from conductor_py.ports.search import Search

if TYPE_CHECKING:
    from conductor_py.adapters.redis.scripts import Scripts


def erasure_of(settings: Settings, scripts: Scripts, search: Search) -> ErasurePorts:
    """Name the files that are this deployment's own; of a cluster or behind Sentinel, Redis's are
    not.
    """
    from conductor_py.adapters.redis.removals import RedisHistory, RedisRemovalRecord

    erasers: list[Eraser] = [search] if isinstance(search, SqliteSearch) else []
    if settings.erasure.rewrites_redis and settings.redis.type == "redis_standalone":
        erasers.append(RedisHistory(scripts.connection))
    return ErasurePorts(record=RedisRemovalRecord(scripts), erasers=tuple(erasers))

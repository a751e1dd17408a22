"""Timers in Redis: a firing is one script, which moves entries and never pops them."""

from __future__ import annotations

from conductor_py.adapters.redis.changes import loaded_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.store import Loaded


class RedisTimers:
    """``Timers`` on Redis; ``take_lease`` False: executions are brought without taking their
    lease.
    """

    def __init__(self, scripts: Scripts, *, take_lease: bool = True) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._take = int(take_lease)

    def claim_due(
        self, partition: int, shard: str, limit: int, holder: str, lease_ms: int
    ) -> tuple[Loaded, ...]:
        reply = self._scripts.run(
            "claim_due",
            partition,
            (
                self._scripts.now(),
                self._scripts.namespace.channel,
                shard,
                limit,
                holder,
                lease_ms,
                self._take,
            ),
        )
        return tuple(found for entry in reply if (found := loaded_of(entry)) is not None)

    def next_due_ms(self, partition: int, shard: str) -> int:
        prefix = self._scripts.prefix(partition)
        head = self._scripts.connection.command(
            "ZRANGE", f"{prefix}timers:{shard}", 0, 0, "WITHSCORES"
        )
        return int(head[1]) if head else 0

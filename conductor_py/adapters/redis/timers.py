"""Timers in Redis: a firing is one script, which moves entries and never pops them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.redis.changes import loaded_of
from conductor_py.adapters.redis.connection import Reply
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.quarantine import QuarantineBounds
from conductor_py.ports.store import Loaded

_LOG = logging.getLogger(__name__)
_DEFAULT: Final = QuarantineBounds()


class RedisTimers:
    """``Timers`` on Redis; ``take_lease`` False: executions are brought without taking their
    lease.
    """

    def __init__(
        self,
        scripts: Scripts,
        *,
        take_lease: bool = True,
        bounds: QuarantineBounds = _DEFAULT,
    ) -> None:
        """Share the scripts of the namespace; ``bounds`` say when an execution whose deciders
        vanish goes into quarantine.
        """
        self._scripts = scripts
        self._take = int(take_lease)
        self._bounds = bounds

    def claim_due(
        self, partition: int, shard: str, limit: int, holder: str, lease_ms: int
    ) -> tuple[Loaded, ...]:
        reply = self._scripts.run(
            "claim_due",
            partition,
            (
                self._scripts.now(),
                self._scripts.namespace.channels[partition],
                shard,
                limit,
                holder,
                lease_ms,
                self._take,
                self._bounds.tries,
                self._bounds.wait_ms,
            ),
        )
        return tuple(found for entry in reply if (found := _loaded(entry)) is not None)

    def due(self, shards: Sequence[str]) -> tuple[tuple[int, str], ...]:
        names = [f"timers:{shard}" for shard in shards]
        replies = self._scripts.run_each("look_for_due", (self._scripts.now(), *names))
        return tuple(
            (partition, shards[number - 1])
            for partition, found in enumerate(replies)
            for number in found or ()
        )

    def next_due_ms(self, partition: int, shard: str) -> int:
        return self._scripts.earliest_ms(partition, f"timers:{shard}")

    def late_spans(self, partition: int, home: str) -> tuple[tuple[int, int], ...]:
        prefix = self._scripts.prefix(partition)
        replies = self._scripts.connection.pipeline(
            [("ZRANGE", f"{prefix}late:{what}", 0, -1, "WITHSCORES") for what in (home, "~effects")]
        )
        spans = [int(instant) for reply in replies for instant in reply]
        return tuple(zip(spans[::2], spans[1::2], strict=True))


def _loaded(entry: Reply) -> Loaded | None:
    """Read one; of one that cannot be read its lease ends, and it comes again."""
    try:
        return loaded_of(entry)
    except (AttributeError, TypeError, ValueError):
        _LOG.exception("What a timer brought cannot be read", extra={"action": "damaged"})
        return None

"""``EffectQueue`` on RQ: one job a batch, forgotten as soon as it is done.

A job lives as long as the outbox holds its effects back; after that they are in a newer job. A
queue that nobody serves stays short, because a full one drops batches, which the outbox offers
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from redis.exceptions import RedisError
from rq import Queue
from rq.serializers import JSONSerializer

from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import NAME
from conductor_py.errors import StoreUnavailable

_TIMEOUT_S: Final = 5.0
_FAILURE_TTL_S: Final = 3600
_JOBS: Final = 1000


class RqEffectQueue:
    """Enqueues for the workers of ``namespace``; ``lease_ms`` is the outbox's."""

    def __init__(self, url: str, *, namespace: str, lease_ms: int) -> None:
        """Connect lazily."""
        self._lease_s = max(lease_ms // 1000, 1)
        self._queue = Queue(
            queue_name(namespace),
            connection=connect(url, timeout_s=_TIMEOUT_S),
            serializer=JSONSerializer(),
        )

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        try:
            if self._queue.count >= _JOBS:
                return
            self._queue.enqueue_call(
                NAME,
                args=(partition, list(ids)),
                timeout=max(2 * self._lease_s, 60),
                result_ttl=0,
                ttl=self._lease_s,
                failure_ttl=_FAILURE_TTL_S,
                description=f"{len(ids)} effects",
            )
        except RedisError as error:
            raise StoreUnavailable(f"The effects queue does not answer: {error}") from error

"""``EffectQueue`` on RQ: one job a batch, forgotten as soon as it is done.

A job lives as long as the outbox holds its effects back; after that they are in a newer job. A
queue that nobody serves stays short, because nothing is handed on while it has no room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from redis.exceptions import ReadOnlyError, RedisError, ResponseError
from rq import Queue
from rq.serializers import JSONSerializer

from conductor_py.adapters.front_turns import FrontTurns
from conductor_py.adapters.redis.connection import is_of_memory
from conductor_py.adapters.rq.connection import connect, queue_name
from conductor_py.adapters.rq.job import KEPT_S, NAME, EffectsJob
from conductor_py.errors import StoreFull, StoreUnavailable

_TIMEOUT_S: Final = 5.0
_LONGEST_S: Final = 300
"""What archives a very wide execution ends with one look at all of it."""
_READY: Final = 8
"""Jobs that wait: enough to keep several workers busy until the relay looks again."""


class RqEffectQueue:
    """Enqueues for the workers of ``namespace``; ``lease_ms`` is the outbox's."""

    def __init__(self, url: str, *, namespace: str, lease_ms: int) -> None:
        """Connect lazily."""
        self._lease_s = max(lease_ms // 1000, 1)
        self._turns = FrontTurns()
        self._queue = Queue(
            queue_name(namespace),
            connection=connect(url, timeout_s=_TIMEOUT_S),
            job_class=EffectsJob,
            serializer=JSONSerializer(),
        )

    def has_room(self) -> bool:
        try:
            return int(self._queue.count) < _READY or self._is_full()
        except RedisError as error:
            raise StoreUnavailable(f"The effects queue does not answer: {error}") from error

    def _is_full(self) -> bool:
        """Whether Redis refuses whatever adds something: no worker gets on, and ``enqueue`` says
        so.
        """
        try:
            self._queue.connection.setrange(f"{self._queue.key}:room", 0, "")
        except ResponseError as error:
            if is_of_memory(error):
                return True
            raise
        return False

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        self._put(partition, ids, at_front=False)

    def enqueue_first(self, partition: int, ids: Sequence[str]) -> None:
        self._put(partition, ids, at_front=self._turns.next_goes_first())

    def _put(self, partition: int, ids: Sequence[str], *, at_front: bool) -> None:
        try:
            self._queue.enqueue_call(
                NAME,
                args=(partition, list(ids)),
                timeout=max(2 * self._lease_s, _LONGEST_S),
                result_ttl=0,
                ttl=self._lease_s,
                failure_ttl=KEPT_S,
                description=f"{len(ids)} effects",
                at_front=at_front,
            )
        except ReadOnlyError as error:
            # It is not the primary any more, and its open connections would lead there for ever.
            self._queue.connection.connection_pool.disconnect()
            raise StoreUnavailable("The effects queue is read-only here") from error
        except RedisError as error:
            if is_of_memory(error):
                raise StoreFull("The effects queue is in a Redis that is full.") from error
            raise StoreUnavailable(f"The effects queue does not answer: {error}") from error

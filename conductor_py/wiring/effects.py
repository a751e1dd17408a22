"""The job queue that carries out effects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.ports.effects import EffectQueue
from conductor_py.wiring.redis import redis_url

if TYPE_CHECKING:
    from conductor_py.adapters.threads.effect_queue import ThreadEffectQueue


def run_effects(settings: Settings, engine: Engine) -> None:
    """Carry out effects until SIGTERM or SIGINT; only on the main thread."""
    from conductor_py.adapters.rq.worker import work

    work(effects_url(settings), namespace=settings.redis.namespace, handler=engine.effects.run)


def effects_url(settings: Settings) -> str:
    """Write where the job queue is: a Redis of its own, or the engine's."""
    return settings.effects.redis_url or redis_url(settings)


def thread_effect_queue(settings: Settings) -> ThreadEffectQueue:
    """Make the queue of a process that carries out effects by itself."""
    from conductor_py.adapters.threads.effect_queue import ThreadEffectQueue

    return ThreadEffectQueue(lease_ms=settings.effects.lease_ms)


class LazyEffectQueue:
    """Reaches the job queue when there is something to hand on: most processes never do."""

    def __init__(self, settings: Settings) -> None:
        """Remember where it is."""
        self._settings = settings

    def has_room(self) -> bool:
        return self._queue.has_room()

    def enqueue(self, partition: int, ids: Sequence[str]) -> None:
        self._queue.enqueue(partition, ids)

    def enqueue_first(self, partition: int, ids: Sequence[str]) -> None:
        self._queue.enqueue_first(partition, ids)

    @cached_property
    def _queue(self) -> EffectQueue:
        from conductor_py.adapters.rq.queue import RqEffectQueue

        settings = self._settings
        return RqEffectQueue(
            effects_url(settings),
            namespace=settings.redis.namespace,
            lease_ms=settings.effects.lease_ms,
        )

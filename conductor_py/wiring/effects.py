"""The job queue that carries out effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.ports.effects import EffectQueue
from conductor_py.wiring.redis import redis_url


def run_effects(settings: Settings, engine: Engine) -> None:
    """Carry out effects until SIGTERM or SIGINT; only on the main thread."""
    from conductor_py.adapters.rq.worker import work

    work(effects_url(settings), namespace=settings.redis.namespace, handler=engine.effects.run)


def effects_url(settings: Settings) -> str:
    """Write where the job queue is: a Redis of its own, or the engine's."""
    return settings.effects.redis_url or redis_url(settings)


def enqueue_by(settings: Settings) -> Callable[[int, Sequence[str]], None]:
    """Reach the job queue when there is a first effect: most processes never hand one on."""
    url = effects_url(settings)

    @cache
    def queue() -> EffectQueue:
        from conductor_py.adapters.rq.queue import RqEffectQueue

        return RqEffectQueue(
            url, namespace=settings.redis.namespace, lease_ms=settings.effects.lease_ms
        )

    return lambda partition, ids: queue().enqueue(partition, ids)

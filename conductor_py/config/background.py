"""Settings of what works beside the API: sweeper and effects."""

from __future__ import annotations

from dataclasses import dataclass

from conductor_py.config.declaration import count, duration, flag, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """The sweeper: due timers, outbox, take-over, retention."""

    enabled: bool = flag(
        "conductor.app.sweeper.enabled",
        "true",
        "Run the sweeper in the all-in-one server.",
    )
    threads: int = count(
        "conductor.app.sweeperThreadCount",
        "2",
        "Threads of a sweeper process.",
        minimum=1,
    )
    batch: int = count(
        "conductor.app.sweeper.sweepBatchSize",
        "100",
        "Due timers that one thread takes at a time.",
        minimum=1,
        maximum=1000,
    )
    idle_ms: int = duration(
        "conductor.app.sweeper.queuePopTimeout",
        "100ms",
        "How long a sweeper with nothing to do waits before it looks again.",
        minimum=5,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Background effects: index, archive, remove."""

    redis_url: str = text(
        "conductor.effects.redisUrl",
        "",
        "The Redis of the job queue, which cannot be a cluster; empty: the one of the engine.",
        secret=True,
    )
    workers: int = count(
        "conductor.effects.workers",
        "1",
        "Effects workers in the all-in-one server.",
        minimum=1,
    )
    batch: int = count(
        "conductor.effects.batchSize",
        "500",
        "Effects that one job carries.",
        minimum=1,
        maximum=5000,
    )
    lease_ms: int = duration(
        "conductor.effects.lease",
        "30s",
        "When an effect that was handed on and not confirmed is handed on again.",
        minimum=1000,
    )

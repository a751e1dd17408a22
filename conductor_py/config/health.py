"""Settings of what watches over executions: audits, and quarantine for what cannot be decided."""

from __future__ import annotations

from conductor_py.config.declaration import count, duration
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The audit that sweepers make by and by."""

    interval_ms: int = duration(
        "conductor.audit.interval",
        "0",
        "How often a sweeper begins to audit the whole store; 0: never. Violations are a metric.",
        unit="s",
    )
    page: int = count(
        "conductor.audit.pageSize",
        "100",
        "Executions and other keys that a sweeper audits at a time; then it pauses for a moment.",
        minimum=1,
        maximum=10_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Executions that cannot be decided."""

    tries: int = count(
        "conductor.quarantine.tries",
        "5",
        "How often deciding on an execution may fail without any progress before it goes into "
        "quarantine.",
        minimum=3,
        maximum=100,
    )
    wait_ms: int = duration(
        "conductor.quarantine.retryAfter",
        "10m",
        "When an execution in quarantine is tried again by itself; each further wait is twice as "
        "long, a day at most.",
        unit="s",
        minimum=1000,
    )

"""Settings of schedules and of the processes that fire them."""

from __future__ import annotations

from conductor_py.config.declaration import count, duration, flag, text
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The scheduler: starts workflows by the clock."""

    enabled: bool = flag(
        "conductor.scheduler.enabled",
        "true",
        "Fire schedules in the all-in-one server.",
    )
    threads: int = count(
        "conductor.scheduler.pollingThreadCount",
        "1",
        "Threads that fire schedules in one process.",
        minimum=1,
        maximum=100,
    )
    idle_ms: int = duration(
        "conductor.scheduler.pollingInterval",
        "1s",
        "How long a scheduler with nothing to do waits at most before it looks for new schedules; "
        "those it knows are fired when they are due.",
        minimum=5,
    )
    batch: int = count(
        "conductor.scheduler.pollBatchSize",
        "5",
        "Due schedules that one thread takes at a time.",
        minimum=1,
        maximum=1000,
    )
    lease_ms: int = duration(
        "conductor.scheduler.lease",
        "30s",
        "If a schedule was taken and not fired for this long, it is taken again, for example by"
        " another scheduler.",
        minimum=5000,
    )
    time_zone: str = text(
        "conductor.scheduler.schedulerTimeZone",
        "UTC",
        "The time zone of schedules, previews and business times that name none.",
    )
    kept_records: int = count(
        "conductor.scheduler.archivalMaxRecords",
        "50",
        "Records of firings that a schedule keeps when its older ones are dropped.",
        minimum=1,
        maximum=10_000,
    )
    record_threshold: int = count(
        "conductor.scheduler.archivalMaxRecordThreshold",
        "100",
        "Records of firings above which the older ones of a schedule are dropped.",
        minimum=1,
        maximum=10_000,
    )

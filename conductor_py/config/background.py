"""Settings of what works beside the API: sweeper, system tasks, events, schedules, effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conductor_py.config.declaration import choice, count, duration, flag, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeper:
    """The sweeper: due timers, outbox, take-over, audit."""

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
    timer_lease_ms: int = duration(
        "conductor.app.sweeper.timerLease",
        "10s",
        "When a timer that was taken fires again unless it was dealt with.",
        minimum=500,
    )
    audit_ms: int = duration(
        "conductor.app.sweeper.auditInterval",
        "60s",
        "How often the sweeper looks for what no timer wakes, and ought to find nothing; 0: never.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTasks:
    """System tasks that wait on the outside, such as HTTP."""

    enabled: bool = flag(
        "conductor.system-task-workers.enabled",
        "true",
        "Run system tasks in the all-in-one server.",
    )
    threads: int = count(
        "conductor.app.systemTaskWorkerThreadCount",
        "8",
        "Threads of a system-task worker: tasks that it runs at once.",
        minimum=1,
    )
    callback_ms: int = duration(
        "conductor.app.systemTaskWorkerCallbackDuration",
        "30s",
        "When a system task that is still in progress is looked at again.",
        unit="s",
    )
    execution_namespace: str = text(
        "conductor.app.systemTaskWorkerExecutionNamespace",
        "",
        "Serve the queues of this execution namespace instead of the plain ones.",
    )
    isolated: bool = flag(
        "conductor.app.isolatedSystemTaskEnabled",
        "false",
        "Serve the queues of isolation groups as well.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Event handlers and workflow messages."""

    enabled: bool = flag(
        "conductor.default-event-processor.enabled",
        "true",
        "Run event handlers.",
    )
    threads: int = count(
        "conductor.app.eventProcessorThreadCount",
        "2",
        "Threads that run the actions of event handlers.",
        minimum=1,
    )
    poll_ms: int = duration(
        "conductor.app.eventQueuePollInterval",
        "100ms",
        "How often the internal event queue is looked at when nothing wakes the reader.",
        minimum=5,
    )
    index_messages: bool = flag(
        "conductor.app.eventMessageIndexingEnabled",
        "true",
        "Make the messages that came in searchable.",
    )
    index_executions: bool = flag(
        "conductor.app.eventExecutionIndexingEnabled",
        "true",
        "Make what handlers did searchable.",
    )
    messages_enabled: bool = flag(
        "conductor.workflow-message-queue.enabled",
        "false",
        "Let messages be sent to a running workflow, for PULL_WORKFLOW_MESSAGES.",
    )
    messages_limit: int = count(
        "conductor.workflow-message-queue.maxQueueSize",
        "1000",
        "Messages that may wait for one workflow.",
        minimum=1,
    )
    messages_ttl_s: int = count(
        "conductor.workflow-message-queue.ttlSeconds",
        "86400",
        "Seconds after the last message in which those that wait are kept.",
        minimum=1,
    )
    messages_batch: int = count(
        "conductor.workflow-message-queue.maxBatchSize",
        "100",
        "Messages that one task may take.",
        minimum=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """Schedules and backfills."""

    enabled: bool = flag(
        "conductor.scheduler.enabled",
        "true",
        "Run schedules in the all-in-one server.",
    )
    poll_ms: int = duration(
        "conductor.scheduler.pollInterval",
        "1s",
        "How often due schedules are looked for.",
        minimum=50,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Background effects: index, archive, remove, publish, alert."""

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
    workflow_listener: Literal["stub", "workflow_publisher"] = choice(
        "conductor.workflow-status-listener.type",
        "stub",
        ("stub", "workflow_publisher"),
        "Who hears of changes of a workflow's status: nobody, or the notification URL.",
    )
    task_listener: Literal["stub", "task_publisher"] = choice(
        "conductor.task-status-listener.type",
        "stub",
        ("stub", "task_publisher"),
        "Who hears of changes of a task's status: nobody, or the notification URL.",
    )
    notification_url: str = text(
        "conductor.status-notifier.notification.url",
        "",
        "Where status listeners send their notifications, by POST.",
    )

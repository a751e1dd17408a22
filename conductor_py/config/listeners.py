"""Settings of who is told of changes of state, and where events go."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import choice, duration, hook, names, text
from conductor_py.records import dataclass

_WORKFLOW_LISTENERS = ("stub", "archive", "workflow_publisher", "queue_publisher", "kafka")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Status listeners: who is told when a workflow or task changes its status."""

    workflow_type: Literal[
        "stub", "archive", "workflow_publisher", "queue_publisher", "kafka", "composite"
    ] = choice(
        "conductor.workflow-status-listener.type",
        "stub",
        (*_WORKFLOW_LISTENERS, "composite"),
        "Who is told of workflows whose definition has workflowStatusListenerEnabled: stub and "
        "archive tell nobody (finished executions are archived in any case), workflow_publisher "
        "posts to the notification URL, queue_publisher publishes events, kafka sends to a topic.",
    )
    composite: tuple[str, ...] = names(
        "conductor.workflow-status-listener.composite.types",
        "",
        "With the type composite: the types that are to work together.",
    )
    task_type: Literal["stub", "task_publisher"] = choice(
        "conductor.task-status-listener.type",
        "stub",
        ("stub", "task_publisher"),
        "Who is told of tasks whose definition has taskStatusListenerEnabled: task_publisher posts "
        "to the notification URL.",
    )
    success_queue: str = text(
        "conductor.workflow-status-listener.queue-publisher.successQueue",
        "_callbackSuccessQueue",
        "queue_publisher: completed workflows are published as the event conductor:<this>.",
    )
    failure_queue: str = text(
        "conductor.workflow-status-listener.queue-publisher.failureQueue",
        "_callbackFailureQueue",
        "queue_publisher: workflows that ended otherwise are published as conductor:<this>.",
    )
    finalize_queue: str = text(
        "conductor.workflow-status-listener.queue-publisher.finalizeQueue",
        "_callbackFinalizeQueue",
        "queue_publisher: workflows that have ended whole are published as conductor:<this>.",
    )
    topic: str = text(
        "conductor.workflow-status-listener.kafka.default-topic",
        "workflow-status-events",
        "kafka: the topic; the broker is that of conductor.event-queues.kafka.",
    )
    url: str = hook(
        "conductor.status-notifier.notification.url",
        "",
        "Where status changes are posted to; it may be a private address.",
    )
    endpoint_workflow: str = hook(
        "conductor.status-notifier.notification.endpointWorkflow",
        "",
        "What is added to the notification URL for workflows.",
    )
    endpoint_task: str = hook(
        "conductor.status-notifier.notification.endpointTask",
        "",
        "What is added to the notification URL for tasks.",
    )
    workflow_statuses: tuple[str, ...] = names(
        "conductor.status-notifier.notification.subscribedWorkflowStatuses",
        "COMPLETED,TERMINATED",
        "Which changes of workflows are posted: RUNNING, PAUSED, RESUMED, RESTARTED, RETRIED, "
        "RERAN, COMPLETED, TERMINATED (any other end) and FINALIZED.",
    )
    task_statuses: tuple[str, ...] = names(
        "conductor.status-notifier.notification.subscribedTaskStatuses",
        "",
        "Which statuses of tasks are posted; empty: all.",
    )
    header: str = text(
        "conductor.status-notifier.notification.headerPrefer",
        "",
        "Name of a header to send with each notification.",
    )
    header_value: str = text(
        "conductor.status-notifier.notification.headerPreferValue",
        "",
        "Value of that header.",
        secret=True,
    )
    connect_ms: int = duration(
        "conductor.status-notifier.notification.requestTimeoutMsConnect",
        "2s",
        "How long a connection to the notification URL may take.",
        minimum=10,
    )
    read_ms: int = duration(
        "conductor.status-notifier.notification.requestTimeoutMsRead",
        "5s",
        "How long the answer to a notification may take.",
        minimum=10,
    )
    give_up_ms: int = duration(
        "conductor.events.giveUpAfter",
        "1d",
        "How long a message or notification is tried again that cannot be delivered; then it is "
        "logged, recorded and counted as given up.",
        minimum=1000,
    )
    kafka_servers: str = text(
        "conductor.event-queues.kafka.bootstrap-servers",
        "",
        "Kafka brokers that sinks kafka:<topic> publish to; empty: there is no such provider.",
    )

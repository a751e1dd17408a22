"""Where events and changes of state go, chosen by settings: listeners, webhook, brokers.

Drivers are imported when they are chosen; nothing is sent anywhere before the first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from glob import escape
from importlib.metadata import entry_points
from typing import Final
from urllib.parse import urlsplit

from conductor_py.config import Settings
from conductor_py.config.extras import KAFKA, require_extra
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.errors import ConfigurationError
from conductor_py.outbound.addresses import AddressRules
from conductor_py.ports.events import Sink, Webhook

_SINKS: Final = "conductor_py.sinks"
"""The entry points of providers of events: each makes a ``ports.events.Sink`` of the settings."""


def listeners_of(settings: Settings) -> Listeners:
    """Say who is told of changes of state; ConfigurationError for what cannot be."""
    given = settings.listeners
    types = set(given.composite) if given.workflow_type == "composite" else {given.workflow_type}
    unknown = types - {"stub", "archive", "workflow_publisher", "queue_publisher", "kafka"}
    if unknown:
        raise ConfigurationError(
            f"conductor.workflow-status-listener.composite.types: {', '.join(sorted(unknown))}:"
            " not a status listener"
        )
    posts_workflows = "workflow_publisher" in types
    posts_tasks = given.task_type == "task_publisher"
    if (posts_workflows or posts_tasks) and not given.url.startswith(("http://", "https://")):
        raise ConfigurationError(
            "conductor.status-notifier.notification.url: an http or https URL is wanted, to post"
            " status changes to"
        )
    if "kafka" in types and not given.kafka_servers:
        raise ConfigurationError(
            "conductor.event-queues.kafka.bootstrap-servers: wanted by the status listener kafka"
        )
    queues = {
        "COMPLETED": given.success_queue,
        "TERMINATED": given.failure_queue,
        "FINALIZED": given.finalize_queue,
    }
    return Listeners(
        workflow_url=_endpoint(given.url, given.endpoint_workflow) if posts_workflows else "",
        workflow_statuses=frozenset(given.workflow_statuses),
        task_url=_endpoint(given.url, given.endpoint_task) if posts_tasks else "",
        task_statuses=frozenset(given.task_statuses),
        queues={change: f"conductor:{queue}" for change, queue in queues.items() if queue}
        if "queue_publisher" in types
        else {},
        topic=f"kafka:{given.topic}" if "kafka" in types else "",
    )


def _endpoint(url: str, endpoint: str) -> str:
    return f"{url.rstrip('/')}/{endpoint.lstrip('/')}" if endpoint else url


def webhook_of(settings: Settings) -> Webhook | None:
    """Make what posts notifications, if there is anywhere to post to."""
    given = settings.listeners
    if not given.url:
        return None
    from conductor_py.adapters.webhook import HttpWebhook

    # The operator's own URL may lead inside, as its setting says; nothing else may.
    host = (urlsplit(given.url).hostname or "").rstrip(".")
    return HttpWebhook(
        AddressRules(hosts=(escape(host),), callers="notifications"),
        connect_ms=given.connect_ms,
        read_ms=given.read_ms,
        headers={given.header: given.header_value} if given.header else {},
    )


def sinks_of(settings: Settings) -> Mapping[str, Sink]:
    """Find the brokers of events: Kafka when it is configured, and what is installed beside."""
    found: dict[str, Sink] = {
        point.name: point.load()(settings.given) for point in entry_points(group=_SINKS)
    }
    servers = settings.listeners.kafka_servers
    if servers:
        require_extra("kafka", KAFKA)
        from conductor_py.adapters.kafka import KafkaSink

        found["kafka"] = KafkaSink(servers)
    return found

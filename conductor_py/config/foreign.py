"""Keys of a Conductor server that are known and change nothing here.

They are accepted, so that a configuration can be moved as it is, and reported, so that nobody
believes they do something. What is neither here nor declared is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: A name that ends with a dot or dash stands for all that begins with it and is not declared.
_WITHOUT_EFFECT: Final = (
    "conductor.app.appId",
    "conductor.app.asyncIndexingEnabled",
    "conductor.app.asyncUpdateDelay",
    "conductor.app.asyncUpdateShortRunningWorkflowDuration",
    "conductor.app.eventExecutionIndexingEnabled",
    "conductor.app.eventMessageIndexingEnabled",
    "conductor.app.eventProcessorThreadCount",
    "conductor.app.eventQueueLongPollTimeout",
    "conductor.app.eventQueuePollCount",
    "conductor.app.eventQueuePollInterval",
    "conductor.app.eventQueueSchedulerPollThreadCount",
    "conductor.app.executorServiceMaxThreadCount",
    "conductor.app.humanTaskPreventsDeciderQueue",
    "conductor.app.legacy.",
    "conductor.app.maxPostponeDurationSeconds",
    "conductor.app.stack",
    "conductor.app.summary-input-output-json-serialization.",
    "conductor.app.sweeperWorkflowPollTimeout",
    "conductor.app.systemTaskPostponeThreshold",
    "conductor.app.systemTaskQueuePopTimeout",
    "conductor.app.taskExecutionPostponeDuration",
    "conductor.app.taskPendingTimeThreshold",
    "conductor.app.taskWorkerConfigs.",
    "conductor.app.workflowOffsetTimeout",
    "conductor.default-event-processor.",
    "conductor.default-event-queue-processor.",
    "conductor.default-event-queue.",
    "conductor.elasticsearch.asyncBufferFlushTimeout",
    "conductor.elasticsearch.asyncMaxPoolSize",
    "conductor.elasticsearch.asyncWorkerQueueSize",
    "conductor.elasticsearch.clusterHealthColor",
    "conductor.elasticsearch.refreshOnWrite",
    "conductor.elasticsearch.taskLogResultLimit",
    "conductor.elasticsearch.version",
    "conductor.event-queues.default.",
    "conductor.file-storage.conductor.signing.keys.",
    "conductor.file-storage.multipart-threshold",
    "conductor.grpc-server.",
    "conductor.indexing.enabled",
    "conductor.integrations.",
    "conductor.metrics-",
    "conductor.queue.type",
    "conductor.redis-lock.",
    "conductor.redis.dataCenterRegion",
    "conductor.redis.eventExecutionPersistenceTTL",
    "conductor.redis.keyspaceDomain",
    "conductor.redis.maxConnectionsPerHost",
    "conductor.redis.maxIdleConnections",
    "conductor.redis.maxRetryAttempts",
    "conductor.redis.maxTimeoutWhenExhausted",
    "conductor.redis.metadataCacheRefreshInterval",
    "conductor.redis.minIdleConnections",
    "conductor.redis.queueCacheExpireAfterAccessSeconds",
    "conductor.redis.queueCacheMaxSize",
    "conductor.redis.queueNamespacePrefix",
    "conductor.redis.queuesNonQuorumPort",
    "conductor.redis.replicaSyncWaitTime",
    "conductor.redis.replicasToSync",
    "conductor.redis.taskDefCacheRefreshInterval",
    "conductor.redis.workflowDefCacheEnabled",
    "conductor.status-notifier.notification.connectionPoolMaxRequest",
    "conductor.status-notifier.notification.connectionPoolMaxRequestPerRoute",
    "conductor.status-notifier.notification.requestRetryCount",
    "conductor.status-notifier.notification.requestRetryCountIntervalMs",
    "conductor.status-notifier.notification.requestTimeoutMsConnMgr",
    "conductor.workflow-reconciler.",
    "conductor.workflow-repair-service.",
    "conductor.workflow-status-listener.archival.",
    "conductor.workflow-status-listener.kafka.event-topics.",
    "conductor.workflow-status-listener.kafka.producer.",
)


#: Keys of Spring, and the setting that means the same here.
_MEANT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "server.port": "conductor.server.port",
        "server.address": "conductor.server.host",
        "logging.level.root": "conductor.log.level",
        "spring.redis.host": "conductor.redis.hosts",
        "spring.data.redis.host": "conductor.redis.hosts",
        "spring.elasticsearch.uris": "conductor.elasticsearch.url",
        "management.metrics.export.prometheus.enabled": "conductor.metrics-prometheus.enabled",
        "management.prometheus.metrics.export.enabled": "conductor.metrics-prometheus.enabled",
    }
)


def is_of_the_start(key: str) -> bool:
    """Whether the start of a Conductor server reads the key, and this engine does not."""
    return _normal(key) == _normal("loadSample")


def meant_by(key: str) -> str:
    """Our setting that means what a key of Spring's does; empty when there is none."""
    wanted = _normal(key)
    return next((ours for name, ours in _MEANT.items() if _normal(name) == wanted), "")


def is_without_effect(key: str) -> bool:
    """Whether Conductor has the key and this engine needs nothing like it."""
    wanted = _normal(key)
    return any(
        wanted.startswith(_normal(name)) if name[-1] in ".-" else wanted == _normal(name)
        for name in _WITHOUT_EFFECT
    )


def _normal(key: str) -> str:
    return key.replace(".", "").replace("-", "").replace("_", "").lower()

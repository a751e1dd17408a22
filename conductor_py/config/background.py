"""Settings of what works beside the API: sweeper and effects."""

from __future__ import annotations

from conductor_py.config.declaration import count, duration, flag, names, size, text
from conductor_py.records import dataclass


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
        "How long a sweeper with nothing to do waits before it looks again, at most 500 ms.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTasks:
    """The system-task worker: HTTP, KAFKA_PUBLISH and system tasks of yours."""

    enabled: bool = flag(
        "conductor.system-task-workers.enabled",
        "true",
        "Run a system-task worker in the all-in-one server.",
    )
    threads: int = count(
        "conductor.app.systemTaskWorkerThreadCount",
        "16",
        "System tasks that one worker carries out at once, those of isolation groups apart.",
        minimum=1,
        maximum=1000,
    )
    lasting: int = count(
        "conductor.app.systemTaskLastingCallCount",
        "48",
        "System tasks that one worker carries out beside, because they have lasted for 2 seconds: "
        "they leave their thread's place to the next one. 0: none does.",
        maximum=1000,
    )
    max_poll: int = count(
        "conductor.app.systemTaskMaxPollCount",
        "16",
        "System tasks that are taken from a queue at a time.",
        minimum=1,
        maximum=1000,
    )
    idle_ms: int = duration(
        "conductor.app.systemTaskWorkerPollInterval",
        "1s",
        "How long a worker that nobody wakes waits before it looks again.",
        minimum=50,
    )
    drain_ms: int = duration(
        "conductor.app.systemTaskWorkerCallbackDuration",
        "30s",
        "How long a worker that ends waits for the tasks it carries out.",
        unit="s",
    )
    lease_ms: int = duration(
        "conductor.systemTasks.lease",
        "15s",
        "When a task whose worker is gone is offered again. Workers prolong it as they work.",
        unit="s",
        minimum=1000,
    )
    namespace: str = text(
        "conductor.app.systemTaskWorkerExecutionNamespace",
        "",
        "The execution namespace whose system tasks a worker takes.",
    )
    groups: tuple[str, ...] = names(
        "conductor.systemTasks.isolationGroups",
        "",
        "Isolation groups whose system tasks a worker takes, beside those of no group.",
    )
    every_group: bool = flag(
        "conductor.app.isolatedSystemTaskEnabled",
        "false",
        "Take system tasks of every isolation group and execution namespace.",
    )
    threads_of_a_group: int = count(
        "conductor.app.isolatedSystemTaskWorkerThreadCount",
        "1",
        "System tasks that one worker carries out at once for each isolation group.",
        minimum=1,
        maximum=1000,
    )
    find_ms: int = duration(
        "conductor.app.isolatedSystemTaskQueuePollInterval",
        "10s",
        "How often a worker looks for new isolation groups and namespaces.",
        unit="s",
        minimum=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpTasks:
    """HTTP tasks: times, sizes, and which addresses they may reach."""

    connect_ms: int = duration(
        "conductor.tasks.http.connectTimeout",
        "3s",
        "How long a connection may take, where the task does not say it.",
        minimum=1,
    )
    read_ms: int = duration(
        "conductor.tasks.http.readTimeout",
        "3s",
        "How long the other side may say nothing, where the task does not say it.",
        minimum=1,
    )
    total_ms: int = duration(
        "conductor.tasks.http.totalTimeout",
        "5m",
        "How long a call may take in all, whatever the task says: from looking its name up to the "
        "last byte of the last redirect's answer.",
        minimum=1,
    )
    response_bytes: int = size(
        "conductor.tasks.http.maxResponseSize",
        "10MB",
        "The largest answer that is read; a larger one fails its task.",
    )
    allowed_hosts: tuple[str, ...] = names(
        "conductor.tasks.http.allowedHosts",
        "",
        "Hosts that may be reached although they are inside, such as orders.lan or *.lan.",
    )
    allowed_networks: tuple[str, ...] = names(
        "conductor.tasks.http.allowedNetworks",
        "",
        "Private, loopback or link-local addresses that may be reached, such as 10.0.0.0/8.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaTasks:
    """KAFKA_PUBLISH tasks; they need the extra kafka."""

    request_ms: int = duration(
        "conductor.tasks.kafka-publish.requestTimeout",
        "5s",
        "How long a broker may take to acknowledge, where the task does not say it.",
        minimum=10,
    )
    block_ms: int = duration(
        "conductor.tasks.kafka-publish.maxBlock",
        "5s",
        "How long brokers may be looked for, where the task does not say it.",
        minimum=10,
    )
    total_ms: int = duration(
        "conductor.tasks.kafka-publish.totalTimeout",
        "5m",
        "How long a record may take in all, whatever the task says: from looking its brokers up to "
        "their acknowledgement.",
        minimum=10,
    )
    cache_size: int = count(
        "conductor.tasks.kafka-publish.cacheSize",
        "10",
        "Producers that are kept, one for each set of brokers and times.",
        minimum=1,
        maximum=1000,
    )
    cache_ms: int = duration(
        "conductor.tasks.kafka-publish.cacheTime",
        "120s",
        "How long a producer is kept that nobody uses.",
    )
    allowed_hosts: tuple[str, ...] = names(
        "conductor.tasks.kafka-publish.allowedHosts",
        "",
        "Brokers that may be reached although they are inside, such as kafka.lan or *.lan; those "
        "that a cluster names count, too.",
    )
    allowed_networks: tuple[str, ...] = names(
        "conductor.tasks.kafka-publish.allowedNetworks",
        "",
        "Private, loopback or link-local addresses of brokers that may be reached.",
    )

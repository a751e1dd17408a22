"""Settings of what the engine stands on: Redis, locks, search, archive, payload storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from conductor_py.config.declaration import (
    RedisHost,
    choice,
    count,
    duration,
    flag,
    hosts,
    names,
    text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis:
    """The store of executions, queues and definitions."""

    type: Literal["embedded", "redis_standalone", "redis_sentinel", "redis_cluster", "memory"] = (
        choice(
            "conductor.db.type",
            "embedded",
            ("embedded", "redis_standalone", "redis_sentinel", "redis_cluster", "memory"),
            "Which store to use: one that this server runs itself on the data directory, a Redis "
            "of yours, or memory (tests only). With hosts given the default is redis_standalone.",
        )
    )
    hosts: tuple[RedisHost, ...] = hosts(
        "conductor.redis.hosts",
        "",
        "Redis nodes as host:port:rack[:password], separated by ';'.",
    )
    socket: str = text(
        "conductor.redis.socket",
        "",
        "Path of a unix socket on which Redis listens, instead of hosts.",
    )
    user: str = text(
        "conductor.redis.user",
        "",
        "User name for Redis; the password stands in hosts.",
    )
    ssl: bool = flag(
        "conductor.redis.ssl",
        "false",
        "Speak TLS with Redis.",
    )
    database: int = count(
        "conductor.redis.database",
        "0",
        "Number of the Redis database; a cluster has only 0.",
    )
    sentinel_master: str = text(
        "conductor.redis.sentinelMasterName",
        "mymaster",
        "Name of the primary that the sentinels watch.",
    )
    namespace: str = text(
        "conductor.redis.workflowNamespacePrefix",
        "conductor",
        "Begins every key, so that several deployments can share one Redis.",
    )
    partitions: int = count(
        "conductor.redis.partitions",
        "1",
        "Slots that executions are spread over. One is right for one Redis; a cluster wants some "
        "64. Fixed when the namespace is first used.",
        minimum=1,
        maximum=4096,
    )
    sharding_strategy: Literal["roundRobin", "localOnly"] = choice(
        "conductor.redis.queueShardingStrategy",
        "roundRobin",
        ("roundRobin", "localOnly"),
        "roundRobin gives each task to the next live server in turn; localOnly keeps an execution "
        "with the server that started it.",
    )
    shards: tuple[str, ...] = names(
        "conductor.redis.shards",
        "",
        "Names of the shards that this server serves, separated by commas; empty: the rack of its "
        "availability zone where several racks are named in hosts, else a free name is leased.",
    )
    shard_lease_ms: int = duration(
        "conductor.redis.shardLease",
        "10s",
        "How long a shard stays with a server that is gone, before another one serves it.",
        minimum=1000,
    )
    region: str = text(
        "conductor.redis.dataCenterRegion",
        "us-east-1",
        "The region that this server runs in.",
    )
    availability_zone: str = text(
        "conductor.redis.availabilityZone",
        "us-east-1c",
        "The zone that this server runs in; it names the rack that is near.",
    )
    connections: int = count(
        "conductor.redis.maxConnectionsPerHost",
        "32",
        "Connections that one process may open to one Redis node.",
        minimum=2,
    )
    connection_wait_ms: int = duration(
        "conductor.redis.maxTimeoutWhenExhausted",
        "800ms",
        "How long to wait for a connection when all are in use.",
    )
    command_timeout_ms: int = duration(
        "conductor.redis.commandTimeout",
        "3s",
        "How long one command may take before Redis counts as away.",
        minimum=100,
    )
    replicas_to_sync: int = count(
        "conductor.redis.replicasToSync",
        "0",
        "Replicas that must have a write before it is answered; 0: do not wait.",
    )
    replica_sync_ms: int = duration(
        "conductor.redis.replicaSyncWaitTime",
        "5000ms",
        "How long to wait for those replicas.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Who decides on an execution when several servers want to."""

    type: Literal["redis", "zookeeper", "local_only", "none"] = choice(
        "conductor.workflow-execution-lock.type",
        "redis",
        ("redis", "zookeeper", "local_only", "none"),
        "redis and zookeeper lock across servers, local_only inside of one process.",
    )
    zookeeper: str = text(
        "conductor.zookeeper-lock.connectionString",
        "localhost:2181",
        "ZooKeeper servers, separated by commas.",
    )
    zookeeper_session_ms: int = duration(
        "conductor.zookeeper-lock.sessionTimeout",
        "60000ms",
        "When ZooKeeper frees the locks of a server that is gone.",
        minimum=1000,
    )
    zookeeper_connect_ms: int = duration(
        "conductor.zookeeper-lock.connectionTimeout",
        "15000ms",
        "How long to wait for ZooKeeper at start.",
        minimum=100,
    )
    zookeeper_namespace: str = text(
        "conductor.zookeeper-lock.namespace",
        "conductor",
        "The node under which the locks are kept.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Search, and the archive of finished executions."""

    enabled: bool = flag(
        "conductor.indexing.enabled",
        "true",
        "Make executions and tasks searchable.",
    )
    type: Literal["sqlite", "elasticsearch"] = choice(
        "conductor.indexing.type",
        "sqlite",
        ("sqlite", "elasticsearch"),
        "Where the index is: a file in the data directory, or Elasticsearch.",
    )
    tasks: bool = flag(
        "conductor.app.taskIndexingEnabled",
        "true",
        "Index tasks as well as workflows.",
    )
    task_logs: bool = flag(
        "conductor.app.taskExecLogIndexingEnabled",
        "true",
        "Keep the logs that workers send.",
    )
    url: str = text(
        "conductor.elasticsearch.url",
        "http://localhost:9200",
        "Elasticsearch nodes, separated by commas.",
    )
    username: str = text(
        "conductor.elasticsearch.username",
        "",
        "User name for Elasticsearch.",
    )
    password: str = text(
        "conductor.elasticsearch.password",
        "",
        "Password for Elasticsearch.",
        secret=True,
    )
    prefix: str = text(
        "conductor.elasticsearch.indexPrefix",
        "conductor",
        "Begins the name of every index.",
    )
    batch: int = count(
        "conductor.elasticsearch.indexBatchSize",
        "500",
        "Documents sent in one request.",
        minimum=1,
        maximum=10_000,
    )
    shards: int = count(
        "conductor.elasticsearch.indexShardCount",
        "5",
        "Shards of an index that is made.",
        minimum=1,
    )
    replicas: int = count(
        "conductor.elasticsearch.indexReplicasCount",
        "1",
        "Replicas of an index that is made.",
    )
    manage: bool = flag(
        "conductor.elasticsearch.autoIndexManagementEnabled",
        "true",
        "Make indices and templates when they are missing.",
    )
    refresh_ms: int = duration(
        "conductor.elasticsearch.indexRefreshInterval",
        "1s",
        "When what was indexed can be found.",
        unit="s",
        minimum=100,
    )
    wait_for_refresh: bool = flag(
        "conductor.elasticsearch.waitForIndexRefresh",
        "false",
        "Confirm a document only when it can be found; slow, for tests.",
    )
    task_log_results: int = count(
        "conductor.elasticsearch.taskLogResultLimit",
        "10",
        "Log lines of a task that one request returns.",
        minimum=1,
    )
    archive_delay_s: int = count(
        "conductor.workflow-status-listener.archival.delaySeconds",
        "60",
        "Seconds that a finished execution stays in Redis after it was archived.",
    )
    retention_ms: int = duration(
        "conductor.archive.retention",
        "0",
        "How long finished executions stay in the archive, such as 90d; 0: forever.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadStorage:
    """Where payloads above the soft limits go."""

    type: Literal["files", "s3"] = choice(
        "conductor.external-payload-storage.type",
        "files",
        ("files", "s3"),
        "Files in the data directory (one machine), or S3.",
    )
    url_ttl_ms: int = duration(
        "conductor.external-payload-storage.s3.signedUrlExpirationDuration",
        "60s",
        "How long a signed URL can be used, for files as for S3.",
        unit="s",
        minimum=1000,
    )
    delete_delay_ms: int = duration(
        "conductor.external-payload-storage.deleteDelay",
        "10m",
        "How long an object is kept after the last execution that named it is gone.",
        minimum=600_000,
    )
    signing_key: str = text(
        "conductor.external-payload-storage.files.signingKey",
        "",
        "Signs the URLs of files; servers that share files share it. Empty: made once and kept in "
        "the data directory.",
        secret=True,
    )
    bucket: str = text(
        "conductor.external-payload-storage.s3.bucketName",
        "conductor-payloads",
        "The bucket.",
    )
    region: str = text(
        "conductor.external-payload-storage.s3.region",
        "us-east-1",
        "The bucket's region.",
    )
    endpoint: str = text(
        "conductor.external-payload-storage.s3.endpoint",
        "",
        "URL of a service that speaks S3; empty: Amazon's.",
    )
    access_key: str = text(
        "conductor.external-payload-storage.s3.accessKey",
        "",
        "Access key; empty: what the environment, the profile or the machine's role offers.",
        secret=True,
    )
    secret_key: str = text(
        "conductor.external-payload-storage.s3.secretKey",
        "",
        "Secret key that goes with it.",
        secret=True,
    )

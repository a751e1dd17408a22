"""Settings of what the engine stands on: Redis, locks, search, archive, payload storage."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import (
    RedisHost,
    choice,
    count,
    duration,
    flag,
    hosts,
    names,
    size,
    text,
)
from conductor_py.model.ids import MAX_PARTITIONS
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Redis:
    """The store of executions, queues and definitions."""

    type: Literal["embedded", "redis_standalone", "redis_cluster", "redis_sentinel"] = choice(
        "conductor.db.type",
        "embedded",
        ("embedded", "redis_standalone", "redis_cluster", "redis_sentinel"),
        "Which store to use: one that this server runs itself on the data directory, or a Redis of "
        "yours: a single one, a cluster, or one that Sentinel watches. With hosts given the "
        "default is redis_standalone.",
    )
    hosts: tuple[RedisHost, ...] = hosts(
        "conductor.redis.hosts",
        "",
        "Redis nodes as host:port:rack[:password], separated by ';'. Of a single Redis the first "
        "is used; of a cluster some nodes, of which any leads to the others; with Sentinel all "
        "sentinels (the password is that of Redis). Their racks may name shards.",
    )
    sentinel_master: str = text(
        "conductor.redis.sentinelMasterName",
        "mymaster",
        "The name under which the sentinels watch the primary.",
    )
    sentinel_password: str = text(
        "conductor.redis.sentinelPassword",
        "",
        "Password of the sentinels themselves, where they have one.",
        secret=True,
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
    ca_file: str = text(
        "conductor.redis.sslCaFile",
        "",
        "File of certificates (PEM) to trust for that, beside those of the system: a private "
        "authority's, for example.",
    )
    database: int = count(
        "conductor.redis.database",
        "0",
        "Number of the Redis database.",
    )
    namespace: str = text(
        "conductor.redis.workflowNamespacePrefix",
        "conductor",
        "Begins every key, so that several deployments can share one Redis.",
    )
    partitions: int = count(
        "conductor.redis.partitions",
        "1",
        "Partitions that executions are spread over; one is right for one Redis, 64 for a cluster, "
        "where a partition is one slot. Fixed when the namespace is first used: a process that is "
        "given another number refuses to start.",
        minimum=1,
        maximum=MAX_PARTITIONS,
    )
    sharding_strategy: Literal["roundRobin", "localOnly"] = choice(
        "conductor.redis.queueShardingStrategy",
        "roundRobin",
        ("roundRobin", "localOnly"),
        "roundRobin gives each task to the next live server in turn; localOnly keeps an execution, "
        "its tasks and its due timers with the server that started it.",
    )
    shards: tuple[str, ...] = names(
        "conductor.redis.shards",
        "",
        "Names of the shards that this server serves, separated by commas; empty: the rack of its "
        "availability zone where several racks are named in hosts, else LOCAL_RACK or "
        "EC2_AVAILABILITY_ZONE of the environment, else a free name is leased.",
        plain=True,
    )
    shard_lease_ms: int = duration(
        "conductor.redis.shardLease",
        "10s",
        "How long a shard stays with a server that is gone at most, before another one serves it.",
        minimum=1000,
    )
    availability_zone: str = text(
        "conductor.redis.availabilityZone",
        "us-east-1c",
        "The zone that this server runs in; it names the rack that is near.",
        plain=True,
    )
    command_timeout_ms: int = duration(
        "conductor.redis.commandTimeout",
        "3s",
        "How long one command may take before Redis counts as away; with a cluster or Sentinel, "
        "how long a failover is waited for, too.",
        minimum=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Who decides on an execution when several servers want to."""

    type: str = text(
        "conductor.workflow-execution-lock.type",
        "redis",
        "redis locks across servers, in the store itself; zookeeper in ZooKeeper; local_only among "
        "the processes of one data directory; none (or noop_lock) leaves correctness to fencing "
        "alone. Any other name is that of an installed lock.",
    )
    zookeeper: str = text(
        "conductor.zookeeper-lock.connectionString",
        "localhost:2181",
        "ZooKeeper servers as host:port, separated by commas. A path behind the last one, which "
        "must exist, is where all nodes are.",
    )
    zookeeper_namespace: str = text(
        "conductor.zookeeper-lock.namespace",
        "conductor",
        "Where the nodes of the locks are in ZooKeeper.",
    )
    zookeeper_session_ms: int = duration(
        "conductor.zookeeper-lock.sessionTimeout",
        "10s",
        "How long ZooKeeper keeps the locks of a process that is gone. Its own settings bound it.",
        minimum=500,
    )
    zookeeper_connect_ms: int = duration(
        "conductor.zookeeper-lock.connectionTimeout",
        "3s",
        "How long the first connection to ZooKeeper, and each answer, may take.",
        minimum=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Search, and the archive of finished executions."""

    type: Literal["sqlite", "elasticsearch"] = choice(
        "conductor.indexing.type",
        "sqlite",
        ("sqlite", "elasticsearch"),
        "Where the index is: a file in the data directory, or Elasticsearch.",
    )
    tasks: bool = flag(
        "conductor.app.taskIndexingEnabled",
        "true",
        "Index tasks as well as workflows, while they run.",
    )
    task_logs: bool = flag(
        "conductor.app.taskExecLogIndexingEnabled",
        "true",
        "Keep the log lines that workers send; false: they are accepted and dropped.",
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
    api_key: str = text(
        "conductor.elasticsearch.apiKey",
        "",
        "API key for Elasticsearch, encoded as it gives it out, in place of a user's name and "
        "password.",
        secret=True,
    )
    ca_file: str = text(
        "conductor.elasticsearch.sslCaFile",
        "",
        "File of certificates (PEM) to trust with https, in place of the usual ones: that of the "
        "authority which Elasticsearch makes for itself, for example.",
    )
    prefix: str = text(
        "conductor.elasticsearch.indexPrefix",
        "conductor",
        "Begins the name of every index.",
    )
    batch: int = count(
        "conductor.elasticsearch.indexBatchSize",
        "1000",
        "Documents sent in one request at most.",
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
        "Make indices and templates when they are missing; false: somebody else has made them.",
    )
    refresh_ms: int = duration(
        "conductor.elasticsearch.indexRefreshInterval",
        "1s",
        "When what was indexed can be found; of an index that is made.",
        unit="s",
        minimum=100,
    )
    wait_for_refresh: bool = flag(
        "conductor.elasticsearch.waitForIndexRefresh",
        "false",
        "Confirm a document only when it can be found; slow, for tests.",
    )
    archive_delay_s: int = count(
        "conductor.workflow-status-listener.archival.delaySeconds",
        "60",
        "Seconds that a finished execution stays in Redis from its end, ten at least: what is sent "
        "again late must find it.",
    )
    retention_ms: int = duration(
        "conductor.archive.retention",
        "0",
        "How long finished executions stay in search and archive, such as 90d; 0: forever. The "
        "sweeper removes what is older.",
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
    collect: bool = flag(
        "conductor.external-payload-storage.collect",
        "true",
        "Whether payloads that nothing needs any more are removed. Every process has to have it.",
    )
    grace_ms: int = duration(
        "conductor.external-payload-storage.gracePeriod",
        "24h",
        "How long a payload stays that nothing needs any more, or yet: from the removal of the "
        "last execution that had it, or from its upload.",
        unit="s",
        minimum=3_600_000,
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
    public_endpoint: str = text(
        "conductor.external-payload-storage.s3.publicEndpoint",
        "",
        "URL at which workers reach that service, which signed URLs name; empty: the same.",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """When bytes of what was removed leave the files of the stores."""

    interval_ms: int = duration(
        "conductor.erasure.interval",
        "1h",
        "How long bytes of what was removed stay in the search file and in the embedded Redis's "
        "append-only file at most, before these are written anew; 0: until something else "
        "overwrites them.",
    )
    sqlite_bytes: int = size(
        "conductor.erasure.searchFileSize",
        "1GB",
        "A search file of more than that is not written anew whole: what was removed is "
        "overwritten where it was, and a few copies stay until you run VACUUM on it.",
        minimum=0,
    )
    rewrites_redis: bool = flag(
        "conductor.erasure.rewriteAppendOnlyFile",
        "false",
        "Then ask Redis to rewrite its append-only file (BGREWRITEAOF) and to forget its slow "
        "commands. The embedded one is always asked; this is for a single Redis of yours.",
    )

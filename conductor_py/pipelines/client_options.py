"""Options of the clients of brokers and databases that a job may give: how to reach them, and how
much at once.

These clients take more than that: Kafka's loads programs (``plugin.library.paths``) and runs a
command for Kerberos, PostgreSQL's reads the passwords of others (``service``, ``passfile``). So
there is a list. Where an option names a file, the worker must allow its place (``FILES``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

_KAFKA_FILES: Final = (
    *("ssl.ca.location", "ssl.certificate.location", "ssl.crl.location", "ssl.key.location"),
    "ssl.keystore.location",
)
_KAFKA: Final = frozenset(
    (
        *("acks", "api.version.request", "api.version.request.timeout.ms", "batch.num.messages"),
        *("batch.size", "broker.address.family", "broker.address.ttl", "check.crcs", "client.id"),
        *("client.rack", "compression.codec", "compression.level", "compression.type"),
        *("connections.max.idle.ms", "delivery.timeout.ms", "enable.ssl.certificate.verification"),
        *("fetch.error.backoff.ms", "fetch.max.bytes", "fetch.message.max.bytes"),
        *("fetch.min.bytes", "fetch.queue.backoff.ms", "fetch.wait.max.ms", "linger.ms"),
        *("max.in.flight", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes"),
        *("max.poll.interval.ms", "message.copy.max.bytes", "message.max.bytes"),
        *("message.send.max.retries", "message.timeout.ms", "metadata.max.age.ms"),
        *("queue.buffering.max.kbytes", "queue.buffering.max.messages", "queue.buffering.max.ms"),
        *("queued.max.messages.kbytes", "queued.min.messages", "receive.message.max.bytes"),
        *("reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries"),
        *("retry.backoff.max.ms", "retry.backoff.ms", "sasl.mechanism", "sasl.mechanisms"),
        *("sasl.password", "sasl.username", "security.protocol", "session.timeout.ms"),
        *("socket.connection.setup.timeout.ms", "socket.keepalive.enable", "socket.max.fails"),
        *("socket.nagle.disable", "socket.receive.buffer.bytes", "socket.send.buffer.bytes"),
        *("socket.timeout.ms", "ssl.ca.pem", "ssl.certificate.pem", "ssl.cipher.suites"),
        *("ssl.curves.list", "ssl.endpoint.identification.algorithm", "ssl.key.password"),
        *("ssl.key.pem", "ssl.keystore.password", "ssl.sigalgs.list"),
        *("topic.metadata.refresh.interval.ms", *_KAFKA_FILES),
    )
)
#: The others ask a program or another server.
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_POSTGRESQL: Final = frozenset(
    (
        *("application_name", "channel_binding", "gssencmode", "keepalives", "keepalives_count"),
        *("keepalives_idle", "keepalives_interval", "require_auth", "sslcert", "sslkey"),
        *("sslmode", "sslnegotiation", "sslrootcert", "target_session_attrs", "tcp_user_timeout"),
    )
)
_MYSQL: Final = frozenset(("ssl_ca", "ssl_cert", "ssl_key", "unix_socket"))
_DATABASES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "postgresql": _POSTGRESQL,
        "postgres": _POSTGRESQL,
        "mysql": _MYSQL,
        "mariadb": _MYSQL,
        "sqlite": frozenset(),
    }
)
FILES: Final = frozenset((*_KAFKA_FILES, "sslcert", "sslkey", "sslrootcert", *_MYSQL))
"""Options whose value is the path of a file."""
NO_FILES: Final = frozenset(("probe", "system"))
"""Values of these that name what the machine trusts, and no file."""


def kafka_findings(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """List the options that a job may not give to Kafka's client: the name, and why."""
    for name, value in options.items():
        if name not in _KAFKA:
            yield name, f"is no option that a job may give; known are {', '.join(sorted(_KAFKA))}"
        elif name in ("sasl.mechanism", "sasl.mechanisms") and _is_other_mechanism(value):
            yield name, f"must be one of {', '.join(_MECHANISMS)}"


def _is_other_mechanism(value: object) -> bool:
    return isinstance(value, str) and "${" not in value and value.upper() not in _MECHANISMS


def database_findings(url: str) -> Iterator[tuple[str, str]]:
    """List the options of a URL that a job may not give to a database's client."""
    scheme = url.partition(":")[0]
    known = _DATABASES.get(scheme, frozenset())
    # As written: a name with an escape in it is on no list.
    for option in filter(None, url.partition("#")[0].partition("?")[2].split("&")):
        name = option.partition("=")[0]
        if name not in known:
            given = f"known are {', '.join(sorted(known))}" if known else "it has none"
            yield name, f"is no option that a job may give for {scheme}; {given}"

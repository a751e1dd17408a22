"""KAFKA_PUBLISH: one record for a topic, acknowledged by the brokers before the task ends.

Needs the extra ``kafka``; without it every such task fails and says so.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from conductor_py.codec.execution import dump_json
from conductor_py.errors import MissingExtra
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRefused
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.records import dataclass

_NO_CLIENT: Final = MissingExtra(
    "KAFKA_PUBLISH needs confluent-kafka where the system-task worker runs", extra="kafka"
).message
_NUMBERS: Final = {"LongSerializer": (">q", 8), "IntegerSerializer": (">i", 4)}


class _Unusable(Exception):
    """The input is no record; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaLimits:
    """``request_ms`` and ``block_ms`` hold where the input says nothing, ``total_ms`` whatever it
    says; ``producers`` are kept for ``kept_ms`` after their last use.
    """

    request_ms: int = 5_000
    block_ms: int = 5_000
    total_ms: int = 300_000
    producers: int = 10
    kept_ms: int = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record, and where it goes. ``servers`` are the brokers to begin with."""

    servers: str
    topic: str
    value: bytes
    key: bytes | None
    headers: Sequence[tuple[str, str | bytes | None]]
    request_ms: int
    block_ms: int

    @property
    def producer(self) -> tuple[str, int, int]:
        """Records that agree in this share a producer."""
        return self.servers, self.request_ms, self.block_ms


class Producers(Protocol):
    """What publishes records."""

    def publish(self, record: Record, cancelled: threading.Event) -> str | None:
        """Publish a record and wait until it is acknowledged; returns what went wrong.

        Raises ``AddressRefused`` when a broker may not be reached.
        """

    def close(self) -> None:
        """Let go of everything."""


class KafkaPublishTask:
    """``SystemTask`` KAFKA_PUBLISH."""

    task_type = "KAFKA_PUBLISH"

    def __init__(self, connect: Callable[[], Producers], limits: KafkaLimits | None = None) -> None:
        """Make producers with ``connect`` at the first record; ImportError when none can be had."""
        self._connect = connect
        self._limits = limits or KafkaLimits()
        self._lock = threading.Lock()
        self._producers: Producers | None = None

    def execute(self, call: SystemCall) -> SystemResult:
        try:
            record = _read(call.input, self._limits)
        except _Unusable as error:
            return SystemResult(status=TaskStatus.FAILED, reason=str(error))
        try:
            producers = self._connected()
        except ImportError:
            return SystemResult(status=TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=_NO_CLIENT)
        try:
            problem = producers.publish(record, call.cancelled)
        except AddressRefused as refused:
            reason = str(refused)
            return SystemResult(status=TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=reason)
        if problem is not None:
            reason = f"Publishing to topic {record.topic} failed: {problem}"
            return SystemResult(status=TaskStatus.FAILED, reason=reason)
        status = TaskStatus.IN_PROGRESS if call.async_complete else TaskStatus.COMPLETED
        return SystemResult(status=status)

    def close(self) -> None:
        if self._producers is not None:
            self._producers.close()

    def _connected(self) -> Producers:
        with self._lock:
            if self._producers is None:
                self._producers = self._connect()
            return self._producers


def _read(given: JsonObject, limits: KafkaLimits) -> Record:
    wanted = given.get("kafka_request")
    if not isinstance(wanted, Mapping):
        raise _Unusable("The input 'kafka_request' is missing: it must be an object")
    value = wanted.get("value")
    if value is None:
        raise _Unusable("The input 'kafka_request.value' is missing")
    return Record(
        servers=_text(wanted, "bootStrapServers"),
        topic=_text(wanted, "topic"),
        value=dump_json(value),
        key=_key(wanted),
        headers=_headers(wanted.get("headers")),
        request_ms=_milliseconds(wanted, "requestTimeoutMs", limits.request_ms),
        block_ms=_milliseconds(wanted, "maxBlockMs", limits.block_ms),
    )


def _text(wanted: JsonObject, name: str) -> str:
    value = wanted.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _Unusable(f"The input 'kafka_request.{name}' is missing")
    return value.strip()


def _key(wanted: JsonObject) -> bytes | None:
    """Write the key as its serializer does, which is named by its Java class."""
    key, serializer = wanted.get("key"), wanted.get("keySerializer")
    if key is None or key == "":
        return None
    name = str(serializer or "StringSerializer").rpartition(".")[2]
    if name in _NUMBERS:
        form, size = _NUMBERS[name]
        try:
            return struct.pack(form, int(str(key)))
        except (ValueError, struct.error):
            raise _Unusable(
                f"The input 'kafka_request.key' is no whole number of {size} bytes"
            ) from None
    if name != "StringSerializer":
        raise _Unusable(
            "The input 'kafka_request.keySerializer' must be the serializer of String, Long or "
            "Integer"
        )
    return _bytes(key)


def _headers(given: JsonValue) -> list[tuple[str, bytes]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise _Unusable("The input 'kafka_request.headers' must be an object")
    return [(name, _bytes(value)) for name, value in given.items() if value is not None]


def _bytes(value: JsonValue) -> bytes:
    return value.encode() if isinstance(value, str) else dump_json(value)


def _milliseconds(wanted: JsonObject, name: str, default: int) -> int:
    value = wanted.get(name)
    if value is None:
        return default
    try:
        found = int(str(value))
    except ValueError:
        found = 0
    if isinstance(value, bool) or not 0 < found <= 900_000:
        raise _Unusable(f"The input 'kafka_request.{name}' must be milliseconds, 900000 at most")
    return found

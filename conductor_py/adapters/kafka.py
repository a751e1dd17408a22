"""Events for Kafka: sinks ``kafka:<topic>``, one record a message, acknowledged by all replicas."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaException, Producer

from conductor_py.codec.execution import dump_json
from conductor_py.model.event_handlers import EventMessage
from conductor_py.ports.events import Undelivered

_MESSAGE_MS: Final = 10_000
_WAIT_S: Final = 12.0


class KafkaSink:
    """``Sink`` on Kafka. The key of a record is the execution that published it, whose messages so
    stay in order; its header ``messageId`` tells a repeat.
    """

    def __init__(self, servers: str) -> None:
        """Name the brokers to begin with; connects at the first message."""
        self._servers = servers
        self._lock = threading.Lock()
        self._made: Producer | None = None

    def publish(self, messages: Sequence[EventMessage]) -> None:
        problems: list[str] = []

        def delivered(error: object, _record: object) -> None:
            if error is not None:
                problems.append(str(error))

        try:
            producer = self._producer()
            for message in messages:
                producer.produce(
                    message.event.partition(":")[2],
                    value=dump_json(message.payload),
                    key=message.id[:36].encode(),
                    headers=[("messageId", message.id.encode())],
                    on_delivery=delivered,
                )
            unsent = producer.flush(_WAIT_S)
        except (KafkaException, BufferError, ValueError) as failed:
            raise Undelivered(f"Kafka: {failed}") from failed
        if problems or unsent:
            raise Undelivered(f"Kafka: {problems[0] if problems else 'no answer in time'}")

    def _producer(self) -> Producer:
        with self._lock:
            if self._made is None:
                self._made = Producer(
                    {
                        "bootstrap.servers": self._servers,
                        "acks": "all",
                        "enable.idempotence": True,
                        "message.timeout.ms": _MESSAGE_MS,
                        "linger.ms": 0,
                        "log_level": 0,
                    }
                )
            return self._made

"""Events for Kafka: sinks ``kafka:<topic>``, one record a message, acknowledged by all replicas."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaException, Producer

from conductor_py.codec.execution import dump_json
from conductor_py.model.event_handlers import EventMessage
from conductor_py.ports.events import Undelivered

_MESSAGE_MS: Final = 10_000
_WAIT_S: Final = 12.0
_LOOK_S: Final = 0.05
_UNKNOWN_MS: Final = 1_000


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
        delivery = _Delivery(len(messages))
        try:
            producer = self._producer()
            for message in messages:
                producer.produce(
                    message.event.partition(":")[2],
                    value=dump_json(message.payload),
                    key=message.id[:36].encode(),
                    headers=[("messageId", message.id.encode())],
                    on_delivery=delivery.tell,
                )
            # Not until the producer has nothing left: others have messages in it, and some of those
            # may wait for a topic that is not there.
            end = time.monotonic() + _WAIT_S
            while not delivery.is_over and time.monotonic() < end:
                producer.poll(_LOOK_S)
        except (KafkaException, BufferError, ValueError) as failed:
            raise Undelivered(f"Kafka: {failed}") from failed
        if delivery.problems or not delivery.is_over:
            why = delivery.problems[0] if delivery.problems else "no answer in time"
            raise Undelivered(f"Kafka: {why}")

    def _producer(self) -> Producer:
        with self._lock:
            if self._made is None:
                self._made = Producer(
                    {
                        "bootstrap.servers": self._servers,
                        "acks": "all",
                        "enable.idempotence": True,
                        "message.timeout.ms": _MESSAGE_MS,
                        # A topic that does not exist is not waited for until the message's end.
                        "topic.metadata.propagation.max.ms": _UNKNOWN_MS,
                        "linger.ms": 0,
                        "log_level": 0,
                    }
                )
            return self._made


class _Delivery:
    """What became of the messages of one call; told by whichever thread asks the producer."""

    def __init__(self, count: int) -> None:
        self.problems: list[str] = []
        self._left = count
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        return self._left == 0

    def tell(self, error: object, _record: object) -> None:
        with self._lock:
            if error is not None:
                self.problems.append(str(error))
            self._left -= 1

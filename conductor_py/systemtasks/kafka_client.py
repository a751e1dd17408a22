"""The Kafka client that KAFKA_PUBLISH speaks through: librdkafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaException, Producer

from conductor_py.systemtasks.kafka_producers import ClientFailed
from conductor_py.systemtasks.kafka_publish import Record


class KafkaClient:
    """``kafka_producers.Client`` for real brokers."""

    def __init__(self, settings: Mapping[str, str | int | bool]) -> None:
        """Make a producer of librdkafka's ``settings``; it connects at the first use."""
        self._producer = Producer(dict(settings))

    def members(self, topic: str, timeout_s: float) -> Sequence[tuple[str, int]]:
        try:
            found = self._producer.list_topics(topic, timeout_s).brokers.values()
        except KafkaException as failed:
            raise ClientFailed(str(failed)) from failed
        return [(each.host, each.port) for each in found]

    def send(self, record: Record, answer: Callable[[str | None], None]) -> None:
        def delivered(error: object, _message: object) -> None:
            answer(None if error is None else str(error))

        try:
            self._producer.produce(
                record.topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=delivered,
            )
        except (KafkaException, BufferError, ValueError) as failed:
            raise ClientFailed(str(failed)) from failed

    def poll(self, timeout_s: float) -> None:
        self._producer.poll(timeout_s)

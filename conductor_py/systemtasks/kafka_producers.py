"""Producers of Kafka records over librdkafka, kept for a while: connecting costs most."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaException, Producer

from conductor_py.outbound.addresses import AddressRules
from conductor_py.systemtasks.kafka_brokers import UnknownBroker, judge_members, judged
from conductor_py.systemtasks.kafka_publish import KafkaLimits, Record

_LOOK_S: Final = 0.05


class KafkaProducers:
    """``kafka_publish.Producers`` for real brokers."""

    def __init__(
        self,
        limits: KafkaLimits,
        rules: AddressRules,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet, and later where ``rules`` allow."""
        self._limits = limits
        self._rules = rules
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], tuple[Producer, float]] = OrderedDict()

    def publish(self, record: Record, cancelled: threading.Event) -> str | None:
        answers: list[str | None] = []

        def delivered(error: object, _message: object) -> None:
            answers.append(None if error is None else str(error))

        try:
            producer = self._producer(record)
            producer.produce(
                record.topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                on_delivery=delivered,
            )
        except (KafkaException, BufferError, UnknownBroker, ValueError) as error:
            return str(error)
        # Every record has its answer within `message.timeout.ms`; whoever polls hands it on.
        while not answers and not cancelled.is_set():
            producer.poll(_LOOK_S)
        return answers[0] if answers else "the task is no longer this worker's"

    def close(self) -> None:
        with self._lock:
            self._kept.clear()

    def _producer(self, record: Record) -> Producer:
        """Find or make the producer for a record; let go of those that nobody used for long."""
        with self._lock:
            found = self._kept.get(record.producer)
        # Made outside the lock: brokers that say nothing hold up their own records alone.
        producer = found[0] if found else _connected(record, self._rules)
        with self._lock:
            now = self._monotonic()
            producer = self._kept.pop(record.producer, (producer, now))[0]
            self._kept[record.producer] = (producer, now)
            idle_since = now - self._limits.kept_ms / 1000
            for key, (_, used) in tuple(self._kept.items())[:-1]:
                # Whoever uses it still holds it: it goes when the last record has its answer.
                if used < idle_since or len(self._kept) > self._limits.producers:
                    del self._kept[key]
            return producer


def _connected(record: Record, rules: AddressRules) -> Producer:
    patience_s = record.block_ms / 1000
    producer = Producer(
        {
            "bootstrap.servers": judged(record.servers, rules, patience_s),
            "acks": "all",
            "enable.idempotence": True,
            "request.timeout.ms": record.request_ms,
            "message.timeout.ms": record.request_ms + record.block_ms,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    # What a cluster says of its members is judged before anything is sent to one.
    members = producer.list_topics(record.topic, patience_s).brokers.values()
    judge_members(((each.host, each.port) for each in members), rules, patience_s)
    return producer

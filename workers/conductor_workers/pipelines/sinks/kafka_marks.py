"""The control topic: the newest epoch and token of each Kafka sink, one compacted record each.

A mark is written in the transaction that it speaks of. It is read up to the end that the partition
has when the reading begins, not to the end of what is committed: another sink's open transaction
would hide a mark of ours that stands behind it, and the epoch would be sent again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from conductor_py.records import dataclass

_ANSWER_S: Final = 30.0
_POLL_S: Final = 0.5
_PORTION: Final = 1000
_PARTITIONS: Final = 8
#: Rolled soon, so that it is compacted soon: each look reads what is left.
_CONFIG: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}

Delivered = Callable[[KafkaError | None, Message], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The newest epoch of a sink, its record's hash, and the lowest token that may go on.

    ``line`` is the line of attempts that the epoch is of; the token is that of all lines.
    """

    epoch: int = 0
    token: int = 0
    record_hash: str = ""
    line: int = 0

    def of(self, line: int) -> Mark:
        """Return what it says to a line: nothing of the epochs of another one."""
        return self if self.line == line else Mark(token=self.token, line=line)


class Marks:
    """The control topic of one sink."""

    def __init__(self, topic: str, settings: Mapping[str, str]) -> None:
        """Name the topic; nothing is connected yet."""
        self._topic = topic
        self._settings = settings
        self._next: dict[int, int] = {}
        self._known: dict[bytes, Mark] = {}

    def make_topic(self) -> None:
        """Make the topic if it is missing. Never change its partitions: marks would be lost."""
        if self._partitions():
            return
        admin = AdminClient({**self._settings, "log_level": 0})
        topic = NewTopic(self._topic, num_partitions=_PARTITIONS, config=dict(_CONFIG))
        for made in admin.create_topics([topic], operation_timeout=_ANSWER_S).values():
            try:
                made.result(_ANSWER_S)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def read(self, key: str) -> Mark:
        """Return a sink's newest committed mark; an empty one where there is none."""
        partitions = self._partitions()
        if partitions:
            self._read_through(_partition(key, partitions))
        return self._known.get(key.encode(), Mark())

    def write(
        self, producer: Producer, key: str, mark: Mark, delivered: Delivered | None = None
    ) -> None:
        """Add a mark to the producer's open transaction."""
        stored = {
            "epoch": mark.epoch,
            "token": mark.token,
            "hash": mark.record_hash,
            "line": mark.line,
        }
        produce(
            producer,
            self._topic,
            key.encode(),
            json.dumps(stored).encode(),
            delivered,
            partition=_partition(key, self._partitions() or _PARTITIONS),
        )

    def _partitions(self) -> int:
        admin = AdminClient({**self._settings, "log_level": 0})
        # The whole list: to ask for a topic by name may make it, with other settings.
        known = admin.list_topics(timeout=_ANSWER_S).topics.get(self._topic)
        return 0 if known is None else len(known.partitions)

    def _read_through(self, number: int) -> None:
        end = self.end(number)
        first = self._next.get(number, 0)
        if first >= end:
            return
        consumer = Consumer(
            {
                **self._settings,
                "group.id": "conductor-pipelines",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        try:
            consumer.assign([TopicPartition(self._topic, number, first)])
            self._next[number] = self._keep_until(consumer, end)
        finally:
            consumer.close()

    def _keep_until(self, consumer: Consumer, end: int) -> int:
        silent_s = 0.0
        while silent_s <= _ANSWER_S:
            polled = consumer.consume(_PORTION, timeout=_POLL_S)
            silent_s = 0.0 if polled else silent_s + _POLL_S
            for message in polled:
                error, offset = message.error(), message.offset() or 0
                if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    if offset >= end:
                        return offset
                elif error is not None:
                    raise KafkaException(error)
                else:
                    self._keep(message)
                    if offset >= end:
                        return offset + 1
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001

    def _keep(self, message: Message) -> None:
        key, value = message.key(), message.value()
        if key is None or value is None:
            return
        stored = json.loads(value)
        self._known[bytes(key)] = Mark(
            epoch=stored["epoch"],
            token=stored["token"],
            record_hash=stored["hash"],
            line=stored["line"],
        )

    def end(self, number: int) -> int:
        """Return where a partition ends, with what transactions still have open."""
        admin = AdminClient({**self._settings, "log_level": 0})
        place = TopicPartition(self._topic, number)
        newest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = admin.list_offsets({place: newest}, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        return int(asked[place].result(_ANSWER_S).offset)


def produce(
    producer: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    delivered: Delivered | None = None,
    *,
    partition: int = -1,
) -> None:
    """Send a message; waits while the client's queue is full."""
    options: dict[str, Any] = {} if delivered is None else {"on_delivery": delivered}
    while True:
        try:
            producer.produce(topic, value=value, key=key, partition=partition, **options)
        except BufferError:
            producer.poll(_POLL_S)
        else:
            producer.poll(0)
            return


def _partition(key: str, partitions: int) -> int:
    return zlib.crc32(key.encode()) % partitions

"""``kafka``: topics of Apache Kafka, read in ranges of offsets that are the same whenever they are
read.

Settings: ``servers``, ``topics``, ``start`` (``earliest`` or ``latest``, for partitions that are
there at the first look; later ones are read from their beginning), ``format`` (``raw``: key and
value as bytes; ``text``: as text; ``json``: the declared columns out of the value), ``data_lost``
(``fail`` or ``skip``), ``isolation``, ``timeout_s``, ``options`` (the client's).
``split: {by: offsets, rows}`` bounds a range.

Positions are kept for each partition, never for a reader: how many read at once may change between
any two rounds. A bounded job reads up to the ends that it found at its first look. No offset is
committed to the broker and no consumer group is joined.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import RAW, Discovery, SourceProblem
from conductor_workers.pipelines.enforcement import declared, enforced
from conductor_workers.pipelines.places import OFFSET
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.registry import Place
from conductor_workers.pipelines.shapes import Instant, NotOfType, arrow_schema, shaped
from conductor_workers.pipelines.sources.line_reader import members_in, object_in
from conductor_workers.pipelines.sources.pieces import as_text
from conductor_workers.statements import quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_COLUMNS: Final = (
    "topic string, partition int, offset bigint, timestamp timestamp, key {0}, value {0}"
)
_PORTION: Final = 2_000
_POLL_S: Final = 0.5
_ROW_BYTES: Final = 256
"""What a message is taken to weigh: nobody says before it is read."""
_GROUP: Final = "conductor-pipelines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """How to reach the brokers; travels to tasks. ``settings`` may hold secrets."""

    node: str
    settings: Mapping[str, str] = field(repr=False)
    timeout_s: float = 30.0

    def consumer(self) -> Consumer:
        """Make a client that commits nothing and begins nowhere by itself."""
        return Consumer(
            {
                **self.settings,
                "group.id": _GROUP,
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )

    def away(self, error: object) -> SourceProblem:
        """Say that the brokers refused or did not answer."""
        return SourceProblem(
            "SOURCE_UNAVAILABLE", f"{self.node}: Kafka does not serve: {error}.", retryable=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """``Source`` of the kind."""

    broker: Broker
    topics: tuple[str, ...]
    bounded: bool = True
    start: Literal["earliest", "latest"] = "earliest"
    format: Literal["raw", "text", "json"] = "raw"
    skip_lost: bool = False
    split_rows: int = 200_000
    declared: spec.Schema | None = None
    placing: bool = False
    """Whether ``frame`` says where each row stands."""

    def schema(self, spark: SparkSession) -> StructType:
        """Take the declared columns for JSON, else those of a message."""
        if self.format == "json" and self.declared is not None:
            columns = declared(self.declared)
        else:
            columns = _COLUMNS.format("binary" if self.format == "raw" else "string")
        return spark.createDataFrame([], columns).schema

    def enumerator(self, restored: Mapping[str, Any]) -> KafkaEnumerator:
        """See ``Source``."""
        return KafkaEnumerator(self, restored)

    def reader(self, schema: StructType) -> KafkaReader:
        """See ``Source``. A message that is not as declared is a problem here; ``frame`` sets it
        aside.
        """
        return KafkaReader(
            broker=self.broker,
            format=self.format,
            schema=arrow_schema(schema),
            skip_lost=self.skip_lost,
        )

    def frame(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``NativeSource``: for JSON, with messages that are not as declared as bad rows."""
        if self.format != "json" or self.declared is None:
            return None
        columns = ", ".join(
            [*(f"{quoted(field.name)} string" for field in schema), f"{RAW} string"]
        )
        read = f"{columns}, {OFFSET} bigint" if self.placing else columns
        wanted = arrow_schema(spark.createDataFrame([], read).schema)
        text = spark.createDataFrame([], columns).schema
        reader = replace(self.reader(schema), format="fields", schema=wanted)
        rows = frame_of(spark, reader, splits, text, placed=self.placing)
        return enforced(rows, schema, self.declared)

    def placed(
        self, spark: SparkSession, splits: Sequence[SplitDescriptor], schema: StructType
    ) -> DataFrame | None:
        """See ``Placing``."""
        return replace(self, placing=True).frame(spark, splits, schema)


class KafkaEnumerator:
    """Cuts what stands between the positions and the ends. Its snapshot is the positions."""

    def __init__(self, source: KafkaSource, restored: Mapping[str, Any]) -> None:
        """Go on from a snapshot; nothing is connected yet."""
        self._source = source
        self._positions: dict[str, int] = dict(restored.get("positions", {}))
        self._ends: dict[str, int] | None = restored.get("ends")
        self._began = bool(restored)
        self._client: Consumer | None = None

    def discover(self, *, first_ord: int, limit: int) -> Discovery:
        """See ``SplitEnumerator``. The partition with most before it comes first."""
        positions = dict(self._positions)
        try:
            ends = self._look(positions)
        except KafkaException as error:
            raise self._source.broker.away(error.args[0]) from error
        waiting = [(positions[name] - end, name) for name, end in ends.items()]
        heap = [each for each in waiting if each[0] < 0]
        heapq.heapify(heap)
        found: list[SplitDescriptor] = []
        while heap and len(found) < limit:
            left, name = heapq.heappop(heap)
            rows = min(-left, self._source.split_rows)
            found.append(_split(first_ord + len(found), name, positions[name], rows))
            positions[name] += rows
            if left + rows < 0:
                heapq.heappush(heap, (left + rows, name))
        self._positions, self._began = positions, True
        return Discovery(found=tuple(found), complete=self._source.bounded and not heap)

    def snapshot(self) -> Mapping[str, Any]:
        """See ``SplitEnumerator``."""
        if not self._began:
            return {}
        return {"positions": dict(self._positions), "ends": self._ends}

    def close(self) -> None:
        """See ``SplitEnumerator``."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def lag(self) -> int:
        """Return how many offsets stand between what was handed out and the newest."""
        try:
            ends = self._look(dict(self._positions))
        except KafkaException as error:
            raise self._source.broker.away(error.args[0]) from error
        return sum(max(0, end - self._positions.get(name, 0)) for name, end in ends.items())

    def _look(self, positions: dict[str, int]) -> dict[str, int]:
        """Bring the positions up to what is there, and return the ends to read to."""
        if self._source.bounded and self._ends is not None:
            return self._ends
        ends = {}
        for name in self._partitions():
            low, high = self._offsets(name)
            if name not in positions:
                from_end = not self._began and self._source.start == "latest"
                positions[name] = high if from_end else low
            elif not low <= positions[name] <= high:
                positions[name] = self._lost(name, positions[name], low, high)
            ends[name] = high
        if self._source.bounded:
            self._ends = ends
        return ends

    def _partitions(self) -> list[str]:
        client, timeout_s = self._consumer(), self._source.broker.timeout_s
        found: list[str] = []
        for topic in self._source.topics:
            known = client.list_topics(topic, timeout=timeout_s).topics[topic]
            if known.error is not None:
                missing = known.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                raise SourceProblem(
                    "SOURCE_UNAVAILABLE",
                    f"{self._source.broker.node}: the topic {topic} cannot be read: "
                    f"{known.error.str()}.",
                    retryable=not missing,
                )
            found.extend(f"{topic}/{number}" for number in sorted(known.partitions))
        return found

    def _offsets(self, name: str) -> tuple[int, int]:
        topic, _, number = name.rpartition("/")
        answer = self._consumer().get_watermark_offsets(
            TopicPartition(topic, int(number)),
            timeout=self._source.broker.timeout_s,
            cached=False,
        )
        if answer is None:
            raise self._source.broker.away(f"no offsets of {name} in time")
        low, high = answer
        return int(low), int(high)

    def _lost(self, name: str, position: int, low: int, high: int) -> int:
        if self._source.skip_lost:
            return low
        raise _data_lost(self._source.broker, name, position, f"it has {low} to {high}")

    def _consumer(self) -> Consumer:
        if self._client is None:
            self._client = self._source.broker.consumer()
        return self._client


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaReader:
    """``SplitReader``: exactly the messages of a range, which may be fewer than its offsets: some
    are marks of transactions, some were compacted away.

    ``fields`` gives the columns as text, and ``_raw`` for a value that is no JSON object.
    """

    broker: Broker
    format: Literal["raw", "text", "json", "fields"]
    schema: pa.Schema
    skip_lost: bool = False

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        consumer = self.broker.consumer()
        try:
            for messages in self._messages(consumer, split.descriptor):
                yield shaped([self._row(message) for message in messages], self.schema)
        except KafkaException as error:
            raise self.broker.away(error.args[0]) from error
        except NotOfType as error:
            raise SourceProblem("SCHEMA_CHANGED", f"{self.broker.node}: {error}.") from error
        finally:
            consumer.close()

    def _messages(
        self, consumer: Consumer, descriptor: Mapping[str, Any]
    ) -> Iterator[list[Message]]:
        topic, partition = str(descriptor["topic"]), int(descriptor["partition"])
        first, after = int(descriptor["from"]), int(descriptor["to"])
        place = TopicPartition(topic, partition)
        low, _ = consumer.get_watermark_offsets(place, timeout=self.broker.timeout_s, cached=False)
        if first < low:
            if not self.skip_lost:
                raise _data_lost(self.broker, f"{topic}/{partition}", first, f"it begins at {low}")
            first = low
        if first >= after:
            return
        consumer.assign([TopicPartition(topic, partition, first)])
        silent_s = 0.0
        ended = False
        while not ended:
            polled = consumer.consume(_PORTION, timeout=_POLL_S)
            silent_s = 0.0 if polled else silent_s + _POLL_S
            if silent_s > self.broker.timeout_s:
                raise self.broker.away(f"no message of {topic}/{partition} in time")
            found, ended = self._within(polled, f"{topic}/{partition}", after)
            if found:
                yield found

    def _within(
        self, polled: Sequence[Message], name: str, after: int
    ) -> tuple[list[Message], bool]:
        """Return the messages of the range, and whether its end was reached."""
        found: list[Message] = []
        for message in polled:
            error, offset = message.error(), message.offset() or 0
            if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                if offset >= after:
                    return found, True
                continue  # what comes is still in a transaction
            if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
                raise _data_lost(self.broker, name, after - 1, "they are out of its range")
            if error is not None:
                raise self.broker.away(error.str())
            if offset >= after:
                return found, True
            found.append(message)
            if offset == after - 1:
                return found, True
        return found, False

    def _row(self, message: Message) -> list[Any]:
        if self.format in ("json", "fields"):
            return self._fields(message)
        kind, moment = message.timestamp()
        at = None if kind == 0 else Instant(moment * 1000)
        place = [message.topic(), message.partition(), message.offset(), at]
        return [*place, message.key(), message.value()]

    def _fields(self, message: Message) -> list[Any]:
        value = bytes(message.value() or b"")
        if self.format == "fields":
            names = [name for name in self.schema.names if name not in (RAW, OFFSET)]
            offset = [message.offset()] if OFFSET in self.schema.names else []
            found = members_in(value, names)
            if found is None:
                return [*([None] * len(names)), as_text(value), *offset]
            return [*found, None, *offset]
        document = object_in(value)
        if document is None:
            where = f"{message.topic()}/{message.partition()} at {message.offset()}"
            raise SourceProblem("SCHEMA_CHANGED", f"{self.broker.node}: {where} is no JSON object.")
        return [document.get(name) for name in self.schema.names]


def open_source(node: spec.Source, place: Place) -> KafkaSource:
    """Make the source of a node."""
    settings = place.settings(node)
    topics = settings.texts("topics")
    if not topics:
        raise ConfigurationError(f"{node.id}.topics must name at least one topic.")
    form = settings.choice("format", ("raw", "text", "json"), "raw")
    if form == "json" and node.schema is None:
        raise ConfigurationError(f"{node.id}.schema must declare the columns of its JSON.")
    isolation = settings.choice(
        "isolation", ("read_committed", "read_uncommitted"), "read_committed"
    )
    broker = Broker(
        node=node.id,
        settings={
            **settings.named_texts("options"),
            "bootstrap.servers": settings.text("servers"),
            "isolation.level": isolation,
        },
        timeout_s=settings.seconds("timeout_s", 30.0),
    )
    start = settings.choice("start", ("earliest", "latest"), "earliest")
    return KafkaSource(
        broker=broker,
        topics=topics,
        bounded=not place.unbounded,
        start="latest" if start == "latest" else "earliest",
        format="json" if form == "json" else "text" if form == "text" else "raw",
        skip_lost=settings.choice("data_lost", ("fail", "skip"), "fail") == "skip",
        split_rows=node.split.rows if node.split else 200_000,
        declared=node.schema,
    )


def _split(ord: int, name: str, first: int, rows: int) -> SplitDescriptor:
    topic, _, number = name.rpartition("/")
    return SplitDescriptor(
        ord=ord,
        descriptor={"topic": topic, "partition": int(number), "from": first, "to": first + rows},
        rows=rows,
        bytes=rows * _ROW_BYTES,
    )


def _data_lost(broker: Broker, name: str, offset: int, there: str) -> SourceProblem:
    return SourceProblem(
        "DATA_LOST",
        f"{broker.node}: {name} no longer has the offset {offset}, {there}; set data_lost to skip "
        "if what is gone may be left out.",
    )

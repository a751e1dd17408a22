"""Topics of a real broker as sources and as sinks."""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import SplitDescriptor
from conductor_workers.pipelines.connectors import Owner, SinkProblem, SourceProblem
from conductor_workers.pipelines.reading import frame_of
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.pipelines.sinks.kafka_marks import Mark, Marks
from conductor_workers.pipelines.staged import StagingPlace
from conductor_workers.testing import SinkContract, SinkTarget, SourceContract, SourceSample
from conductor_workers.testing.sinks import rows_of
from conductor_workers.testing.sources import walked
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.thorough(target="pipelines"),
]


def make_topic(servers: str, partitions: int, **config: str) -> str:
    name = f"t-{uuid.uuid4().hex[:10]}"
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, partitions, config=config)]).values():
        made.result(PATIENCE_S)
    return name


def send(servers: str, topic: str, numbers, partitions: int, value=lambda n: f"v{n}") -> None:
    producer = Producer({"bootstrap.servers": servers})
    lost = []

    def told(error, _message) -> None:
        if error is not None:
            lost.append(error)

    for n in numbers:
        producer.produce(
            topic, key=f"k{n}", value=value(n), partition=n % partitions, on_delivery=told
        )
    assert producer.flush(PATIENCE_S) == 0
    assert not lost


def source_of(servers, topic, *, unbounded=False, rows=7, schema=None, **settings):
    node = spec.Source(
        id="in",
        kind="kafka",
        output="o",
        split=spec.SplitRule(by="offsets", rows=rows),
        schema=schema,
        settings={"servers": servers, "topics": [topic], "timeout_s": PATIENCE_S, **settings},
    )
    place = Place(owner=Owner(task="e/r"), pipeline="p", work_dir="/nowhere", unbounded=unbounded)
    return open_source(node, place)


def values(spark, source, splits) -> list[str]:
    reader = source.reader(source.schema(spark))
    return [
        value
        for split in splits
        for batch in reader.read(split)
        for value in batch.column("value").to_pylist()
    ]


class TestJsonMessages(SourceContract):
    @pytest.fixture
    def sample(self, kafka_servers):
        topic = make_topic(kafka_servers, 3)
        body = lambda n: json.dumps({"id": n, "name": f"n{n}", "more": [n]})  # noqa: E731
        send(kafka_servers, topic, range(50), 3, body)
        schema = spec.Schema(
            columns=(spec.Column(name="id", type="bigint"), spec.Column(name="name", type="string"))
        )
        source = source_of(kafka_servers, topic, format="json", schema=schema)
        broken = {"SOURCE_UNAVAILABLE": source_of(kafka_servers, f"{topic}-missing")}
        return SourceSample(
            source=source, rows=[(n, f"n{n}") for n in range(50)], broken=lambda: broken
        )


class TestUnboundedText(SourceContract):
    @pytest.fixture
    def sample(self, kafka_servers):
        topic = make_topic(kafka_servers, 2)
        send(kafka_servers, topic, range(30), 2)
        source = source_of(kafka_servers, topic, format="text", unbounded=True)
        rows = [(topic, n % 2, n // 2, None, f"k{n}", f"v{n}") for n in range(30)]
        return SourceSample(source=_WithoutTimes(source), rows=rows, bounded=False)


class _WithoutTimes:
    """The broker says when a message came; a test cannot know."""

    def __init__(self, source) -> None:
        self.source = source
        self.enumerator = source.enumerator

    def schema(self, spark):
        return self.source.schema(spark)

    def reader(self, schema):
        return _TimelessReader(self.source.reader(schema))


class _TimelessReader:
    def __init__(self, reader) -> None:
        self.reader = reader

    def read(self, split):
        import pyarrow as pa

        for batch in self.reader.read(split):
            assert batch.column("timestamp").null_count == 0
            at = batch.schema.get_field_index("timestamp")
            yield batch.set_column(
                at, "timestamp", pa.nulls(batch.num_rows, batch.schema.field(at).type)
            )


def test_bounded_job_reads_up_to_what_was_there_at_its_first_look(kafka_servers, spark):
    topic = make_topic(kafka_servers, 2)
    send(kafka_servers, topic, range(20), 2)
    source = source_of(kafka_servers, topic, format="text", rows=4)
    enumerator = source.enumerator({})
    first = enumerator.discover(first_ord=0, limit=1)
    send(kafka_servers, topic, range(20, 40), 2)
    rest = source.enumerator(enumerator.snapshot()).discover(first_ord=1, limit=100)
    assert (first.complete, rest.complete) == (False, True)
    read = values(spark, source, (*first.found, *rest.found))
    assert sorted(read) == sorted(f"v{n}" for n in range(20))


def test_positions_belong_to_partitions_so_readers_may_come_and_go(kafka_servers, spark):
    """Six partitions, read by 2, then 3, then 2 tasks at once: each message once, each partition
    in order.
    """
    topic = make_topic(kafka_servers, 6)
    source = source_of(kafka_servers, topic, format="text", unbounded=True, rows=5)
    snapshot: dict[str, Any] = {}
    known = 0
    read = []
    for number, readers in enumerate((2, 3, 2)):
        send(kafka_servers, topic, range(number * 60, number * 60 + 60), 6)
        enumerator = source.enumerator(json.loads(json.dumps(snapshot)))
        splits = enumerator.discover(first_ord=known, limit=100).found
        snapshot, known = enumerator.snapshot(), known + len(splits)
        enumerator.close()
        frame = frame_of(spark, source.reader(source.schema(spark)), splits, source.schema(spark))
        assert frame.coalesce(readers).rdd.getNumPartitions() == readers
        read += frame.coalesce(readers).select("partition", "offset", "value").collect()
    assert Counter(row["value"] for row in read) == Counter(f"v{n}" for n in range(180))
    for partition in range(6):
        offsets = sorted(row["offset"] for row in read if row["partition"] == partition)
        assert offsets == list(range(30))
    assert snapshot["positions"] == {f"{topic}/{n}": 30 for n in range(6)}


def test_new_partitions_are_read_from_their_beginning(kafka_servers, spark):
    topic = make_topic(kafka_servers, 1)
    send(kafka_servers, topic, range(5), 1)
    source = source_of(kafka_servers, topic, format="text", unbounded=True, start="latest")
    enumerator = source.enumerator({})
    assert not enumerator.discover(first_ord=0, limit=9).found
    admin = AdminClient({"bootstrap.servers": kafka_servers})
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(PATIENCE_S)
    # The broker's answer comes before it shows the partition.
    until(lambda: len(admin.list_topics(topic, PATIENCE_S).topics[topic].partitions) == 2)
    send(kafka_servers, topic, [11, 13], 2)
    splits = _until_found(enumerator)
    assert sorted(values(spark, source, splits)) == ["v11", "v13"]


def _until_found(enumerator):
    found: list[SplitDescriptor] = []

    def more() -> bool:
        found.extend(enumerator.discover(first_ord=len(found), limit=9).found)
        return bool(found)

    until(more, what="the new partition is discovered")
    return found


def test_only_committed_messages_are_read_and_marks_of_transactions_are_passed(
    kafka_servers, spark
):
    topic = make_topic(kafka_servers, 1)
    producer = Producer({"bootstrap.servers": kafka_servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
        producer.begin_transaction()
        for n in range(3):
            producer.produce(topic, value=f"{number}-{n}")
        end(PATIENCE_S)
    source = source_of(kafka_servers, topic, format="text", rows=2)
    splits, _ = walked(SourceSample(source=source, rows=()), limit=100)
    assert values(spark, source, splits) == [f"{a}-{n}" for a in (0, 2) for n in range(3)]


def test_an_open_transaction_is_not_yet_there(kafka_servers, spark):
    topic = make_topic(kafka_servers, 1)
    send(kafka_servers, topic, range(3), 1)
    producer = Producer({"bootstrap.servers": kafka_servers, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, value="open")
    producer.flush(PATIENCE_S)
    source = source_of(kafka_servers, topic, format="text", unbounded=True)
    enumerator = source.enumerator({})
    splits = enumerator.discover(first_ord=0, limit=9).found
    assert values(spark, source, splits) == ["v0", "v1", "v2"]
    producer.commit_transaction(PATIENCE_S)
    # A commit is decided before each partition is told of it.
    assert values(spark, source, _until_found(enumerator)) == ["open"]


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_messages_that_retention_took_are_a_problem_or_passed_over(kafka_servers, spark, policy):
    from confluent_kafka.admin import AdminClient

    topic = make_topic(kafka_servers, 1)
    send(kafka_servers, topic, range(10), 1)
    source = source_of(
        kafka_servers, topic, format="text", unbounded=True, rows=4, data_lost=policy
    )
    enumerator = source.enumerator({})
    (first,) = enumerator.discover(first_ord=0, limit=1).found
    admin = AdminClient({"bootstrap.servers": kafka_servers})
    deleted = admin.delete_records([TopicPartition(topic, 0, 8)])
    for done in deleted.values():
        done.result(PATIENCE_S)
    if policy == "fail":
        with pytest.raises(SourceProblem) as caught:
            enumerator.discover(first_ord=1, limit=9)
        assert (caught.value.code, caught.value.retryable) == ("DATA_LOST", False)
        with pytest.raises(SourceProblem, match="no longer has the offset 0"):
            values(spark, source, [first])
    else:
        rest = enumerator.discover(first_ord=1, limit=9).found
        assert values(spark, source, [first, *rest]) == ["v8", "v9"]


def test_messages_that_are_not_as_declared_are_bad_rows(kafka_servers, spark):
    topic = make_topic(kafka_servers, 1)
    bodies = ['{"id": 1}', "no json", '{"id": "x"}', '{"id": 2}']
    send(kafka_servers, topic, range(4), 1, lambda n: bodies[n])
    schema = spec.Schema(columns=(spec.Column(name="id", type="bigint"),))
    source = source_of(kafka_servers, topic, format="json", schema=schema)
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    rows = source.frame(spark, splits, source.schema(spark)).collect()
    assert [row["id"] for row in rows if row["_bad"] is None] == [1, 2]
    assert [row["_raw"] for row in rows if row["_bad"] is not None] == ["no json", '{"id":"x"}']
    placed = source.placed(spark, splits, source.schema(spark)).where("_bad IS NOT NULL").collect()
    assert [(row["_code"], row["_at"]["ord"], row["_at"]["offset"]) for row in placed] == [
        ("UNREADABLE_ROW", 0, 1),
        ("WRONG_TYPE", 0, 2),
    ]


def test_decimals_keep_the_digits_that_a_message_has(kafka_servers, spark):
    topic = make_topic(kafka_servers, 1)
    inner = '{"p":12345678901234567890.123456789,"q":1.10}'
    bodies = [
        f'{{"price": 123456789012345678.91, "rate": 2.5e3, "note": 1.50, "deep": {inner}}}',
        "[" * 100_000,
        '{"note": "\\ud800x"}',
    ]
    send(kafka_servers, topic, range(3), 1, lambda n: bodies[n])
    types = {"price": "decimal(20,2)", "rate": "double", "note": "string"}
    types["deep"] = "struct<p: decimal(29,9), q: decimal(3,2)>"
    columns = tuple(spec.Column(name=name, type=type_) for name, type_ in types.items())
    source = source_of(kafka_servers, topic, format="json", schema=spec.Schema(columns=columns))
    splits, _ = walked(SourceSample(source=source, rows=()), limit=9)
    first, nested, half = source.frame(spark, splits, source.schema(spark)).collect()
    assert [str(each) for each in first["deep"]] == ["12345678901234567890.123456789", "1.10"]
    assert (half["note"], half["_bad"]) == ("?x", None)
    assert first[:3] == (Decimal("123456789012345678.91"), 2500.0, "1.50")
    assert nested["_raw"] == bodies[1]


def test_brokers_that_are_away_are_worth_another_try(spark):
    source = source_of("127.0.0.1:1", "t", timeout_s=1)
    with pytest.raises(SourceProblem) as caught:
        source.enumerator({}).discover(first_ord=0, limit=1)
    assert (caught.value.code, caught.value.retryable) == ("SOURCE_UNAVAILABLE", True)


# ------------------------------------------------------------------------------------------ sink


def sink_of(servers, topic, work_dir, **settings):
    given = {"servers": servers, "topic": topic, **settings}
    node = spec.Sink(id="out", kind="kafka", input="i", settings=given)
    return open_sink(node, Place(owner=Owner(task="e/r"), pipeline="p", work_dir=work_dir))


def committed(servers: str, topic: str) -> list[tuple[str | None, str]]:
    """What a consumer that reads committed sees of all partitions, once no transaction is open."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": uuid.uuid4().hex,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    numbers = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
    ends = {number: Marks(topic, {"bootstrap.servers": servers}).end(number) for number in numbers}
    found: list[tuple[str | None, str]] = []
    ended: set[int | None] = set()
    while len(ended) < len(numbers):
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        error = message.error()
        if error is None:
            key, value = message.key(), message.value()
            assert value is not None
            found.append((None if key is None else key.decode(), value.decode()))
            continue
        assert error.code() == KafkaError._PARTITION_EOF
        if (message.offset() or 0) >= ends[message.partition() or 0]:
            ended.add(message.partition())
    consumer.close()
    return found


class TestTransactions(SinkContract):
    @pytest.fixture
    def target(self, kafka_servers, tmp_path):
        topic = make_topic(kafka_servers, 3)
        work = tmp_path / "work"

        def rows():
            bodies = (json.loads(value) for _, value in committed(kafka_servers, topic))
            return [(body["id"], body["name"]) for body in bodies]

        return SinkTarget(
            open=partial(sink_of, kafka_servers, topic, str(work)),
            rows=rows,
            leftovers=lambda: [str(file) for file in work.rglob("*.parquet")],
            fences=True,
            killed_at=("F10", "F11"),
        )


def test_key_and_value_are_columns(kafka_servers, tmp_path, spark):
    topic = make_topic(kafka_servers, 1)
    open_it = partial(sink_of, kafka_servers, topic, str(tmp_path), key="id", value="name")
    target = SinkTarget(open=open_it, rows=list)
    sink = target.open()
    sink.publish(sink.stage(rows_of(spark, 1, 3), target.epoch(1)), target.epoch(1), "h")
    assert sorted(committed(kafka_servers, topic)) == [("1", "name 1"), ("2", "name 2")]


def test_rows_that_were_published_and_deleted_under_ones_hands_are_no_loss(
    kafka_servers, tmp_path, spark, monkeypatch
):
    topic = make_topic(kafka_servers, 1)
    open_it = partial(sink_of, kafka_servers, topic, str(tmp_path))
    target = SinkTarget(open=open_it, rows=list)
    staged = target.open().stage(rows_of(spark, 1, 3), target.epoch(1))
    read, others = StagingPlace.read, [target.open()]

    def overtaken(place, given):
        while others:
            others.pop().publish(staged, target.epoch(1), "h")
        return read(place, given)

    monkeypatch.setattr(StagingPlace, "read", overtaken)
    try:
        target.open().publish(staged, target.epoch(1), "h")
    except SinkProblem as refused:
        if not refused.retryable:
            raise
        target.open().publish(staged, target.epoch(1), "h")
    assert len(committed(kafka_servers, topic)) == 2


def test_a_mark_behind_another_sinks_open_transaction_is_waited_for(kafka_servers):
    """Taken for missing, its epoch would be sent again."""
    control = make_topic(kafka_servers, 1)
    settings = {"bootstrap.servers": kafka_servers}
    marks = Marks(control, settings)
    open_one, ours = (
        Producer({**settings, "transactional.id": f"{control}-{n}"}) for n in range(2)
    )
    for producer, key in ((open_one, "another"), (ours, "ours")):
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        marks.write(producer, key, Mark(epoch=4, token=2, record_hash="h"))
        producer.flush(PATIENCE_S)
    ours.commit_transaction(PATIENCE_S)
    later = threading.Timer(1.0, open_one.commit_transaction, [30])
    later.start()
    assert marks.read("ours") == Mark(epoch=4, token=2, record_hash="h")
    later.join()


def test_a_topic_that_refuses_is_a_problem_and_shows_nothing(kafka_servers, tmp_path, spark):
    topic = make_topic(kafka_servers, 1, **{"max.message.bytes": "200"})
    open_it = partial(sink_of, kafka_servers, topic, str(tmp_path))
    target = SinkTarget(open=open_it, rows=lambda: committed(kafka_servers, topic))
    long = spark.sql(
        "SELECT 1L AS id, array_join(transform(sequence(1, 99), x -> uuid()), '') AS name"
    )
    rows = rows_of(spark, 1, 3).coalesce(1).union(long)
    sink = target.open()
    staged = sink.stage(rows, target.epoch(1))
    with pytest.raises(SinkProblem) as caught:
        sink.publish(staged, target.epoch(1), "h")
    assert not caught.value.retryable
    assert not target.seen()
    assert sink.evidence(target.owner, target.epoch(1).pipeline) is None

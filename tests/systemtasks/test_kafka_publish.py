"""KAFKA_PUBLISH: what is refused without a broker, and what a real one gets."""

import threading
import uuid
from typing import Any

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.ports.system_tasks import SystemResult
from conductor_py.systemtasks.kafka_producers import KafkaProducers
from conductor_py.systemtasks.kafka_publish import KafkaLimits, KafkaPublishTask, Record
from tests.services.absence import needs
from tests.systemtasks.conftest import LOOPBACK, call
from tests.waiting import PATIENCE_S, until

Json = dict[str, Any]


class Kept:
    """Producers that keep what they are given."""

    def __init__(self, problem: str | None = None) -> None:
        self.problem = problem
        self.records: list[Record] = []

    def publish(self, record: Record, _cancelled: threading.Event) -> str | None:
        self.records.append(record)
        return self.problem

    def close(self) -> None:
        """Nothing is open."""


def request(**more: Any) -> Json:
    return {"bootStrapServers": "b:9092", "topic": "t", "value": {"a": [1]}, **more}


def publish(given: Json, kept: Kept, **more: Any) -> SystemResult:
    return KafkaPublishTask(lambda: kept).execute(call({"kafka_request": given}, **more))


def record(**more: Any) -> Record:
    kept = Kept()
    assert publish(request(**more), kept).status is TaskStatus.COMPLETED
    (found,) = kept.records
    return found


@pytest.mark.parametrize(
    ("value", "written"),
    [({"a": [1]}, b'{"a":[1]}'), ("text", b'"text"'), (3, b"3"), (False, b"false"), ([], b"[]")],
)
def test_value_is_written_as_json(value: Any, written: bytes) -> None:
    assert record(value=value).value == written


@pytest.mark.parametrize(
    ("key", "serializer", "written"),
    [
        (None, None, None),
        ("k", None, b"k"),
        ("k", "org.apache.kafka.common.serialization.StringSerializer", b"k"),
        (258, "org.apache.kafka.common.serialization.IntegerSerializer", b"\0\0\1\2"),
        ("258", "org.apache.kafka.common.serialization.LongSerializer", b"\0\0\0\0\0\0\1\2"),
        (-1, "LongSerializer", b"\xff" * 8),
    ],
)
def test_key_is_written_by_its_serializer(key: Any, serializer: Any, written: Any) -> None:
    assert record(key=key, keySerializer=serializer).key == written


def test_headers_are_sent() -> None:
    headers = record(headers={"a": "b", "n": 1, "none": None}).headers
    assert headers == [("a", b"b"), ("n", b"1")]


def test_times_come_from_the_task_and_else_from_the_settings() -> None:
    found = record(requestTimeoutMs=10, maxBlockMs="20")
    assert (found.request_ms, found.block_ms) == (10, 20)
    found = record()
    assert (found.request_ms, found.block_ms) == (KafkaLimits().request_ms, KafkaLimits().block_ms)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kafka_request": "no object"},
        {"kafka_request": request(bootStrapServers=None)},
        {"kafka_request": request(topic="")},
        {"kafka_request": request(value=None)},
        {"kafka_request": request(headers=[1])},
        {"kafka_request": request(key="x", keySerializer="LongSerializer")},
        {"kafka_request": request(key=2**31, keySerializer="IntegerSerializer")},
        {"kafka_request": request(key="x", keySerializer="AvroSerializer")},
        {"kafka_request": request(requestTimeoutMs="soon")},
        {"kafka_request": request(maxBlockMs=True)},
    ],
)
def test_input_that_is_no_record_fails_with_a_sentence(value: Json) -> None:
    kept = Kept()
    result = KafkaPublishTask(lambda: kept).execute(call(value))
    assert result.status is TaskStatus.FAILED
    assert "kafka_request" in str(result.reason)
    assert not kept.records


def test_published_record_leaves_no_output() -> None:
    result = publish(request(), Kept())
    assert (result.status, result.output) == (TaskStatus.COMPLETED, {})


def test_task_that_somebody_else_completes_stays_open() -> None:
    assert publish(request(), Kept(), async_complete=True).status is TaskStatus.IN_PROGRESS


def test_record_that_is_not_taken_fails_the_task() -> None:
    result = publish(request(), Kept("no broker"))
    assert result.status is TaskStatus.FAILED
    assert result.reason == "Publishing to topic t failed: no broker"


def test_without_a_client_the_task_says_what_to_install() -> None:
    def connect() -> Kept:
        raise ImportError

    result = KafkaPublishTask(connect).execute(call({"kafka_request": request()}))
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    assert "pip install '.[kafka]'" in str(result.reason)


def real(limits: KafkaLimits) -> KafkaPublishTask:
    needs("confluent_kafka")
    from conductor_py.systemtasks.kafka_client import KafkaClient

    return KafkaPublishTask(lambda: KafkaProducers(limits, LOOPBACK, KafkaClient), limits)


def records_of(servers: str, topic: str, count: int) -> list[Any]:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    found: list[Any] = []

    def enough() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message)
        return len(found) >= count

    until(enough, what="the records arrive")
    consumer.close()
    return found


def test_a_real_broker_has_the_record(kafka_servers: str) -> None:
    topic = f"t-{uuid.uuid4()}"
    limits = KafkaLimits(request_ms=60_000, block_ms=60_000)
    task = real(limits)
    given = request(bootStrapServers=kafka_servers, topic=topic, key="k", headers={"h": "v"})
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(task.execute(call({"kafka_request": given})))
        )
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE_S)
    assert [result.status for result in results] == [TaskStatus.COMPLETED] * 5, results
    found = records_of(kafka_servers, topic, 5)
    assert {(each.key(), each.value()) for each in found} == {(b"k", b'{"a":[1]}')}
    assert found[0].headers() == [("h", b"v")]
    task.close()


def test_brokers_that_are_not_there_fail_the_task_in_time(kafka_servers: str) -> None:
    assert kafka_servers
    task = real(KafkaLimits(request_ms=200, block_ms=300))
    given = request(bootStrapServers="127.0.0.1:1")
    result = task.execute(call({"kafka_request": given}))
    assert result.status is TaskStatus.FAILED
    assert "Publishing to topic t failed" in str(result.reason)
    task.close()

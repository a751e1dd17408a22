"""The Kafka sink: against a real broker, and without one."""

import orjson
import pytest

from conductor_py.model.event_handlers import EventMessage
from conductor_py.ports.events import Undelivered

pytest.importorskip("confluent_kafka", reason="conductor-py[kafka] is not installed")

from conductor_py.adapters.kafka import KafkaSink

_EXECUTION = "00000000-0000-4000-8000-000000000001"


def _message(number: int) -> EventMessage:
    return EventMessage(
        id=f"{_EXECUTION}-{number}",
        event="kafka:told",
        published_at=1,
        payload={"n": number, "text": "ü"},
    )


def test_messages_arrive_in_order_with_key_and_identity(kafka_servers: str) -> None:
    from confluent_kafka import Consumer

    KafkaSink(kafka_servers).publish([_message(number) for number in range(3)])
    settings = {
        "bootstrap.servers": kafka_servers,
        "group.id": "reader",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe(["told"])
    records = consumer.consume(num_messages=3, timeout=30)
    consumer.close()
    assert [orjson.loads(record.value() or b"") for record in records] == [
        {"n": number, "text": "ü"} for number in range(3)
    ]
    assert {record.key() for record in records} == {_EXECUTION.encode()}
    assert records[2].headers() == [("messageId", f"{_EXECUTION}-2".encode())]


@pytest.mark.slow
def test_a_broker_that_is_away_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conductor_py.adapters.kafka._MESSAGE_MS", 500)
    with pytest.raises(Undelivered, match="Kafka") as failed:
        KafkaSink("127.0.0.1:1").publish([_message(1)])
    assert not failed.value.refused

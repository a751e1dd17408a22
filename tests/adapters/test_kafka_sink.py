"""The Kafka sink: against a real broker, and without one."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from conductor_py.model.event_handlers import EventMessage
from conductor_py.ports.events import Undelivered
from tests.services.absence import needs
from tests.services.ports import free_port
from tests.waiting import PATIENCE_S, until

_EXECUTION = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def _client_is_installed() -> None:
    needs("confluent_kafka")


def _message(number: int, topic: str = "told") -> EventMessage:
    return EventMessage(
        id=f"{_EXECUTION}-{number}",
        event=f"kafka:{topic}",
        published_at=1,
        payload={"n": number, "text": "ü"},
    )


def test_messages_arrive_in_order_with_key_and_identity(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import Consumer, Message

    from conductor_py.adapters.kafka import KafkaSink

    monkeypatch.setattr("conductor_py.adapters.kafka._MESSAGE_MS", int(PATIENCE_S * 1000))
    monkeypatch.setattr("conductor_py.adapters.kafka._WAIT_S", PATIENCE_S)
    KafkaSink(kafka_servers).publish([_message(number) for number in range(3)])
    settings = {
        "bootstrap.servers": kafka_servers,
        "group.id": "reader",
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    consumer.subscribe(["told"])
    records: list[Message] = []

    def have_come() -> bool:
        record = consumer.poll(1)
        if record is not None and record.error() is None:
            records.append(record)
        return len(records) == 3

    until(have_come)
    consumer.close()
    assert [orjson.loads(record.value() or b"") for record in records] == [
        {"n": number, "text": "ü"} for number in range(3)
    ]
    assert {record.key() for record in records} == {_EXECUTION.encode()}
    assert records[2].headers() == [("messageId", f"{_EXECUTION}-2".encode())]


def test_a_broker_that_is_away_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from conductor_py.adapters.kafka import KafkaSink

    monkeypatch.setattr("conductor_py.adapters.kafka._MESSAGE_MS", 500)
    with pytest.raises(Undelivered, match="Kafka") as failed:
        KafkaSink(f"127.0.0.1:{free_port()}").publish([_message(1)])
    assert not failed.value.refused


def test_a_message_for_a_topic_that_is_not_there_does_not_make_others_undelivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from conductor_py.adapters.kafka import KafkaSink

    class Waiting:
        """A producer that holds a message for a topic that it does not know."""

        def __init__(self, _settings: object) -> None:
            self.sent: list[Callable[[object, object], None]] = []
            self.left = 1

        def produce(self, _topic: str, **given: Any) -> None:
            self.sent.append(given["on_delivery"])

        def poll(self, _patience_s: float) -> int:
            told, self.sent = self.sent, []
            for tell in told:
                tell(None, None)
            return len(told)

        def flush(self, patience_s: float) -> int:
            self.poll(patience_s)
            return self.left

    monkeypatch.setattr("conductor_py.adapters.kafka.Producer", Waiting)
    KafkaSink("ignored").publish([_message(1), _message(2)])


def test_a_topic_that_is_not_there_is_said_to_be_and_not_waited_for(
    kafka_servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka import Producer

    from conductor_py.adapters.kafka import KafkaSink

    def making_no_topics(settings: dict[str, Any]) -> Producer:
        return Producer({**settings, "allow.auto.create.topics": False})

    monkeypatch.setattr("conductor_py.adapters.kafka.Producer", making_no_topics)
    monkeypatch.setattr("conductor_py.adapters.kafka._MESSAGE_MS", 20_000)
    monkeypatch.setattr("conductor_py.adapters.kafka._WAIT_S", PATIENCE_S)
    with pytest.raises(Undelivered, match="UNKNOWN_TOPIC"):
        KafkaSink(kafka_servers).publish([_message(1, "nowhere-at-all")])

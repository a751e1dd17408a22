"""Brokers that hold a KAFKA_PUBLISH task up at each step: its total timeout ends all of them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRules
from conductor_py.outbound.lookup import LOOKUPS
from conductor_py.ports.system_tasks import SystemResult
from conductor_py.systemtasks.kafka_producers import Client, ClientFailed, KafkaProducers
from conductor_py.systemtasks.kafka_publish import KafkaLimits, KafkaPublishTask, Record
from tests.services.absence import needs
from tests.systemtasks.conftest import LOOPBACK, call
from tests.systemtasks.test_deadlines import peer, silent
from tests.systemtasks.test_kafka_publish import request
from tests.waiting import PATIENCE_S

PUBLIC = "93.184.216.34"
LONG_MS = int(PATIENCE_S * 1000)
#: The longest times that an input may ask for.
GREEDY: dict[str, Any] = {"requestTimeoutMs": 900_000, "maxBlockMs": 900_000}


@dataclass
class Cluster:
    """Does each thing as it was told to; ``settings`` are those of its clients. One that is mute
    never says whether a record was taken.
    """

    ask: Callable[[float], Sequence[tuple[str, int]]] = lambda _: [(PUBLIC, 9092)]
    take: Callable[[], str | None] = lambda: None
    mute: bool = False
    settings: list[Mapping[str, Any]] = field(default_factory=list)

    def connect(self, settings: Mapping[str, Any]) -> Client:
        self.settings.append(settings)
        return Connected(self)


class Connected:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._answers: list[Callable[[str | None], None]] = []

    def members(self, _topic: str, timeout_s: float) -> Sequence[tuple[str, int]]:
        return self._cluster.ask(timeout_s)

    def send(self, _record: Record, answer: Callable[[str | None], None]) -> None:
        self._answers.append(answer)

    def poll(self, timeout_s: float) -> None:
        if self._cluster.mute:
            threading.Event().wait(timeout_s)
            return
        said = self._cluster.take()
        while self._answers:
            self._answers.pop()(said)


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What hangs in a test hangs until its end."""
    event = threading.Event()
    yield event
    event.set()


def publish(
    cluster: Cluster,
    given: Mapping[str, Any] = GREEDY,
    *,
    total_ms: int = LONG_MS,
    resolve: Any = lambda *_: (PUBLIC,),
    cancelled: threading.Event | None = None,
) -> SystemResult:
    limits = KafkaLimits(total_ms=total_ms)
    producers = KafkaProducers(limits, AddressRules(resolve=resolve), cluster.connect)
    task = KafkaPublishTask(lambda: producers, limits)
    event = cancelled or threading.Event()
    return task.execute(call({"kafka_request": request(**given)}, cancelled=event))


def is_late(result: SystemResult) -> bool:
    assert result.status is TaskStatus.FAILED
    return "took longer than 200 ms in all" in str(result.reason)


def test_a_cluster_that_names_no_members_is_left_at_the_total_timeout(
    released: threading.Event,
) -> None:
    def hang(_: float) -> Sequence[tuple[str, int]]:
        released.wait(PATIENCE_S)
        return ()

    assert is_late(publish(Cluster(ask=hang), total_ms=200))


def test_brokers_that_acknowledge_nothing_are_left_at_the_total_timeout() -> None:
    assert is_late(publish(Cluster(mute=True), total_ms=200))


@pytest.mark.parametrize("hangs", ["broker.example", "member.example"])
def test_a_resolver_that_hangs_is_left_at_the_total_timeout(
    hangs: str, released: threading.Event
) -> None:
    def resolve(host: str, _port: int) -> tuple[str, ...]:
        if host == hangs:
            released.wait(PATIENCE_S)
        return (PUBLIC,)

    cluster = Cluster(ask=lambda _: [("member.example", 9092)])
    given = GREEDY | {"bootStrapServers": "broker.example:9092"}
    assert is_late(publish(cluster, given, total_ms=200, resolve=resolve))


def test_a_task_that_is_taken_away_leaves_a_cluster_that_says_nothing(
    released: threading.Event,
) -> None:
    cancelled = threading.Event()

    def hang(_: float) -> Sequence[tuple[str, int]]:
        cancelled.set()
        released.wait(PATIENCE_S)
        return ()

    result = publish(Cluster(ask=hang), cancelled=cancelled, total_ms=2 * LONG_MS)
    assert not released.is_set()
    assert "no longer this worker's" in str(result.reason)


def test_clusters_that_say_nothing_keep_no_name_from_being_looked_up(
    released: threading.Event,
) -> None:
    asked = threading.Semaphore(0)

    def hang(_: float) -> Sequence[tuple[str, int]]:
        asked.release()
        released.wait(PATIENCE_S)
        return ()

    tasks = [
        threading.Thread(target=publish, args=(Cluster(ask=hang),), kwargs={"total_ms": LONG_MS})
        for _ in range(64)
    ]
    for task in tasks:
        task.start()
    for _ in tasks:
        assert asked.acquire(timeout=PATIENCE_S)
    assert LOOKUPS.within(lambda: "found", PATIENCE_S) == "found"
    released.set()
    for task in tasks:
        task.join(PATIENCE_S)


def test_names_of_brokers_that_nobody_waits_for_are_not_looked_up(
    released: threading.Event,
) -> None:
    looked_up, cancelled, done = [], threading.Event(), threading.Event()

    def resolve(host: str, _port: int) -> tuple[str, ...]:
        looked_up.append(host)
        cancelled.set()
        released.wait(PATIENCE_S)
        done.set()
        return (PUBLIC,)

    given = GREEDY | {"bootStrapServers": "one.example,two.example"}
    result = publish(Cluster(), given, resolve=resolve, cancelled=cancelled)
    assert "no longer this worker's" in str(result.reason)
    released.set()
    assert done.wait(PATIENCE_S)
    assert LOOKUPS.within(lambda: "found", PATIENCE_S) == "found"
    assert looked_up == ["one.example"]


def test_looking_for_brokers_takes_max_block_once() -> None:
    now, patience = [0.0], []

    def resolve(host: str, _port: int) -> tuple[str, ...]:
        now[0] += 3.0
        return (PUBLIC,)

    def ask(timeout_s: float) -> Sequence[tuple[str, int]]:
        patience.append(timeout_s)
        now[0] += timeout_s
        raise ClientFailed("no answer")

    limits, cluster = KafkaLimits(), Cluster(ask=ask)
    rules = AddressRules(resolve=resolve)
    producers = KafkaProducers(limits, rules, cluster.connect, lambda: now[0])
    given = {"bootStrapServers": "broker.example", "maxBlockMs": 5_000, "requestTimeoutMs": LONG_MS}
    result = KafkaPublishTask(lambda: producers).execute(call({"kafka_request": request(**given)}))
    assert result.status is TaskStatus.FAILED
    assert patience == [pytest.approx(2.0, abs=0.01)]


@pytest.mark.parametrize(
    ("total_ms", "asked", "whole", "each"),
    [
        (LONG_MS, GREEDY, LONG_MS, LONG_MS),
        (LONG_MS, {"requestTimeoutMs": 1_000, "maxBlockMs": 2_000}, 3_000, 1_000),
        (2_500, {"requestTimeoutMs": 1_000, "maxBlockMs": 2_000}, 2_500, 1_000),
    ],
)
def test_the_client_keeps_a_record_no_longer_than_the_total_timeout(
    total_ms: int, asked: dict[str, int], whole: int, each: int
) -> None:
    cluster = Cluster()
    assert publish(cluster, asked, total_ms=total_ms).status is TaskStatus.COMPLETED
    (settings,) = cluster.settings
    assert (settings["message.timeout.ms"], settings["request.timeout.ms"]) == (whole, each)


def test_a_record_that_is_refused_fails_its_task() -> None:
    result = publish(Cluster(take=lambda: "too large"))
    assert result.status is TaskStatus.FAILED
    assert result.reason == "Publishing to topic t failed: too large"


def test_a_broker_that_accepts_and_says_nothing_is_left_at_the_total_timeout() -> None:
    needs("confluent_kafka")
    from conductor_py.systemtasks.kafka_client import KafkaClient

    limits = KafkaLimits(total_ms=200)
    producers = KafkaProducers(limits, LOOPBACK, KafkaClient)
    task = KafkaPublishTask(lambda: producers, limits)
    with peer(silent) as port:
        given = request(bootStrapServers=f"127.0.0.1:{port}", **GREEDY)
        result = task.execute(call({"kafka_request": given}))
    assert result.status is TaskStatus.FAILED
    task.close()

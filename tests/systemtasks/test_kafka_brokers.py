"""Brokers of KAFKA_PUBLISH obey the address rules, those that a cluster names, too."""

import threading
import uuid

import pytest

from conductor_py.model.status import TaskStatus
from conductor_py.outbound.addresses import AddressRefused, AddressRules, networks
from conductor_py.outbound.deadline import Deadline
from conductor_py.systemtasks.kafka_brokers import UnknownBroker, judge_members, judged
from conductor_py.systemtasks.kafka_producers import KafkaProducers
from conductor_py.systemtasks.kafka_publish import KafkaLimits, KafkaPublishTask
from tests.services.absence import needs
from tests.systemtasks.conftest import call
from tests.systemtasks.test_kafka_publish import request
from tests.waiting import PATIENCE_S

PUBLIC = "93.184.216.34"
FOUND = {
    "out.example": (PUBLIC, "2606:4700::1111"),
    "in.example": ("10.0.0.1",),
    "both.example": ("10.0.0.1", PUBLIC),
}


def long() -> Deadline:
    return Deadline(int(PATIENCE_S * 1000))


def find(host: str, _port: int) -> tuple[str, ...]:
    if host not in FOUND and not host[0].isdigit():
        raise OSError(-2, "Name or service not known")
    return FOUND.get(host, (host,))


RULES = AddressRules(
    resolve=find, callers="KAFKA_PUBLISH tasks", settings="conductor.tasks.kafka-publish"
)


@pytest.mark.parametrize(
    ("servers", "written"),
    [
        ("out.example:9093", f"{PUBLIC}:9093,[2606:4700::1111]:9093"),
        ("out.example", f"{PUBLIC}:9092,[2606:4700::1111]:9092"),
        (" PLAINTEXT://both.example:1 ,", f"{PUBLIC}:1"),
        (f"gone.example,{PUBLIC}", f"{PUBLIC}:9092"),
    ],
)
def test_the_client_is_given_addresses_that_were_judged(servers: str, written: str) -> None:
    assert judged(servers, RULES, long()) == written


@pytest.mark.parametrize(
    "servers", ["in.example:6379", "127.0.0.1:6379", "out.example,169.254.169.254:80"]
)
def test_brokers_inside_are_refused(servers: str) -> None:
    with pytest.raises(AddressRefused, match=r"conductor\.tasks\.kafka-publish\.allowedHosts"):
        judged(servers, RULES, long())


@pytest.mark.parametrize(
    "servers",
    ["", ",", "a:b", "out.example:0", "out.example:99999", "SSL://out.example", "a b", "a/b:1",
     ",".join(["out.example"] * 17), "gone.example"],
)  # fmt: skip
def test_what_is_no_list_of_brokers_is_refused(servers: str) -> None:
    with pytest.raises(UnknownBroker):
        judged(servers, RULES, long())


def test_a_cluster_that_names_a_member_inside_is_refused() -> None:
    with pytest.raises(AddressRefused):
        judge_members([("out.example", 9092), ("in.example", 6379)], RULES, long())


def test_a_resolver_that_hangs_is_left() -> None:
    release = threading.Event()

    def hang(_host: str, _port: int) -> tuple[str, ...]:
        release.wait(PATIENCE_S)
        return ()

    with pytest.raises(UnknownBroker, match="in time"):
        judged("out.example", AddressRules(resolve=hang), Deadline(50))
    release.set()


def test_a_refused_broker_fails_the_task_for_good() -> None:
    needs("confluent_kafka")
    from conductor_py.systemtasks.kafka_client import KafkaClient

    limits = KafkaLimits()
    task = KafkaPublishTask(lambda: KafkaProducers(limits, AddressRules(), KafkaClient), limits)
    given = request(bootStrapServers="127.0.0.1:6379", topic=f"t-{uuid.uuid4()}")
    result = task.execute(call({"kafka_request": given}))
    assert result.status is TaskStatus.FAILED_WITH_TERMINAL_ERROR
    assert "127.0.0.1" in str(result.reason)


def test_loopback_is_reached_where_it_is_allowed() -> None:
    rules = AddressRules(networks=networks(["127.0.0.0/8"]), resolve=find)
    assert judged("127.0.0.1:9092", rules, long()) == "127.0.0.1:9092"

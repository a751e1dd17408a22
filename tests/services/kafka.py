"""A real Kafka broker of one node, out of its Maven artefacts."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.services.cache import Unobtainable, fetched
from tests.services.ports import free_port
from tests.services.processes import START_S, Service, answers
from tests.services.search_servers import copy_jars, java_program

_KAFKA = "4.1.1"
_HEAP = "-Xmx384m"
_ONE = (
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "offsets.topic.num.partitions",
    "transaction.state.log.num.partitions",
)


class Kafka:
    """A running broker; `servers` is for clients."""

    def __init__(self, port: int, service: Service) -> None:
        self.servers = f"127.0.0.1:{port}"
        self.service = service

    def stop(self) -> None:
        """End the broker and remove its folder."""
        self.service.stop()


def start_kafka() -> Kafka:
    """Start a broker; Unobtainable when it cannot be had. The caller stops it."""
    program = java_program()
    artefact = ("org.apache.kafka", "kafka_2.13", _KAFKA)
    place = fetched(f"kafka-{_KAFKA}", partial(copy_jars, artefacts=(artefact,)))
    port, controller = free_port(), free_port()
    service = Service("kafka")
    settings = service.folder / "server.properties"
    settings.write_text(_properties(port, controller, service.folder / "data"))
    tool = (program, _HEAP, "-cp", f"{place}/lib/*", "kafka.tools.StorageTool")
    with _stopped_on_failure(service):
        cluster = _said(*tool, "random-uuid").splitlines()[-1]
        _said(*tool, "format", "-t", cluster, "-c", str(settings))
    service.start([program, _HEAP, "-cp", f"{place}/lib/*", "kafka.Kafka", str(settings)])
    service.await_ready(lambda: answers(port))
    return Kafka(port, service)


def _properties(port: int, controller: int, data: Path) -> str:
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        "broker.session.timeout.ms": "300000",
        "group.initial.rebalance.delay.ms": "0",
        **dict.fromkeys(_ONE, "1"),
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _said(*command: str) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_S,
        env=dict(os.environ),
        check=False,
    )
    if done.returncode != 0:
        raise Unobtainable(f"Kafka's storage could not be made: {done.stderr[-500:]}")
    return done.stdout.strip()


@contextlib.contextmanager
def _stopped_on_failure(service: Service) -> Iterator[None]:
    try:
        yield
    except BaseException:
        service.stop()
        raise

"""Producers of Kafka records, kept for a while: connecting costs most.

One deadline bounds all of a publish. The client cannot be broken off while it asks a cluster for
its members, so it asks on a thread beside, which is left at the deadline.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from conductor_py.outbound.addresses import AddressRules
from conductor_py.outbound.deadline import Deadline, Late
from conductor_py.outbound.lookup import LookupLate, Lookups
from conductor_py.systemtasks.kafka_brokers import BrokersLate, UnknownBroker, judge_members, judged
from conductor_py.systemtasks.kafka_publish import KafkaLimits, Record

_LOOK_S: Final = 0.05
_CLUSTERS: Final = Lookups()
"""Questions to clusters; names have threads of their own, and HTTP tasks need those."""


class ClientFailed(Exception):
    """The client cannot do what it was asked for; the message says why."""


class Client(Protocol):
    """A Kafka client with the settings of one producer."""

    def members(self, topic: str, timeout_s: float) -> Sequence[tuple[str, int]]:
        """Ask the cluster for the hosts and ports of its brokers; raises ClientFailed."""

    def send(self, record: Record, answer: Callable[[str | None], None]) -> None:
        """Begin to send; some ``poll`` calls ``answer`` with what went wrong, or None. Raises
        ClientFailed.
        """

    def poll(self, timeout_s: float) -> None:
        """Hand on answers; waits for one."""


Connect = Callable[[Mapping[str, str | int | bool]], Client]


class KafkaProducers:
    """``kafka_publish.Producers`` over clients."""

    def __init__(
        self,
        limits: KafkaLimits,
        rules: AddressRules,
        connect: Connect,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to nothing yet, and later with ``connect`` where ``rules`` allow."""
        self._limits = limits
        self._rules = rules
        self._connect = connect
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], tuple[Client, float]] = OrderedDict()

    def publish(self, record: Record, cancelled: threading.Event) -> str | None:
        whole_ms = self._whole_ms(record)
        try:
            with Deadline(whole_ms, cancelled, self._monotonic) as deadline:
                return self._published(record, deadline)
        except (ClientFailed, UnknownBroker) as error:
            return str(error)
        except Late:
            if cancelled.is_set():
                return "the task is no longer this worker's"
            return f"it took longer than {whole_ms} ms in all"

    def close(self) -> None:
        with self._lock:
            self._kept.clear()

    def _whole_ms(self, record: Record) -> int:
        return min(record.block_ms + record.request_ms, self._limits.total_ms)

    def _published(self, record: Record, deadline: Deadline) -> str | None:
        answers: list[str | None] = []
        client = self._client(record, deadline)
        client.send(record, answers.append)
        # Whoever polls hands answers on. A record that is left here may arrive all the same, as one
        # whose acknowledgement is lost.
        while not answers:
            client.poll(deadline.within(_LOOK_S))
        return answers[0]

    def _client(self, record: Record, deadline: Deadline) -> Client:
        """Find or make the client for a record; let go of those that nobody used for long."""
        with self._lock:
            found = self._kept.get(record.producer)
        # Made outside the lock: brokers that say nothing hold up their own records alone.
        client = found[0] if found else self._connected(record, deadline)
        with self._lock:
            now = self._monotonic()
            client = self._kept.pop(record.producer, (client, now))[0]
            self._kept[record.producer] = (client, now)
            idle_since = now - self._limits.kept_ms / 1000
            for key, (_, used) in tuple(self._kept.items())[:-1]:
                # Whoever uses it still holds it: it goes when the last record has its answer.
                if used < idle_since or len(self._kept) > self._limits.producers:
                    del self._kept[key]
            return client

    def _connected(self, record: Record, deadline: Deadline) -> Client:
        """Name, members and their names share one ``maxBlockMs``."""
        try:
            with deadline.part(record.block_ms) as finding:
                return self._found(record, deadline, finding)
        except (BrokersLate, LookupLate, Late) as late:
            deadline.check()
            if record.block_ms >= self._whole_ms(record):
                raise Late from late
            raise BrokersLate(f"the brokers were not found within {record.block_ms} ms") from None

    def _found(self, record: Record, deadline: Deadline, finding: Deadline) -> Client:
        whole_ms = self._whole_ms(record)
        client = self._connect(
            {
                "bootstrap.servers": judged(record.servers, self._rules, finding),
                "acks": "all",
                "enable.idempotence": True,
                "request.timeout.ms": min(record.request_ms, whole_ms),
                "message.timeout.ms": whole_ms,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        patience_s = finding.left()
        # The client says better than a deadline what it waits for: it may be the first to give up.
        members = _CLUSTERS.within(
            lambda: client.members(record.topic, patience_s), patience_s + _LOOK_S, deadline.check
        )
        # What a cluster says of its members is judged before anything is sent to one.
        judge_members(members, self._rules, finding)
        return client

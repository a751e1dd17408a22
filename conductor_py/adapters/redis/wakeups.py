"""Wake-ups from Redis: one listening thread a process, one condition for all who wait.

A ticket is the number of times a topic was published to this process, plus the number of times the
connection was made: after a reconnect nobody knows what was missed, so everybody looks again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from redis.exceptions import RedisError

from conductor_py.adapters.redis.connection import Connection, Wire, pack
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.ports.wakeups import FAMILY

_log = logging.getLogger(__name__)

_TOPICS_KEPT: Final = 10_000
_PAUSE_S: Final = 0.2


class RedisWakeups:
    """``Wakeups`` on Redis; the thread starts with the first ticket and is a daemon."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        """Listen to the channel of the namespace, from the first use on."""
        self._connection = connection
        self._channel = namespace.channel
        self._woken = threading.Condition()
        self._tickets: OrderedDict[str, int] = OrderedDict()
        self._floor = 1
        self._started = False
        self._closed = threading.Event()
        self._wire: Wire | None = None

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        deadline = time.monotonic() + timeout_s
        with self._woken:
            self._start()
            while self._now(topic) <= seen and not self._closed.is_set():
                left = deadline - time.monotonic()
                if left <= 0 or not self._woken.wait(left):
                    break
            return self._now(topic)

    def ticket(self, topic: str) -> int:
        with self._woken:
            self._start()
            return self._now(topic)

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        with self._woken:
            self._start()
            self._woken.wait_for(
                lambda: (
                    self._closed.is_set()
                    or any(self._now(topic) > ticket for topic, ticket in seen.items())
                ),
                timeout_s,
            )

    def wake(self, topic: str) -> None:
        with self._woken:
            self._count(topic)
            self._woken.notify_all()

    def close(self) -> None:
        self._closed.set()
        with self._woken:
            wire = self._wire
            self._woken.notify_all()
        if wire is not None:
            wire.disconnect()

    def _now(self, topic: str) -> int:
        return self._tickets.get(topic, self._floor)

    def _count(self, topic: str) -> None:
        self._tickets[topic] = self._now(topic) + 1
        self._tickets.move_to_end(topic)
        if len(self._tickets) > _TOPICS_KEPT:
            _, dropped = self._tickets.popitem(last=False)
            self._floor = max(self._floor, dropped)

    def _start(self) -> None:
        if not self._started and not self._closed.is_set():
            self._started = True
            threading.Thread(target=self._listen, name="wakeups", daemon=True).start()

    def _listen(self) -> None:
        warned = False
        while not self._closed.is_set():
            wire = self._connection.listener()
            try:
                command = pack(("SUBSCRIBE", self._channel))
                wire.send_packed_command((command,), check_health=False)
                with self._woken:
                    self._wire = wire
                while not self._closed.is_set():
                    self._hear(wire.read_response())
                    warned = False
            except (RedisError, OSError, ValueError, AttributeError) as error:
                if not self._closed.is_set() and not warned:
                    warned = True
                    _log.warning(
                        "wake-ups are interrupted; polling goes on",
                        extra={"action": "wakeups_interrupted", "error": str(error)},
                    )
            finally:
                wire.disconnect()
            self._closed.wait(_PAUSE_S)

    def _hear(self, reply: list[bytes]) -> None:
        with self._woken:
            if reply[0] == b"message":
                topic = reply[2].decode()
                self._count(topic)
                family, within, _ = topic.partition(FAMILY)
                if within:
                    self._count(family + within)
            else:
                self._floor = 1 + max(self._floor, *self._tickets.values(), 0)
                self._tickets.clear()
            self._woken.notify_all()

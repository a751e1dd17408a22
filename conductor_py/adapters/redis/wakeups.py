"""Wake-ups from Redis: one listening thread a process, which wakes those who wait for what it hears
and nobody else: a hundred idle long polls cost a commit nothing. It listens to the kinds of topics
that were asked for, and to no others: the first ticket of a kind subscribes to it.

A ticket is the number of times a topic was published to this process, plus the number of times the
connection was made: after a reconnect nobody knows what was missed, so everybody looks again.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from redis.exceptions import RedisError

from conductor_py.adapters.redis.connection import Connection, Wire, pack
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.names import shown
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.wakeups import FAMILY, KINDS

_log = logging.getLogger(__name__)

_TOPICS_KEPT: Final = 10_000
_PAUSE_S: Final = 0.2


_Waiting = dict[str, dict["_Waiter", None]]
"""Who waits for each topic, in the order in which they came."""


class _Waiter:
    """One who waits; woken once, under the lock of the wake-ups."""

    __slots__ = ("_turn", "woken")

    def __init__(self) -> None:
        self.woken = False
        self._turn = threading.Lock()
        self._turn.acquire()

    def wake(self) -> None:
        if not self.woken:
            self.woken = True
            self._turn.release()

    def wait(self, timeout_s: float) -> None:
        self._turn.acquire(timeout=max(timeout_s, 0.0))


class RedisWakeups:
    """``Wakeups`` on Redis; the thread starts with the first ticket and is a daemon."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        """Listen to the channels of the namespace, from the first use on."""
        self._connection = connection
        self._namespace = namespace
        self._partitions = {
            namespace.channel_of(kind, partition).encode(): partition
            for kind in KINDS
            for partition in range(namespace.partitions)
        }
        self._kinds: set[str] = set()
        self._lock = threading.Lock()
        self._waiting: _Waiting = {}
        self._taking_turns: _Waiting = {}
        self._tickets: OrderedDict[str, int] = OrderedDict()
        self._apart: dict[str, list[int]] = {}
        self._floors = dict.fromkeys(KINDS, 1)
        self._started = False
        self._closed = threading.Event()
        self._wire: Wire | None = None

    def wait(self, topic: str, timeout_s: float, seen: int) -> int:
        self.wait_any({topic: seen}, timeout_s)
        with self._lock:
            return self._now(topic)

    def ticket(self, topic: str) -> int:
        with self._lock:
            self._listen_for((topic,))
            return self._now(topic)

    def tickets(self, topic: str) -> tuple[int, ...]:
        with self._lock:
            self._listen_for((topic,))
            apart = self._apart.get(topic)
            if apart is None:
                if len(self._apart) >= _TOPICS_KEPT:
                    self._apart.clear()
                apart = self._apart[topic] = [self._floor(topic)] * self._namespace.partitions
            return tuple(apart)

    def wait_any(self, seen: Mapping[str, int], timeout_s: float) -> None:
        with self._lock:
            self._listen_for(seen)
            happened = any(self._now(topic) > ticket for topic, ticket in seen.items())
            if happened or self._closed.is_set():
                return
            waiter = _Waiter()
            for topic in seen:
                self._waiting.setdefault(topic, {})[waiter] = None
        waiter.wait(timeout_s)
        with self._lock:
            waiter.woken = True
            for topic in seen:
                _leave(self._waiting, topic, waiter)

    def wait_turn(self, topic: str, timeout_s: float, seen: int) -> bool:
        with self._lock:
            self._listen_for((topic,))
            if self._now(topic) > seen or self._closed.is_set():
                return True
            waiter = _Waiter()
            self._taking_turns.setdefault(topic, {})[waiter] = None
        waiter.wait(timeout_s)
        with self._lock:
            _leave(self._taking_turns, topic, waiter)
            return waiter.woken or self._now(topic) > seen

    def wake_one(self, topic: str) -> None:
        with self._lock:
            self._wake_one(topic)

    def wake(self, topic: str) -> None:
        with self._lock:
            self._count(topic)

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            wire = self._wire
            self._wake_all()
        if wire is not None:
            wire.disconnect()

    def _wake_one(self, topic: str) -> None:
        waiting = self._taking_turns.get(topic)
        if waiting is not None:
            last = next(reversed(waiting))
            _leave(self._taking_turns, topic, last)
            last.wake()

    def _wake_all(self, kind: str = "") -> None:
        for everybody in (self._waiting, self._taking_turns):
            for topic in [topic for topic in everybody if topic.startswith(kind)]:
                for waiter in everybody.pop(topic):
                    waiter.wake()

    def _now(self, topic: str) -> int:
        return self._tickets.get(topic) or self._floor(topic)

    def _floor(self, topic: str) -> int:
        return self._floors.get(topic[:1], 1)

    def _count(self, topic: str) -> None:
        self._tickets[topic] = self._now(topic) + 1
        self._tickets.move_to_end(topic)
        for waiter in self._waiting.pop(topic, ()):
            waiter.wake()
        self._wake_one(topic)
        if len(self._tickets) > _TOPICS_KEPT:
            oldest, dropped = self._tickets.popitem(last=False)
            self._floors[oldest[:1]] = max(self._floor(oldest), dropped)

    def _heard(self, topic: str, channel: bytes) -> None:
        self._count(topic)
        apart = self._apart.get(topic)
        if apart is not None:
            apart[self._partitions[channel]] += 1

    def _listen_for(self, topics: Iterable[str]) -> None:
        """Have the thread hear of these; what is published before it does wakes all who wait."""
        kinds = {topic[:1] for topic in topics} & KINDS - self._kinds
        if kinds:
            self._kinds |= kinds
            if self._wire is not None and self._wire.is_connected:
                with suppress(RedisError, OSError):  # the thread sees it, and connects anew
                    self._subscribe(self._wire, kinds)
        if self._kinds and not self._started and not self._closed.is_set():
            self._started = True
            threading.Thread(target=self._listen, name="wakeups", daemon=True).start()

    def _subscribe(self, wire: Wire, kinds: Iterable[str]) -> None:
        channels = (
            self._namespace.channel_of(kind, partition)
            for kind in sorted(kinds)
            for partition in range(self._namespace.partitions)
        )
        wire.send_packed_command((pack(("SUBSCRIBE", *channels)),), check_health=False)

    def _listen(self) -> None:
        warned = False
        while not self._closed.is_set():
            wire: Wire | None = None
            try:
                wire = self._connection.listener()
                wire.connect()  # for ever, if a server is frozen: it accepts, and says nothing
                with self._lock:
                    self._subscribe(wire, self._kinds)
                    self._wire = wire
                while not self._closed.is_set():
                    self._hear(wire.read_response())
                    warned = False
            except (StoreUnavailable, RedisError, OSError, ValueError, AttributeError) as error:
                if not self._closed.is_set() and not warned:
                    warned = True
                    _log.warning(
                        "wake-ups are interrupted; polling goes on",
                        extra={"action": "wakeups_interrupted", "error": str(error)},
                    )
            finally:
                with self._lock:
                    self._wire = None
                if wire is not None:
                    wire.disconnect()
            self._closed.wait(_PAUSE_S)

    def _hear(self, reply: list[bytes]) -> None:
        with self._lock:
            if reply[0] == b"message":
                topic = shown(reply[2])
                self._heard(topic, reply[1])
                family, within, _ = topic.partition(FAMILY)
                if within:
                    self._heard(family + within, reply[1])
            else:
                self._look_again(reply[1].decode()[-1:])

    def _look_again(self, kind: str) -> None:
        """From now on a kind is heard; nobody knows what was missed of it."""
        known = [topic for topic in self._tickets if topic[:1] == kind]
        highest = max((self._tickets.pop(topic) for topic in known), default=0)
        self._floors[kind] = 1 + max(self._floors[kind], highest)
        for topic, apart in self._apart.items():
            if topic[:1] == kind:
                apart[:] = [ticket + 1 for ticket in apart]
        self._wake_all(kind)


def _leave(waiting: _Waiting, topic: str, waiter: _Waiter) -> None:
    """Wait for a topic no longer; nothing happens to who was woken."""
    others = waiting.get(topic)
    if others is not None:
        others.pop(waiter, None)
        if not others:
            del waiting[topic]

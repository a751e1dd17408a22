"""The hub: in which partitions a queue may have something, so that a poll does not ask them all.

It knows from what commits publish where something became ready, from polls where more is to be had
or falls due later, and looks at all partitions in one round trip a second, for all who poll a queue
in this process together: a wake-up that was lost costs that second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from conductor_py.errors import StoreUnavailable
from conductor_py.ports.queues import PollReply, TaskQueues
from conductor_py.ports.wakeups import Wakeups

_LOOK_S: Final = 1.0
_REMEMBERED: Final = 10_000
_RECORD_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition to ask, with the tickets that its answer is for: that of the queue there, and
    that of the queue in all partitions. Taken before it is asked, so that nothing which happens
    while it answers is missed.
    """

    partition: int
    ticket: int
    anywhere: int


@dataclass(slots=True)
class _Watch:
    """What is known of one queue; ``seen`` are tickets that a poll has answered for."""

    seen: list[int]
    look_at: float = float("-inf")
    more: dict[int, float] = field(default_factory=dict)
    """Partitions that had something left, with the monotonic second at which to ask again."""
    starved: dict[int, int] = field(default_factory=dict)
    """Partitions without permits, with the ticket of all as they were asked: anybody's may be free
    when the queue is published anywhere.
    """
    recorded: dict[str, float] = field(default_factory=dict)


class Hub:
    """What may be where, for every queue that this process polls. Safe for threads."""

    def __init__(
        self,
        queues: TaskQueues,
        wakeups: Wakeups,
        now_ms: Callable[[int], int],
        monotonic: Callable[[], float],
    ) -> None:
        """``now_ms`` tells the time of a partition."""
        self._queues = queues
        self._wakeups = wakeups
        self._now_ms = now_ms
        self._monotonic = monotonic
        self._watches: dict[str, _Watch] = {}
        self._turn = 0
        self._lock = threading.Lock()

    def candidates(self, queue: str, shards: tuple[str, ...]) -> list[Candidate]:
        """The partitions to ask, in turn."""
        topic = f"q:{queue}"
        anywhere, tickets = self._wakeups.ticket(topic), self._wakeups.tickets(topic)
        watch, looks = self._watch(queue, tickets)
        found = self._queues.waiting(queue, shards) if looks else frozenset()
        now = self._monotonic()
        with self._lock:
            for partition in found:
                watch.more.setdefault(partition, now)
            wanted = [
                partition
                for partition, ticket in enumerate(tickets)
                if ticket != watch.seen[partition]
                or watch.more.get(partition, now + 1) <= now
                or watch.starved.get(partition, anywhere) != anywhere
            ]
            self._turn += 1
            first = self._turn % len(wanted) if wanted else 0
        return [Candidate(one, tickets[one], anywhere) for one in wanted[first:] + wanted[:first]]

    def asked(self, queue: str, candidate: Candidate, wanted: int, reply: PollReply) -> None:
        """Note what a poll for up to ``wanted`` has found."""
        watch, now, partition = self._watches.get(queue), self._monotonic(), candidate.partition
        if watch is None:  # forgotten meanwhile, with all that is known of the others
            return
        with self._lock:
            watch.seen[partition] = candidate.ticket
            watch.starved.pop(partition, None)
            if len(reply.claimed) >= wanted:
                watch.more[partition] = now
                return
            watch.more.pop(partition, None)
            if reply.short is not None:
                watch.starved[partition] = candidate.anywhere
            if reply.retry_at_ms:
                wait_s = max(reply.retry_at_ms - self._now_ms(partition), 0) / 1000
                watch.more[partition] = now + min(wait_s, _LOOK_S)

    def put_off(self, queue: str, partition: int) -> None:
        """A partition does not answer: the others are asked meanwhile."""
        with self._lock:
            watch = self._watches.get(queue)
            if watch is not None:
                watch.more[partition] = self._monotonic() + _LOOK_S / 2

    def record(
        self, queue: str, name: str, domain: str, worker: str, shards: tuple[str, ...]
    ) -> None:
        """Write down that somebody polls, once a second; nobody's poll fails of that."""
        now = self._monotonic()
        with self._lock:
            watch = self._watches.get(queue)
            recorded = {} if watch is None else watch.recorded
            if now - recorded.get(name, float("-inf")) < _RECORD_S:
                return
            recorded[name] = now
        with suppress(StoreUnavailable):
            self._queues.record_poll(name, domain, worker, shards, self._now_ms(0))

    def _watch(self, queue: str, tickets: tuple[int, ...]) -> tuple[_Watch, bool]:
        """What is known of a queue, and whether it is this caller's turn to look."""
        now = self._monotonic()
        with self._lock:
            watch = self._watches.get(queue)
            if watch is None:
                if len(self._watches) >= _REMEMBERED:
                    self._watches.clear()
                watch = self._watches[queue] = _Watch(list(tickets))
            looks = now >= watch.look_at
            if looks:
                watch.look_at = now + _LOOK_S
            return watch, looks

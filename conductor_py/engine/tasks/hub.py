"""The hub: in which partitions a queue may have something, so that a poll asks those only, and none
where nothing is.

It knows from what commits publish where something became ready, from polls where more is to be had
or falls due later, and looks at all partitions in one round trip a second, for all who poll a queue
in this process together: a wake-up that was lost costs that second. A process that is alone with
its store has nobody's to lose: while it changes nothing itself, it looks every ten seconds. Who
waits wakes up to see whether it is time, unless one does so for all (``lookout``).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from conductor_py.engine.quiet import Quiet, last_change
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.queues import PollReply, TaskQueues
from conductor_py.ports.wakeups import Wakeups
from conductor_py.records import dataclass, field

_LOOK_S: Final = 1.0
_UNCHANGED_S: Final = 10.0
_REMEMBERED: Final = 10_000
_RECORD_S: Final = 1.0
_SOON_S: Final = 0.001
_RECORDED: Final = 1_000
_NEVER: Final = float("inf")
_UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A partition to ask, with what its answer is for: the tickets of the queue there and of the
    queue in all partitions, and the last change of the store. Taken before it is asked, so that
    nothing which happens while it answers is missed.
    """

    partition: int
    ticket: int
    anywhere: int
    change: int


Key = tuple[str, str]
"""A queue, and the type of the tasks that are wanted of it: few queues have tasks of two types."""


@dataclass(slots=True)
class _Watch:
    """What is known of one of them; ``seen`` are tickets that a poll has answered for."""

    seen: list[int]
    look_at: float = float("-inf")
    change: int = _UNKNOWN
    """The last change of the store before somebody looked."""
    more: dict[int, float] = field(default_factory=dict)
    """Partitions that had something left, with the monotonic second at which to ask again."""
    starved: dict[int, int] = field(default_factory=dict)
    """Partitions without permits, with the ticket of all as they were asked: anybody's may be free
    when the queue is published anywhere.
    """
    recorded: float = float("-inf")
    unrecorded: Polled | None = None
    """Who has polled since that was written down."""


@dataclass(frozen=True, slots=True)
class Polled:
    """Who polled: for a task type and domain, in these shards, at an epoch ms."""

    name: str
    domain: str
    worker: str
    shards: tuple[str, ...]
    at_ms: int


class Hub:
    """What may be where, for every queue that this process polls. Safe for threads."""

    def __init__(
        self,
        queues: TaskQueues,
        wakeups: Wakeups,
        now_ms: Callable[[int], int],
        monotonic: Callable[[], float],
        quiet: Quiet | None = None,
    ) -> None:
        """``now_ms`` tells the time of a partition, ``quiet`` of all that changes the store, where
        nobody else does.
        """
        self._queues = queues
        self._wakeups = wakeups
        self._now_ms = now_ms
        self._monotonic = monotonic
        self._quiet = quiet
        self._watches: dict[Key, _Watch] = {}
        self._turn = 0
        self._waiting: Counter[Key] = Counter()
        self._lock = threading.Lock()
        self.is_attended = False
        """Whether somebody else wakes who is to look."""

    def candidates(
        self, key: Key, shards: tuple[str, ...], *, looks: bool = False
    ) -> list[Candidate]:
        """The partitions to ask, in turn; who ``looks`` relies on nothing that was published."""
        queue, _ = key
        topic = f"q:{queue}"
        change = last_change(self._quiet)
        anywhere, tickets = self._wakeups.ticket(topic), self._wakeups.tickets(topic)
        watch, is_time = self._watch(key, tickets)
        is_one, found = len(tickets) == 1, frozenset[int]()
        if (looks or is_time) and not is_one:
            found = self._queues.waiting(queue, shards)
        now = self._monotonic()
        with self._lock:
            for partition in found:
                watch.more.setdefault(partition, now)
            if (looks or is_time) and is_one:
                watch.more[0] = now  # to ask the only one is to look
            elif looks or is_time:
                watch.change = change
            wanted = [
                partition
                for partition, ticket in enumerate(tickets)
                if ticket != watch.seen[partition]
                or watch.more.get(partition, now + 1) <= now
                or watch.starved.get(partition, anywhere) != anywhere
            ]
            self._turn += 1
            first = self._turn % len(wanted) if wanted else 0
        turned = wanted[first:] + wanted[:first]
        return [Candidate(one, tickets[one], anywhere, change) for one in turned]

    def asked(self, key: Key, candidate: Candidate, reply: PollReply) -> None:
        """Note what a poll has found."""
        watch, now, partition = self._watches.get(key), self._monotonic(), candidate.partition
        if watch is None:  # forgotten meanwhile, with all that is known of the others
            return
        with self._lock:
            watch.seen[partition] = candidate.ticket
            if len(watch.seen) == 1:
                watch.look_at, watch.change = now + _LOOK_S, candidate.change
            watch.starved.pop(partition, None)
            watch.more.pop(partition, None)
            if reply.short is not None:
                watch.starved[partition] = candidate.anywhere
            if reply.retry_at_ms:
                wait_s = max(reply.retry_at_ms - self._now_ms(partition), 0) / 1000
                # With others it is looked at each second anyway.
                watch.more[partition] = now + (
                    min(wait_s, _LOOK_S) if len(watch.seen) > 1 else wait_s
                )

    def put_off(self, key: Key, partition: int) -> None:
        """A partition does not answer: the others are asked meanwhile."""
        with self._lock:
            watch = self._watches.get(key)
            if watch is not None:
                watch.more[partition] = self._monotonic() + _LOOK_S / 2

    @contextmanager
    def waits(self, key: Key) -> Iterator[None]:
        """Let it be known that somebody waits for a queue."""
        with self._lock:
            self._waiting[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key]

    def waiting(self) -> list[tuple[Key, int]]:
        """Tell for which queues somebody waits, and how many."""
        with self._lock:
            return list(self._waiting.items())

    def to_look_at(self) -> list[Key]:
        """Tell for which queues somebody waits who is to look now."""
        now = self._monotonic()
        with self._lock:
            found = [(key, self._watches.get(key)) for key in self._waiting]
            return [
                key
                for key, watch in found
                if watch is None
                or self._is_time(watch, now)
                or min(watch.more.values(), default=_NEVER) <= now
            ]

    def look_in_s(self, key: Key) -> float:
        """Tell when somebody is to look, whatever is known, if anything was changed meanwhile;
        who waits need not where another wakes it.
        """
        if self.is_attended:
            return _NEVER
        with self._lock:
            watch = self._watches.get(key)
            left = watch.look_at - self._monotonic() if watch else 0.0
        return left if left > _SOON_S else _LOOK_S

    def may_be_changed(self, key: Key) -> bool:
        """Tell whether the store may have been changed since somebody looked."""
        with self._lock:
            watch = self._watches.get(key)
            return watch is None or self._is_behind(watch)

    def may_have(self, key: Key) -> bool:
        """Tell whether something may be there, or falls due within a second."""
        tickets = self._wakeups.tickets(f"q:{key[0]}")
        with self._lock:
            watch = self._watches.get(key)
            is_unseen = watch is not None and list(tickets) != watch.seen
        return is_unseen or self.due_in_s(key) <= _LOOK_S

    def due_in_s(self, key: Key) -> float:
        """Tell when a partition is to be asked though nothing is published."""
        with self._lock:
            watch = self._watches.get(key)
            due = min(watch.more.values(), default=_NEVER) if watch else _NEVER
        return max(due - self._monotonic(), _SOON_S)

    def record(self, key: Key, polled: Polled, *, is_recorded: bool = False) -> None:
        """Write down that somebody polls, once a second (or every ten, where nobody else reads
        it), unless the poll itself has done so; nobody's poll fails of that.
        """
        record_s = _RECORD_S if self._quiet is None else _UNCHANGED_S
        now = self._monotonic()
        with self._lock:
            watch = self._watches.get(key)
            if watch is not None and not is_recorded and now - watch.recorded < record_s:
                watch.unrecorded = polled
                return
            if watch is not None:
                watch.recorded, watch.unrecorded = now, None
        if not is_recorded:
            self._write_down(polled)

    def record_all(self, name: str | None) -> None:
        """Write down who has polled last, of a task type or of all (of so many of them), before
        that is read.
        """
        with self._lock:
            found = [
                (watch, polled)
                for watch in self._watches.values()
                if (polled := watch.unrecorded) is not None and name in {None, polled.name}
            ][:_RECORDED]
            for watch, _ in found:
                watch.unrecorded = None
        for _, polled in found:
            self._write_down(polled)

    def _write_down(self, polled: Polled) -> None:
        with suppress(StoreUnavailable):
            self._queues.record_poll(
                polled.name, polled.domain, polled.worker, polled.shards, polled.at_ms
            )

    def _watch(self, key: Key, tickets: tuple[int, ...]) -> tuple[_Watch, bool]:
        """What is known of it, and whether it is this caller's turn to look."""
        now = self._monotonic()
        with self._lock:
            watch = self._watches.get(key)
            if watch is None:
                if len(self._watches) >= _REMEMBERED:
                    self._watches.clear()
                watch = self._watches[key] = _Watch(list(tickets))
            looks = self._is_time(watch, now)
            if looks:
                watch.look_at = now + _LOOK_S
            return watch, looks

    def _is_time(self, watch: _Watch, now: float) -> bool:
        more_s = 0.0 if self._is_behind(watch) else _UNCHANGED_S - _LOOK_S
        return now >= watch.look_at + more_s

    def _is_behind(self, watch: _Watch) -> bool:
        return self._quiet is None or self._quiet.last != watch.change

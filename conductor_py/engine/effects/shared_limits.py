"""Limits that hold over several partitions: permits for a partition that has too few.

What a partition has it uses by itself, so this is asked only when a poll or a start has stopped for
want of permits. Then those are taken that nobody has, else those that other partitions have and do
not use; and when all are in use, one of the others is told to leave the next that comes free.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

from conductor_py.errors import StoreFailure
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.permits import Adjusted, Holding, Mode, Permits, Shared, task_limit
from conductor_py.ports.queues import LeasedRate, Poll, PollReply, Short
from conductor_py.ports.queues import TaskQueues as Queues
from conductor_py.records import dataclass, field

_LOG = logging.getLogger(__name__)

_TRIES: Final = 4
_REMEMBERED: Final = 10_000
_RATE_LEASE_MS: Final = 10_000
"""Longer than a poll can take: a claim that is made later than this is refused by the store."""


@dataclass(slots=True)
class _Queue:
    """Who asks for permits of one limit in this process: one after the other."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    begun: int = 0
    in_vain: int = 0
    """The last attempt that found nothing."""
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Obtained:
    """Whether a partition has a permit to use now, and who was admitted for it at once."""

    has_some: bool
    woken: tuple[ExecutionId, ...] = ()
    waits: bool = False


class SharedLimits:
    """Gets permits. Safe for threads."""

    def __init__(self, permits: Permits) -> None:
        """Remember nothing but who asks just now."""
        self._permits = permits
        self._queues: dict[str, _Queue] = {}
        self._lock = threading.Lock()

    def obtain(
        self,
        partition: int,
        name: str,
        limit: int,
        wanted: int,
        *,
        admitted: bytes = b"",
        seek: bool = False,
    ) -> Obtained:
        """Get up to ``wanted`` permits of a limit for a partition.

        ``admitted`` is the event of executions that wait for them there; with ``seek`` who gives
        some back is told of this partition.
        """
        with self._lock:
            if len(self._queues) > _REMEMBERED:
                self._queues.clear()
            queue = self._queues.setdefault(name, _Queue())
        asked = queue.begun
        with queue.lock:
            if queue.in_vain > asked and not seek:  # somebody who began later has found nothing
                return Obtained(has_some=False)
            queue.begun += 1
            found = self._obtain(queue, partition, name, limit, wanted, admitted, seek=seek)
            if not found.has_some:
                queue.in_vain = queue.begun
            return found

    def spare(self, partition: int, name: str, limit: int, *, admitted: bytes) -> bool:
        """Whether a partition has a permit for one more, behind those that wait; else get one."""
        nothing = Holding(partition=partition, token=0, number=0)
        (own,) = self._permits.adjust(name, limit, [(nothing, "look")])
        if own is not None and own.used < own.number and not own.waits:
            return True
        return self.obtain(partition, name, limit, 1, admitted=admitted).has_some

    def give_back(self, partition: int, name: str, limit: int) -> tuple[Adjusted | None, Shared]:
        """Give back what a partition does not use; with who seeks permits."""
        at_home = self._permits.share(name, limit, partition, 0)
        (own,) = self._permits.adjust(name, limit, [(at_home.own, "give")])
        if own is None:
            return None, at_home
        report = Holding(partition=partition, token=own.token, number=own.there)
        return own, self._permits.share(name, limit, partition, 0, [report])

    def _obtain(  # noqa: PLR0917
        self,
        queue: _Queue,
        partition: int,
        name: str,
        limit: int,
        wanted: int,
        admitted: bytes,
        *,
        seek: bool,
    ) -> Obtained:
        shared = self._permits.share(name, limit, partition, wanted)
        if not shared.granted:
            # Above the limit, which was lowered: nobody keeps what is not in use.
            own_mode: Mode = "give" if shared.total > limit else "keep"
            asked: list[tuple[Holding, Mode]] = [(shared.own, own_mode)]
            asked += [(other, "give") for other in shared.others]
            answers = self._permits.adjust(name, limit, asked, admitted)
            found = _found(answers[0])
            if found.has_some:
                return found
            reports = [
                Holding(partition=holding.partition, token=answer.token, number=answer.there)
                for (holding, _), answer in zip(asked, answers, strict=True)
                if answer is not None
            ]
            shared = self._permits.share(name, limit, partition, wanted, reports, seek=seek)
            if not shared.granted:
                if shared.others:
                    queue.turn += 1
                    one = shared.others[queue.turn % len(shared.others)]
                    self._permits.adjust(name, limit, [(one, "yield")])
                return found
        (own,) = self._permits.adjust(name, limit, [(shared.own, "keep")], admitted)
        return _found(own)


def _found(own: Adjusted | None) -> Obtained:
    if own is None:
        return Obtained(has_some=False, waits=True)
    return Obtained(
        has_some=own.used < own.number or bool(own.woken),
        woken=tuple(map(ExecutionId, own.woken)),
        waits=own.waits,
    )


class LimitedQueues:
    """The task queues of several partitions, whose limits hold over all of them."""

    def __init__(
        self, queues: Queues, permits: Permits, limits: SharedLimits, token: Callable[[int], str]
    ) -> None:
        """``token`` makes names of leases."""
        self._queues = queues
        self._permits = permits
        self._limits = limits
        self._token = token

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the queues' own
        """Read what the queues have."""
        return getattr(self._queues, name)

    def poll(self, partition: int, poll: Poll) -> PollReply:
        """Hand out attempts of a partition, with permits of other partitions where it needs some.

        What was claimed is answered, even when the store goes away meanwhile.
        """
        poll = replace(poll, shared=True)
        reply = self._queues.poll(partition, poll)
        claimed = list(reply.claimed)
        for _ in range(_TRIES):
            if reply.short is None or len(claimed) >= poll.count:
                break
            room = poll.max_bytes - sum(one.size for one in claimed)
            if claimed and room <= 0:
                break
            rest = replace(poll, count=poll.count - len(claimed), max_bytes=room)
            try:
                more = self._more(partition, rest, reply.short, reply.now_ms)
            except StoreFailure:
                if not claimed:
                    raise
                break
            if more is None:
                break
            reply = more
            claimed += more.claimed
        return replace(reply, claimed=tuple(claimed))

    def _more(self, partition: int, poll: Poll, short: Short, now_ms: int) -> PollReply | None:
        """Poll again with what there was too little of; ``None`` when there is none."""
        if short.what == "limit":
            name = task_limit(short.definition)
            found = self._limits.obtain(partition, name, short.limit, poll.count)
            return self._queues.poll(partition, poll) if found.has_some else None
        rate, lease = (short.rate, short.window_ms), self._token(12)
        granted, more_at, home_ms = self._permits.lease_rate(
            short.definition, rate, poll.count, lease, _RATE_LEASE_MS
        )
        if not granted:
            at_ms = now_ms + max(more_at - home_ms, 1) if more_at else 0
            return PollReply(now_ms=now_ms, claimed=(), retry_at_ms=at_ms)
        until_ms = now_ms + _RATE_LEASE_MS
        leased = LeasedRate(definition=short.definition, claims=granted, until_ms=until_ms)
        reply = self._queues.poll(partition, replace(poll, leased=leased))
        try:
            used = min(len(reply.claimed), granted)
            self._permits.settle_rate(short.definition, lease, granted, used)
        except StoreFailure:
            _LOG.warning(
                "Claims of a rate were not settled; they count until their lease is over",
                extra={"action": "rate_not_settled", "task_def": short.definition},
            )
        return reply


def limited(
    queues: Queues, permits: Permits, limits: SharedLimits, token: Callable[[int], str]
) -> Queues:
    """Let task limits hold over the partitions of these queues."""
    return cast("Queues", LimitedQueues(queues, permits, limits, token))

"""Store and queues of Redis that count their outcomes, for metrics. They do nothing else more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from conductor_py.adapters.redis.queues import RedisTaskQueues
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.store import IDEMPOTENCY_MS, RedisExecutionStore
from conductor_py.ports.queues import Poll, PollReply
from conductor_py.ports.store import (
    Commit,
    CommitReply,
    Report,
    ReportReply,
    Start,
    StartReply,
)

Count: TypeAlias = Callable[[str, str, int], None]
"""What happened, how it ended, how often."""


class CountedExecutionStore(RedisExecutionStore):
    """Counts starts, reports and decisions by outcome."""

    def __init__(
        self,
        scripts: Scripts,
        count: Count,
        *,
        fencing: bool,
        take_lease: bool,
        idempotency_ms: int = IDEMPOTENCY_MS,
    ) -> None:
        """Tell ``count`` of every outcome."""
        super().__init__(
            scripts, fencing=fencing, take_lease=take_lease, idempotency_ms=idempotency_ms
        )
        self._count = count

    def start(self, start: Start) -> StartReply:
        reply = super().start(start)
        self._count("starts", reply.outcome.value, 1)
        return reply

    def report(self, report: Report) -> ReportReply:
        reply = super().report(report)
        self._count("reports", reply.outcome.value, 1)
        return reply

    def commit(self, commit: Commit) -> CommitReply:
        reply = super().commit(commit)
        self._count("decisions", reply.outcome.value, 1)
        return reply


class CountedTaskQueues(RedisTaskQueues):
    """Counts polls by whether they found something, and the tasks that they claimed."""

    def __init__(self, scripts: Scripts, count: Count) -> None:
        """Tell ``count`` of every poll."""
        super().__init__(scripts)
        self._count = count

    def poll(self, partition: int, poll: Poll) -> PollReply:
        reply = super().poll(partition, poll)
        found = len(reply.claimed)
        self._count("polls", "FOUND" if found else "EMPTY", 1)
        if found:
            self._count("claims", "OK", found)
        return reply

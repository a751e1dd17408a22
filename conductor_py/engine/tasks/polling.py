"""Polls of workers: what may have something is asked, and who waits is woken when it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from conductor_py.decider.scheduling import queue_name
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.definitions.live_limits import LiveLimits
from conductor_py.engine.machine import REAL_MACHINE, Machine
from conductor_py.engine.reading.views import Views
from conductor_py.engine.shards import Shards
from conductor_py.engine.tasks.bounds import TaskBounds
from conductor_py.engine.tasks.hand_out import HandOut
from conductor_py.engine.tasks.hub import Candidate, Hub, Key, Polled
from conductor_py.errors import StoreFailure
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import PollRequest
from conductor_py.model.text_bounds import refuse_long_poll
from conductor_py.model.view import TaskView
from conductor_py.ports.queues import Poll, TaskQueues
from conductor_py.ports.wakeups import Wakeups
from conductor_py.records import changed, made


class Polling:
    """Hands tasks out. Safe for threads."""

    def __init__(
        self,
        *,
        queues: TaskQueues,
        views: Views,
        wakeups: Wakeups,
        hub: Hub,
        shards: Shards,
        clock: StoreClock,
        partitions: int,
        bounds: TaskBounds,
        live: LiveLimits,
        hand_out: HandOut,
        polled: Callable[[PollRequest], None],
        machine: Machine = REAL_MACHINE,
        gather_tasks_ms: int | None = None,
    ) -> None:
        """Work over these collaborators; ``polled`` hears of every poll. Claims are gathered for
        the index for ``gather_tasks_ms``; None: it is not told of them.
        """
        self._queues = queues
        self._views = views
        self._wakeups = wakeups
        self._hub = hub
        self._shards = shards
        self._clock = clock
        self._partitions = partitions
        self._bounds = bounds
        self._live = live
        self._hand_out = hand_out
        self._polled = polled
        self._machine = machine
        self._gather_tasks_ms = gather_tasks_ms

    def poll(
        self, request: PollRequest, stop: threading.Event | None = None
    ) -> tuple[JsonObject, ...]:
        """Claim up to ``count`` tasks; waits up to ``timeout_ms`` for the first. ``stop`` ends the
        wait.
        """
        refuse_long_poll(request)
        self._polled(request)
        key = queue_name(request.task_type, request.domain), request.task_type
        is_passed_on = True
        try:
            views = self._poll_until(request, key, stop)
            is_passed_on = self._hub.may_have(key)
        finally:
            if is_passed_on:
                self._wakeups.wake_one(f"q:{key[0]}")  # who waits may know nothing of it
        return tuple(self._hand_out.document(view) for view in views)

    def _poll_until(
        self, request: PollRequest, key: Key, stop: threading.Event | None
    ) -> list[TaskView]:
        topic, looks = f"q:{key[0]}", request.timeout_ms == 0  # who does not wait hears of nothing
        deadline = self._machine.monotonic() + request.timeout_ms / 1000
        while True:
            ticket = self._wakeups.ticket(topic)
            views, _ = self._poll_once(request, key, looks=looks)
            left = deadline - self._machine.monotonic()
            if views or left <= 0 or _is_set(stop):
                return views
            rest = min(left, self._hub.due_in_s(key))
            may_have = self._rest(key, ticket, rest, stop)
            if _is_set(stop) or (not may_have and rest == left):
                return []

    def _rest(self, key: Key, ticket: int, left: float, stop: threading.Event | None) -> bool:
        """Wait for so long, or until something may have come since somebody looked; whether it
        may.
        """
        until = self._machine.monotonic() + left
        with self._hub.waits(key):
            while left > 0 and not _is_set(stop):
                piece = min(left, self._hub.look_in_s(key))
                is_turn = self._wakeups.wait_turn(f"q:{key[0]}", piece, ticket)
                if is_turn or self._hub.may_be_changed(key):
                    return True
                left = until - self._machine.monotonic()
        return False

    def take(
        self, request: PollRequest, task_type: str | None = None
    ) -> tuple[tuple[JsonObject, ...], int]:
        """Claim without waiting; with the epoch ms at which more falls due, 0 when unknown.

        ``task_type``: of the tasks that are wanted, where the request names one of its queues;
        empty: any.
        """
        wanted = request.task_type if task_type is None else task_type
        key = queue_name(request.task_type, request.domain), wanted
        views, retry_at = self._poll_once(request, key, looks=True)
        return tuple(self._hand_out.document(view) for view in views), retry_at

    def _poll_once(
        self, request: PollRequest, key: Key, *, looks: bool
    ) -> tuple[list[TaskView], int]:
        """Ask where something may be, with one partition even if nothing may, when it ``looks``;
        what was claimed, and when more falls due.
        """
        shards, is_one = self._shards.to_poll(), self._partitions == 1
        candidates = self._hub.candidates(key, shards, looks=looks and is_one)
        views, retry_at = list[TaskView](), 0
        if candidates:
            views, retry_at = self._ask(key, candidates, self._asked(request, key, shards))
        names = request.task_type, request.domain, request.worker
        polled = Polled(*names, shards, self._clock.now_ms())
        self._hub.record(key, polled, is_recorded=is_one and bool(candidates))
        return views, retry_at

    def _asked(self, request: PollRequest, key: Key, shards: tuple[str, ...]) -> Poll:
        live = self._live.of(request.task_type)
        return made(
            Poll,
            queue=key[0],
            shards=shards,
            worker=request.worker,
            count=request.count,
            lease_ms=request.lease_s * 1000,
            max_bytes=self._bounds.poll_bytes,
            poll_name=request.task_type,
            poll_domain=request.domain,
            limit=live.limit,
            rate=live.rate,
            definition=live.definition,
            gather_ms=self._gather_tasks_ms or 0,
            task_type=key[1],
        )

    def _ask(
        self, key: Key, candidates: Sequence[Candidate], asked: Poll
    ) -> tuple[list[TaskView], int]:
        """Ask the partitions that may have something. One that does not answer takes nothing from
        the others, and what they handed out is answered.
        """
        if self._partitions > 1:
            asked = changed(asked, poll_name="", poll_domain="")
        hub = self._hub
        views: list[TaskView] = []
        retry_at, room, away = 0, asked.max_bytes, None
        for candidate in candidates:
            partition = candidate.partition
            wanted = asked
            if room != asked.max_bytes:  # something was claimed
                wanted = changed(asked, count=asked.count - len(views), max_bytes=room)
            try:
                reply = self._queues.poll(partition, wanted)
            except StoreFailure as error:
                hub.put_off(key, partition)
                away = error
                continue
            self._clock.correct(reply.now_ms, partition)
            hub.asked(key, candidate, reply)
            views.extend(self._views.claimed(reply.claimed))
            room -= sum(claimed.size for claimed in reply.claimed)
            if reply.retry_at_ms or room <= 0:
                after_ms = 0 if room <= 0 else reply.retry_at_ms - reply.now_ms
                at_ms = after_ms + self._clock.now_ms()
                retry_at = min(retry_at or at_ms, at_ms)
            if len(views) >= asked.count or room <= 0:
                break
        if away is not None and not views:
            raise away
        return views, retry_at


def _is_set(stop: threading.Event | None) -> bool:
    return stop is not None and stop.is_set()

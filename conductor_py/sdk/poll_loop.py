"""The loop that gets work of one type: a long poll for as many tasks as there are free slots.

It survives whatever a server does, with pauses that grow to three seconds. It never claims what it
cannot start at once; what arrives after the stop was asked for, or finds no thread, is handed back,
so that nobody waits for its lease to end.
"""

from __future__ import annotations

import logging
import random
import threading
from typing import TYPE_CHECKING

from conductor_py.errors import ConductorError, InvalidInput, StoreUnavailable
from conductor_py.sdk.backoff import RECONNECT_CAP_MS, Backoff
from conductor_py.sdk.context import TaskContext
from conductor_py.sdk.errors import AnswerTooLarge
from conductor_py.sdk.lease import Lease
from conductor_py.sdk.outage import Outage
from conductor_py.sdk.slots import Slots
from conductor_py.sdk.task import ResultStatus, Task, TaskResult

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject, JsonValue
    from conductor_py.sdk.client import Client
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.event_loop import EventLoop
    from conductor_py.sdk.lease import LeaseKeeper
    from conductor_py.sdk.report import Reporter
    from conductor_py.sdk.worker import WorkerTask

_log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 1.0
#: How long the first poll after work waits. Each empty answer doubles it, so that a stop waits for
#: its poll hardly longer than the worker had been idle: a poll is never given up, because a task
#: that it claims must be handed back.
_FIRST_POLL_MS = 100
#: After an empty answer that came at once: a server without long polls must not be hammered.
_EMPTY_PAUSE_MS = 100


class PollLoop:
    """Polls one task type and runs what it gets."""

    def __init__(
        self,
        worker_task: WorkerTask[..., object],
        *,
        client: Client,
        keeper: LeaseKeeper,
        reporter: Reporter,
        worker_id: str,
        clock: Clock,
        stopping: threading.Event,
        event_loop: EventLoop | None = None,
    ) -> None:
        """Compile the function's signature; raises ``ConfigurationError``."""
        worker_task.prepare()
        self._worker_task = worker_task
        self._options = worker_task.options
        self._client = client
        self._keeper = keeper
        self._reporter = reporter
        self._worker_id = worker_id
        self._clock = clock
        self._stopping = stopping
        self._event_loop = event_loop
        self._backoff = Backoff(base_ms=200, cap_ms=RECONNECT_CAP_MS)
        self._random = random.Random()  # noqa: S311 - jitter, not a secret
        self._thread: threading.Thread | None = None
        self._patience_ms = _FIRST_POLL_MS
        self._outage = Outage(_log, "polls fail", "polls are answered again")
        self.slots = Slots(self._options.name, self._options.concurrency)

    def start(self) -> None:
        """Start polling in a thread of its own."""
        name = f"conductor-poll-{self._options.name}"
        self._thread = threading.Thread(target=self.run, name=name, daemon=True)
        self._thread.start()

    def load(self) -> JsonObject:
        """Say what it takes, and how busy it is, in wire form."""
        options = self._options
        load: dict[str, JsonValue] = {"taskType": options.name}
        if options.domain:
            load["domain"] = options.domain
        return load | {"running": self.slots.busy, "capacity": options.concurrency}

    def join(self, timeout_s: float) -> bool:
        """Wait for the loop's end; tell whether it came."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, timeout_s))
        return not self._thread.is_alive()

    def run(self) -> None:
        """Poll until the stop is asked for."""
        failures = 0
        while not self._stopping.is_set():
            free = self.slots.wait_free(_LOOK_AGAIN_S)
            if free == 0:
                continue
            try:
                self._poll(free)
            except ConductorError as error:
                failures += 1
                self._outage.failed(error, {**self._about(), "action": "poll_failed"})
                self._pause(failures, error)
            except Exception as error:  # noqa: BLE001 - a worker that stops polling is lost
                failures += 1
                self._outage.failed(error, {**self._about(), "action": "poll_loop_survived"})
                self._pause(failures, error)
            else:
                failures = 0
                self._outage.ended({**self._about(), "action": "poll_answered"})

    def _poll(self, free: int) -> None:
        timeout_ms = min(self._patience_ms, self._options.poll_timeout_ms)
        asked_ms = self._clock.monotonic_ms()
        polled = self._client.poll_batch(
            self._options.name,
            worker_id=self._worker_id,
            count=free,
            timeout_ms=timeout_ms,
            domain=self._options.domain,
            lease_s=self._options.lease_s,
        )
        refused: RuntimeError | None = None
        for wire in polled:
            try:
                self._take(wire)
            except RuntimeError as error:  # no thread for this one; a slot may be free for the next
                refused = error
        if refused is not None:
            raise refused
        took_ms = self._clock.monotonic_ms() - asked_ms
        self._patience_ms = _FIRST_POLL_MS if polled else 2 * timeout_ms
        if not polled and took_ms < timeout_ms // 2:
            self._clock.wait(self._stopping, _EMPTY_PAUSE_MS)

    def _take(self, wire: JsonObject) -> None:
        try:
            task = Task.from_json(wire)
        except InvalidInput:
            _log.exception(
                "a polled task could not be read",
                extra={**self._about(), "action": "task_unreadable"},
            )
            return
        if self._stopping.is_set():
            self._hand_back(task)
            return
        context = TaskContext(task, self._clock, self._client)
        lease = Lease(context, lease_s=self._options.lease_s, clock=self._clock)
        self._keeper.hold(lease)
        try:
            self.slots.submit(lambda: self._carry_out(lease))
        except Exception:
            self._keeper.release(lease)
            self._hand_back(task)
            raise

    def _carry_out(self, lease: Lease) -> None:
        try:
            result = self._result(lease)
            if result is not None and not lease.is_lost():
                self._reporter.report(lease, result)
        finally:
            self._keeper.release(lease)

    def _result(self, lease: Lease) -> TaskResult | None:
        if lease.is_lost():  # it waited in line for too long
            return None
        try:
            given = self._client.task_input(lease.context.task)
        except ConductorError as error:
            reason = f"the input could not be downloaded: {error.message}"
            return TaskResult.failed(reason, terminal=isinstance(error, AnswerTooLarge))
        return self._worker_task.run(lease.context, given, self._event_loop)

    def _hand_back(self, task: Task) -> None:
        """Offer the task again at once, as it was: nothing of it has begun here."""
        result = TaskResult(
            status=ResultStatus.IN_PROGRESS,
            output=task.output,
            external_output_path=task.external_output_path,
        )
        extra = {**self._about(), "action": "task_handed_back", "task_id": task.task_id}
        try:
            self._client.update_task(result.answering(task, self._worker_id), resend=False)
        except ConductorError as error:
            extra |= {"action": "hand_back_failed", "error": error.message}
            _log.warning("a task could not be handed back; its lease will end", extra=extra)
        else:
            _log.info("a task that could not begin here was handed back", extra=extra)

    def _pause(self, failures: int, error: Exception) -> None:
        chance = self._random.random()
        delay_ms = self._backoff.delay_ms(failures, chance)
        if isinstance(error, StoreUnavailable):
            delay_ms = self._backoff.asked_ms(failures, chance, error.retry_after_s)
        self._clock.wait(self._stopping, delay_ms)

    def _about(self) -> dict[str, object]:
        return {"task_type": self._options.name, "domain": self._options.domain}

"""Leases on the tasks that this worker runs, and the thread that keeps them.

A lease that could not be extended for its own length is lost: its task is marked cancelled and its
result is not reported, because by then somebody else may be doing the work. That judgement needs
the clock only, so a server that does not answer cannot postpone it.
"""

from __future__ import annotations

import logging
import math
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol

from conductor_py.errors import ConductorError, Conflict, InvalidInput, NotFound, StoreUnavailable
from conductor_py.sdk.checkpoints import TaskRequest
from conductor_py.sdk.outage import Outage

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.context import TaskContext

_log = logging.getLogger(__name__)

#: How long the keeper sleeps when nothing is due; a new lease wakes it.
_IDLE_MS = 60_000
_HOUR_MS = 3_600_000


class LeaseServer(Protocol):
    """The part of the client that the keeper uses."""

    def extend_task(
        self,
        task_id: str,
        claim_token: int,
        lease_s: int,
        progress: JsonObject | None = None,
        *,
        resend: bool = True,
        timeout_s: float | None = None,
    ) -> JsonObject:
        """As ``Client.extend_task``."""
        ...

    def add_task_log(self, task_id: str, line: str, *, timeout_s: float | None = None) -> None:
        """As ``Client.add_task_log``."""
        ...


class Lease:
    """This worker's hold on one task, measured on the worker's own monotonic clock."""

    def __init__(self, context: TaskContext, *, lease_s: int, clock: Clock) -> None:
        """Begin now. A response timeout shorter than the lease ends the claim earlier, so it sets
        the pace.

        Without a claim token the server knows no leases; then the response timeout alone bounds the
        hold.
        """
        self.context = context
        self.lease_s = lease_s
        self.claim_token = context.task.claim_token
        self._clock = clock
        response_ms = context.task.response_timeout_s * 1000
        if self.claim_token is None:
            self.length_ms = response_ms or _HOUR_MS
        else:
            self.length_ms = min(lease_s * 1000, response_ms or lease_s * 1000)
        now_ms = clock.monotonic_ms()
        self.until_ms = now_ms + self.length_ms
        self.due_ms = now_ms + self.length_ms // 3
        #: Set once the result is on its way: from then on an extension could only confuse.
        self.reporting = False

    def is_lost(self) -> bool:
        """Whether the task is cancelled or its lease has run out."""
        return self.context.cancelled.is_set() or self._clock.monotonic_ms() >= self.until_ms

    @property
    def next_ms(self) -> int:
        """The moment at which the keeper must look at it again."""
        if self.reporting or self.claim_token is None:
            return self.until_ms
        return min(self.due_ms, self.until_ms)

    def extended(self, sent_ms: int) -> None:
        """Count from the moment at which the accepted extension was sent."""
        self.until_ms = sent_ms + self.length_ms
        self.due_ms = sent_ms + self.length_ms // 3

    def postpone(self) -> None:
        """Try again soon after an extension that was not answered."""
        self.due_ms = self._clock.monotonic_ms() + max(1, self.length_ms // 10)


class LeaseKeeper:
    """Extends every held lease each third of its length, from one thread."""

    def __init__(self, server: LeaseServer, clock: Clock) -> None:
        """Hold nothing yet."""
        self._server = server
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, Lease] = {}
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._outage = Outage(_log, "leases cannot be extended", "leases are extended again")
        self._asleep_until_ms: float = math.inf  # while awake, every new lease sets the wake-up

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="conductor-leases", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop extending; whatever is still held is cancelled and will not be reported."""
        self._stopping.set()
        self._wake.set()
        for lease in self.held():
            self._cancel(lease, "worker_stopped")
        if self._thread is not None:
            self._thread.join(timeout=1)

    def hold(self, lease: Lease) -> None:
        """Keep the lease from now on."""
        with self._lock:
            self._held[lease.context.task.task_id] = lease
        if lease.next_ms < self._asleep_until_ms:
            self._wake.set()

    def release(self, lease: Lease) -> None:
        """Keep it no longer; its task is over or lost."""
        with self._lock:
            self._held.pop(lease.context.task.task_id, None)

    def held(self) -> tuple[Lease, ...]:
        """Return the leases held now."""
        with self._lock:
            return tuple(self._held.values())

    def tick(self) -> int:
        """Do what is due now; return in how many milliseconds there is something to do again."""
        server_away = False
        for lease in sorted(self.held(), key=lambda held: held.due_ms):
            if lease.is_lost():
                self._cancel(lease, "lease_lost")
            elif lease.claim_token is None or lease.reporting:
                continue
            elif lease.due_ms <= self._clock.monotonic_ms():
                if server_away:  # it was asked a moment ago: do not wait for every task in turn
                    lease.postpone()
                else:
                    server_away = not self._extend(lease, lease.claim_token)
        return self._next_ms()

    def _next_ms(self) -> int:
        now_ms = self._clock.monotonic_ms()
        moments = [lease.next_ms for lease in self.held() if not lease.context.cancelled.is_set()]
        return max(1, min([*moments, now_ms + _IDLE_MS]) - now_ms)

    def _extend(self, lease: Lease, claim_token: int) -> bool:
        """Send one extension; tell whether the server answered at all."""
        sent_ms = self._clock.monotonic_ms()
        timeout_s = self._patience_s(lease, sent_ms)
        try:
            answer = self._extended(lease, claim_token, timeout_s)
        except (Conflict, NotFound):
            if not lease.reporting:
                self._cancel(lease, "claim_moved")
            return True
        except ConductorError as error:
            lease.postpone()
            self._outage.failed(error, {**_ids(lease), "action": "lease_not_extended"})
            return not isinstance(error, StoreUnavailable)
        lease.extended(sent_ms)
        self._outage.ended({**_ids(lease), "action": "lease_extended"})
        lease.context.asked(TaskRequest.from_json(answer.get("request")))
        self._send_lines(lease, timeout_s)
        return True

    def _extended(self, lease: Lease, claim_token: int, timeout_s: float) -> JsonObject:
        """Send an extension with the newest progress, or without it when it is refused."""
        progress = lease.context.newest_progress()
        extend = partial(
            self._server.extend_task, lease.context.task.task_id, claim_token, lease.lease_s
        )
        try:
            return extend(progress, resend=False, timeout_s=timeout_s)
        except InvalidInput as error:
            if progress is None:
                raise
            lease.context.forget_progress(progress)
            _log.warning(
                "a progress was refused and is left out",
                extra={**_ids(lease), "action": "progress_refused", "error": error.message},
            )
        return extend(None, resend=False, timeout_s=timeout_s)

    def _patience_s(self, lease: Lease, now_ms: int) -> float:
        """No longer than a third of the lease, nor than to its end, nor than half of what is left
        to another: a server that froze must not keep this thread from stopping a task whose time is
        over, nor one lost answer from extending the others.
        """
        others = [each for each in self.held() if each is not lease and not each.is_lost()]
        left_ms = [(each.until_ms - now_ms) / 2 for each in others]
        return max(0.1, min(lease.length_ms / 3, lease.until_ms - now_ms, *left_ms) / 1000)

    def _send_lines(self, lease: Lease, timeout_s: float) -> None:
        lines = lease.context.take_lines()
        if not lines:
            return
        text = "\n".join(entry.line for entry in lines)
        try:
            self._server.add_task_log(lease.context.task.task_id, text, timeout_s=timeout_s)
        except StoreUnavailable:
            lease.context.give_back(lines)  # a line twice is better than a line lost
        except ConductorError as error:
            _log.warning(
                "the server refused log lines",
                extra={**_ids(lease), "action": "task_log_refused", "error": error.message},
            )

    def _cancel(self, lease: Lease, why: str) -> None:
        if lease.context.cancelled.is_set():
            return
        lease.context.cancel()
        _log.warning(
            "a task is no longer ours; its result will not be reported",
            extra={**_ids(lease), "action": "task_cancelled", "why": why},
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._asleep_until_ms = math.inf
            self._wake.clear()
            try:
                pause_ms = self.tick()
            except Exception:  # noqa: BLE001 - without the keeper every task here is lost
                _log.exception("the lease keeper failed", extra={"action": "lease_keeper_failed"})
                pause_ms = 1_000
            self._asleep_until_ms = self._clock.monotonic_ms() + pause_ms
            self._clock.wait(self._wake, pause_ms)


def _ids(lease: Lease) -> dict[str, str]:
    task = lease.context.task
    return {"task_id": task.task_id, "workflow_id": task.workflow_id}

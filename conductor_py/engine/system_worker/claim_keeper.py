"""Keeps the claims of tasks that this process carries out itself, from one thread.

A claim is extended each third of its length. One that is lost, or that could not be extended for
its own length, sets its call's ``cancelled``: somebody else may be doing the work by then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from conductor_py.engine.tasks.tasks import Tasks
from conductor_py.errors import ConductorError, Conflict, NotFound
from conductor_py.model.requests import ExtendRequest
from conductor_py.ports.system_tasks import SystemCall
from conductor_py.records import dataclass

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Hold:
    """A claim on one task: when it is extended next and when it ends, in monotonic seconds."""

    call: SystemCall
    claim: int
    length_s: float
    due: float
    until: float


class ClaimKeeper:
    """Extends what is held. Safe for threads."""

    def __init__(
        self, tasks: Tasks, *, worker: str, lease_s: int, monotonic: Callable[[], float]
    ) -> None:
        """Hold nothing yet."""
        self._tasks = tasks
        self._worker = worker
        self._lease_s = lease_s
        self._monotonic = monotonic
        self._held: dict[str, Hold] = {}
        self._lock = threading.Lock()

    def hold(self, call: SystemCall, claim: int, response_s: int) -> Hold:
        """Keep a claim that was handed out just now."""
        length_s = min(self._lease_s, response_s or self._lease_s)
        now = self._monotonic()
        hold = Hold(
            call=call, claim=claim, length_s=length_s, due=now + length_s / 3, until=now + length_s
        )
        with self._lock:
            self._held[call.task_id] = hold
        return hold

    def release(self, hold: Hold) -> None:
        """Keep it no longer."""
        with self._lock:
            if self._held.get(hold.call.task_id) is hold:
                del self._held[hold.call.task_id]

    def tick(self) -> int:
        """Extend what is due; returns how many claims were asked for."""
        with self._lock:
            held = sorted(self._held.values(), key=lambda hold: hold.due)
        asked = 0
        for hold in held:
            now = self._monotonic()
            if now >= hold.until:
                self._cancel(hold, "lease_lost")
            elif now >= hold.due:
                asked += 1
                self._extend(hold, now)
        return asked

    def run(self, stop: threading.Event) -> None:
        """Tick until ``stop``; often enough for the shortest claim that is held."""
        while True:
            with self._lock:
                lengths = [hold.length_s for hold in self._held.values()]
            if stop.wait(max(min([*lengths, self._lease_s]) / 6, 0.1)):
                return
            try:
                self.tick()
            except Exception:  # noqa: BLE001 - without the keeper every claim here is lost
                _log.exception("claims could not be kept", extra={"action": "keeper_failed"})

    def _extend(self, hold: Hold, sent: float) -> None:
        call = hold.call
        request = ExtendRequest(
            task_id=call.task_id, claim=hold.claim, worker=self._worker, lease_s=self._lease_s
        )
        try:
            self._tasks.extend(request)
        except (Conflict, NotFound):
            self._cancel(hold, "claim_moved")
        except ConductorError as error:
            hold.due = self._monotonic() + hold.length_s / 10
            facts = {"action": "claim_not_extended", "task_id": call.task_id}
            _log.warning("a claim could not be extended", extra={**facts, "error": error.message})
        else:
            hold.due, hold.until = sent + hold.length_s / 3, sent + hold.length_s

    def _cancel(self, hold: Hold, why: str) -> None:
        self.release(hold)
        hold.call.cancelled.set()
        facts = {"action": "claim_lost", "task_id": hold.call.task_id, "why": why}
        _log.warning("a task is no longer ours; what comes of it does not count", extra=facts)

"""Delivery of results: uploaded when large, sent again while in doubt, dropped when nobody wants
them.

A result is sent until the server answered or the lease ended, whichever is first; the claim token
makes a second arrival harmless. A result that the server refuses is replaced, once, by a failure
that says why, so that no task is left to its timeout without a word.
"""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from conductor_py.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    StoreUnavailable,
)
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.errors import AnswerTooLarge
from conductor_py.sdk.outage import Outage
from conductor_py.sdk.task import TaskLog, TaskResult

if TYPE_CHECKING:
    from conductor_py.sdk.client import Client
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.lease import Lease

_log = logging.getLogger(__name__)

#: The server keeps no more entries of one result.
_LOG_ENTRIES = 10
_UPLOADS = 3
_SHORTEST_WAIT_S = 0.1


class Reporter:
    """Brings results to the server, under the lease that they were made under."""

    def __init__(self, client: Client, *, worker_id: str, clock: Clock) -> None:
        """Remember whose results these are."""
        self._client = client
        self._worker_id = worker_id
        self._clock = clock
        self._backoff = Backoff(base_ms=200, cap_ms=5_000)
        self._random = random.Random()  # noqa: S311 - jitter, not a secret
        self._outage = Outage(_log, "reports are in doubt, and sent again", "reports arrive again")

    def report(self, lease: Lease, result: TaskResult) -> bool:
        """Deliver the result; tell whether the server took it. Raises nothing of the server's."""
        context = lease.context
        logs = _grouped((*result.logs, *context.take_lines()))
        addressed = replace(result, logs=logs).answering(context.task, self._worker_id)
        ready = self._uploaded(lease, addressed)
        lease.reporting = True
        return ready is not None and self._delivered(lease, ready)

    def _delivered(self, lease: Lease, result: TaskResult) -> bool:
        failures = 0
        replaced = False
        while not lease.is_lost():
            try:
                self._client.update_task(result, resend=False, timeout_s=self._patience_s(lease))
            except (Conflict, NotFound) as error:
                self._say("a result was not wanted any more", lease, "result_dropped", error)
                return False
            except (InvalidInput, PayloadTooLarge) as error:
                self._say("the server refused a result", lease, "result_refused", error)
                if replaced:
                    return False
                replaced = True
                result = _failure_for(result, f"the result was refused: {_whole(error)}")
            except AnswerTooLarge as error:
                self._say("the answer to a result was too large", lease, "result_in_doubt", error)
                return False
            except ConductorError as error:
                failures += 1
                self._outage.failed(error, _facts(lease, "report_in_doubt"))
                self._pause(lease, failures, error)
            else:
                self._outage.ended(_facts(lease, "report_taken"))
                return True
        self._say("a result was not delivered before its lease ended", lease, "result_lost", None)
        return False

    def _uploaded(self, lease: Lease, result: TaskResult) -> TaskResult | None:
        """Offload a large output, the lease still being extended; None when it is lost."""
        for failures in range(1, _UPLOADS + 1):
            if lease.is_lost():
                break
            try:
                return self._client.offload_output(result)
            except (InvalidInput, PayloadTooLarge) as error:
                self._say("an output was refused", lease, "output_refused", error)
                return _failure_for(result, f"the output was refused: {error.message}")
            except ConductorError as error:
                self._say("an output was not uploaded", lease, "upload_failed", error)
                if failures == _UPLOADS or isinstance(error, AnswerTooLarge):
                    message = f"the output could not be uploaded: {error.message}"
                    return _failure_for(result, message, terminal=False)
                self._pause(lease, failures, error)
        return None

    def _patience_s(self, lease: Lease) -> float:
        left_ms = lease.until_ms - self._clock.monotonic_ms()
        return max(_SHORTEST_WAIT_S, min(self._client.timeout_s, left_ms / 1000))

    def _pause(self, lease: Lease, failures: int, error: ConductorError) -> None:
        chance = self._random.random()
        delay_ms = self._backoff.delay_ms(failures, chance)
        if isinstance(error, StoreUnavailable) and error.__cause__ is None:
            delay_ms = self._backoff.asked_ms(failures, chance, error.retry_after_s)
        self._clock.wait(lease.context.cancelled, delay_ms)

    def _say(self, sentence: str, lease: Lease, action: str, error: ConductorError | None) -> None:
        extra = {**_facts(lease, action), "error": _whole(error) if error else None}
        _log.warning(sentence, extra=extra)


def _facts(lease: Lease, action: str) -> dict[str, object]:
    task = lease.context.task
    return {"action": action, "task_id": task.task_id, "workflow_id": task.workflow_id}


def _whole(error: ConductorError) -> str:
    """Its message with all that the server found wrong, in a line."""
    return "; ".join(line.strip() for line in str(error).splitlines())


def _failure_for(result: TaskResult, reason: str, *, terminal: bool = True) -> TaskResult:
    failed = TaskResult.failed(reason, terminal=terminal)
    return replace(
        failed,
        task_id=result.task_id,
        workflow_id=result.workflow_id,
        worker_id=result.worker_id,
        claim_token=result.claim_token,
    )


def _grouped(entries: tuple[TaskLog, ...]) -> tuple[TaskLog, ...]:
    """Join neighbouring lines until there are no more entries than the server keeps."""
    if len(entries) <= _LOG_ENTRIES:
        return entries
    size = -(-len(entries) // _LOG_ENTRIES)
    groups = [entries[at : at + size] for at in range(0, len(entries), size)]
    return tuple(
        TaskLog(line="\n".join(entry.line for entry in group), created_ms=group[0].created_ms)
        for group in groups
    )

"""Retry policy: whether a failed attempt is tried again, and when.

Delays are in 64-bit milliseconds with one base instant, now (A-37). Jitter is drawn from the
attempt's identity, so that deciding twice draws the same.
"""

from __future__ import annotations

import hashlib

from conductor_py.model.definitions import CONTROL_TYPES, TaskDef, WorkflowTask
from conductor_py.model.execution import Attempt

_MAX_DELAY_MS = 10 * 365 * 24 * 3600 * 1000


def may_retry(task: WorkflowTask, failed: Attempt) -> bool:
    """Whether the policy leaves a failed attempt another try (the total timeout apart)."""
    definition = task.task_definition
    allowed = task.retry_count
    if allowed is None:
        allowed = definition.retry_count if definition is not None else 0
    return (
        failed.status.retriable
        and failed.type not in CONTROL_TYPES
        and failed.retry_count < allowed
    )


def delay_ms(definition: TaskDef | None, failed: Attempt, execution: str) -> int:
    """How long to wait before the next attempt: by the logic, capped, then jitter on top
    (Conductor's order).
    """
    if definition is None:
        return 0
    base = definition.retry_delay_seconds * 1000
    match definition.retry_logic:
        case "LINEAR_BACKOFF":
            delay = base * definition.backoff_scale_factor * (failed.retry_count + 1)
        case "EXPONENTIAL_BACKOFF":
            delay = base * 2 ** min(failed.retry_count, 40)
        case _:
            delay = base
    if definition.max_retry_delay_seconds > 0:
        delay = min(delay, definition.max_retry_delay_seconds * 1000)
    return min(max(delay, 0), _MAX_DELAY_MS) + _jitter(definition, execution, failed.seq)


def _jitter(definition: TaskDef, execution: str, seq: int) -> int:
    if definition.backoff_jitter_ms <= 0:
        return 0
    name = f"{execution}-{seq}".encode()
    drawn = int.from_bytes(hashlib.sha256(name).digest()[:8], "big")
    return drawn % (definition.backoff_jitter_ms + 1)

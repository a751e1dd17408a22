"""What a test is told of an execution that does not end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NotEnded(AssertionError):
    """An execution that a test expected to end has not: what it waits for, and what to do."""


def not_ended(found: Mapping[str, Any], why: Mapping[str, Any], within_s: float | None) -> NotEnded:
    """Make the error from an execution in wire form and what the engine says of it; ``within_s``
    seconds of the clock have passed, ``None``: nothing would ever wake it.
    """
    open_ = {
        task["referenceTaskName"]: task["status"]
        for task in found["tasks"]
        if task["status"] in {"SCHEDULED", "IN_PROGRESS"}
    }
    if within_s is None:
        waited = "nothing will wake it by itself"
    else:
        waited = f"it has not ended within {within_s} s of the clock"
    return NotEnded(
        f"{found['workflowName']} ({found['workflowId']}) is {found['status']}, and {waited}. Open "
        f"tasks: {open_}. {why['cause']['sentence']} Give run_to_end the functions of these tasks, "
        "mock them, or complete them; for what only takes longer give a larger within_s."
    )

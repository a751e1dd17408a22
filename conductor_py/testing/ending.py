"""What a test is told of an execution that does not end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conductor_py.testing.standing import BY_ITSELF, QUEUED, WAITING


class NotEnded(AssertionError):
    """An execution that a test expected to end has not: what it waits for, and what to do."""


def not_ended(found: Mapping[str, Any], why: Mapping[str, Any], within_s: float | None) -> NotEnded:
    """Make the error from an execution in wire form and what the engine says of it; ``within_s``
    seconds of the clock have passed, ``None``: nothing would ever wake it.
    """
    tasks = [task for task in found["tasks"] if task["status"] in {"SCHEDULED", "IN_PROGRESS"}]
    open_ = {task["referenceTaskName"]: task["status"] for task in tasks}
    if within_s is None:
        waited = "nothing will wake it by itself"
    else:
        waited = f"it has not ended within {within_s} s of the clock"
    sentences = (
        f"{found['workflowName']} ({found['workflowId']}) is {found['status']}, and {waited}.",
        f"Open tasks: {open_}.",
        why["cause"]["sentence"],
        *_advice(tasks),
        *(("For what only takes longer give a larger within_s.",) if within_s is not None else ()),
    )
    return NotEnded(" ".join(sentences))


def _advice(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what can be done for the open tasks, each kind once."""
    types = {str(task["taskType"]) for task in tasks}
    if types - BY_ITSELF - WAITING - QUEUED:
        yield "Give run_to_end the functions of the worker tasks, mock them, or complete them."
    if waiting := types & (WAITING | QUEUED):
        yield f"Mock {' and '.join(sorted(waiting))} tasks, or complete them."
    for task in tasks:
        if task["taskType"] == "SUB_WORKFLOW" and (child := task.get("subWorkflowId")):
            yield f"{task['referenceTaskName']} waits for its child {child}: look at its tasks."

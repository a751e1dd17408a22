"""An execution and its tasks as lines for people: every type, every status, every try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conductor_py.cli.printing import clipped, json_line, moment, objects, print_table, say

_REASON: Final = "reasonForIncompletion"
_HEAD: Final = (
    "task",
    "type",
    "status",
    "try",
    "iteration",
    "started",
    "ended",
    "child",
    "reason",
)


def print_execution(found: Mapping[str, Any]) -> None:
    """Print an execution with its tasks, for people."""
    print_facts(found)
    print_tasks(found)


def print_facts(found: Mapping[str, Any]) -> None:
    """Print an execution without its tasks."""
    for label, value in _facts(found):
        if value:
            say(f"{label:<9} {value}")


def print_tasks(found: Mapping[str, Any]) -> None:
    """Print the tasks of an execution as a table, behind an empty line; nothing without tasks."""
    tasks = objects(found.get("tasks"))
    if not tasks:
        return
    tries: dict[str, int] = {}
    rows = []
    for each in tasks:
        ref = str(each.get("referenceTaskName"))
        tries[ref] = tries.get(ref, 0) + 1
        rows.append(_task_row(each, tries[ref]))
    say()
    # A column that says nothing of any task is left out.
    kept = [at for at in range(len(_HEAD)) if any(row[at] for row in rows)]
    print_table([_HEAD[at] for at in kept], [[row[at] for at in kept] for row in rows])


def is_open(found: Mapping[str, Any]) -> bool:
    """Whether anything may still become of an execution."""
    return found.get("status") in {"RUNNING", "PAUSED"}


def task_type(task: Mapping[str, Any]) -> str:
    """Name the type of a task as it was defined, and the name of a worker's task behind it."""
    defined = task.get("workflowTask")
    kind = defined.get("type") if isinstance(defined, dict) else None
    shown = task.get("taskType")
    if not isinstance(kind, str) or not kind or kind == shown:
        return clipped(shown)
    return f"{clipped(kind)} ({clipped(shown)})" if kind == "SIMPLE" else clipped(kind)


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    output = found.get("output")
    rescue = output.get("conductor.failure_workflow") if isinstance(output, dict) else None
    failed = found.get("failedReferenceTaskNames")
    return [
        (
            "workflow",
            f"{clipped(found.get('workflowName'))} version {clipped(found.get('workflowVersion'))}",
        ),
        ("status", clipped(found.get("status"))),
        ("reason", clipped(found.get(_REASON), 1_000)),
        ("failed", clipped(", ".join(map(str, failed)), 1_000) if isinstance(failed, list) else ""),
        ("failed task", clipped(found.get("failedTaskId"))),
        ("waits", _turn(found)),
        ("started", moment(found.get("startTime"))),
        ("taken up", moment(found.get("lastRetriedTime"))),
        ("ended", moment(found.get("endTime"))),
        ("about", clipped(found.get("correlationId"), 200)),
        ("parent", clipped(found.get("parentWorkflowId"))),
        ("rescue", clipped(rescue, 200)),
        ("input", _payload(found, "input")),
        ("output", _payload(found, "output")),
        ("variables", json_line(found["variables"]) if found.get("variables") else ""),
    ]


def _task_row(task: Mapping[str, Any], number: int) -> list[object]:
    superseded = " (superseded)" if task.get("retried") is True else ""
    output = task.get("outputData")
    started = output.get("workflowId") if isinstance(output, dict) else None
    is_start = task.get("taskType") == "START_WORKFLOW"
    return [
        task.get("referenceTaskName", ""),
        task_type(task),
        f"{clipped(task.get('status'))}{superseded}",
        number if number > 1 or superseded else "",
        task.get("iteration") or "",
        moment(task.get("startTime")),
        moment(task.get("endTime")),
        task.get("subWorkflowId") or (started if is_start else "") or "",
        task.get(_REASON) or "",
    ]


def _payload(found: Mapping[str, Any], kind: str) -> str:
    """Write a payload, or where it is; nothing when it is empty."""
    path = found.get(f"external{kind.title()}PayloadStoragePath")
    if path:
        return f"in the payload storage: {clipped(path, 500)}"
    value = found.get(kind)
    return json_line(value) if value else ""


def _turn(found: Mapping[str, Any]) -> str:
    """Say that an execution waits for others under its rate limit."""
    if not found.get("rateLimited"):
        return ""
    return f"for its turn among those of the rate limit key {clipped(found.get('rateLimitKey'))!r}"

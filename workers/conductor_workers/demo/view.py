"""What the tutorial shows: the tasks while they run, and the result tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from rich.table import Table

from conductor_py.model.json import JsonObject, JsonValue

_COLOURS = {
    "COMPLETED": "green",
    "IN_PROGRESS": "yellow",
    "SCHEDULED": "cyan",
    "FAILED": "red",
    "FAILED_WITH_TERMINAL_ERROR": "red",
    "TIMED_OUT": "red",
    "CANCELED": "magenta",
}


def tasks_of(workflow: JsonObject) -> list[JsonObject]:
    """Return the tasks of an execution in the order in which they were scheduled."""
    return list(cast("list[JsonObject]", workflow.get("tasks") or []))


def task_line(task: JsonObject) -> tuple[str, str, str, str]:
    """Return reference, status, seconds and details of a task."""
    return (
        str(task.get("referenceTaskName")),
        str(task.get("status")),
        _seconds(task),
        _details(task),
    )


def progress_table(workflow: JsonObject) -> Table:
    """Return the execution's tasks as a table."""
    table = Table(title=f"flights_tutorial  {workflow.get('status', '')}", expand=False)
    for column in ("task", "status", "seconds", "details"):
        table.add_column(column, justify="right" if column == "seconds" else "left")
    for task in tasks_of(workflow):
        reference, status, seconds, details = task_line(task)
        colour = _COLOURS.get(status, "white")
        table.add_row(reference, f"[{colour}]{status}[/{colour}]", seconds, details)
    return table


def result_table(title: str, file: Path) -> Table:
    """Return a CSV file as a table."""
    with file.open(encoding="utf-8", newline="") as lines:
        header, *rows = list(csv.reader(lines))
    table = Table(title=title)
    for index, column in enumerate(header):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _seconds(task: JsonObject) -> str:
    started, ended = task.get("startTime"), task.get("endTime")
    if isinstance(started, int) and isinstance(ended, int) and ended >= started > 0:
        return f"{(ended - started) / 1000:.1f}"
    return ""


def _details(task: JsonObject) -> str:
    output = task.get("outputData")
    reason = task.get("reasonForIncompletion")
    if reason:
        return str(reason)
    if isinstance(output, Mapping) and "rowCount" in output:
        return f"{output['rowCount']:,} rows, {_bytes(output.get('bytes'))}"
    progress = task.get("progress")
    if isinstance(progress, Mapping) and isinstance(progress.get("tasks"), Mapping):
        counts = cast("JsonObject", progress["tasks"])
        return f"{counts.get('done')} of {counts.get('total')} Spark tasks"
    return ""


def _bytes(size: JsonValue) -> str:
    return f"{size / 1024:,.0f} kB" if isinstance(size, int) else ""

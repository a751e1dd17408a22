"""Bounds of what a worker may take in one poll and leave in the log of a task."""

from __future__ import annotations

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBounds:
    """``poll_bytes``: size of the tasks that one poll takes, the first one apart.

    ``log_lines``: lines kept of one report. Without ``keep_logs`` every line is accepted and
    dropped.
    """

    poll_bytes: int = 4 * 1024 * 1024
    log_lines: int = 10
    keep_logs: bool = True

"""Statuses of executions and attempts, with the tables of what each means and which moves are
legal.

Source of the names and of the flags: Conductor's public model. The diagram in the documentation is
drawn from ``WORKFLOW_MOVES`` and ``TASK_MOVES``.
"""

from __future__ import annotations

from enum import StrEnum


class WorkflowStatus(StrEnum):
    """Status of an execution."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    TERMINATED = "TERMINATED"

    @property
    def terminal(self) -> bool:
        """Whether the generation has ended."""
        return self not in _OPEN_WORKFLOW


class TaskStatus(StrEnum):
    """Status of an attempt."""

    SCHEDULED = "SCHEDULED"
    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_ERRORS = "COMPLETED_WITH_ERRORS"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    FAILED_WITH_TERMINAL_ERROR = "FAILED_WITH_TERMINAL_ERROR"
    CANCELED = "CANCELED"

    @property
    def terminal(self) -> bool:
        """Whether the attempt has ended."""
        return self not in _OPEN_TASK

    @property
    def successful(self) -> bool:
        """Whether whatever waits for it may go on."""
        return self in _SUCCESSFUL_TASK

    @property
    def failed(self) -> bool:
        """Whether the attempt is named as one that has failed."""
        return self in _FAILED_TASK

    @property
    def retriable(self) -> bool:
        """Whether a failure of this kind may be tried again."""
        return self in _RETRIABLE_TASK


_OPEN_WORKFLOW = frozenset({WorkflowStatus.RUNNING, WorkflowStatus.PAUSED})
_OPEN_TASK = frozenset({TaskStatus.SCHEDULED, TaskStatus.IN_PROGRESS})
_SUCCESSFUL_TASK = frozenset(
    {TaskStatus.COMPLETED, TaskStatus.COMPLETED_WITH_ERRORS, TaskStatus.SKIPPED}
)
_FAILED_TASK = frozenset(
    {TaskStatus.FAILED, TaskStatus.FAILED_WITH_TERMINAL_ERROR, TaskStatus.TIMED_OUT}
)
_RETRIABLE_TASK = frozenset({TaskStatus.FAILED, TaskStatus.TIMED_OUT})

WORKFLOW_MOVES: dict[WorkflowStatus, frozenset[WorkflowStatus]] = {
    WorkflowStatus.RUNNING: frozenset(WorkflowStatus) - {WorkflowStatus.RUNNING},
    WorkflowStatus.PAUSED: frozenset(
        {
            WorkflowStatus.RUNNING,
            WorkflowStatus.TERMINATED,
            WorkflowStatus.TIMED_OUT,
            WorkflowStatus.FAILED,
        }
    ),
    WorkflowStatus.COMPLETED: frozenset(),
    WorkflowStatus.FAILED: frozenset({WorkflowStatus.TERMINATED}),
    WorkflowStatus.TIMED_OUT: frozenset({WorkflowStatus.TERMINATED}),
    WorkflowStatus.TERMINATED: frozenset(),
}
"""Moves within one generation; retry, rerun and restart begin another and start at RUNNING."""

_ENDS = frozenset(status for status in TaskStatus if status.terminal)
TASK_MOVES: dict[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.SCHEDULED: _ENDS | {TaskStatus.IN_PROGRESS},
    TaskStatus.IN_PROGRESS: _ENDS | {TaskStatus.SCHEDULED},
    **{status: frozenset[TaskStatus]() for status in _ENDS},
}
"""Moves of one attempt; IN_PROGRESS to SCHEDULED is a worker's callback."""
